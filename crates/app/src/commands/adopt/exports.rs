//! The exports of `/etc/exports`, exports(5), as shares.

mod client;
mod names;
mod options;
mod syntax;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub(super) use self::names::plain_name;

use self::client::Client;
use self::options::{ExportSquash, OptionEffect, Options, Rights, TlsDemand};
use self::syntax::Line;
use super::ini;
use super::netgroups::{self, Netgroups};
use super::share::{Share, quoted};
use super::source::{Outcome, SourceSetting};
use super::translated::Translation;

/// The limit of clients that no rule can name.
const HOSTS: &str = "hosts";
/// Files of `exports.d` that are read.
const MOST_FILES: usize = 1000;

/// Translates the text of an exports file, and of the files in `exports.d` beside it.
pub(super) fn translate(file: &Path, text: &str) -> Translation {
    let mut translated = Translation::default();
    let mut files = vec![(file.to_path_buf(), text.to_owned())];
    for more in beside(file) {
        match ini::read(&more) {
            Ok(text) => files.push((more, text)),
            Err(error) => translated.notes.push(format!("exports: {error:#}: it is left out")),
        }
    }
    let mut exports = Vec::new();
    for (file, text) in &files {
        read(file, text, netgroups::by_name_service, &mut exports, &mut translated);
    }
    translate_all(exports, &mut translated);
    translated
}

/// `/etc/exports.d/*.exports`, exports(5): in the order of their names, without hidden ones.
fn beside(file: &Path) -> Vec<PathBuf> {
    if file.file_name().is_none_or(|name| name != "exports") {
        return Vec::new();
    }
    let folder = std::fs::read_dir(file.with_file_name("exports.d"));
    let mut files: Vec<PathBuf> =
        folder.into_iter().flatten().flatten().take(MOST_FILES).map(|entry| entry.path()).collect();
    let is_hidden =
        |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    files.retain(|path| path.extension().is_some_and(|end| end == "exports") && !is_hidden(path));
    files.sort();
    files
}

/// A folder, with all the clients that any line gives it to.
struct ExportedFolder {
    path: PathBuf,
    entries: Vec<Entry>,
}

/// A client of a line.
struct Entry {
    file: PathBuf,
    line: usize,
    text: String,
    client: Client,
    options: Options,
}

fn read(
    file: &Path,
    text: &str,
    netgroups: Netgroups,
    exports: &mut Vec<ExportedFolder>,
    translated: &mut Translation,
) {
    for Line { number, words } in syntax::lines(text) {
        let Some((path, clients)) = words.split_first() else { continue };
        if !path.starts_with('/') {
            translated
                .notes
                .push(format!("{}:{number}: {path} is no path: the line is left out", file.display()));
            continue;
        }
        let plain = path.trim_end_matches('/');
        let path = PathBuf::from(if plain.is_empty() { "/" } else { plain });
        let (defaults, clients) = match clients.split_first() {
            Some((first, rest)) if first.starts_with('-') => (&first[1..], rest),
            _ => ("", clients),
        };
        let at = exports.iter().position(|export| export.path == path).unwrap_or_else(|| {
            exports.push(ExportedFolder { path: path.clone(), entries: Vec::new() });
            exports.len() - 1
        });
        // exports(5): a line without a client is for everybody.
        let everybody = [String::new()];
        let clients = if clients.is_empty() { &everybody[..] } else { clients };
        for text in clients {
            let (name, list) = text.split_once('(').unwrap_or((text, ""));
            let mut options = Options::new();
            options.add(defaults, &path);
            match list.strip_suffix(')') {
                Some(list) => options.add(list, &path),
                None if list.is_empty() && !text.contains('(') => {}
                None => options.said.push(OptionEffect::Lost(
                    text.clone(),
                    "syntax",
                    "the list of options has no end".into(),
                )),
            }
            let client = Client::of(name, netgroups);
            exports[at].entries.push(Entry {
                file: file.into(),
                line: number,
                text: text.clone(),
                client,
                options,
            });
        }
    }
}

fn translate_all(exports: Vec<ExportedFolder>, translated: &mut Translation) {
    let mut taken = Vec::new();
    for export in exports {
        translated.shares.push(share(&export, &mut taken));
    }
}

fn share(export: &ExportedFolder, taken: &mut Vec<String>) -> Share {
    let mut share = Share::new(&names::name(&export.path, taken), &export.path, "nfs");
    let ordered = ordered(export);
    for (at, (entry, rights)) in ordered.iter().enumerate() {
        let later = ordered.get(at + 1..).unwrap_or_default();
        share.source.push(entry.setting(export, &share.name, entry.outcome(rights, later)));
        share.source.extend(entry.said(export, &share.name));
        if !entry.client.matches().is_empty() {
            share.clients.push(rule(&entry.client, rights));
        }
    }
    if share.clients.is_empty() {
        share.clients.push(vec![("match", quoted("*")), ("access", quoted("none"))]);
    }
    mounts(export, &mut share);
    share
}

/// The entries in the order in which they count, each with its rights.
fn ordered(export: &ExportedFolder) -> Vec<(&Entry, Rights)> {
    let mut all: Vec<(&Entry, Rights)> =
        export.entries.iter().map(|entry| (entry, entry.options.rights().0)).collect();
    all.sort_by_key(|(entry, _)| entry.client.kind());
    addresses_first(all)
}

/// exports(5) has an address before the networks, and nfs-utils has both in the order of the file: an address stands first, with what
/// it is allowed in both orders.
fn addresses_first(all: Vec<(&Entry, Rights)>) -> Vec<(&Entry, Rights)> {
    let mut addresses: Vec<(&Entry, Rights)> = Vec::new();
    let mut rest: Vec<(&Entry, Rights)> = Vec::new();
    for (entry, rights) in all {
        match &entry.client {
            Client::Net(net) if net.prefix_len() == net.max_prefix_len() => {
                let earlier = rest.iter().find(|(other, _)| match &other.client {
                    Client::Net(wider) => wider.contains(net),
                    _ => false,
                });
                let both = earlier.map(|(_, of_network)| rights.and(of_network));
                addresses.push((entry, both.unwrap_or(rights)));
            }
            _ => rest.push((entry, rights)),
        }
    }
    let hosts = rest.iter().take_while(|(entry, _)| entry.client.kind() == 0).count();
    let nets = rest.split_off(hosts);
    rest.into_iter().chain(addresses).chain(nets).collect()
}

impl Entry {
    fn setting(&self, export: &ExportedFolder, share: &str, outcome: Outcome) -> SourceSetting {
        SourceSetting {
            file: self.file.display().to_string(),
            line: Some(self.line),
            name: export.path.display().to_string(),
            value: self.text.clone(),
            protocol: "nfs",
            share: Some(share.to_owned()),
            limits_access: true,
            outcome,
        }
    }

    fn outcome(&self, rights: &Rights, later: &[(&Self, Rights)]) -> Outcome {
        if let Client::Unknown(_, why) = &self.client {
            let gets_more = |(other, rights_there): &&(&Self, Rights)| {
                !other.client.matches().is_empty() && !rights_there.is_no_wider(rights)
            };
            return match later.iter().find(gets_more) {
                Some((other, _)) => Outcome::Lost {
                    limit: HOSTS,
                    why: format!(
                        "{why}; without a rule of their own these hosts would get what {:?} gets",
                        other.text
                    ),
                },
                None => Outcome::Kept { how: format!("{why}; no rule lets these hosts in") },
            };
        }
        let (own, are_same) = self.options.rights();
        let mut to = rule(&self.client, rights)
            .iter()
            .map(|(name, value)| format!("{name} = {value}"))
            .collect::<Vec<_>>()
            .join(", ");
        if !are_same {
            to.push_str("; users of all flavours of `sec` get what the least of them gets");
        }
        if later.iter().any(|(other, there)| self.is_behind(other) && *there != own) {
            to.push_str("; a network before it has the address, too, and nfs-utils takes the first: the rule allows what both allow");
        }
        if let Client::Netgroup(hosts) = &self.client {
            to.push_str(&format!("; {}", netgroups::note(hosts.len())));
        }
        if self.text.starts_with('(') || self.text.is_empty() {
            to.push_str("; no host is named, so exports(5) means everybody");
        }
        Outcome::Translated { to }
    }

    /// Whether it is an address of this network, which stands before it in the file.
    fn is_behind(&self, network: &Self) -> bool {
        let has_it = match (&self.client, &network.client) {
            (Client::Net(address), Client::Net(network)) => network.contains(address),
            _ => false,
        };
        has_it && std::ptr::from_ref(network) < std::ptr::from_ref(self)
    }

    /// Its options that are no part of the rule.
    fn said(&self, export: &ExportedFolder, share: &str) -> Vec<SourceSetting> {
        let one = |said: &OptionEffect| {
            let (option, limits_access, outcome) = match said {
                OptionEffect::NoEffect(option, why) => {
                    (option, false, Outcome::NoEffect { why: (*why).into() })
                }
                OptionEffect::Kept(option, how) => (option, true, Outcome::Kept { how: how.clone() }),
                OptionEffect::Lost(option, limit, why) => {
                    (option, true, Outcome::Lost { limit, why: why.clone() })
                }
            };
            let value = format!("{}: {option}", self.text);
            SourceSetting { value, limits_access, ..self.setting(export, share, outcome) }
        };
        self.options.said.iter().map(one).collect()
    }
}

/// What holds for the share as a whole: file systems inside of it, and that it must be one itself.
fn mounts(export: &ExportedFolder, share: &mut Share) {
    let cross = export.entries.iter().filter(|entry| entry.options.crosses_mounts).count();
    if cross < export.entries.len() {
        share.set("cross-mounts", false);
    }
    for entry in export.entries.iter().filter(|entry| entry.options.crosses_mounts) {
        let outcome = match cross == export.entries.len() {
            true => Outcome::Translated { to: "cross-mounts = true".into() },
            false => Outcome::Kept {
                how: "not all clients have it, so none of them enters file systems inside".into(),
            },
        };
        let setting = SourceSetting {
            value: format!("{}: crossmnt", entry.text),
            ..entry.setting(export, &share.name, outcome)
        };
        share.source.push(setting);
    }
    for entry in &export.entries {
        let Some(at) = &entry.options.mount_point else { continue };
        let outcome = match *at == export.path {
            true => {
                share.set("must-be-mounted", true);
                Outcome::Translated { to: "must-be-mounted = true".into() }
            }
            false => Outcome::Lost {
                limit: "mountpoint",
                why: format!("a share can wait for its own file system, and not for {}", at.display()),
            },
        };
        let setting = SourceSetting {
            value: format!("{}: mountpoint", entry.text),
            ..entry.setting(export, &share.name, outcome)
        };
        share.source.push(setting);
    }
}

fn rule(client: &Client, rights: &Rights) -> Vec<(&'static str, String)> {
    let matches = client.matches();
    let list = |all: &[String]| all.iter().map(|one| quoted(one)).collect::<Vec<_>>().join(", ");
    let matches = match &matches[..] {
        [one] => quoted(one),
        all => format!("[{}]", list(all)),
    };
    let access = match (rights.sec.is_empty(), rights.writable) {
        (true, _) => "none",
        (_, true) => "rw",
        (_, false) => "ro",
    };
    let squash = match rights.squash {
        ExportSquash::None => "none",
        ExportSquash::Root => "root",
        ExportSquash::All => "all",
    };
    let mut rule = vec![("match", matches), ("access", quoted(access)), ("squash", quoted(squash))];
    let (uid, gid) = rights.anonymous;
    for (name, id) in [("anon-uid", uid), ("anon-gid", gid)] {
        if id != 65_534 {
            rule.push((name, id.to_string()));
        }
    }
    if rights.reserved_port {
        rule.push(("secure", "true".into()));
    }
    match rights.tls {
        TlsDemand::Optional => {}
        TlsDemand::Required => rule.push(("tls", quoted("required"))),
        TlsDemand::Mutual => rule.push(("tls", quoted("mutual"))),
    }
    if !rights.sec.is_empty() {
        let sec: Vec<String> = rights.sec.iter().map(|flavor| (*flavor).to_owned()).collect();
        rule.push(("sec", format!("[{}]", list(&sec))));
    }
    rule
}
