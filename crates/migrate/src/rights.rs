//! Access control lists: read from one side, with the accounts of the other, and compared.

use std::collections::HashMap;
use std::sync::Arc;

use client::{Error as ClientError, Result, stranger, stranger_name};
use vfs::acl::samba::{sid_of_text, text_of_sid};
use vfs::acl::{Entries, Entry, Inherit, Rights, Who};

use crate::walk::Shared;
use crate::worker::Sides;

/// The name of the whole list in reports.
const LIST: &str = "access control list";
/// The name of entries in reports that no account here has.
const UNKNOWN: &str = "entries of an access control list for unknown accounts";
/// Why such entries have no effect.
const UNKNOWN_WHY: &str =
    "they are kept, but no user of this machine has such an account; --accounts says who it is";
/// The SIDs of accounts of Macs, behind which the UUID follows: docs/afp.md.
const MAC: &str = "S-1-22-3-";
/// The longest line of a file of accounts is that of two SIDs.
const MOST_LINES: usize = 100_000;

/// Which account of the source is which one of the destination.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Accounts(HashMap<Who, Option<Who>>);

impl Accounts {
    /// Reads lines such as `S-1-5-21-1-2-3-1001 = user:1000`, `user:501 = user:1000`, `group:20 = group:100`,
    /// `user:ada@example.org = user:1000` or `user:501 = none`. A `#` begins a comment.
    ///
    /// # Errors
    /// The line that is wrong, and what to write.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let mut accounts = HashMap::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            let wrong = || {
                format!(
                    "line {}: {line:?}: write SOURCE = DESTINATION, each of them user:NUMBER, group:NUMBER, user:NAME@DOMAIN, \
                     group:NAME@DOMAIN or a SID, or `none` as the destination",
                    number + 1
                )
            };
            if line.is_empty() {
                continue;
            }
            let (from, to) = line.split_once('=').ok_or_else(wrong)?;
            let to = match to.trim() {
                "none" => None,
                to => Some(who(to).ok_or_else(wrong)?),
            };
            accounts.insert(who(from.trim()).ok_or_else(wrong)?, to);
            if accounts.len() > MOST_LINES {
                return Err(format!("there are more than {MOST_LINES} accounts"));
            }
        }
        Ok(Self(accounts))
    }

    /// The entries with the accounts of the destination.
    fn entries(&self, entries: Entries) -> Entries {
        let list = entries.list.into_iter().filter_map(|entry| match self.0.get(&entry.who) {
            Some(to) => to.clone().map(|who| Entry { who, ..entry }),
            None => Some(entry),
        });
        Entries { list: list.collect(), ..entries }
    }

    /// The number of a user in the destination. A number that is no user there stays.
    pub(crate) fn user(&self, uid: u32) -> u32 {
        match self.0.get(&Who::User(uid)) {
            Some(Some(Who::User(to))) => *to,
            _ => uid,
        }
    }
}

fn who(text: &str) -> Option<Who> {
    match text.split_once(':') {
        Some(("user", name)) if name.contains('@') => stranger(name, false),
        Some(("group", name)) if name.contains('@') => stranger(name, true),
        Some(("user", number)) => number.parse().ok().map(Who::User),
        Some(("group", number)) => number.parse().ok().map(Who::Group),
        Some(_) => None,
        None => sid_of_text(text).map(|sid| Who::Foreign(Arc::from(sid))),
    }
}

/// Gives a file or folder the list that it has in the source.
pub(crate) fn carry(
    shared: &Shared<'_>,
    sides: &mut Sides,
    path: &str,
    (from, to): (&str, &str),
) -> Result<()> {
    let entries = match sides.from.rights(from) {
        Err(error) if !error.ends_session() => {
            shared.tally.lose(path, LIST, &error.to_string());
            return Ok(());
        }
        other => other?,
    };
    let Some(entries) = entries else { return Ok(()) };
    let entries = shared.plan.accounts.entries(entries);
    match sides.to.set_rights(to, &entries) {
        Ok(true) => {}
        Ok(false) | Err(ClientError::Unsupported(_)) => {
            shared.tally.lose(path, LIST, "the destination's protocol has no way to");
            return Ok(());
        }
        Err(error) if error.ends_session() => return Err(error),
        Err(error) => {
            shared.tally.lose(path, LIST, &error.to_string());
            return Ok(());
        }
    }
    if let Some(who) = entries.list.iter().find_map(unknown) {
        shared.tally.lose(path, UNKNOWN, &format!("{who}: {UNKNOWN_WHY}"));
    }
    Ok(())
}

/// Compares the lists of both sides.
pub(crate) fn compare(
    shared: &Shared<'_>,
    sides: &mut Sides,
    path: &str,
    (from, to): (&str, &str),
) -> Result<()> {
    let Some(wanted) = sides.from.rights(from)? else { return Ok(()) };
    let wanted = shared.plan.accounts.entries(wanted);
    match sides.to.rights(to)? {
        None => shared.tally.lose(path, LIST, "the destination has none"),
        Some(there) if !is_same(&wanted, &there) => {
            let why =
                format!("it has other entries there: {} instead of {}", there.list.len(), wanted.list.len());
            shared.tally.lose(path, LIST, &why);
        }
        Some(_) => {}
    }
    Ok(())
}

/// Whether two lists say the same. A right that only Windows asks for does not count, nor whether an entry was inherited, or stands for
/// what the mode says.
fn is_same(wanted: &Entries, there: &Entries) -> bool {
    let counting = |entry: &Entry| {
        let inherit = entry.inherit.difference(Inherit::INHERITED);
        (entry.kind, inherit, entry.rights.difference(Rights::SYNCHRONIZE.union(Rights::FROM_MODE)))
    };
    let is_one = |(wanted, there): (&Entry, &Entry)| {
        // SMB names the owner and the group of a file by their SIDs.
        let is_named = matches!(wanted.who, Who::Owner | Who::OwningGroup)
            && matches!(there.who, Who::User(_) | Who::Group(_) | Who::Foreign(_));
        counting(wanted) == counting(there) && (wanted.who == there.who || is_named)
    };
    wanted.list.len() == there.list.len() && wanted.list.iter().zip(&there.list).all(is_one)
}

/// An account of another machine or domain, by its name or its SID. Those of Windows itself, such as Administrators, are the same
/// everywhere.
fn unknown(entry: &Entry) -> Option<String> {
    let Who::Foreign(sid) = &entry.who else { return None };
    let text = text_of_sid(sid);
    match stranger_name(sid) {
        Some((name, _)) => Some(name.to_owned()),
        None => ["S-1-5-21-", MAC].iter().any(|start| text.starts_with(start)).then_some(text),
    }
}

#[cfg(test)]
mod tests {
    use vfs::acl::EntryKind;

    use super::*;

    #[test]
    fn lists_are_the_same_if_they_say_the_same() {
        let entry = |who, rights| Entry::allow(who, rights);
        let list = |list| Entries { list, ..Entries::default() };
        let wanted =
            list(vec![entry(Who::Owner, Rights::READ_DATA), entry(Who::User(7), Rights::WRITE_DATA)]);
        let named = entry(Who::User(1000), Rights::READ_DATA.union(Rights::SYNCHRONIZE));
        let there = list(vec![named.clone(), wanted.list[1].clone().inherited_by(Inherit::INHERITED)]);
        assert!(is_same(&wanted, &there));
        for other in [
            list(vec![wanted.list[1].clone(), wanted.list[0].clone()]),
            list(vec![named.clone()]),
            list(vec![named.clone(), entry(Who::User(8), Rights::WRITE_DATA)]),
            list(vec![named, entry(Who::User(7), Rights::READ_DATA)]),
        ] {
            assert!(!is_same(&wanted, &other));
        }
    }

    #[test]
    fn accounts_become_others_and_entries_of_none_go() {
        let text = "# of the old domain\nS-1-5-21-1-2-3-1001 = user:1000\nuser:501 = none # left\ngroup:20=group:100\n";
        let accounts = Accounts::parse(text).unwrap();
        // MS-DTYP 2.4.2.2: revision, count, authority, then the numbers in little-endian order.
        let mut sid = vec![1, 5, 0, 0, 0, 0, 0, 5];
        [21_u32, 1, 2, 3, 1001].iter().for_each(|number| sid.extend(number.to_le_bytes()));
        let entry = |who| Entry::allow(who, Rights::READ_DATA);
        let list = vec![
            entry(Who::Foreign(sid.into())),
            entry(Who::User(501)),
            entry(Who::Group(20)),
            entry(Who::Everyone),
        ];
        let mapped = accounts.entries(Entries { list, protected: true, auto_inherited: false });
        let whose: Vec<_> = mapped.list.iter().map(|entry| entry.who.clone()).collect();
        assert_eq!(whose, [Who::User(1000), Who::Group(100), Who::Everyone]);
        assert!(mapped.protected && mapped.list.iter().all(|entry| entry.kind == EntryKind::Allow));
        assert_eq!((accounts.user(501), accounts.user(7)), (501, 7));
        for wrong in ["ada = user:1", "user:1", "user:x = user:1", "user:1 = S-1", "S-1-5-18 = group:"] {
            assert!(Accounts::parse(wrong).unwrap_err().contains("line 1"), "{wrong}");
        }
    }
}
