//! What a new file inherits: MS-DTYP 2.5.3.4.2 (ComputeACL) in other words.

use super::mode::{entries_of_mode, rights_of, summary};
use super::{Entries, Entry, EntryKind, Inherit, ModeInheritance, Rights, Who};

const PASSED_ON: Inherit = Inherit::FILES.union(Inherit::FOLDERS);

/// The kind of the new file, its owner and its group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Heir {
    pub(crate) is_folder: bool,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// The entries of a new file in a folder with `above`, which gets `own` (if it was given any).
/// `None` if neither has entries, so that the mode applies.
pub(crate) fn entries_of(own: Option<&Entries>, above: Option<&Entries>, heir: Heir) -> Option<Entries> {
    let passed: Vec<Entry> = match own {
        Some(own) if own.protected => Vec::new(),
        _ => {
            let each = |above: &Entries| -> Vec<Entry> {
                let marks = if above.auto_inherited { Inherit::INHERITED } else { Inherit::NONE };
                above.list.iter().flat_map(|entry| passed_on(entry, heir, marks)).collect()
            };
            above.map(each).unwrap_or_default()
        }
    };
    let marked = above.is_some_and(|above| above.auto_inherited);
    match own {
        None if passed.is_empty() => None,
        None => Some(Entries { list: passed, protected: false, auto_inherited: marked }),
        Some(own) => {
            let auto_inherited = own.auto_inherited || (marked && !passed.is_empty());
            let list = own.list.iter().cloned().chain(passed).collect();
            Some(Entries { list, auto_inherited, ..*own })
        }
    }
}

/// Only a folder whose own list is marked so marks what it passes on as inherited (`marks`).
///
/// An entry results in nothing, in an entry that applies to the heir, in one that the heir only
/// passes on, or in both.
fn passed_on(entry: &Entry, heir: Heir, marks: Inherit) -> impl Iterator<Item = Entry> + use<> {
    let has = |flag| entry.inherit.contains(flag);
    let counts = has(if heir.is_folder { Inherit::FOLDERS } else { Inherit::FILES });
    let goes_on = heir.is_folder && entry.inherit.intersects(PASSED_ON) && !has(Inherit::NO_PROPAGATE);
    let onward = Inherit(entry.inherit.0 & PASSED_ON.0).union(marks);
    let who = match entry.who {
        Who::Owner => Who::User(heir.uid),
        Who::OwningGroup => Who::Group(heir.gid),
        ref other => other.clone(),
    };
    // An entry that names the user by a role (owner, owning group) names another user for files
    // that are made in the heir.
    let is_named = who == entry.who;
    let now = if goes_on && is_named { onward } else { marks };
    let counting = counts.then(|| Entry { who, inherit: now, ..entry.clone() });
    let only = goes_on && !(counts && is_named);
    let passing = only.then(|| Entry { inherit: onward.union(Inherit::ONLY), ..entry.clone() });
    counting.into_iter().chain(passing)
}

/// What the mode that a client has also said makes of inherited entries. What the heir passes on stays.
///
/// ```text
/// owner of the mode, entries of other users and groups within the mode's group, group of the mode, others of the mode
/// ```
pub(crate) fn beside_mode(list: Vec<Entry>, said: ModeInheritance, heir: Heir) -> Vec<Entry> {
    let (said, mode) = match said {
        ModeInheritance::AsItIs => return list,
        ModeInheritance::Saying(mode) => (mode, mode),
        ModeInheritance::Within(mode) => (mode, mode & summary(&list, heir.uid, heir.gid)),
    };
    let is_by_class = |who: &Who| match who {
        Who::User(uid) => *uid == heir.uid,
        Who::Group(gid) => *gid == heir.gid,
        Who::Owner | Who::OwningGroup | Who::Everyone | Who::SignedIn | Who::OwnerRights => true,
        Who::Foreign(_) => false,
    };
    let by_any_bit = rights_of(7, heir.is_folder);
    let in_group = rights_of(said >> 3 & 7, heir.is_folder);
    let within = |rights: Rights| rights.difference(by_any_bit.difference(in_group));
    let (mut named, mut passed) = (Vec::new(), Vec::new());
    for entry in list {
        let counts = !entry.inherit.contains(Inherit::ONLY) && !is_by_class(&entry.who);
        let rights = if entry.kind == EntryKind::Allow { within(entry.rights) } else { entry.rights };
        let is_passed = entry.inherit.intersects(PASSED_ON);
        if counts && rights == entry.rights {
            named.push(entry);
            continue;
        }
        if counts {
            let inherit = Inherit(entry.inherit.0 & Inherit::INHERITED.0);
            named.push(Entry { rights, inherit, ..entry.clone() });
        }
        if is_passed {
            passed.push(Entry { inherit: entry.inherit.union(Inherit::ONLY), ..entry });
        }
    }
    named.retain(|entry| entry.rights != Rights::NONE);
    let is_owner = |entry: &Entry| entry.who == Who::Owner;
    let (owner, others): (Vec<_>, Vec<_>) =
        entries_of_mode(mode, heir.is_folder).into_iter().partition(is_owner);
    owner.into_iter().chain(named).chain(others).chain(passed).collect()
}
