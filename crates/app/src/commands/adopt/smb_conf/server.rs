//! What `[global]` says of the whole server.

use super::conf::{self, ConfSection, Entry};
use super::rows::SettingScope;
use super::values::{self, Demand, Kind};
use super::work::{by_row, unknown};
use super::{Outcome, said};
use crate::commands::adopt::clients;
use crate::commands::adopt::netgroups::Netgroups;
use crate::commands::adopt::share::{quoted, words};
use crate::commands::adopt::translated::Translation;

/// What counts for all shares.
#[derive(Debug)]
pub(super) struct Server {
    /// Unknown names are guests.
    pub(super) maps_to_guest: bool,
    /// Why no guest can come, whatever a share says.
    pub(super) refuses_guests: Option<&'static str>,
    pub(super) guest_account: String,
    /// `hosts allow` and `hosts deny`, which the server asks before a share says otherwise.
    pub(super) hosts: (Option<String>, Option<String>),
    /// Whether smbd knows the names of clients.
    pub(super) looks_up_hosts: bool,
    pub(super) netgroups: Netgroups,
}

/// Translates the settings of `[global]` that are no defaults of shares.
pub(super) fn translate(global: &ConfSection, netgroups: Netgroups, translated: &mut Translation) -> Server {
    let value = |name: &str| global.entry(name).map(|entry| conf::unquoted(&entry.value));
    let mut server = Server {
        maps_to_guest: value("map to guest").and_then(values::maps_to_guest) == Some(true),
        guest_account: value("guest account").filter(|name| !name.is_empty()).unwrap_or("nobody").into(),
        hosts: (value("hosts allow").map(str::to_owned), value("hosts deny").map(str::to_owned)),
        refuses_guests: None,
        looks_up_hosts: value("hostname lookups").and_then(values::truth) == Some(true),
        netgroups,
    };
    if value("restrict anonymous").is_some_and(|value| value.trim() != "0") {
        server.refuses_guests = Some("restrict anonymous keeps them out");
    }
    if value("server signing").and_then(values::demand) == Some(Demand::Required) {
        server.refuses_guests = Some("they cannot sign, and server signing is required");
    }
    let is_sealed = value("server smb encrypt").and_then(values::demand) == Some(Demand::Required);
    if is_sealed {
        server.refuses_guests = Some("they cannot encrypt, and encryption is required");
        translated.server.push(("smb-encryption", quoted("required")));
    }
    let of_server = |entry: &&Entry| {
        entry.row.is_none_or(|row| row.scope == SettingScope::Global) && !entry.name().contains(':')
    };
    for entry in global.entries.iter().filter(of_server) {
        let counts = global.entry(&entry.name()).filter(|counts| !std::ptr::eq(*counts, entry));
        let outcome = match counts {
            Some(counts) => Outcome::NoEffect { why: format!("line {} counts instead", counts.line) },
            None => outcome(entry, global, translated),
        };
        translated.source.push(said(entry, None, outcome));
    }
    server
}

fn outcome(entry: &Entry, global: &ConfSection, translated: &mut Translation) -> Outcome {
    let Some(row) = &entry.row else { return unknown(entry) };
    let value = conf::unquoted(&entry.value);
    if row.kind == Kind::Bool && values::truth(value).is_none() {
        return invalid();
    }
    let no_effect = |why: &str| Outcome::NoEffect { why: why.into() };
    match row.name {
        "map to guest" => match values::maps_to_guest(value) {
            Some(true) => no_effect("unknown names are guests here, too; a wrong password is none"),
            Some(false) => Outcome::Kept { how: "no share admits guests".into() },
            None => invalid(),
        },
        "restrict anonymous" => match value.trim() {
            "0" => no_effect("with this value it is no limit"),
            "1" | "2" => Outcome::Kept { how: "no share admits guests".into() },
            _ => invalid(),
        },
        "server signing" => match values::demand(value) {
            Some(Demand::Required) => set(translated, "smb-signing", quoted("required")),
            Some(_) => no_effect("with this value it is no limit"),
            None => invalid(),
        },
        "server min protocol" => match values::dialect(value) {
            Some("2.0.2") => no_effect("older dialects are never spoken here"),
            Some(dialect) => set(translated, "smb-min-dialect", quoted(dialect)),
            None => invalid(),
        },
        "ntlm auth" => match values::has_ntlm(value) {
            Some(true) => Outcome::Kept { how: "NTLM version 2 only is spoken".into() },
            Some(false) => {
                let why = "passwords are accepted over NTLM version 2".into();
                Outcome::Lost { limit: "ntlm-auth", why }
            }
            None => invalid(),
        },
        "hostname lookups" => match values::truth(value) {
            Some(true) => no_effect("rules with names look them up"),
            _ => Outcome::Kept { how: "names in `hosts allow` let nobody in".into() },
        },
        "interfaces" => interfaces(value, global, translated),
        "bind interfaces only" => no_effect("what it does stands at `interfaces`"),
        _ => by_row(row.handling, row.kind, value),
    }
}

fn set(translated: &mut Translation, name: &'static str, value: String) -> Outcome {
    let to = format!("{name} = {value}");
    translated.server.push((name, value));
    Outcome::Translated { to }
}

pub(super) fn invalid() -> Outcome {
    Outcome::Lost { limit: "invalid-value", why: "smbd does not start with this value".into() }
}

/// The addresses that the server listens on, if it listens on these only.
fn interfaces(list: &str, global: &ConfSection, translated: &mut Translation) -> Outcome {
    let binds = global.entry("bind interfaces only").and_then(|entry| values::truth(&entry.value));
    if binds != Some(true) || list.is_empty() {
        return Outcome::NoEffect { why: "without `bind interfaces only` the server listens on all".into() };
    }
    let own = if_addrs::get_if_addrs().unwrap_or_default();
    let (mut addresses, mut unknown) = (Vec::new(), Vec::new());
    for word in words(list) {
        let before = addresses.len();
        let plain = word.split(['/', ';']).next().unwrap_or_default();
        match plain.parse::<std::net::IpAddr>() {
            Ok(address) if own.iter().any(|one| one.ip() == address) || !word.contains('/') => {
                addresses.push(address)
            }
            Ok(_) => {
                let network = clients::host(&word).and_then(|network| network.parse::<ipnet::IpNet>().ok());
                let inside =
                    |one: &&if_addrs::Interface| network.is_some_and(|network| network.contains(&one.ip()));
                addresses.extend(own.iter().filter(inside).map(if_addrs::Interface::ip));
            }
            Err(_) => {
                addresses.extend(own.iter().filter(|one| one.name == word).map(if_addrs::Interface::ip))
            }
        }
        if addresses.len() == before {
            unknown.push(word);
        }
    }
    addresses.retain(|address| !matches!(address, std::net::IpAddr::V6(v6) if v6.is_unicast_link_local()));
    if addresses.is_empty() {
        let why = format!("this machine has none of these interfaces now: {}", unknown.join(" "));
        return Outcome::Lost { limit: "interfaces", why };
    }
    addresses.sort();
    addresses.dedup();
    let addresses: Vec<String> = addresses.iter().map(|address| quoted(&address.to_string())).collect();
    set(translated, "listen", format!("[{}]", addresses.join(", ")))
}
