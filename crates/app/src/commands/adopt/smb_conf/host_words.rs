//! The words of `hosts allow` and `hosts deny`. Facts, measured with smbd 4.17: names are compared with the name that the client's
//! address has, if that leads back to the address, and only with `hostname lookups = yes`; `.example.org` is each name that ends so.
//!
//! A word that admits must match no more hosts here than there, and one that refuses no fewer.

use std::net::IpAddr;

use super::server::Server;
use crate::commands::adopt::clients::host;
use crate::commands::adopt::netgroups;
use crate::commands::adopt::share::words;

/// What a list does with its hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListSide {
    /// It lets them in.
    Admits,
    /// It keeps them out.
    Refuses,
}

/// Hosts of a list, as rules name them.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    pub(super) hosts: Vec<String>,
    pub(super) except: Vec<String>,
    /// Words that no rule can say, with the reason.
    pub(super) unknown: Vec<String>,
    pub(super) unknown_except: Vec<String>,
    notes: Vec<String>,
}

impl Hosts {
    /// What stands behind EXCEPT is on the other side.
    pub(super) fn of(list: &str, side: ListSide, server: &Server) -> Self {
        let mut all = Self::default();
        let mut words = words(list).into_iter();
        for word in words.by_ref().take_while(|word| !word.eq_ignore_ascii_case("except")) {
            match all.word(&word, side, server) {
                Ok(hosts) => all.hosts.extend(hosts),
                Err(why) => all.unknown.push(format!("{word} ({why})")),
            }
        }
        let other = if side == ListSide::Admits { ListSide::Refuses } else { ListSide::Admits };
        for word in words.filter(|word| !word.eq_ignore_ascii_case("except")) {
            match all.word(&word, other, server) {
                Ok(hosts) => all.except.extend(hosts),
                Err(why) => all.unknown_except.push(format!("{word} ({why})")),
            }
        }
        all
    }

    /// What the report says beside the rules.
    pub(super) fn notes(&self) -> String {
        self.notes.iter().map(|note| format!("; {note}")).collect()
    }

    fn word(&mut self, word: &str, side: ListSide, server: &Server) -> Result<Vec<String>, String> {
        if let Some(name) = word.strip_prefix('@') {
            let hosts = netgroup(name, side, server)?;
            self.notes.push(format!("{word}: {}", netgroups::note(hosts.len())));
            return Ok(hosts);
        }
        if let Some(known) = network(word, side) {
            return Ok(vec![known]);
        }
        let host = by_name(word, side, server)?;
        if side == ListSide::Refuses && !server.looks_up_hosts {
            self.notes.push(format!("{word} is refused here, and would not be known there: {LOOKUPS}"));
        } else if side == ListSide::Refuses && !host.contains(['*', '?']) {
            self.notes
                .push(format!("each address of {word} is refused, too, by whatever name smbd knows it"));
        }
        Ok(vec![host])
    }
}

const LOOKUPS: &str = "without `hostname lookups` smbd compares addresses only";

/// An address or a network. `192.168.1.*` is what begins so.
fn network(word: &str, side: ListSide) -> Option<String> {
    if ["*", "all", "fail"].contains(&&*word.to_ascii_lowercase()) {
        return Some("*".into());
    }
    let word = word.replace(['[', ']'], "");
    // smbd takes a mask of three characters for an address.
    let is_odd = |mask: &str| mask.len() > 2 && mask.parse::<IpAddr>().is_err();
    if side == ListSide::Admits && word.split_once('/').is_some_and(|(_, mask)| is_odd(mask)) {
        return None;
    }
    let begin = word.strip_suffix(".*").map(|begin| format!("{begin}."));
    host(begin.as_deref().unwrap_or(&word))
}

/// A name, the end of names, or a pattern.
fn by_name(word: &str, side: ListSide, server: &Server) -> Result<String, String> {
    let ends_with = word.strip_prefix('.').map(|domain| format!("*.{domain}"));
    let pattern = ends_with.as_deref().unwrap_or(word).to_ascii_lowercase();
    if word.eq_ignore_ascii_case("local") {
        return Err("no rule says names without a dot".into());
    }
    if word.contains(['[', ']', '!', '^']) || word.ends_with('.') {
        return Err("it is no name of a host".into());
    }
    auth::is_host_pattern(&pattern).map_err(|why| why.to_string())?;
    if side == ListSide::Admits && !server.looks_up_hosts {
        return Err(format!("{LOOKUPS}, so it lets nobody in there, either"));
    }
    if pattern.contains(['*', '?']) {
        let is_of_address = |c: char| c.is_ascii_hexdigit() || "*?".contains(c);
        return match side == ListSide::Refuses && pattern.chars().all(is_of_address) {
            true => Err("it fits addresses of IPv6, too".into()),
            false => Ok(pattern),
        };
    }
    Ok(if side == ListSide::Admits { by_address(&pattern) } else { pattern })
}

/// A pattern for one name: a rule asks for the name of the client's address then, as smbd does. An exact name in a rule would let in
/// each address that the name has, also those whose own name is another one.
fn by_address(name: &str) -> String {
    let mut rest = name.chars();
    rest.next().map_or_else(String::new, |first| format!("[{first}]{}", rest.as_str()))
}

fn netgroup(name: &str, side: ListSide, server: &Server) -> Result<Vec<String>, String> {
    let is_address = |host: &str| host.parse::<IpAddr>().is_ok();
    let members = (server.netgroups)(name)?;
    let hosts: Vec<String> = match side {
        ListSide::Refuses => members.into_iter().map(|member| member.host).collect(),
        ListSide::Admits => members
            .into_iter()
            .filter(|member| !member.has_domain)
            .filter(|member| server.looks_up_hosts || is_address(&member.host))
            .map(|member| if is_address(&member.host) { member.host } else { by_address(&member.host) })
            .collect(),
    };
    if hosts.is_empty() { Err("the netgroup lets no host in that smbd would know".into()) } else { Ok(hosts) }
}
