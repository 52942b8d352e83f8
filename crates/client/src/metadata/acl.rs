//! Entries of access control lists: what is written is about a user that no other entry is about.

use std::fmt::Write as _;

use vfs::acl::{Entry, EntryKind, Inherit, Rights, Who};

/// The user of Unix that the entries are about. It needs no account.
pub const STRANGER: u32 = 12_345;
/// The file that is made in a folder, to inherit.
const INHERITING: &str = "inheriting";

/// To read and execute, as the mode bits `r-x` say: POSIX ACLs can tell it.
const READ: Rights = Rights::READ_DATA
    .union(Rights::READ_NAMED)
    .union(Rights::EXECUTE)
    .union(Rights::READ_ATTRIBUTES)
    .union(Rights::READ_ACL);
/// To read: a client of NFS that makes a file asks for a mode without the right to execute, which binds what is inherited.
const LOOK: Rights = READ.difference(Rights::EXECUTE);
/// To write, as Windows has it (FILE_GENERIC_WRITE without READ_CONTROL).
const WRITE: Rights =
    Rights::WRITE_DATA.union(Rights::APPEND).union(Rights::WRITE_NAMED).union(Rights::WRITE_ATTRIBUTES);

/// The rights and flags with the letters of `nfs4_setfacl`.
const RIGHTS: [(Rights, char); 14] = [
    (Rights::READ_DATA, 'r'),
    (Rights::WRITE_DATA, 'w'),
    (Rights::APPEND, 'a'),
    (Rights::EXECUTE, 'x'),
    (Rights::DELETE, 'd'),
    (Rights::DELETE_CHILD, 'D'),
    (Rights::READ_ATTRIBUTES, 't'),
    (Rights::WRITE_ATTRIBUTES, 'T'),
    (Rights::READ_NAMED, 'n'),
    (Rights::WRITE_NAMED, 'N'),
    (Rights::READ_ACL, 'c'),
    (Rights::WRITE_ACL, 'C'),
    (Rights::TAKE_OWNERSHIP, 'o'),
    (Rights::SYNCHRONIZE, 'y'),
];
const FLAGS: [(Inherit, char); 5] = [
    (Inherit::FILES, 'f'),
    (Inherit::FOLDERS, 'd'),
    (Inherit::NO_PROPAGATE, 'n'),
    (Inherit::ONLY, 'i'),
    (Inherit::INHERITED, 'I'),
];

fn entry(kind: EntryKind, inherit: Inherit, rights: Rights) -> Entry {
    Entry { kind, inherit, rights, who: Who::User(STRANGER) }
}

/// To read and execute.
#[must_use]
pub fn allows() -> Vec<Entry> {
    vec![entry(EntryKind::Allow, Inherit::NONE, READ)]
}

/// Not to write.
#[must_use]
pub fn denies() -> Vec<Entry> {
    vec![entry(EntryKind::Deny, Inherit::NONE, WRITE)]
}

/// A right that no mode can tell.
#[must_use]
pub fn allows_appending() -> Vec<Entry> {
    vec![entry(EntryKind::Allow, Inherit::NONE, Rights::APPEND.union(Rights::READ_ATTRIBUTES))]
}

/// Every flag, in three entries that no server can put together.
#[must_use]
pub fn passes_on() -> Vec<Entry> {
    let both = Inherit::FILES.union(Inherit::FOLDERS);
    vec![
        entry(EntryKind::Deny, Inherit::FILES.union(Inherit::ONLY), Rights::DELETE),
        entry(EntryKind::Deny, Inherit::FOLDERS.union(Inherit::NO_PROPAGATE), WRITE),
        entry(EntryKind::Allow, both, LOOK),
    ]
}

/// What a file in a folder with [`passes_on`] gets, MS-DTYP 2.5.3.4.1 and RFC 8881 6.4.3.2.
#[must_use]
pub fn inherited() -> Vec<Entry> {
    vec![
        entry(EntryKind::Deny, Inherit::INHERITED, Rights::DELETE),
        entry(EntryKind::Allow, Inherit::INHERITED, LOOK),
    ]
}

/// The file that inherits, in this folder.
#[must_use]
pub fn inheriting_file(folder: &str) -> String {
    format!("{folder}/{INHERITING}")
}

/// The entries that count: those about the user, without a right that only Windows asks for.
#[must_use]
pub fn of_stranger(entries: &[Entry]) -> Vec<Entry> {
    let about = entries.iter().filter(|entry| entry.who == Who::User(STRANGER));
    about
        .map(|entry| Entry { rights: entry.rights.difference(Rights::SYNCHRONIZE), ..entry.clone() })
        .collect()
}

/// In the form of `nfs4_getfacl`, without the user.
#[must_use]
pub fn text(entries: &[Entry]) -> String {
    let mut text = String::new();
    for entry in entries {
        let kind = if entry.kind == EntryKind::Allow { 'A' } else { 'D' };
        let flags = FLAGS.iter().filter(|(flag, _)| entry.inherit.contains(*flag)).map(|(_, letter)| letter);
        let rights =
            RIGHTS.iter().filter(|(right, _)| entry.rights.contains(*right)).map(|(_, letter)| letter);
        let comma = if text.is_empty() { "" } else { ", " };
        let (flags, rights) = (flags.collect::<String>(), rights.collect::<String>());
        let _ = write!(text, "{comma}{kind}:{flags}:{rights}"); // writing to a string does not fail
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_shown_as_nfs4_getfacl_shows_them() {
        assert_eq!(text(&passes_on()), "D:fi:d, D:dn:waTN, A:fd:rtnc");
        assert_eq!(text(&inherited()), "D:I:d, A:I:rtnc");
    }

    #[test]
    fn entries_about_others_do_not_count() {
        let other = Entry { who: Who::Everyone, ..denies()[0].clone() };
        let mut waiting = allows()[0].clone();
        waiting.rights = waiting.rights.union(Rights::SYNCHRONIZE);
        assert_eq!(of_stranger(&[other, waiting]), allows());
    }
}
