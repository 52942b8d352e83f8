//! Microsoft, "ACE Inheritance Rules" (its table of flags, row by row), and MS-DTYP 2.5.3.4.

use super::super::inherit::{Heir, entries_of};
use super::*;

const FILE: Heir = Heir { is_folder: false, uid: 11, gid: 21 };
const FOLDER: Heir = Heir { is_folder: true, ..FILE };

/// The list of a folder that marks what is inherited from it.
fn above(entry: Entry) -> Entries {
    Entries { list: vec![entry], auto_inherited: true, ..Entries::default() }
}

/// The flags with which an entry of these flags is inherited.
fn flags(of: u8, heir: Heir) -> Option<u8> {
    let entry = Entry::allow(Who::User(12), READ).inherited_by(Inherit(of));
    let list = entries_of(None, Some(&above(entry)), heir)?.list;
    assert_eq!(list.len(), 1);
    assert_eq!((&list[0].who, list[0].rights, list[0].kind), (&Who::User(12), READ, EntryKind::Allow));
    Some(list[0].inherit.0)
}

#[test]
fn flags_are_inherited_as_the_table_says() {
    let (files, folders, stop, only, inherited) = (1, 2, 4, 8, 16);
    for (flag, file, folder) in [
        (0, None, None),
        (files, Some(inherited), Some(files | only | inherited)),
        (files | stop, Some(inherited), None),
        (folders, None, Some(folders | inherited)),
        (folders | stop, None, Some(inherited)),
        (files | folders, Some(inherited), Some(files | folders | inherited)),
        (files | folders | stop, Some(inherited), Some(inherited)),
        (files | folders | only, Some(inherited), Some(files | folders | inherited)),
        (files | folders | only | stop, Some(inherited), Some(inherited)),
        (only, None, None),
        (inherited, None, None),
    ] {
        assert_eq!((flags(flag, FILE), flags(flag, FOLDER)), (file, folder), "flags {flag:#x}");
    }
}

#[test]
fn creators_are_named_where_it_counts_and_stay_creators_where_it_is_passed_on() {
    for (who, named) in [(Who::Owner, Who::User(11)), (Who::OwningGroup, Who::Group(21))] {
        let entry = Entry::allow(who.clone(), WRITE).inherited_by(Inherit(1 | 2 | 8));
        let list = |heir| entries_of(None, Some(&above(entry.clone())), heir).unwrap().list;
        let counts = Entry::allow(named, WRITE).inherited_by(Inherit::INHERITED);
        assert_eq!(list(FILE), std::slice::from_ref(&counts));
        let passed_on = Entry::allow(who, WRITE).inherited_by(Inherit(1 | 2 | 8 | 16));
        assert_eq!(list(FOLDER), [counts, passed_on]);
    }
}

#[test]
fn what_was_given_comes_first_and_protects_itself() {
    let passed = above(Entry::deny(Who::Everyone, WRITE).inherited_by(Inherit::FILES));
    let own = Entries { auto_inherited: false, ..above(Entry::allow(Who::User(11), Rights::ALL)) };
    let both = entries_of(Some(&own), Some(&passed), FILE).unwrap();
    assert_eq!(both.list, [own.list[0].clone(), passed.list[0].clone().inherited_by(Inherit::INHERITED)]);
    assert!(both.auto_inherited && !both.protected);
    let own = Entries { protected: true, ..own };
    assert_eq!(entries_of(Some(&own), Some(&passed), FILE), Some(own));
}

#[test]
fn nothing_to_inherit_leaves_it_to_the_mode() {
    let kept_here = above(Entry::allow(Who::Everyone, READ));
    assert_eq!(entries_of(None, Some(&kept_here), FILE), None);
    assert_eq!(entries_of(None, None, FOLDER), None);
    let empty = Entries::default();
    assert_eq!(entries_of(Some(&empty), None, FILE), Some(empty));
}

/// MS-DTYP 2.5.3.4.2: INHERITED_ACE is set where the parent's list is auto-inherited.
#[test]
fn a_folder_that_is_not_marked_marks_nothing() {
    let entry = Entry::allow(Who::Everyone, READ).inherited_by(Inherit::FILES);
    let plain = Entries { auto_inherited: false, ..above(entry) };
    let inherited = entries_of(None, Some(&plain), FILE).unwrap();
    assert_eq!(inherited.list, [Entry::allow(Who::Everyone, READ)]);
    assert!(!inherited.auto_inherited);
}
