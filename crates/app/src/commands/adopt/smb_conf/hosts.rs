//! `hosts allow` and `hosts deny`: rules for clients. Facts, from `testparm FILE NAME ADDRESS`: who is allowed need not be denied; with
//! a list of allowed hosts only, all others are refused; with a list of denied hosts, all others may come; what stands behind
//! EXCEPT counts as not in the list. smbd asks the lists of `[global]` first, then those of the share.

use super::host_words::{Hosts, ListSide};
use super::work::Work;
use crate::commands::adopt::clients::{Rule, both, nobody};
use crate::commands::adopt::share::quoted;

fn rule(hosts: &[String], access: &str) -> Rule {
    let hosts: Vec<String> = hosts.iter().map(|host| quoted(host)).collect();
    vec![("match", format!("[{}]", hosts.join(", "))), ("access", quoted(access))]
}

pub(super) fn translate(work: &mut Work<'_>) {
    let own = [work.of.value("hosts allow"), work.of.value("hosts deny")];
    let (of_all, denied_of_all) = &work.of.server.hosts;
    let of_server = [some(of_all), some(denied_of_all)];
    let Some(mut found) = rules(work, own) else { return };
    if own != of_server {
        let of_server = rules(work, of_server);
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
fn rules(work: &mut Work<'_>, [allow, deny]: [Option<&str>; 2]) -> Option<Vec<Rule>> {
    let server = work.of.server;
    let allow = allow.map(|list| Hosts::of(list, ListSide::Admits, server));
    let deny = deny.map(|list| Hosts::of(list, ListSide::Refuses, server));
    if let Some(deny) = deny.as_ref().filter(|deny| !deny.unknown.is_empty()) {
        work.lost("hosts deny", "hosts-deny", format!("no rule says {}", deny.unknown.join(", ")));
        return None;
    }
    if let Some(allow) = allow.as_ref().filter(|allow| !allow.unknown_except.is_empty()) {
        let why = format!("no rule says {}", allow.unknown_except.join(", "));
        work.lost("hosts allow", "hosts-allow", why);
        return None;
    }
    if let Some(allow) = &allow {
        work.to("hosts allow", allowed(allow, deny.is_some()));
    }
    if let Some(deny) = &deny {
        work.to("hosts deny", format!("rules for clients{}{}", refused(&deny.unknown_except), deny.notes()));
    }
    Some(in_order(allow.as_ref(), deny.as_ref()))
}

/// The rules in their order. Who is excepted from `hosts allow` is refused, though smbd would ask `hosts deny` about it.
fn in_order(allow: Option<&Hosts>, deny: Option<&Hosts>) -> Vec<Rule> {
    let everybody = ["*".to_owned()];
    let mut rules: Vec<(&[String], &str)> = Vec::new();
    if let Some(allow) = allow {
        rules.extend([(&*allow.except, "none"), (&*allow.hosts, "rw")]);
    }
    if let Some(deny) = deny {
        rules.extend([(&*deny.except, "rw"), (&*deny.hosts, "none"), (&everybody[..], "rw")]);
    }
    rules.retain(|(hosts, _)| !hosts.is_empty());
    let admits = rules.iter().any(|(_, access)| *access == "rw");
    if allow.is_some() && !admits {
        rules = vec![(&everybody, "none")];
    }
    rules.into_iter().map(|(hosts, access)| rule(hosts, access)).collect()
}

fn refused(hosts: &[String]) -> String {
    if hosts.is_empty() { String::new() } else { format!("; refused, too: {}", hosts.join(", ")) }
}

/// What became of `hosts allow`.
fn allowed(allow: &Hosts, has_deny: bool) -> String {
    let has_all = allow.hosts.iter().any(|one| one == "*");
    let loopback = if has_all { "" } else { " (and not for 127.0.0.1 beside them)" };
    let also = if has_deny { refused(&allow.except) } else { String::new() };
    format!("rules for clients{loopback}{}{also}{}", refused(&allow.unknown), allow.notes())
}
