//! Microsoft, "ACE Inheritance Rules" (its table of flags, row by row), and MS-DTYP 2.5.3.4.

use super::super::inherit::{Heir, beside_mode, entries_of};
use super::super::mode::summary;
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

/// RFC 8881 6.4.1.1 and 6.4.3.1: the mode that is computed is the one that was said; other users and groups get no more than the
/// group class of the mode.
#[test]
fn a_mode_limits_what_is_inherited() {
    let passed = |inherit| {
        let named = Entry::allow(Who::User(12), READ.union(WRITE)).inherited_by(inherit);
        vec![Entry::allow(Who::Everyone, Rights::ALL).inherited_by(inherit), named]
    };
    let list = beside_mode(passed(Inherit::NONE), ModeInheritance::Saying(0o640), FILE);
    assert_eq!(summary(&list, 11, 21), 0o640);
    let named: Vec<_> = list.iter().filter(|entry| entry.who == Who::User(12)).collect();
    assert_eq!(named, [&Entry::allow(Who::User(12), READ)]);
    for mode in [0, 0o007, 0o070, 0o604, 0o755, 0o777] {
        let list = beside_mode(passed(Inherit::NONE), ModeInheritance::Saying(mode), FILE);
        assert_eq!(summary(&list, 11, 21), mode, "{mode:o}");
    }
    // What a folder passes on stays whole.
    let both = Inherit::FILES.union(Inherit::FOLDERS);
    let list = beside_mode(passed(both), ModeInheritance::Saying(0o750), FOLDER);
    assert_eq!(summary(&list, 11, 21), 0o750);
    let onward = |entry: &&Entry| entry.inherit.intersects(both);
    let only = |entry: Entry| entry.inherited_by(both.union(Inherit::ONLY));
    let expected: Vec<_> = passed(both).into_iter().map(only).collect();
    assert_eq!(list.iter().filter(onward).cloned().collect::<Vec<_>>(), expected);
    // Without a umask the mode gives no user more than what is inherited.
    let few = vec![Entry::allow(Who::User(11), Rights::ALL), Entry::allow(Who::User(12), READ)];
    let list = beside_mode(few, ModeInheritance::Within(0o666), FILE);
    assert_eq!(summary(&list, 11, 21), 0o600);
    assert!(list.contains(&Entry::allow(Who::User(12), READ)));
}
