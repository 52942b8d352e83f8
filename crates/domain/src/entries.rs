//! The users and groups of the directory: their names, and whether users are disabled.

use std::path::Path;

use ::wire::{Reader, Sid};
use auth::{DirectoryEntry, NameKind, UnixIds};
use ldap3::SearchEntry;

use crate::Error;
use crate::connection::first;
use crate::machine::Machine;
use crate::membership::{by_machine, wait};

/// The most users and groups that are read.
pub const MOST_ENTRIES: usize = 100_000;
/// Users that people log in with, and groups of all scopes. Accounts of computers are of another category.
const FILTER: &str = "(|(&(objectCategory=person)(objectClass=user))(objectCategory=group))";
const ATTRIBUTES: &[&str] =
    &["sAMAccountName", "objectSid", "userAccountControl", "objectClass", "uidNumber", "gidNumber"];
/// ADS_UF_ACCOUNTDISABLE, MS-ADTS 2.2.16.
const DISABLED: u32 = 2;

/// Reads all users and groups by the account of the state folder.
///
/// # Errors
/// The server has not joined, or the directory does not answer.
pub fn read(state: &Path) -> Result<Vec<DirectoryEntry>, Error> {
    let machine = Machine::read(state)?;
    let found = wait(async {
        let mut directory = by_machine(&machine).await?;
        directory.all(FILTER, ATTRIBUTES, MOST_ENTRIES).await
    })?;
    Ok(found.iter().filter_map(entry).collect())
}

fn entry(entry: &SearchEntry) -> Option<DirectoryEntry> {
    let (_, sids) = entry.bin_attrs.iter().find(|(name, _)| name.eq_ignore_ascii_case("objectSid"))?;
    let sid = Sid::decode(&mut Reader::new(sids.first()?)).ok()?;
    let name = first(entry, "sAMAccountName")?.to_owned();
    let flags: u32 = first(entry, "userAccountControl").and_then(|text| text.parse().ok()).unwrap_or(0);
    let (_, classes) = entry.attrs.iter().find(|(name, _)| name.eq_ignore_ascii_case("objectClass"))?;
    let kind = match classes.iter().any(|class| class.eq_ignore_ascii_case("group")) {
        true => NameKind::Group,
        false => NameKind::User,
    };
    let number = |name: &str| first(entry, name).and_then(|text| text.parse().ok());
    let numbers = match kind {
        NameKind::User => UnixIds { own: number("uidNumber"), group: number("gidNumber") },
        _ => UnixIds { own: number("gidNumber"), group: None },
    };
    Some(DirectoryEntry { sid, name, kind, disabled: flags & DISABLED != 0, numbers })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn found(name: &str, class: &str, control: Option<&str>) -> SearchEntry {
        let sid = b"\x01\x01\0\0\0\0\0\x05\x20\0\0\0".to_vec();
        let one = |key: &str, value: &str| (key.to_owned(), vec![value.to_owned()]);
        let mut attrs = HashMap::from([one("samaccountname", name), one("objectClass", class)]);
        attrs.extend(control.map(|control| one("userAccountControl", control)));
        SearchEntry {
            dn: "CN=x".into(),
            attrs,
            bin_attrs: HashMap::from([("objectSid".to_owned(), vec![sid])]),
        }
    }

    /// MS-ADTS 2.2.16: 512 is a usual account, 514 a disabled one.
    #[test]
    fn users_and_groups_are_told_apart_and_disabled_users_are_known() {
        let of = |name, class, control| entry(&found(name, class, control)).unwrap();
        let alice = of("alice", "user", Some("512"));
        assert_eq!((alice.name.as_str(), alice.kind, alice.disabled), ("alice", NameKind::User, false));
        assert!(of("bob", "user", Some("514")).disabled);
        assert_eq!(of("engineers", "group", None).kind, NameKind::Group);
        let mut carol = found("carol", "user", None);
        carol.attrs.extend(
            [("uidNumber", "10001"), ("gidNumber", "10000")]
                .map(|(key, value)| (key.to_owned(), vec![value.to_owned()])),
        );
        assert_eq!(entry(&carol).unwrap().numbers, UnixIds { own: Some(10_001), group: Some(10_000) });
        carol.attrs.insert("objectClass".into(), vec!["group".into()]);
        carol.attrs.insert("uidNumber".into(), vec!["no number".into()]);
        assert_eq!(entry(&carol).unwrap().numbers, UnixIds { own: Some(10_000), group: None });
        let mut without = found("eve", "user", None);
        without.bin_attrs.clear();
        assert_eq!(entry(&without), None);
    }
}
