//! Accounts that a server names and this machine does not know, as identities that any list can hold: security identifiers
//! S-1-22-4-LENGTH-… for users and S-1-22-5-LENGTH-… for groups, behind which the bytes of the name follow, four in each number.
//! S-1-22-1 and S-1-22-2 are the users and groups of hosts, S-1-22-3 are UUIDs of Macs.

use std::sync::Arc;

use vfs::acl::{MAX_FOREIGN, Who};

/// Revision, count of numbers, authority: MS-DTYP 2.4.2.2.
const HEAD: usize = 8;
/// The authority "Unix", as Samba uses it.
const UNIX: [u8; 6] = [0, 0, 0, 0, 0, 22];
const USER: u32 = 4;
const GROUP: u32 = 5;
/// The longest name that fits.
const LONGEST: usize = MAX_FOREIGN - HEAD - 2 * 4;

/// The identity of a name such as `ada@example.org`. `None`: it is empty or too long.
#[must_use]
pub fn stranger(name: &str, is_group: bool) -> Option<Who> {
    let length = u32::try_from(name.len()).ok().filter(|_| (1..=LONGEST).contains(&name.len()))?;
    let words = name.len().div_ceil(4);
    let mut sid = vec![1, 2 + words as u8]; // at most 15
    sid.extend(UNIX);
    [if is_group { GROUP } else { USER }, length].iter().for_each(|number| sid.extend(number.to_le_bytes()));
    sid.extend(name.as_bytes());
    sid.resize(HEAD + (2 + words) * 4, 0);
    Some(Who::Foreign(Arc::from(sid)))
}

/// The name of such an identity, and whether it is a group's.
#[must_use]
pub fn stranger_name(sid: &[u8]) -> Option<(&str, bool)> {
    let rest = sid.get(2..)?.strip_prefix(&UNIX)?;
    let (kind, rest) = rest.split_first_chunk()?;
    let (length, name) = rest.split_first_chunk()?;
    let is_group = match u32::from_le_bytes(*kind) {
        USER => false,
        GROUP => true,
        _ => return None,
    };
    let name = name.get(..u32::from_le_bytes(*length) as usize)?;
    Some((std::str::from_utf8(name).ok()?, is_group))
}

#[cfg(test)]
mod tests {
    use vfs::acl::samba::text_of_sid;

    use super::*;

    #[test]
    fn names_become_identities_and_names_again() {
        for (name, is_group) in [("ada@example.org", false), ("staff", true), (&"n".repeat(LONGEST), true)] {
            let Some(Who::Foreign(sid)) = stranger(name, is_group) else { panic!("{name}") };
            assert!(sid.len() <= MAX_FOREIGN && sid.len() == HEAD + 4 * usize::from(sid[1]));
            assert_eq!(stranger_name(&sid), Some((name, is_group)));
        }
        assert_eq!((stranger("", false), stranger(&"n".repeat(LONGEST + 1), false)), (None, None));
        let Some(Who::Foreign(sid)) = stranger("ada", false) else { panic!() };
        assert_eq!(text_of_sid(&sid), "S-1-22-4-3-6382689"); // 0x616461
        for other in [&sid[..8], &sid[..12], &[1, 1, 0, 0, 0, 0, 0, 22, 4, 0, 0, 0, 9, 0, 0, 0], b""] {
            assert_eq!(stranger_name(other), None);
        }
    }
}
