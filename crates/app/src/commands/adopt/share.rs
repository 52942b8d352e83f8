//! A share as another server's settings describe it, and as a section of `fourfold.toml`.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::source::{AcceptedLimits, SourceSetting};

/// What the settings of another server say of a share.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Share {
    pub(super) name: String,
    pub(super) path: PathBuf,
    /// The settings of `fourfold.toml`, in their order: names, and values in TOML.
    pub(super) settings: Vec<(&'static str, String)>,
    /// Rules for clients, each with its settings.
    pub(super) clients: Vec<Vec<(&'static str, String)>>,
    /// What another server's settings say of it, and what became of that.
    pub(super) source: Vec<SourceSetting>,
    /// What else has no place in the settings, with what to do about it.
    pub(super) untranslated: Vec<String>,
    /// The protocols over which it was served.
    pub(super) protocols: Vec<&'static str>,
}

/// Settings that give users more than they have as themselves.
const FORCED: [&str; 5] =
    ["force-create-mode", "force-directory-mode", "force-group", "force-user", "inherit-owner"];
/// Settings that take rights from what is new.
const MASKS: [&str; 2] = ["create-mask", "directory-mask"];
/// Protocols, as the settings name them.
const PROTOCOLS: [&str; 3] = ["nfs", "smb", "afp"];

impl Share {
    /// A share of this protocol.
    pub(super) fn new(name: &str, path: &Path, protocol: &'static str) -> Self {
        Self { name: share_name(name), path: path.into(), protocols: vec![protocol], ..Self::default() }
    }

    /// Adds a setting; the last one counts.
    pub(super) fn set(&mut self, name: &'static str, value: impl ToString) {
        self.settings.retain(|(known, _)| *known != name);
        self.settings.push((name, value.to_string()));
    }

    /// Adds a setting that is a text.
    pub(super) fn set_text(&mut self, name: &'static str, value: &str) {
        self.set(name, quoted(value));
    }

    /// Adds a setting that is a list of texts.
    pub(super) fn set_texts(&mut self, name: &'static str, values: &[String]) {
        let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
        self.set(name, format!("[{}]", values.join(", ")));
    }

    /// Takes what another server says of the same folder. One share serves both protocols, so it admits whom both servers admit, and
    /// allows what both allow.
    pub(super) fn join(&mut self, other: Self) {
        self.join_people(&other);
        let forced_of = |share: &Self| {
            let mut forced: Vec<_> =
                share.settings.iter().filter(|(name, _)| FORCED.contains(name)).cloned().collect();
            forced.sort();
            forced
        };
        let differs = forced_of(self) != forced_of(&other);
        for (name, value) in other.settings {
            let known =
                self.settings.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
            match known {
                _ if matches!(name, "guests" | "users" | "groups") => {}
                Some(known) if MASKS.contains(&name) => self.set_text(name, &common_bits(&known, &value)),
                Some(known) if known == value => {}
                Some(_) if matches!(name, "read-only") => self.set(name, true),
                Some(known) => self.untranslated.push(format!(
                    "{name} is {known} for one server and {value} for another: the first is used"
                )),
                None => self.settings.push((name, value)),
            }
        }
        let rules = match (self.clients.is_empty(), other.clients.is_empty()) {
            (true, _) => Some(other.clients.clone()),
            (_, true) => Some(self.clients.clone()),
            _ if self.clients == other.clients => Some(self.clients.clone()),
            _ => super::clients::both(&self.clients, &other.clients),
        };
        if self.clients != other.clients {
            self.untranslated.push("the rules for clients of both servers count for all protocols".into());
        }
        self.clients = rules.unwrap_or_else(|| {
            self.untranslated.push(
                "the rules of both servers name hosts that cannot be compared: no host may enter".into(),
            );
            vec![super::clients::nobody()]
        });
        if differs {
            self.untranslated.push(
                "one of both servers lets users act as others, or gives new files more rights, and these settings count for all \
                 protocols: no host may enter"
                    .into(),
            );
            self.clients = vec![super::clients::nobody()];
        }
        self.protocols.extend(other.protocols);
        self.source.extend(other.source);
        self.untranslated.extend(other.untranslated);
    }

    /// Guests and lists of accounts, which count for protocols with a login.
    fn join_people(&mut self, other: &Self) {
        let has_login = |share: &Self| share.protocols.iter().any(|protocol| *protocol != "nfs");
        let of = |share: &Self, wanted: &str| {
            share.settings.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.clone())
        };
        const PEOPLE: [&str; 3] = ["guests", "users", "groups"];
        if !has_login(other) {
            return;
        }
        if !has_login(self) {
            return self
                .settings
                .extend(other.settings.iter().filter(|(name, _)| PEOPLE.contains(name)).cloned());
        }
        if of(self, "guests") != of(other, "guests") {
            self.settings.retain(|(name, _)| *name != "guests");
            self.untranslated.push("one of both servers admits no guests: none are admitted".into());
        }
        let lists = |share: &Self| [of(share, "users"), of(share, "groups")];
        let (ours, theirs) = (lists(self), lists(other));
        if ours == theirs || theirs == [None, None] {
            return;
        }
        if ours == [None, None] {
            return self
                .settings
                .extend(other.settings.iter().filter(|(name, _)| PEOPLE[1..].contains(name)).cloned());
        }
        self.untranslated.push("both servers admit different users: no host may enter".into());
        self.clients = vec![super::clients::nobody()];
    }

    /// The limits that are not kept and not accepted, of the share or of a whole server that had it. While there is one, the share is
    /// not served.
    pub(super) fn lost<'a>(
        &'a self,
        servers: &'a [SourceSetting],
        accepted: &'a AcceptedLimits,
    ) -> impl Iterator<Item = &'a SourceSetting> {
        let of_server = |one: &&SourceSetting| one.share.is_none() && self.protocols.contains(&one.protocol);
        let all = self.source.iter().chain(servers.iter().filter(of_server));
        all.filter(|one| {
            let names: Vec<&str> = one.share.as_deref().into_iter().chain([&*self.name]).collect();
            one.lost().is_some_and(|limit| !accepted.has(limit, &names))
        })
    }

    /// The section, with a comment for each thing that it cannot say.
    pub(super) fn toml(&self) -> String {
        let mut text = String::from("[[share]]\n");
        let mut line = |name: &str, value: &str| text.push_str(&format!("{name} = {value}\n"));
        line("name", &quoted(&self.name));
        line("path", &quoted(&self.path.to_string_lossy()));
        for protocol in PROTOCOLS.iter().filter(|protocol| !self.protocols.contains(protocol)) {
            line(protocol, "false");
        }
        self.settings.iter().for_each(|(name, value)| line(name, value));
        for rule in &self.clients {
            text.push_str("\n[[share.client]]\n");
            rule.iter().for_each(|(name, value)| text.push_str(&format!("{name} = {value}\n")));
        }
        self.untranslated.iter().for_each(|what| text.push_str(&format!("# not translated: {what}\n")));
        text
    }
}

/// The bits that both masks have.
fn common_bits(one: &str, other: &str) -> String {
    let mask = |text: &str| u32::from_str_radix(text.trim_matches('"'), 8).unwrap_or(0);
    format!("{:04o}", mask(one) & mask(other))
}

/// A text in TOML.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// A name that a share can have: `/` separates shares below each other.
fn share_name(name: &str) -> String {
    name.trim_matches('/').replace('/', "_")
}

/// The words of a list: separated by commas or spaces, words in quotes are one.
pub(super) fn words(list: &str) -> Vec<String> {
    let (mut words, mut word, mut in_quotes) = (Vec::new(), String::new(), false);
    for c in list.chars() {
        match c {
            '"' => in_quotes = !in_quotes,
            ',' | ' ' | '\t' if !in_quotes => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(protocol: &'static str, settings: &[(&'static str, &str)]) -> Share {
        let settings = settings.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Share { settings, ..Share::new("s", Path::new("/srv/s"), protocol) }
    }

    fn joined(one: Share, other: Share) -> Share {
        let mut joined = one;
        joined.join(other);
        joined
    }

    fn said<'a>(share: &'a Share, wanted: &str) -> Option<&'a str> {
        share.settings.iter().find(|(name, _)| *name == wanted).map(|(_, value)| &**value)
    }

    #[test]
    fn a_folder_of_two_servers_gets_no_mode_or_owner_that_one_of_them_does_not_give() {
        let of = |name: &'static str, value: &str, protocol| {
            let mut share = Share::new("a", Path::new("/a"), protocol);
            share.set_text(name, value);
            share
        };
        let joined = |mut one: Share, other: Share| {
            one.join(other);
            one
        };
        let masks = joined(of("create-mask", "0664", "smb"), of("create-mask", "0750", "afp"));
        assert_eq!(masks.settings, [("create-mask", "\"0640\"".to_owned())]);
        let forced = joined(of("force-user", "media", "smb"), Share::new("a", Path::new("/a"), "nfs"));
        assert_eq!(forced.clients, [super::super::clients::nobody()]);
        let same = joined(of("force-user", "media", "smb"), of("force-user", "media", "afp"));
        assert!(same.clients.is_empty() && same.untranslated.is_empty());
    }

    #[test]
    fn a_folder_of_two_servers_admits_whom_both_admit() {
        let smb = share("smb", &[("guests", "true"), ("users", "[\"ada\"]")]);
        let afp = share("afp", &[("read-only", "true")]);
        let both = joined(smb.clone(), afp.clone());
        assert_eq!((said(&both, "guests"), said(&both, "users")), (None, Some("[\"ada\"]")));
        assert_eq!(said(&both, "read-only"), Some("true"));
        let other_way = joined(afp, smb.clone());
        assert_eq!((said(&other_way, "guests"), said(&other_way, "users")), (None, Some("[\"ada\"]")));
        let differ = joined(smb.clone(), share("afp", &[("guests", "true"), ("users", "[\"bob\"]")]));
        assert_eq!(differ.clients, [super::super::clients::nobody()]);
        // NFS has no logins: lists of users are about the others.
        let nfs = joined(share("nfs", &[]), smb);
        assert_eq!((said(&nfs, "guests"), said(&nfs, "users")), (Some("true"), Some("[\"ada\"]")));
    }
}
