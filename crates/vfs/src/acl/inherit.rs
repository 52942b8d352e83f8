//! What a new file inherits: MS-DTYP 2.5.3.4.2 (ComputeACL) in other words.

use super::{Entries, Entry, Inherit, Who};

const PASSED_ON: Inherit = Inherit::FILES.union(Inherit::FOLDERS);

/// The kind of the new file, its owner and its group.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heir {
    pub(super) is_folder: bool,
    pub(super) uid: u32,
    pub(super) gid: u32,
}

/// The entries of a new file in a folder with `above`, which gets `own` (if it was given any).
/// `None` if neither has entries, so that the mode applies.
pub(super) fn entries_of(own: Option<&Entries>, above: Option<&Entries>, heir: Heir) -> Option<Entries> {
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
