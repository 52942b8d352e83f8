//! What a client reads of access rights and writes back changes nothing: for every mode, and for random lists.

use std::sync::Arc;

use vfs::acl::{AclChange, Entries, Entry, EntryKind, Inherit, Rights, Who};
use vfs::backend::memory::Memory;
use vfs::backend::{Found, NewKind};
use vfs::state::{ClientId, Party};
use vfs::{Actor, Caller, SetAttributes, Volume, VolumeOptions};

use super::super::create::access::by_rights;
use super::*;

const OWNER: u32 = 1000;
const GROUP: u32 = 100;
const PARTS: SecurityInformation = SecurityInformation(
    SecurityInformation::OWNER.0 | SecurityInformation::GROUP.0 | SecurityInformation::DACL.0,
);

struct Scene {
    volume: Volume,
    name: &'static [u8],
    is_folder: bool,
}

impl Scene {
    fn new(mode: u32, is_folder: bool) -> Self {
        let volume = Volume::new(Arc::new(Memory::ticking()), VolumeOptions::default());
        let kind = if is_folder { NewKind::Folder } else { NewKind::File };
        let (root, by) = (volume.root().unwrap(), actor(&Caller::root()));
        let name = b"it";
        volume.create(&by, &root, name, kind, mode).unwrap();
        let scene = Self { volume, name, is_folder };
        let owned = SetAttributes { uid: Some(OWNER), gid: Some(GROUP), ..SetAttributes::default() };
        scene.volume.set_attributes(&by, &scene.found(), &owned).unwrap();
        let moded = SetAttributes { mode: Some(mode), ..SetAttributes::default() };
        scene.volume.set_attributes(&by, &scene.found(), &moded).unwrap();
        scene
    }

    fn found(&self) -> Found {
        self.volume.lookup(&Caller::root(), &self.volume.root().unwrap().object, self.name).unwrap()
    }

    fn mode(&self) -> u32 {
        self.found().attributes.mode & 0o777
    }

    /// What the owner, a member of the group, two others and root may do.
    fn rights(&self) -> Vec<AccessMask> {
        let callers =
            [(OWNER, 7), (2000, GROUP), (3000, 7), (4000, 7)].map(|(uid, gid)| Caller::new(uid, gid, &[]));
        let found = self.found();
        callers.iter().map(|caller| by_rights(&self.volume, caller, &found, None).unwrap()).collect()
    }

    fn shown(&self) -> Acl {
        as_shown(self.volume.acl(&self.found()).unwrap(), self.is_folder)
    }

    /// What a client that reads all and writes it back, after this change, asks for.
    fn written_back(&self, edit: impl FnOnce(&mut Vec<Ace>)) -> AclChange {
        let shown = self.shown();
        let mut read = descriptor(&shown, PARTS);
        edit(&mut read.dacl.as_mut().expect("a list").aces);
        change(&read, PARTS, Some(&shown)).unwrap()
    }

    fn set(&self, caller: &Caller, change: &AclChange) {
        self.volume.set_acl(&actor(caller), &self.found(), change).unwrap();
    }
}

fn actor(caller: &Caller) -> Actor {
    Actor::new(caller.clone(), Party::client(ClientId::unused()))
}

#[test]
fn an_owner_writes_back_what_it_has_read_and_loses_nothing() {
    let owner = Caller::new(OWNER, 7, &[GROUP]);
    let stranger = Ace::allow(Unix::User(9000).sid(), AccessMask::FILE_READ, AceFlags::NONE);
    for (mode, is_folder) in (0..0o1000).flat_map(|mode| [(mode, false), (mode, true)]) {
        let scene = Scene::new(mode, is_folder);
        let before = scene.rights();
        assert_eq!(scene.written_back(|_| ()).entries, None, "{mode:o}");
        // `smbcacls -a`, twice.
        for _ in 0..2 {
            let added = scene.written_back(|aces| aces.insert(0, stranger.clone()));
            scene.set(&owner, &added);
            assert_eq!(scene.rights(), before, "{mode:o}, a folder: {is_folder}");
            assert_eq!(scene.mode() & !mode, 0, "{mode:o} has become {:o}", scene.mode());
        }
        assert_eq!(scene.written_back(|_| ()).entries, None, "{mode:o}, stored");
    }
}

/// Numbers that look random, and are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn entry(&mut self) -> Entry {
        let who = match self.below(9) {
            0 => Who::Owner,
            1 => Who::OwningGroup,
            2 => Who::Everyone,
            3 => Who::SignedIn,
            4 => Who::OwnerRights,
            5 => Who::User(OWNER),
            6 => Who::Group(GROUP),
            7 => Who::User(4000),
            _ => foreign(&"S-1-5-21-1-2-3-1104".parse().unwrap()),
        };
        let kind = if self.below(3) == 0 { EntryKind::Deny } else { EntryKind::Allow };
        let marks = [Rights::NONE, Rights::RUNS_AS_READER, Rights::FROM_MODE][self.below(3) as usize];
        let rights = Rights(self.below(1 << 21) as u32).intersection(Rights::ALL).union(marks);
        Entry { kind, inherit: Inherit(self.below(32) as u8), rights, who }
    }
}

#[test]
fn a_list_that_was_set_comes_back_as_it_was() {
    for seed in 0..500 {
        let mut random = Random(seed);
        let scene = Scene::new(0o640, seed % 2 == 0);
        let list = (0..random.below(8)).map(|_| random.entry()).collect();
        let (protected, auto_inherited) = (random.below(2) == 0, random.below(2) == 0);
        let entries = Some(Entries { list, protected, auto_inherited });
        scene.set(&Caller::root(), &AclChange { entries, ..AclChange::default() });
        let before = (scene.volume.acl(&scene.found()).unwrap(), scene.rights());
        assert_eq!(scene.written_back(|_| ()).entries, None, "seed {seed}");
        // One entry goes, and the others stay what they are.
        if before.0.entries.list.len() > 1 {
            let rest = scene.written_back(|aces| drop(aces.pop())).entries.expect("a change").list;
            assert_eq!(rest[..], before.0.entries.list[..rest.len()], "seed {seed}");
        }
        assert_eq!((scene.volume.acl(&scene.found()).unwrap(), scene.rights()), before);
    }
}
