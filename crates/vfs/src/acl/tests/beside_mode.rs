use super::super::beside_mode::before_another_mode;
use super::super::{Acl, Entries, Entry, EntryKind, Inherit, Rights, Who, before_mode};
use crate::Caller;

fn acl(entries: Entries) -> Acl {
    Acl { owner: Who::User(1), group: Who::Group(2), entries, stored: true, within_mode: false, team: None }
}

/// acl(3) of macOS: the mode decides what the entries do not decide.
#[test]
fn what_no_entry_decides_the_mode_does() {
    let bob = Entry::allow(Who::User(1001), Rights::WRITE_DATA);
    for mode in 0..0o1000 {
        let acl = acl(before_mode(vec![bob.clone()], false, mode, false));
        assert_eq!(acl.mode_beside(0), mode);
        let may = |uid, gid, right| acl.rights(&Caller::new(uid, gid, &[]), 1, 2).contains(right);
        assert_eq!(may(7, 7, Rights::READ_DATA), mode & 4 != 0, "{mode:o}");
        assert_eq!(may(7, 2, Rights::READ_DATA), mode & 0o40 != 0, "{mode:o}");
        assert_eq!(may(1, 2, Rights::READ_DATA), mode & 0o400 != 0, "{mode:o}");
        assert!(may(1001, 7, Rights::WRITE_DATA), "{mode:o}");
        assert!(!may(1001, 7, Rights::FROM_MODE), "a mark is no right");
    }
}

#[test]
fn an_acl_that_no_mode_stands_behind_has_that_of_the_file() {
    let bob = Entry::allow(Who::User(1001), Rights::WRITE_DATA);
    let alone = acl(Entries { list: vec![bob], ..Entries::default() });
    assert_eq!(alone.mode_beside(0o100_604), 0o604);
    assert_eq!(before_another_mode(&alone.entries, 0o600, false), None);
}

#[test]
fn the_same_entries_stand_before_another_mode() {
    let inherit = Inherit::FILES.union(Inherit::FOLDERS);
    let bob = Entry { kind: EntryKind::Deny, ..Entry::allow(Who::User(1001), Rights::DELETE) }
        .inherited_by(inherit);
    let before = before_mode(vec![bob.clone()], true, 0o755, true);
    let after = before_another_mode(&before, 0o700, true).unwrap();
    assert_eq!(after, before_mode(vec![bob], true, 0o700, true));
    assert_eq!(acl(after).mode_beside(0), 0o700);
}

/// A file of mode 0674 whose POSIX ACL says: owner rw, user 1001 rwx, owning group r, mask rwx, others r.
fn masked() -> (crate::Attributes, Acl) {
    let attributes = super::attributes(crate::Kind::File, 0o674);
    let entry = |tag: u16, bits: u16, id: u32| {
        [&tag.to_le_bytes()[..], &bits.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    let all = [
        entry(1, 6, u32::MAX),
        entry(2, 7, 1001),
        entry(4, 4, u32::MAX),
        entry(0x10, 7, u32::MAX),
        entry(0x20, 4, u32::MAX),
    ];
    let posix = [&2_u32.to_le_bytes()[..], &all.concat()].concat();
    let acl = super::super::mode::derive(&attributes, Some(&posix));
    (attributes, acl)
}

/// acl(5): with an ACL of the host, the mode's bits for the group are the most that a named user or
/// group has. They are not the bits of the owning group.
#[test]
fn the_mode_beside_users_by_name_is_not_what_they_have_at_most() {
    let (attributes, acl) = masked();
    assert_eq!(acl.mode_beside(attributes.mode), 0o644);
}

/// The same: a reader that asks the mode last takes from the group what only the mask says. The owner, who has no execution, keeps writing.
#[test]
fn what_only_the_mask_says_is_taken_from_the_group() {
    let (attributes, acl) = masked();
    let taken = Rights::WRITE_DATA.union(Rights::EXECUTE);
    match &acl.bound_of_mode(&attributes)[..] {
        [owner, group] => {
            assert_eq!((owner.kind, &owner.who), (EntryKind::Allow, &Who::User(attributes.uid)));
            assert_eq!(owner.rights.intersection(taken), Rights::WRITE_DATA);
            assert_eq!((group.kind, &group.who), (EntryKind::Deny, &Who::Group(attributes.gid)));
            assert_eq!(group.rights.intersection(taken.union(Rights::READ_DATA)), taken);
        }
        other => panic!("{other:?}"),
    }
    let of_mode = super::super::mode::derive(&attributes, None);
    assert_eq!(of_mode.bound_of_mode(&attributes), [], "a mode alone says no more than it gives");
}
