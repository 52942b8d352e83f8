//! `hosts allow` and `hosts deny`: rules for clients. Facts, from `testparm FILE NAME ADDRESS`: who is allowed need not be denied; with
//! a list of allowed hosts only, all others are refused; with a list of denied hosts, all others may come; what stands behind
//! EXCEPT counts as not in the list. smbd asks the lists of `[global]` first, then those of the share.

use super::work::Work;
use crate::adopt::clients::{Rule, both, host, nobody};
use crate::adopt::share::{quoted, words};

/// Hosts of a list.
#[derive(Debug, Default)]
struct Hosts {
    networks: Vec<String>,
    except: Vec<String>,
    /// Words that no rule can say.
    unknown: Vec<String>,
    unknown_except: Vec<String>,
}

impl Hosts {
    fn of(list: &str) -> Self {
        let mut hosts = Self::default();
        let mut is_except = false;
        for word in words(list) {
            if word.eq_ignore_ascii_case("except") {
                is_except = true;
                continue;
            }
            let (known, unknown) = match is_except {
                true => (&mut hosts.except, &mut hosts.unknown_except),
                false => (&mut hosts.networks, &mut hosts.unknown),
            };
            match network(&word) {
                Some(network) => known.push(network),
                None => unknown.push(word),
            }
        }
        hosts
    }
}

/// A word as a rule says it. `192.168.1.*` is what begins so.
fn network(word: &str) -> Option<String> {
    let word = word.replace(['[', ']'], "");
    let begin = word.strip_suffix(".*").map(|begin| format!("{begin}."));
    host(begin.as_deref().unwrap_or(&word))
}

fn rule(networks: &[String], access: &str) -> Rule {
    let networks: Vec<String> = networks.iter().map(|network| quoted(network)).collect();
    vec![("match", format!("[{}]", networks.join(", "))), ("access", quoted(access))]
}

pub(super) fn translate(work: &mut Work<'_>) {
    let (allow, deny) = (work.of.value("hosts allow"), work.of.value("hosts deny"));
    let (of_all, denied_of_all) = &work.of.server.hosts;
    let says_otherwise = (allow, deny) != (some(of_all), some(denied_of_all));
    let (allow, deny) = (allow.map(Hosts::of), deny.map(Hosts::of));
    let Some(mut found) = rules(work, allow.as_ref(), deny.as_ref()) else { return };
    if says_otherwise {
        let (allow, deny) = (some(of_all).map(Hosts::of), some(denied_of_all).map(Hosts::of));
        let of_server = rules(work, allow.as_ref(), deny.as_ref());
        let together = of_server.and_then(|of_server| match (found.is_empty(), of_server.is_empty()) {
            (true, _) => Some(of_server),
            (_, true) => Some(std::mem::take(&mut found)),
            _ => both(&found, &of_server),
        });
        // What cannot be said together admits nobody.
        found = together.unwrap_or_else(|| {
            let note =
                "the hosts of [global] and those of the share cannot be said together: no host may enter";
            work.share.untranslated.push(note.into());
            vec![nobody()]
        });
    }
    // Nobody may enter already, if there is a rule.
    if work.share.clients.is_empty() {
        work.share.clients = found;
    }
}

fn some(value: &Option<String>) -> Option<&str> {
    value.as_deref().filter(|value| !value.is_empty())
}

/// The rules of both lists; `None`: a limit is lost.
fn rules(work: &mut Work<'_>, allow: Option<&Hosts>, deny: Option<&Hosts>) -> Option<Vec<Rule>> {
    if let Some(deny) = deny.filter(|deny| !deny.unknown.is_empty()) {
        work.lost("hosts deny", "hosts-deny", format!("no rule says {}", deny.unknown.join(" ")));
        return None;
    }
    if let Some(allow) = allow.filter(|allow| !allow.unknown_except.is_empty()) {
        let why = format!("no rule says {}", allow.unknown_except.join(" "));
        work.lost("hosts allow", "hosts-allow", why);
        return None;
    }
    let has_except = |hosts: &Hosts| !hosts.except.is_empty() || !hosts.unknown_except.is_empty();
    if allow.is_some_and(has_except) && deny.is_some() {
        let why = "no rules say EXCEPT together with `hosts deny`";
        work.lost("hosts allow", "hosts-allow", why);
        return None;
    }
    let mut rules = Vec::new();
    let named = |list: &[String]| {
        if list.is_empty() { String::new() } else { format!("; refused, too: {}", list.join(" ")) }
    };
    if let Some(allow) = allow {
        if !allow.except.is_empty() {
            rules.push(rule(&allow.except, "none"));
        }
        if !allow.networks.is_empty() {
            rules.push(rule(&allow.networks, "rw"));
        }
        if deny.is_none() && allow.networks.is_empty() {
            rules.push(rule(&["*".into()], "none"));
        }
        let loopback = if allow.networks.iter().any(|one| one == "*") {
            ""
        } else {
            " (and not for 127.0.0.1 beside them)"
        };
        work.to("hosts allow", format!("rules for clients{loopback}{}", named(&allow.unknown)));
    }
    if let Some(deny) = deny {
        // An exception that cannot be said is refused with the others.
        if !deny.except.is_empty() {
            rules.push(rule(&deny.except, "rw"));
        }
        if !deny.networks.is_empty() {
            rules.push(rule(&deny.networks, "none"));
        }
        rules.push(rule(&["*".into()], "rw"));
        work.to("hosts deny", format!("rules for clients{}", named(&deny.unknown_except)));
    }
    Some(rules)
}
