//! `security.NTACL`: values that smbd 4.17.12 wrote, and how they bind.

use super::super::samba::{ATTRIBUTE, NtAcl, SidMap, sid_of_text, text_of_sid};
use super::super::{AclChange, Entries, Entry, EntryKind, Inherit, Rights, Who};
use crate::backend::memory::Memory;
use crate::backend::{Backend as _, Found, NewKind, XattrMode};
use crate::state::{ClientId, Party};
use crate::{Access, Actor, Caller, Error, SetAttributes, Volume, VolumeOptions};
use std::sync::Arc;

/// Of a file of games (5, 60): everything for its owner, reading for Domain Users and Everyone.
const FILE: &str = "0400040000000200040002000100183fe26a6f5dfbd5b93c813b12653c36967fd25d41c37214c675a03b0bf82b5d0000000000000000000000000000000000000000000000000000000000000000706f7369785f61636c008204a3f4ef7bdd0194a2d611489b4f33158591069ad7b90646adfb60e49d8b15e24be2786942704b000000000000000000000000000000000000000000000000000000000000000001000480b4000000d000000000000000ec0000000105000000000005150000001a1133b2ea1ed83554c295a5e80300000105000000000005150000001a1133b2ea1ed83554c295a501020000020064000300000000002400ff011f000105000000000005150000001a1133b2ea1ed83554c295a5e803000000002400a90012000105000000000005150000001a1133b2ea1ed83554c295a50102000000001400a9001200010100000000000100000000";
/// Of a folder that passes on: CREATOR OWNER, CREATOR GROUP, Everyone.
const FOLDER: &str = "04000400000002000400020001009eb3169bc7cb3d55cb143bdb8dd2c0c2c627729a4ff459d7532ec986ff8d20cc0000000000000000000000000000000000000000000000000000000000000000706f7369785f61636c002e35a3f4ef7bdd01167e6d9d6b20e73f07a1612681530c352c201fa64ec269df12f1d62705887ebb000000000000000000000000000000000000000000000000000000000000000001000480b4000000d000000000000000ec0000000105000000000005150000001a1133b2ea1ed83554c295a5e80300000105000000000005150000001a1133b2ea1ed83554c295a50102000002008c000500000000002400ff011f000105000000000005150000001a1133b2ea1ed83554c295a5e8030000000b1400ff011f0001010000000000030000000000002400a90012000105000000000005150000001a1133b2ea1ed83554c295a501020000000b1400a900120001010000000000030100000000031400a9001200010100000000000100000000";
const DOMAIN: &str = "S-1-5-21-2989691162-903356138-2778055252";
const IDS: (u32, u32) = (5, 60);

fn bytes(hex: &str) -> Vec<u8> {
    wire::hex::decode_any(hex).unwrap()
}

fn acl(value: &[u8]) -> super::super::Acl {
    NtAcl::decode(value).unwrap().unwrap().acl(IDS, &SidMap::default())
}

/// An entry in the form of MS-DTYP 2.4.4.2.
fn ace(kind: u8, flags: u8, mask: u32, sid: &[u8]) -> Vec<u8> {
    let size = (8 + sid.len()) as u16;
    [&[kind, flags][..], &size.to_le_bytes(), &mask.to_le_bytes(), sid].concat()
}

/// A value of this version: what smbd wrote for a file, with other entries.
fn value(version: u16, aces: &[Vec<u8>]) -> Vec<u8> {
    let head: &[u8] = match version {
        1 => &[],
        2 => &[0; 20],
        3 => &[0; 72],
        _ => panic!("no such version"),
    };
    let mut value = [&version.to_le_bytes()[..], &version.to_le_bytes(), &[0, 0, 2, 0], head].concat();
    let dacl = value.len() as u32 + 20;
    value.extend([1, 0, 4, 0x80]);
    [0, 0, 0, dacl].iter().for_each(|position| value.extend(position.to_le_bytes()));
    let size = 8 + aces.iter().map(Vec::len).sum::<usize>() as u16;
    value.extend([&[2, 0][..], &size.to_le_bytes(), &(aces.len() as u32).to_le_bytes()].concat());
    value.extend(aces.concat());
    value
}

#[test]
fn values_of_smbd_are_read() {
    let acl = acl(&bytes(FILE));
    let whos: Vec<_> = acl.entries.list.iter().map(|entry| entry.who.clone()).collect();
    assert_eq!(whos, [Who::User(5), Who::Group(60), Who::Everyone]);
    let rights: Vec<_> = acl.entries.list.iter().map(|entry| entry.rights.0).collect();
    assert_eq!(rights, [0x1f_01ff, 0x12_00a9, 0x12_00a9]);
    assert!(acl.within_mode && acl.stored);

    let folder = NtAcl::decode(&bytes(FOLDER)).unwrap().unwrap().acl(IDS, &SidMap::default());
    let whos: Vec<_> = folder.entries.list.iter().map(|entry| entry.who.clone()).collect();
    assert_eq!(whos, [Who::User(5), Who::Owner, Who::Group(60), Who::OwningGroup, Who::Everyone]);
    assert!(folder.entries.list[1].inherit.contains(Inherit::ONLY));
}

#[test]
fn every_version_is_read() {
    let stranger = sid_of_text(&format!("{DOMAIN}-1001")).unwrap();
    assert_eq!(text_of_sid(&stranger), format!("{DOMAIN}-1001"));
    let (user, everyone) = (sid_of_text("S-1-22-1-6").unwrap(), sid_of_text("S-1-1-0").unwrap());
    for version in [1, 2, 3] {
        let acl = acl(&value(version, &[ace(1, 0, 1, &user), ace(0, 0, 0x8000_0000, &everyone)]));
        assert_eq!(
            (acl.entries.list[0].kind, acl.entries.list[0].who.clone()),
            (EntryKind::Deny, Who::User(6))
        );
        let rights = |uid| acl.rights(&Caller::new(uid, 100, &[]), 5, 60);
        assert!(!rights(6).contains(Rights::READ_DATA) && rights(7).contains(Rights::READ_DATA));
    }
}

#[test]
fn what_is_taken_from_unknown_users_is_taken_from_all() {
    let stranger = sid_of_text(&format!("{DOMAIN}-1001")).unwrap();
    let everyone = sid_of_text("S-1-1-0").unwrap();
    let given = ace(0, 0, 0x1000_0000, &stranger);
    let value = value(1, &[ace(1, 0, 2, &stranger), given, ace(0, 0, 3, &everyone)]);
    let acl = acl(&value);
    let rights = acl.rights(&Caller::new(7, 100, &[]), 5, 60);
    assert!(
        rights.contains(Rights::READ_DATA) && !rights.intersects(Rights::WRITE_DATA.union(Rights::DELETE))
    );
    let unknown: Vec<_> = NtAcl::decode(&value).unwrap().unwrap().unknown().map(text_of_sid).collect();
    assert_eq!(unknown, [format!("{DOMAIN}-1001"), format!("{DOMAIN}-1001")]);
}

fn mapped(sids: &SidMap, aces: &[Vec<u8>], uid: u32, gid: u32) -> Rights {
    let acl = NtAcl::decode(&value(1, aces)).unwrap().unwrap().acl(IDS, sids);
    acl.rights(&Caller::new(uid, gid, &[]), IDS.0, IDS.1)
}

#[test]
fn sids_that_the_administrator_names_are_users_and_groups() {
    let sid = |rid: u32| sid_of_text(&format!("{DOMAIN}-{rid}")).unwrap();
    let (everyone, mut sids) = (sid_of_text("S-1-1-0").unwrap(), SidMap::default());
    sids.add(&sid(1000), Who::User(7));
    sids.add(&sid(513), Who::Group(100));
    let aces = [ace(1, 0, 2, &sid(1000)), ace(0, 0, 4, &sid(513)), ace(0, 0, 3, &everyone)];
    let both = Rights::READ_DATA.union(Rights::WRITE_DATA);
    assert!(mapped(&sids, &aces, 8, 9).contains(both), "what is taken from one user is left to the others");
    let named = mapped(&sids, &aces, 7, 9);
    assert!(named.contains(Rights::READ_DATA) && !named.contains(Rights::WRITE_DATA));
    assert!(mapped(&sids, &aces, 8, 100).contains(Rights::APPEND));
    assert!(!mapped(&sids, &aces, 8, 9).contains(Rights::APPEND));
    // Another SID of the same domain is still unknown: what is taken from it is taken from everyone.
    let other = [ace(1, 0, 2, &sid(1001)), ace(0, 0, 3, &everyone)];
    assert!(!mapped(&sids, &other, 8, 9).contains(Rights::WRITE_DATA));
}

/// The RIDs of Samba's algorithm: 2 × uid + 1000, and 2 × gid + 1001; those below 1000 are none.
#[test]
fn a_domain_by_samba_s_algorithm_has_every_user_and_group() {
    let sid = |rid: u32| sid_of_text(&format!("{DOMAIN}-{rid}")).unwrap();
    let mut sids = SidMap::default();
    sids.add_domain(&sid_of_text(DOMAIN).unwrap());
    let who = |sid: &[u8]| {
        let list =
            NtAcl::decode(&value(1, &[ace(0, 0, 1, sid)])).unwrap().unwrap().acl(IDS, &sids).entries.list;
        list[0].who.clone()
    };
    assert_eq!(who(&sid(1000 + 2 * 1005)), Who::User(1005));
    assert_eq!(who(&sid(1001 + 2 * 100)), Who::Group(100));
    assert!(matches!(who(&sid(513)), Who::Foreign(_)));
    assert!(matches!(who(&sid_of_text("S-1-5-21-1-2-3-3010").unwrap()), Who::Foreign(_)));
    assert!(matches!(who(&sid_of_text(&format!("{DOMAIN}-3010-0")).unwrap()), Who::Foreign(_)));
}

#[test]
fn entries_with_conditions_give_nothing_and_take_from_all() {
    let everyone = sid_of_text("S-1-1-0").unwrap();
    let all = ace(0, 0, 0x1f_01ff, &everyone);
    let denied = acl(&value(1, &[ace(10, 0, 1, &everyone), all.clone()]));
    let allowed = acl(&value(1, &[ace(9, 0, 1, &everyone)]));
    let rights = |acl: &super::super::Acl| acl.rights(&Caller::new(7, 100, &[]), 5, 60);
    assert!(!rights(&denied).contains(Rights::READ_DATA) && rights(&denied).contains(Rights::WRITE_DATA));
    assert_eq!(rights(&allowed), Rights::NONE);
}

#[test]
fn damaged_values_are_errors() {
    let whole = bytes(FILE);
    for len in 0..whole.len() {
        assert!(NtAcl::decode(&whole[..len]).is_err(), "{len} bytes");
    }
    let mut later = whole.clone();
    later[0] = 5;
    later[2] = 5;
    assert!(NtAcl::decode(&later).is_err());
    let mut many = value(1, &[]);
    let at = many.len() - 4;
    many[at..].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(NtAcl::decode(&many).is_err());
    // No list at all: the mode decides.
    let mut none = value(1, &[]);
    none[10] = 0;
    assert_eq!(NtAcl::decode(&none), Ok(None));
}

const OWNER: u32 = 5;
const STRANGER: u32 = 7;

/// A share in which smbd has stored such a value on a file of this mode.
fn share(value: &[u8], mode: u32) -> (Arc<Volume>, Found) {
    let memory = Memory::ticking();
    let root = memory.root().unwrap().object;
    let owner = Caller::new(OWNER, 60, &[]);
    let file = root.create(&owner, b"f", NewKind::File, mode).unwrap().object;
    file.set_xattr(&Caller::root(), ATTRIBUTE, value, XattrMode::Set).unwrap();
    let volume = Arc::new(Volume::new(Arc::new(memory), VolumeOptions::default()));
    let found = volume.root().unwrap().object.lookup(&owner, b"f").unwrap();
    (volume, found)
}

fn rights(volume: &Volume, of: &Found, uid: u32) -> Rights {
    let of = Found { object: of.object.clone(), attributes: of.object.attributes().unwrap() };
    volume.rights(&Caller::new(uid, 100, &[]), &of, None).unwrap()
}

fn denial() -> Vec<u8> {
    let (user, everyone) =
        (sid_of_text(&format!("S-1-22-1-{STRANGER}")).unwrap(), sid_of_text("S-1-1-0").unwrap());
    value(1, &[ace(1, 0, 1, &user), ace(0, 0, 0x1f_01ff, &everyone)])
}

#[test]
fn a_denial_of_samba_binds_and_the_mode_does_too() {
    let (volume, file) = share(&denial(), 0o664);
    let stranger = rights(&volume, &file, STRANGER);
    assert!(!stranger.contains(Rights::READ_DATA));
    // Everyone has all rights by the ACL, and others only read by the mode.
    let other = rights(&volume, &file, 8);
    assert!(
        other.contains(Rights::READ_DATA) && !other.intersects(Rights::WRITE_DATA.union(Rights::WRITE_ACL))
    );
    assert!(rights(&volume, &file, OWNER).contains(Rights::WRITE_DATA.union(Rights::WRITE_ACL)));
    let reader = Caller::new(STRANGER, 100, &[]);
    assert_eq!(volume.access(&reader, &file, Access::READ), Ok(Access::NONE));
}

#[test]
fn a_new_acl_or_mode_replaces_that_of_samba() {
    let owner = Actor::new(Caller::new(OWNER, 60, &[]), Party::client(ClientId(1)));
    let (volume, file) = share(&denial(), 0o664);
    let list = vec![Entry::deny(Who::User(8), Rights::READ_DATA), Entry::allow(Who::Everyone, Rights::ALL)];
    let entries = Some(Entries { list, ..Entries::default() });
    volume.set_acl(&owner, &file, &AclChange { entries, ..AclChange::default() }).unwrap();
    assert_eq!(file.object.xattr(ATTRIBUTE), Err(Error::NoSuchAttribute));
    assert!(rights(&volume, &file, STRANGER).contains(Rights::READ_DATA));
    assert!(!rights(&volume, &file, 8).contains(Rights::READ_DATA));

    let (volume, file) = share(&denial(), 0o664);
    let mode = SetAttributes { mode: Some(0o666), ..SetAttributes::default() };
    volume.set_attributes(&owner, &file, &mode).unwrap();
    assert_eq!(file.object.xattr(ATTRIBUTE), Err(Error::NoSuchAttribute));
    assert!(rights(&volume, &file, STRANGER).contains(Rights::WRITE_DATA));
}

/// Clients send the owner and the group back with the list.
#[test]
fn an_owner_that_is_set_leaves_the_mode_in_force() {
    let by = |uid| Actor::new(Caller::new(uid, 60, &[]), Party::client(ClientId(1)));
    let (volume, file) = share(&denial(), 0o640);
    let may = || [OWNER, STRANGER, 8, 9].map(|uid| rights(&volume, &file, uid));
    let before = may();
    let owner = |uid| AclChange { owner: Some(Who::User(uid)), ..AclChange::default() };
    volume.set_acl(&by(OWNER), &file, &owner(OWNER)).unwrap();
    assert!(file.object.xattr(ATTRIBUTE).is_ok(), "the same owner changes nothing");
    assert_eq!(may(), before);
    volume.set_acl(&by(0), &file, &owner(9)).unwrap();
    assert_eq!(file.object.attributes().unwrap().uid, 9);
    let after = may();
    for (uid, number) in [(STRANGER, 1), (8, 2)] {
        assert_eq!(after[number].difference(before[number]), Rights::NONE, "user {uid}");
    }
    assert!(after[3].contains(Rights::READ_DATA.union(Rights::WRITE_DATA)), "the new owner, by the mode");
}

#[test]
fn new_files_inherit_from_a_folder_of_samba() {
    let (user, everyone) = (sid_of_text("S-1-22-1-7").unwrap(), sid_of_text("S-1-1-0").unwrap());
    let value = value(3, &[ace(1, 3, 1, &user), ace(0, 3, 0x1f_01ff, &everyone)]);
    let memory = Memory::ticking();
    let root = memory.root().unwrap().object;
    let folder = root.create(&Caller::new(OWNER, 60, &[]), b"d", NewKind::Folder, 0o777).unwrap().object;
    folder.set_xattr(&Caller::root(), ATTRIBUTE, &value, XattrMode::Set).unwrap();
    let volume = Arc::new(Volume::new(Arc::new(memory), VolumeOptions::default()));
    let owner = Actor::new(Caller::new(OWNER, 60, &[]), Party::client(ClientId(1)));
    let folder = Found { attributes: folder.attributes().unwrap(), object: folder };
    let made = volume.create(&owner, &folder, b"new", NewKind::File, 0o666).unwrap().found;
    assert!(!rights(&volume, &made, STRANGER).contains(Rights::READ_DATA));
    assert!(rights(&volume, &made, 8).contains(Rights::READ_DATA));
}

/// Samba takes the mode if it cannot read its own value.
#[test]
fn a_damaged_value_leaves_the_mode() {
    let (volume, file) = share(&denial()[..30], 0o664);
    assert!(rights(&volume, &file, STRANGER).contains(Rights::READ_DATA));
    assert!(!rights(&volume, &file, STRANGER).contains(Rights::WRITE_DATA));
}
