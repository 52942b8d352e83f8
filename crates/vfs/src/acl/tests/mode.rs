use super::super::mode::{derive, summary};
use super::*;
use crate::Caller;
use proptest::prelude::*;

/// POSIX.1-2017 4.5: the owner's class, else the group's, else the others'.
fn posix(mode: u32, caller: &Caller) -> u32 {
    let class = match caller.uid == 10 {
        true => 6,
        false if caller.in_group(20) => 3,
        false => 0,
    };
    mode >> class & 7
}

fn bits(rights: Rights) -> u32 {
    let bit = |right, bit| if rights.contains(right) { bit } else { 0 };
    bit(READ, 4) | bit(WRITE, 2) | bit(Rights::EXECUTE, 1)
}

#[test]
fn every_mode_said_as_an_acl_means_the_same_and_comes_back() {
    let callers = [
        Caller::new(10, 20, &[]),
        Caller::new(10, 1, &[]),
        Caller::new(11, 20, &[]),
        Caller::new(11, 1, &[5, 20]),
        Caller::new(11, 1, &[]),
    ];
    for kind in [Kind::File, Kind::Folder] {
        for mode in 0..0o1000 {
            let acl = derive(&attributes(kind, mode), None);
            assert_eq!(summary(&acl.entries.list, 10, 20), mode, "{acl:?}");
            for caller in &callers {
                let rights = acl.rights(caller, 10, 20);
                assert_eq!(bits(rights), posix(mode, caller), "{mode:o} for {caller:?}");
                assert!(
                    rights.contains(Rights::READ_ATTRIBUTES.union(Rights::READ_ACL)),
                    "POSIX lets all stat"
                );
                let changes = Rights::WRITE_ACL.union(Rights::WRITE_ATTRIBUTES);
                assert!(caller.uid != 10 || rights.contains(changes), "chmod and utimes are the owner's");
                assert!(caller.uid == 10 || !rights.contains(Rights::WRITE_ACL));
            }
        }
    }
}

#[test]
fn a_common_mode_is_three_entries() {
    let acl = derive(&attributes(Kind::File, 0o755), None);
    let whom: Vec<_> = acl.entries.list.iter().map(|entry| (entry.kind, entry.who.clone())).collect();
    let allow = EntryKind::Allow;
    assert_eq!(whom, [(allow, Who::Owner), (allow, Who::OwningGroup), (allow, Who::Everyone)]);
    // MS-SMB2 2.2.13.1.1: read, execute, attributes and ACL: what Windows calls "read and execute".
    assert_eq!(acl.entries.list[2].rights, Rights(0x1200a9));
}

/// What `setfacl -m u:5002:r` made of mode 0640, as getxattr(2) gave it.
const SETFACL: &[u8] =
    b"\x02\0\0\0\x01\0\x06\0\xff\xff\xff\xff\x02\0\x04\0\x8a\x13\0\0\x04\0\x04\0\xff\xff\xff\xff\
    \x10\0\x04\0\xff\xff\xff\xff\x20\0\0\0\xff\xff\xff\xff";

#[test]
fn a_posix_acl_is_read_with_its_mask() {
    let may = |posix: &[u8], caller: &Caller| {
        bits(derive(&attributes(Kind::File, 0o640), Some(posix)).rights(caller, 10, 20))
    };
    let (owner, ben, member, other) = (
        Caller::new(10, 20, &[]),
        Caller::new(5002, 1, &[]),
        Caller::new(12, 20, &[]),
        Caller::new(13, 1, &[]),
    );
    assert_eq!([&owner, &ben, &member, &other].map(|caller| may(SETFACL, caller)), [6, 4, 4, 0]);
    let mut masked = SETFACL.to_vec();
    masked[30] = 0; // the mask's permissions
    assert_eq!([&owner, &ben, &member, &other].map(|caller| may(&masked, caller)), [6, 0, 0, 0]);
    // acl(5): a user's own entry applies, not that of a group of the user.
    let mut less = SETFACL.to_vec();
    less[14] = 0;
    assert_eq!(may(&less, &Caller::new(5002, 20, &[])), 0);
    // An ACL that is not understood is ignored.
    assert_eq!(may(b"\x03\0\0\0", &member), 4);
}

#[test]
fn a_summary_gives_nobody_what_the_acl_takes_from_somebody_by_name() {
    let all = Entry::allow(Who::Everyone, Rights::ALL);
    let of = |list: &[Entry]| summary(list, 10, 20);
    assert_eq!(of(std::slice::from_ref(&all)), 0o777);
    assert_eq!(of(&[Entry::deny(Who::User(11), WRITE), all.clone()]), 0o755);
    assert_eq!(of(&[Entry::deny(Who::Owner, WRITE), all.clone()]), 0o577);
    assert_eq!(of(&[Entry::allow(Who::User(10), READ)]), 0o400);
    assert_eq!(of(&[Entry::allow(Who::Group(20), READ)]), 0o040);
    assert_eq!(of(&[Entry::allow(Who::User(11), Rights::ALL)]), 0);
    assert_eq!(of(&[Entry::allow(Who::SignedIn, READ)]), 0o440);
    // Windows' "write" is both. One of them alone is not the right of mode bit 2.
    assert_eq!(of(&[Entry::allow(Who::Everyone, WRITE)]), 0);
}

fn entry() -> impl Strategy<Value = Entry> {
    let who = prop_oneof![
        (9..13_u32).prop_map(Who::User),
        (19..23_u32).prop_map(Who::Group),
        Just(Who::Owner),
        Just(Who::OwningGroup),
        Just(Who::Everyone),
        Just(Who::SignedIn),
        Just(Who::OwnerRights),
    ];
    (any::<bool>(), 0..0x28_u32, 0..16_u8, who).prop_map(|(deny, rights, inherit, who)| {
        let entry = if deny { Entry::deny(who, Rights(rights)) } else { Entry::allow(who, Rights(rights)) };
        entry.inherited_by(Inherit(inherit & 9))
    })
}

proptest! {
    #[test]
    fn the_mode_of_an_acl_grants_no_more_than_the_acl(list in prop::collection::vec(entry(), 0..6),
        uid in prop_oneof![9..10_u32, 11..13_u32, Just(NOBODY)], groups in prop::collection::vec(19..23_u32, 0..3)) {
        // By custom the user `NOBODY` is in no group.
        let caller = Caller::new(uid, 1, if uid == NOBODY { &[] } else { &groups });
        let mode = summary(&list, 10, 20);
        let entries = Entries { list, ..Entries::default() };
        let acl = Acl { owner: Who::User(10), group: Who::Group(20), entries, stored: true, within_mode: false, team: None };
        let by_mode = posix(mode, &caller);
        prop_assert_eq!(by_mode & !bits(acl.rights(&caller, 10, 20)), 0);
    }
}
