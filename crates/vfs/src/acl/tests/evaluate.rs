//! MS-DTYP 2.5.3.2; RFC 8881 6.2.1.

use super::*;
use crate::Caller;

/// What a caller may do to a file of user 10 and group 20.
fn rights(list: &[Entry], caller: &Caller) -> Rights {
    let entries = Entries { list: list.to_vec(), ..Entries::default() };
    let acl = Acl {
        owner: Who::User(10),
        group: Who::Group(20),
        entries,
        stored: true,
        within_mode: false,
        team: None,
    };
    acl.rights(caller, 10, 20)
}

fn ben() -> Caller {
    Caller::new(11, 21, &[30, 31])
}

fn owner() -> Caller {
    Caller::new(10, 20, &[])
}

#[test]
fn a_right_belongs_to_the_first_entry_that_names_it() {
    let (allow, deny) = (Entry::allow(Who::User(11), READ.union(WRITE)), Entry::deny(Who::Everyone, WRITE));
    assert_eq!(rights(&[allow.clone(), deny.clone()], &ben()), READ.union(WRITE));
    assert_eq!(rights(&[deny, allow], &ben()), READ);
}

#[test]
fn no_entry_at_all_gives_an_owner_the_acl_and_others_nothing() {
    assert_eq!(rights(&[], &ben()), Rights::NONE);
    assert_eq!(rights(&[], &owner()), Rights::READ_ACL.union(Rights::WRITE_ACL));
    assert_eq!(rights(&[], &Caller::root()), Rights::ALL);
}

#[test]
fn an_owner_is_denied_the_acl_by_entries_for_owners_rights_alone() {
    let all = Entry::deny(Who::Everyone, Rights::ALL);
    assert_eq!(rights(&[all], &owner()), Rights::READ_ACL.union(Rights::WRITE_ACL));
    assert_eq!(rights(&[Entry::allow(Who::OwnerRights, READ)], &owner()), READ);
    assert_eq!(rights(&[Entry::allow(Who::OwnerRights, READ)], &ben()), Rights::NONE);
    let only_inherited = Entry::allow(Who::OwnerRights, READ).inherited_by(Inherit(11));
    assert_eq!(rights(&[only_inherited], &owner()), Rights::READ_ACL.union(Rights::WRITE_ACL));
}

#[test]
fn entries_concern_whom_they_name() {
    let is_concerned = |who: Who, caller: &Caller| rights(&[Entry::allow(who, READ)], caller).contains(READ);
    let nobody = Caller::new(NOBODY, NOBODY, &[]);
    let member = Caller::new(12, 1, &[20]);
    for (who, concerned) in [
        (Who::User(11), [true, false, false, false]),
        (Who::User(10), [false, true, false, false]),
        (Who::Group(21), [true, false, false, false]), // the primary group
        (Who::Group(31), [true, false, false, false]), // a supplementary one
        (Who::Owner, [false, true, false, false]),
        (Who::OwningGroup, [false, true, true, false]),
        (Who::SignedIn, [true, true, true, false]),
        (Who::Everyone, [true, true, true, true]),
        (Who::Foreign(Arc::from(*b"S-1-5-21")), [false; 4]),
    ] {
        let callers = [&ben(), &owner(), &member, &nobody];
        assert_eq!(callers.map(|caller| is_concerned(who.clone(), caller)), concerned, "{who:?}");
    }
}

#[test]
fn what_is_only_for_heirs_does_not_count_here() {
    let only = Entry::allow(Who::Everyone, READ).inherited_by(Inherit::FILES.union(Inherit::ONLY));
    let also = Entry::allow(Who::Everyone, READ).inherited_by(Inherit::FILES);
    assert_eq!(rights(&[only], &ben()), Rights::NONE);
    assert_eq!(rights(&[also], &ben()), READ);
}
