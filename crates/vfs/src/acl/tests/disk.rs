//! Roles and lists on the disk. The expected bits are worked out by hand: from what each role may do (docs/design/permissions.md),
//! and from POSIX 1003.1e 23.1.5, by which a user's own entry decides before groups, and a mask limits both.

use auth::{Grantee, Role, RoleEntry, RoleSet, Roles};

use super::super::deviation::{Deviation, DiskState};
use super::super::disk::{DiskForm, RightsSource};
use super::super::posix::PosixAcl;
use super::super::team::TeamPlace;
use super::super::{Entry, Inherit, Rights, Who};

const ADA: u32 = 1000;
const GRACE: u32 = 1001;
const STUDIO: u32 = 50;
const INTERNS: u32 = 51;
const BOTH: Inherit = Inherit::FILES.union(Inherit::FOLDERS);

fn user(uid: u32) -> Grantee {
    Grantee::User { name: format!("u{uid}"), uid: Some(uid) }
}

fn roles(list: &[(Role, Grantee)]) -> Roles {
    Roles::new(
        list.iter().map(|(role, grantee)| RoleEntry { role: *role, grantee: grantee.clone() }).collect(),
    )
}

fn form(roles: Option<&Roles>, list: &[Entry], place: TeamPlace, (uid, mode): (u32, u32)) -> DiskForm {
    RightsSource { roles, list, older: false, place, uid, mode }.form()
}

fn folder(roles: &Roles) -> DiskForm {
    form(Some(roles), &[], TeamPlace::Folder, (ADA, 0o770))
}

fn file(roles: &Roles, mode: u32) -> DiskForm {
    form(Some(roles), &[], TeamPlace::File, (ADA, mode))
}

/// The numbers of users or groups, and their bits.
type NamedBits = Vec<(u32, u32)>;

/// What a class gets behind the mask: the owner, named users, the owning group, named groups, all others.
fn effective(acl: &PosixAcl) -> (u32, NamedBits, u32, NamedBits, u32) {
    let masked = |list: &[(u32, u32)]| list.iter().map(|&(id, bits)| (id, acl.masked(bits))).collect();
    (acl.owner, masked(&acl.users), acl.masked(acl.owning_group), masked(&acl.groups), acl.others)
}

fn team() -> Roles {
    roles(&[
        (Role::Owner, user(ADA)),
        (Role::Editor, Grantee::Group(STUDIO)),
        (Role::Reader, user(GRACE)),
        (Role::Contributor, Grantee::Group(INTERNS)),
    ])
}

#[test]
fn each_role_is_an_entry_of_a_folder() {
    // Contributors may not write: they would remove what others have made.
    let expected = (7, vec![(ADA, 7), (GRACE, 5)], 0, vec![(STUDIO, 7), (INTERNS, 5)], 0);
    let form = folder(&team());
    assert_eq!(effective(&form.access), expected);
    assert_eq!(effective(form.default.as_ref().unwrap()), expected);
    assert_eq!(form.access.mask, Some(7));
}

#[test]
fn a_file_has_the_same_without_execute() {
    let expected = (6, vec![(ADA, 6), (GRACE, 4)], 0, vec![(STUDIO, 6), (INTERNS, 4)], 0);
    let form = file(&team(), 0o660);
    assert_eq!((effective(&form.access), form.default), (expected, None));
}

#[test]
fn a_program_may_be_executed_by_all_that_read_it() {
    let form = file(&team(), 0o770);
    let expected = (7, vec![(ADA, 7), (GRACE, 5)], 0, vec![(STUDIO, 7), (INTERNS, 5)], 0);
    assert_eq!(effective(&form.access), expected);
}

#[test]
fn everyone_is_the_others_and_the_anonymous_user_is_not() {
    let form = folder(&roles(&[(Role::Reader, Grantee::Everyone)]));
    assert_eq!(effective(&form.access), (7, vec![(65_534, 0)], 5, vec![], 5));
}

#[test]
fn guests_are_the_others_with_the_anonymous_user() {
    let form = file(&roles(&[(Role::Reader, Grantee::Guests)]), 0o660);
    assert_eq!(form.access, PosixAcl { owner: 6, owning_group: 4, others: 4, ..PosixAcl::default() });
}

#[test]
fn named_entries_have_what_everyone_has_too() {
    // The own entry of a user, or of a group, decides alone.
    let form = folder(&roles(&[
        (Role::Editor, Grantee::Everyone),
        (Role::Reader, user(ADA)),
        (Role::Reader, Grantee::Group(STUDIO)),
    ]));
    assert_eq!(effective(&form.access), (7, vec![(ADA, 7), (65_534, 0)], 7, vec![(STUDIO, 7)], 7));
}

#[test]
fn several_roles_of_one_user_add_up() {
    let form = folder(&roles(&[(Role::Reader, user(ADA)), (Role::Editor, user(ADA))]));
    assert_eq!(effective(&form.access).1, [(ADA, 7)]);
}

#[test]
fn a_drop_box_lets_local_programs_through_its_top_only() {
    let drop = roles(&[(Role::Drop, user(ADA))]);
    let top = form(Some(&drop), &[], TeamPlace::Root, (0, 0o770));
    assert_eq!(effective(&top.access).1, [(ADA, 1)]);
    assert_eq!(effective(top.default.as_ref().unwrap()).1, [(ADA, 0)]);
    assert_eq!(effective(&folder(&drop).access).1, [(ADA, 0)]);
    assert_eq!(effective(&file(&drop, 0o770).access).1, [(ADA, 0)]);
}

#[test]
fn an_account_without_a_number_has_no_entry() {
    let named = Grantee::User { name: "ada".into(), uid: None };
    let form = file(&roles(&[(Role::Editor, named)]), 0o640);
    assert_eq!(form.access, PosixAcl { owner: 6, ..PosixAcl::default() });
}

#[test]
fn what_a_folder_passes_on_is_what_a_new_file_there_has() {
    // The host makes a file of 0660 with the default ACL: its classes within the mode, the group's bits of it for the mask.
    let form = folder(&team());
    let default = form.default.unwrap();
    let made = PosixAcl { owner: 6, mask: default.mask.map(|mask| mask & 6), ..default };
    assert_eq!(effective(&made), effective(&file(&team(), 0o660).access));
}

/// "The accountant may only read this": what the role does not give is taken, and the rest given, before the share's roles.
fn may_only_read(who: Who, inherit: Inherit) -> Vec<Entry> {
    let reads = Rights(0x12_00a9); // what Windows calls "Read & execute"
    vec![
        Entry::deny(who.clone(), Rights::ALL.difference(reads)).inherited_by(inherit),
        Entry::allow(who, reads).inherited_by(inherit),
    ]
}

#[test]
fn a_user_that_may_only_read_a_folder_has_an_entry_that_says_so() {
    let (roles, list) = (
        roles(&[(Role::Editor, user(ADA)), (Role::Editor, user(GRACE))]),
        may_only_read(Who::User(GRACE), BOTH),
    );
    let form = form(Some(&roles), &list, TeamPlace::Folder, (ADA, 0o770));
    assert_eq!(effective(&form.access).1, [(ADA, 7), (GRACE, 5)]);
    assert_eq!(effective(form.default.as_ref().unwrap()).1, [(ADA, 7), (GRACE, 5)]);
    assert!(!form.leaves_out_groups);
}

#[test]
fn an_owner_from_whom_an_entry_takes_writing_does_not_write() {
    let (roles, list) = (roles(&[(Role::Editor, user(GRACE))]), may_only_read(Who::User(GRACE), BOTH));
    let form = form(Some(&roles), &list, TeamPlace::File, (GRACE, 0o660));
    assert_eq!((form.access.owner, effective(&form.access).1), (4, vec![(GRACE, 4)]));
}

#[test]
fn what_a_group_loses_no_other_group_gives_back() {
    let (roles, list) = (team(), may_only_read(Who::Group(INTERNS), BOTH));
    let form = form(Some(&roles), &list, TeamPlace::Folder, (ADA, 0o770));
    // ada and the studio may be interns as far as is known here.
    assert_eq!(
        effective(&form.access),
        (7, vec![(ADA, 5), (GRACE, 5)], 0, vec![(STUDIO, 5), (INTERNS, 5)], 0)
    );
    assert!(form.leaves_out_groups);
}

#[test]
fn a_list_that_is_cut_off_gives_what_it_says_alone() {
    let list = [Entry::allow(Who::User(GRACE), Rights::ALL).inherited_by(BOTH)];
    let form = form(None, &list, TeamPlace::File, (ADA, 0o660));
    assert_eq!(effective(&form.access), (0, vec![(GRACE, 6)], 0, vec![], 0));
}

#[test]
fn an_entry_for_this_folder_alone_is_not_passed_on() {
    let list = [Entry::allow(Who::User(GRACE), Rights(0x12_00a9))];
    let form = form(Some(&roles(&[(Role::Editor, user(ADA))])), &list, TeamPlace::Folder, (ADA, 0o770));
    assert_eq!(effective(&form.access).1, [(ADA, 7), (GRACE, 5)]);
    assert_eq!(effective(form.default.as_ref().unwrap()).1, [(ADA, 7), (GRACE, 0)]);
}

fn state(access: PosixAcl, default: Option<PosixAcl>, mode: u32) -> DiskState {
    DiskState { access, default, mode, keeps_setgid: true }
}

#[test]
fn what_has_its_form_does_not_deviate() {
    let form = folder(&team());
    let is = state(form.access.clone(), form.default.clone(), 0o2770);
    assert_eq!(is.deviations(&form, true), []);
}

#[test]
fn a_folder_as_mkdir_makes_it_lacks_all_of_its_roles() {
    let form = folder(&roles(&[(Role::Editor, Grantee::Group(STUDIO)), (Role::Reader, user(GRACE))]));
    let found = state(PosixAcl::of_mode(0o755), None, 0o755).deviations(&form, true);
    let lacks = |who, bits| Deviation::Lacks { who, bits, passed_on: false };
    let exceeds = |who, bits| Deviation::Exceeds { who, bits, passed_on: false };
    assert_eq!(
        found,
        [
            exceeds(Who::OwningGroup, 5),
            lacks(Who::Group(STUDIO), 2),
            exceeds(Who::Everyone, 5),
            Deviation::NoSetgid,
            Deviation::NoDefault,
        ]
    );
}

#[test]
fn a_narrow_mask_takes_from_all_that_are_named() {
    let form = file(&team(), 0o660);
    let is = PosixAcl { mask: Some(4), ..form.access.clone() };
    let lacks = |who, bits| Deviation::Lacks { who, bits, passed_on: false };
    let expected = [lacks(Who::User(ADA), 2), lacks(Who::Group(STUDIO), 2)];
    assert_eq!(state(is, None, 0o640).deviations(&form, false), expected);
}

#[test]
fn the_sticky_bit_keeps_editors_from_removing() {
    let form = folder(&team());
    let is = state(form.access.clone(), form.default.clone(), 0o3770);
    assert_eq!(is.deviations(&form, true), [Deviation::Sticky]);
}

#[test]
fn without_posix_acls_the_group_has_its_own_role() {
    let roles = team();
    let source =
        |place, mode| RightsSource { roles: Some(&roles), list: &[], older: false, place, uid: ADA, mode };
    assert_eq!(source(TeamPlace::Folder, 0o770).form().mode_alone(STUDIO), 0o770);
    assert_eq!(source(TeamPlace::Folder, 0o770).form().mode_alone(INTERNS), 0o750);
    assert_eq!(source(TeamPlace::Folder, 0o770).form().mode_alone(7), 0o700);
    assert_eq!(source(TeamPlace::File, 0o660).form().mode_alone(STUDIO), 0o660);
}

#[test]
fn nothing_is_given_by_no_role() {
    assert!(RoleSet::NONE.is_empty());
    let form = folder(&Roles::default());
    assert_eq!(form.access, PosixAcl { owner: 7, ..PosixAcl::default() });
}
