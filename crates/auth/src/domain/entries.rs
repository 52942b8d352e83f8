//! The users and groups of the directory, as it listed them last. The state folder keeps the list for when the directory is away.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use wire::Sid;

use super::NameKind;
use crate::durable;

/// The file of the state folder: a line for each user and group.
const FILE: &str = "domain-names.txt";
/// The most lines that are read.
const MOST: usize = 100_000;

/// A user or group of the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Its SID.
    pub sid: Sid,
    /// Its name, without the domain.
    pub name: String,
    /// A user or a group.
    pub kind: NameKind,
    /// A user that may not log in.
    pub disabled: bool,
    /// The Unix ids that the directory has for it.
    pub numbers: UnixIds,
}

/// Unix ids in a directory, RFC 2307 2.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnixIds {
    /// `uidNumber` of a user, `gidNumber` of a group.
    pub own: Option<u32>,
    /// `gidNumber` of a user: its first group.
    pub group: Option<u32>,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Entries {
    all: HashMap<Sid, DirectoryEntry>,
    /// By the lower-case name.
    names: HashMap<String, Sid>,
}

impl Entries {
    /// Those of the domain `own`: the directory has groups of each controller, too.
    pub(super) fn new(entries: Vec<DirectoryEntry>, own: Option<Sid>) -> Self {
        let is_own = |entry: &DirectoryEntry| entry.sid.split().map(|(domain, _)| domain) == own;
        let all: HashMap<Sid, DirectoryEntry> =
            entries.into_iter().filter(is_own).take(MOST).map(|entry| (entry.sid, entry)).collect();
        let names = all.values().map(|entry| (entry.name.to_lowercase(), entry.sid)).collect();
        Self { all, names }
    }

    /// Whether the directory has listed anything.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = &DirectoryEntry> {
        self.all.values()
    }

    pub(super) fn of(&self, sid: &Sid) -> Option<&DirectoryEntry> {
        self.all.get(sid)
    }

    pub(super) fn named(&self, name: &str) -> Option<Sid> {
        self.names.get(&name.to_lowercase()).copied()
    }
}

/// The list of the state folder; an empty one if the folder has no list.
pub(super) fn read(state: &Path) -> Vec<DirectoryEntry> {
    let text = std::fs::read_to_string(path(state)).unwrap_or_default();
    text.lines().take(MOST).filter_map(line).collect()
}

/// Keeps the list.
pub(super) fn write(state: &Path, entries: &[DirectoryEntry]) -> std::io::Result<()> {
    let word = |entry: &DirectoryEntry| match (entry.kind, entry.disabled) {
        (NameKind::User, false) => "user",
        (NameKind::User, true) => "disabled",
        (NameKind::Group | NameKind::Domain, _) => "group",
    };
    // A name with a line break is in no directory; such a line would be another entry.
    let kept = entries.iter().filter(|entry| !entry.name.contains(['\n', '\r']));
    let lines: String = kept
        .map(|entry| {
            let DirectoryEntry { sid, name, numbers, .. } = entry;
            format!("{sid} {}{} {name}\n", word(entry), shown(*numbers))
        })
        .collect();
    durable::replace(&path(state), lines.as_bytes())
}

fn path(state: &Path) -> PathBuf {
    state.join(FILE)
}

fn line(text: &str) -> Option<DirectoryEntry> {
    let mut words = text.splitn(3, ' ');
    let (sid, word, name) = (words.next()?.parse().ok()?, words.next()?, words.next()?.to_owned());
    let (word, numbers) = match word.split_once('=') {
        Some((word, numbers)) => (word, read_numbers(numbers)?),
        None => (word, UnixIds::default()),
    };
    let (kind, disabled) = match word {
        "user" => (NameKind::User, false),
        "disabled" => (NameKind::User, true),
        "group" => (NameKind::Group, false),
        _ => return None,
    };
    Some(DirectoryEntry { sid, name, kind, disabled, numbers })
}

/// `=10001,10000`; nothing if there are no numbers.
fn shown(UnixIds { own, group }: UnixIds) -> String {
    let text = |number: Option<u32>| number.map(|number| number.to_string()).unwrap_or_default();
    match (own, group) {
        (None, None) => String::new(),
        (own, group) => format!("={},{}", text(own), text(group)),
    }
}

fn read_numbers(text: &str) -> Option<UnixIds> {
    let number = |text: &str| if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) };
    let (own, group) = text.split_once(',')?;
    Some(UnixIds { own: number(own)?, group: number(group)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(sid: &str, name: &str, kind: NameKind, disabled: bool) -> DirectoryEntry {
        DirectoryEntry {
            sid: sid.parse().unwrap(),
            name: name.into(),
            kind,
            disabled,
            numbers: UnixIds::default(),
        }
    }

    #[test]
    fn the_list_survives_a_restart_and_damaged_lines_are_left_out() {
        let state = tempfile::tempdir().unwrap();
        assert!(read(state.path()).is_empty());
        let all = vec![
            entry("S-1-5-21-1-2-3-1103", "alice", NameKind::User, false),
            entry("S-1-5-21-1-2-3-1104", "bob", NameKind::User, true),
            entry("S-1-5-21-1-2-3-513", "Domain Users", NameKind::Group, false),
            DirectoryEntry {
                numbers: UnixIds { own: Some(10_001), group: Some(10_000) },
                ..entry("S-1-5-21-1-2-3-1105", "carol", NameKind::User, false)
            },
            DirectoryEntry {
                numbers: UnixIds { own: None, group: Some(10_000) },
                ..entry("S-1-5-21-1-2-3-1106", "dave", NameKind::User, true)
            },
        ];
        write(state.path(), &all).unwrap();
        assert_eq!(read(state.path()), all);
        std::fs::write(
            path(state.path()),
            "S-1-x user a\nS-1-5-21-1-2-3-7 thing b\n\nS-1-5-21-1-2-3-9 user=x,1 d\nS-1-5-21-1-2-3-8 group c\n",
        )
        .unwrap();
        assert_eq!(read(state.path()), [entry("S-1-5-21-1-2-3-8", "c", NameKind::Group, false)]);
        let broken = vec![entry("S-1-5-21-1-2-3-9", "a\nS-1-5-21-1-2-3-1 user root", NameKind::User, false)];
        write(state.path(), &broken).unwrap();
        assert!(read(state.path()).is_empty());
    }
}
