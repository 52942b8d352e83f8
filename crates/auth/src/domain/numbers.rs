//! The Unix ids that a directory has for its users and groups, RFC 2307. Users and groups have numbers of their own: a user and a
//! group may have the same one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use wire::Sid;

use super::NameKind;
use super::entries::DirectoryEntry;

/// The first number that counts. Those below are of the system's own users (useradd(8), UID_MIN): an administrator of the
/// directory must not become root here.
const FIRST: u32 = 1000;

/// The numbers by SID, and the other way round.
#[derive(Debug, Default, Clone)]
pub(super) struct SidNumbers {
    pub(super) ids: HashMap<Sid, u32>,
    pub(super) users: HashMap<u32, Sid>,
    pub(super) groups: HashMap<u32, Sid>,
    /// How many numbers do not count.
    pub(super) left_out: usize,
}

impl SidNumbers {
    /// Those of a list for which `counts` holds.
    pub(super) fn of<'a>(
        entries: impl Iterator<Item = &'a DirectoryEntry>,
        counts: impl Fn(u32) -> bool,
    ) -> Self {
        let mut all = Self::default();
        for entry in entries {
            let Some(number) = entry.numbers.own else { continue };
            if !is_usual(number) || !counts(number) {
                all.left_out += 1;
                continue;
            }
            all.ids.insert(entry.sid, number);
            let table = if entry.kind == NameKind::User { &mut all.users } else { &mut all.groups };
            // If two have one number, it is shown as that of the older one.
            match table.entry(number) {
                Entry::Occupied(mut other) if entry.sid < *other.get() => *other.get_mut() = entry.sid,
                Entry::Occupied(_) => {}
                Entry::Vacant(place) => {
                    place.insert(entry.sid);
                }
            }
        }
        all
    }
}

/// Whether a number may be that of a user or group of a directory. The last one means "no id" to the kernel.
pub(super) fn is_usual(number: u32) -> bool {
    (FIRST..u32::MAX).contains(&number)
}
