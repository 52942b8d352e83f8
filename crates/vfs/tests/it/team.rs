//! Team folders: what the roles let people do, in all operations. The tables are written from the words for the roles, in
//! docs/design/permissions.md.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use auth::{FileProtocol, Grantee, Role, RoleEntry, Roles};
use bytes::Bytes;
use vfs::acl::{AclChange, CreateAcl, Entries, Entry, Inherit, NewPermissions, Rights, Who};
use vfs::backend::host::{Host, HostOptions};
use vfs::backend::memory::Memory;
use vfs::backend::{Backend, Found, NewKind, RenameMode, Stability};
use vfs::state::{ClientId, Party};
use vfs::{Access, Actor, Caller, Error, Kind, SetAttributes, SetTime, Time, Volume, VolumeOptions};

mod apart;
mod renaming;
mod sidecars;

const GROUP: u32 = 6100;
const CORA: u32 = 6008;

/// Each has one letter in the tables, and a number.
const PEOPLE: [(char, u32, Option<Role>); 6] = [
    ('O', 6001, Some(Role::Owner)),
    ('E', 6002, Some(Role::Editor)),
    ('C', 6003, Some(Role::Contributor)),
    ('R', 6004, Some(Role::Reader)),
    ('D', 6005, Some(Role::Drop)),
    ('X', 6006, None),
];

fn name(uid: u32) -> String {
    format!("user{uid}")
}

/// A user over a protocol that knows numbers only.
fn by_number(uid: u32) -> Actor {
    Actor::new(Caller::new(uid, GROUP, &[]), Party::client(ClientId(u64::from(uid))))
}

/// The same user after a login.
fn by_login(uid: u32) -> Actor {
    let caller = by_number(uid).caller;
    let caller =
        caller.of(FileProtocol::Smb, Some(&name(uid).to_uppercase()), IpAddr::V4(Ipv4Addr::LOCALHOST));
    Actor { caller, ..by_number(uid) }
}

fn cora() -> Actor {
    by_number(CORA)
}

fn roles() -> Arc<Roles> {
    let user = |uid, role| RoleEntry { role, grantee: Grantee::User { name: name(uid), uid: Some(uid) } };
    let people = PEOPLE.iter().filter_map(|(_, uid, role)| Some(user(*uid, (*role)?)));
    Arc::new(Roles::new(people.chain([user(CORA, Role::Contributor)]).collect()))
}

struct Share {
    volume: Arc<Volume>,
    made: AtomicU32,
    _folder: Option<tempfile::TempDir>,
}

fn share(backend: Arc<dyn Backend>, folder: Option<tempfile::TempDir>) -> Share {
    let volume = Arc::new(Volume::new(backend, VolumeOptions::default()));
    let group = SetAttributes { gid: Some(GROUP), mode: Some(0o2770), ..SetAttributes::default() };
    let root = Actor::new(Caller::root(), Party::client(ClientId(1)));
    volume.set_attributes(&root, &volume.root().unwrap(), &group).unwrap();
    volume.set_roles(Some(roles()));
    Share { volume, made: AtomicU32::new(0), _folder: folder }
}

/// A volume in memory, and a folder of the host if this process can act for others.
fn shares() -> Vec<Share> {
    let mut shares = vec![share(Arc::new(Memory::ticking()), None)];
    if rustix::process::geteuid().is_root() {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::open(folder.path(), &HostOptions::default()).unwrap();
        shares.push(share(Arc::new(host), Some(folder)));
    }
    shares
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

impl Share {
    fn root(&self) -> Found {
        self.volume.root().unwrap()
    }

    fn new_name(&self) -> String {
        format!("n{}", self.made.fetch_add(1, Ordering::Relaxed))
    }

    fn now(&self, found: &Found) -> Found {
        self.volume.node(&found.object.key()).unwrap()
    }

    fn make(&self, by: &Actor, folder: &Found, new: NewKind<'_>) -> vfs::Result<(String, Found)> {
        let name = self.new_name();
        let made = self.volume.create(by, &self.now(folder), name.as_bytes(), new, 0o600)?.found;
        Ok((name, made))
    }

    fn file(&self, by: &Actor, folder: &Found) -> vfs::Result<(String, Found)> {
        self.make(by, folder, NewKind::File)
    }

    fn folder(&self, by: &Actor, folder: &Found) -> Found {
        self.make(by, folder, NewKind::Folder).unwrap().1
    }

    fn write(&self, by: &Actor, file: &Found) -> vfs::Result<()> {
        let data = Bytes::from_static(b"hello");
        run(self.volume.stateless().write(by, &self.now(file), 0, data, Stability::Unstable)).map(drop)
    }

    fn read(&self, by: &Actor, file: &Found) -> vfs::Result<()> {
        run(self.volume.stateless().read(by, &self.now(file), 0, 5)).map(drop)
    }

    fn chmod(&self, by: &Actor, of: &Found, mode: u32) -> vfs::Result<()> {
        let changes = SetAttributes { mode: Some(mode), ..SetAttributes::default() };
        self.volume.set_attributes(by, &self.now(of), &changes).map(drop)
    }

    fn touch(&self, by: &Actor, of: &Found) -> vfs::Result<()> {
        let modified = SetTime::To(Time { secs: 1, nanos: 0 });
        let changes = SetAttributes { modified, ..SetAttributes::default() };
        self.volume.set_attributes(by, &self.now(of), &changes).map(drop)
    }

    fn remove(&self, by: &Actor, folder: &Found, name: &str, kind: Kind) -> vfs::Result<()> {
        self.volume.remove(by, &self.now(folder), name.as_bytes(), kind).map(drop)
    }

    fn rename(&self, by: &Actor, from: &Found, name: &str, to: &Found) -> vfs::Result<String> {
        let new = self.new_name();
        let (from, to) = (self.now(from), self.now(to));
        let names = (name.as_bytes(), new.as_bytes());
        self.volume.rename(by, (&from, names.0), (&to, names.1), RenameMode::Replace)?;
        Ok(new)
    }

    fn set(&self, by: &Actor, of: &Found, entries: Entries) -> vfs::Result<()> {
        let change = AclChange { entries: Some(entries), ..AclChange::default() };
        self.volume.set_acl(by, &self.now(of), &change).map(drop)
    }

    /// Gives a person a role in a folder, as `fourfold rights set` stores it.
    fn narrow(&self, of: &Found, uid: u32, role: Role) {
        let mut list = Vec::new();
        for (is_folder, inherit) in [(true, Inherit::FOLDERS), (false, Inherit::FILES | Inherit::ONLY)] {
            let rights = vfs::acl::rights_of_role(role, is_folder);
            let deny = Entry::deny(Who::User(uid), Rights::ALL.difference(rights));
            list.push(deny.inherited_by(inherit));
        }
        self.set(&by_login(6001), of, Entries { list, ..Entries::default() }).unwrap();
    }
}

/// An operation, and who may do it.
type Row = (&'static str, &'static str, fn(&Share, &Actor, &Found) -> vfs::Result<()>);

/// What people may do in a folder of a colleague, who is a contributor, with what the colleague has in it.
const WITH_THEIRS: &[Row] = &[
    ("make a file", "OEC", |share, by, at| share.file(by, at).map(drop)),
    ("make a folder", "OEC", |share, by, at| share.make(by, at, NewKind::Folder).map(drop)),
    ("make a link", "OEC", |share, by, at| share.make(by, at, NewKind::Link(b"x")).map(drop)),
    ("read", "OECR", |share, by, at| share.read(by, &share.file(&cora(), at)?.1)),
    ("write", "OE", |share, by, at| share.write(by, &share.file(&cora(), at)?.1)),
    ("chmod", "OE", |share, by, at| share.chmod(by, &share.file(&cora(), at)?.1, 0o600)),
    ("set times", "OE", |share, by, at| share.touch(by, &share.file(&cora(), at)?.1)),
    ("remove", "OE", |share, by, at| {
        let (name, _) = share.file(&cora(), at)?;
        share.remove(by, at, &name, Kind::File)
    }),
    ("remove a folder", "OE", |share, by, at| {
        let (name, _) = share.make(&cora(), at, NewKind::Folder)?;
        share.remove(by, at, &name, Kind::Folder)
    }),
    ("remove a link", "OE", |share, by, at| {
        let (name, _) = share.make(&cora(), at, NewKind::Link(b"x"))?;
        share.remove(by, at, &name, Kind::Link)
    }),
    ("rename", "OE", |share, by, at| {
        let (name, _) = share.file(&cora(), at)?;
        share.rename(by, at, &name, at).map(drop)
    }),
    ("write after chmod 600 by its maker", "OE", |share, by, at| {
        let file = share.file(&cora(), at)?.1;
        share.chmod(&cora(), &file, 0o600)?;
        share.write(by, &file)
    }),
    ("read after chmod 0 by its maker", "OECR", |share, by, at| {
        let file = share.file(&cora(), at)?.1;
        share.chmod(&cora(), &file, 0)?;
        share.read(by, &file)
    }),
    ("list", "OECR", |share, by, at| share.volume.list(&by.caller, &share.now(at), 0).map(drop)),
    ("set an ACL", "O", |share, by, at| share.set(by, &share.file(&cora(), at)?.1, only(by.caller.uid))),
    ("make a private file by its ACL", "", |share, by, at| {
        let acl = CreateAcl { entries: Entries { protected: true, ..only(CORA) } };
        let permissions = NewPermissions { mode: 0, acl: Some(&acl), ..NewPermissions::default() };
        let name = share.new_name();
        let at = share.now(at);
        let made = share.volume.create_with_permissions(
            &cora(),
            &at,
            name.as_bytes(),
            NewKind::File,
            &permissions,
        )?;
        let has_own = share.volume.acl(&made)?.entries.protected;
        if has_own && by.caller.uid != 0 { Ok(()) } else { Err(Error::AccessDenied) }
    }),
];

/// What people may do with what is theirs, at the top of the share.
const WITH_OWN: &[Row] = &[
    ("make a file", "OECD", |share, by, at| share.file(by, at).map(drop)),
    ("write", "OECD", |share, by, at| share.write(by, &share.file(by, at)?.1)),
    ("chmod 400 and write", "OECD", |share, by, at| {
        let file = share.file(by, at)?.1;
        share.chmod(by, &file, 0o400)?;
        share.write(by, &file)
    }),
    ("set times", "OECD", |share, by, at| share.touch(by, &share.file(by, at)?.1)),
    ("read", "OEC", |share, by, at| share.read(by, &share.file(by, at)?.1)),
    ("remove", "OEC", |share, by, at| {
        let (name, _) = share.file(by, at)?;
        share.remove(by, at, &name, Kind::File)
    }),
    ("rename", "OECD", |share, by, at| {
        let (name, _) = share.file(by, at)?;
        share.rename(by, at, &name, at).map(drop)
    }),
    ("a file in an own folder", "OECD", |share, by, at| {
        let folder = share.make(by, at, NewKind::Folder)?.1;
        share.file(by, &folder).map(drop)
    }),
    ("set an ACL", "O", |share, by, at| share.set(by, &share.file(by, at)?.1, only(by.caller.uid))),
];

fn only(uid: u32) -> Entries {
    Entries { list: vec![Entry::allow(Who::User(uid), Rights::ALL)], ..Entries::default() }
}

/// Who may do it, of all people, by number and after a login.
fn assert_rows(share: &Share, rows: &[Row], at: &Found) {
    for (what, who, operation) in rows {
        for actor in [by_number, by_login] {
            let done = PEOPLE.iter().filter(|(_, uid, _)| match operation(share, &actor(*uid), at) {
                Ok(()) => true,
                Err(Error::AccessDenied | Error::NotPermitted) => false,
                Err(other) => panic!("{what}: {other}"),
            });
            assert_eq!(done.map(|(letter, ..)| letter).collect::<String>(), *who, "{what}");
        }
    }
}

#[test]
fn people_do_what_their_roles_say_with_files_of_a_colleague() {
    for share in shares() {
        let folder = share.folder(&cora(), &share.root());
        assert_rows(&share, WITH_THEIRS, &folder);
        assert_rows(&share, WITH_THEIRS, &share.folder(&cora(), &folder));
    }
}

#[test]
fn people_do_what_their_roles_say_with_their_own_files() {
    for share in shares() {
        assert_rows(&share, WITH_OWN, &share.root());
    }
}

#[test]
fn what_is_made_belongs_to_its_maker_and_the_group_of_the_folder() {
    for share in shares() {
        for (new, mode) in [(NewKind::File, 0o660), (NewKind::Folder, 0o2770)] {
            let made = share.make(&by_login(6003), &share.root(), new).unwrap().1;
            let now = share.now(&made).attributes;
            assert_eq!((now.uid, now.gid, now.mode & 0o7777), (6003, GROUP, mode));
            assert_eq!(made.attributes.changed, now.changed);
        }
    }
}

#[test]
fn a_mode_sets_the_right_to_execute_only() {
    for share in shares() {
        let file = share.file(&cora(), &share.root()).unwrap().1;
        let after = |mode| {
            share.chmod(&cora(), &file, mode).unwrap();
            share.now(&file).attributes.mode & 0o7777
        };
        assert_eq!([0o755, 0o4700, 0o666, 0o111, 0].map(after), [0o770, 0o770, 0o660, 0o770, 0o660]);
    }
}

#[test]
fn a_role_in_a_folder_counts_for_what_is_in_it_whoever_made_it() {
    for share in shares() {
        let folder = share.folder(&cora(), &share.root());
        share.narrow(&folder, 6002, Role::Reader);
        let inner = share.folder(&cora(), &folder);
        for at in [&folder, &inner] {
            let (name, file) = share.file(&cora(), at).unwrap();
            let editor = by_login(6002);
            assert_eq!(share.read(&editor, &file), Ok(()));
            assert_eq!(share.write(&editor, &file), Err(Error::AccessDenied));
            assert_eq!(share.remove(&editor, at, &name, Kind::File), Err(Error::AccessDenied));
            assert_eq!(share.file(&editor, at).map(drop), Err(Error::AccessDenied));
            assert_eq!(share.write(&by_login(6001), &file), Ok(()));
        }
    }
}

#[test]
fn a_local_chmod_does_not_lift_what_an_entry_takes() {
    for share in shares() {
        let file = share.file(&cora(), &share.root()).unwrap().1;
        share.narrow(&file, 6002, Role::Reader);
        let mode = SetAttributes { mode: Some(0o777), ..SetAttributes::default() };
        file.object.set_attributes(&Caller::root(), &mode).unwrap();
        assert_eq!(share.write(&by_login(6002), &file), Err(Error::AccessDenied));
        assert_eq!(share.read(&by_login(6002), &file), Ok(()));
    }
}

#[test]
fn what_moves_gets_what_its_new_folder_passes_on() {
    for share in shares() {
        let (cora, editor) = (cora(), by_login(6002));
        let (wide, narrow) = (share.folder(&cora, &share.root()), share.folder(&cora, &share.root()));
        share.narrow(&narrow, 6002, Role::Reader);
        let inner = share.make(&cora, &wide, NewKind::Folder).unwrap();
        let file = share.file(&cora, &inner.1).unwrap().1;
        assert_eq!(share.write(&editor, &file), Ok(()));
        let name = share.rename(&cora, &wide, &inner.0, &narrow).unwrap();
        assert_eq!(share.write(&editor, &file), Err(Error::AccessDenied));
        share.rename(&cora, &narrow, &name, &wide).unwrap();
        assert_eq!(share.write(&editor, &file), Ok(()));
    }
}

#[test]
fn entries_that_only_show_the_roles_are_not_stored() {
    for share in shares() {
        let (root, owner) = (share.root(), by_login(6001));
        let file = share.file(&cora(), &root).unwrap().1;
        for of in [&root, &file] {
            let shown = share.volume.acl(of).unwrap().entries;
            assert!(!shown.list.is_empty());
            share.set(&owner, of, shown.clone()).unwrap();
            assert!(of.object.xattr(b"user.fourfold.acl").is_err());
            assert_eq!(share.volume.acl(&share.now(of)).unwrap().entries, shown);
        }
    }
}

#[test]
fn a_protected_list_stands_alone_and_below_it_too() {
    for share in shares() {
        let owner = by_login(6001);
        let folder = share.folder(&owner, &share.root());
        let inherit = Inherit::FILES.union(Inherit::FOLDERS);
        let list = [6001, 6004].map(|uid| Entry::allow(Who::User(uid), Rights::ALL).inherited_by(inherit));
        share
            .set(&owner, &folder, Entries { list: list.into(), protected: true, auto_inherited: true })
            .unwrap();
        let (name, file) = share.file(&owner, &folder).unwrap();
        assert_eq!(share.write(&by_login(6004), &file), Ok(()));
        for uid in [6002, 6003] {
            assert_eq!(share.read(&by_login(uid), &file), Err(Error::AccessDenied));
        }
        share.rename(&owner, &folder, &name, &share.root()).unwrap();
        assert_eq!(share.write(&by_login(6004), &file), Err(Error::AccessDenied));
        assert_eq!(share.write(&by_login(6002), &file), Ok(()));
    }
}

#[test]
fn an_owner_can_always_mend_a_list() {
    for share in shares() {
        let (owner, file) = (by_login(6001), share.file(&cora(), &share.root()).unwrap().1);
        let none = Entries { list: Vec::new(), protected: true, auto_inherited: false };
        share.set(&owner, &file, none).unwrap();
        assert_eq!(share.read(&owner, &file), Err(Error::AccessDenied));
        share.set(&owner, &file, Entries::default()).unwrap();
        assert_eq!(share.read(&owner, &file), Ok(()));
    }
}

#[test]
fn a_file_without_a_right_to_write_in_its_mode_is_not_locked() {
    for share in shares() {
        let file = share.file(&cora(), &share.root()).unwrap().1;
        let mode = SetAttributes { mode: Some(0o444), ..SetAttributes::default() };
        file.object.set_attributes(&Caller::root(), &mode).unwrap();
        let now = share.now(&file);
        assert!(!share.volume.mac_tree().is_locked_by_mode(&now).unwrap());
        assert!(!share.volume.metadata(&now, None).unwrap().is_readonly());
        assert_eq!(share.write(&by_login(6002), &file), Ok(()));
    }
}

#[test]
fn a_change_of_the_roles_counts_at_once() {
    for share in shares() {
        let file = share.file(&cora(), &share.root()).unwrap().1;
        assert_eq!(share.read(&by_login(6006), &file), Err(Error::AccessDenied));
        let everyone = RoleEntry { role: Role::Editor, grantee: Grantee::Everyone };
        share.volume.set_roles(Some(Arc::new(Roles::new(vec![everyone]))));
        assert_eq!(share.write(&by_login(6006), &file), Ok(()));
        let nobody = Actor::new(Caller::anonymous(), Party::client(ClientId(9)));
        assert_eq!(share.read(&nobody, &file), Err(Error::AccessDenied));
        let want = Access::READ.union(Access::WRITE);
        assert_eq!(share.volume.access(&cora().caller, &share.now(&file), want), Ok(want));
    }
}

/// The rights that a person should have, computed from the roles and from the folders with entries that the file is below.
fn expected(role: Option<Role>, owns: bool, narrowed: bool) -> (bool, bool) {
    let (reads, writes) = match role {
        Some(Role::Owner | Role::Editor) => (true, true),
        Some(Role::Contributor) => (true, owns),
        Some(Role::Reader) => (true, false),
        Some(Role::Drop) => (false, owns),
        None => (false, false),
    };
    (reads, writes && !narrowed)
}

/// A small generator (Knuth's constants for linear congruence), so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

/// Two folders: in the second the editor may only read.
#[test]
fn after_random_operations_all_have_what_their_roles_say() {
    for share in shares() {
        let (wide, narrow) = (share.folder(&cora(), &share.root()), share.folder(&cora(), &share.root()));
        share.narrow(&narrow, 6002, Role::Reader);
        let mut files: Vec<(String, Found, bool)> = Vec::new();
        let mut dice = Dice(40);
        for step in 0..400 {
            let (_, uid, _) = PEOPLE[dice.roll(PEOPLE.len())];
            let by = if dice.roll(2) == 0 { by_number(uid) } else { by_login(uid) };
            let to_narrow = dice.roll(2) == 0;
            let folder = if to_narrow { &narrow } else { &wide };
            let chosen = if files.is_empty() { None } else { Some(dice.roll(files.len())) };
            match (dice.roll(6), chosen) {
                (0, _) | (_, None) => {
                    if let Ok((name, file)) = share.file(&by, folder) {
                        files.push((name, file, to_narrow));
                    }
                }
                (1, Some(at)) => _ = share.chmod(&by, &files[at].1, dice.roll(0o10000) as u32),
                (2, Some(at)) => _ = share.write(&by, &files[at].1),
                (3, Some(at)) => _ = share.touch(&by, &files[at].1),
                (4, Some(at)) => {
                    let from = if files[at].2 { &narrow } else { &wide };
                    if let Ok(name) = share.rename(&by, from, &files[at].0, folder) {
                        (files[at].0, files[at].2) = (name, to_narrow);
                    }
                }
                (_, Some(at)) => {
                    let from = if files[at].2 { &narrow } else { &wide };
                    if share.remove(&by, from, &files[at].0, Kind::File).is_ok() {
                        files.swap_remove(at);
                    }
                }
            }
            for (name, file, narrowed) in &files {
                let now = share.now(file);
                for (letter, uid, role) in PEOPLE {
                    let want = Access::READ.union(Access::WRITE);
                    let has = share.volume.access(&by_login(uid).caller, &now, want).unwrap();
                    let has = (has.contains(Access::READ), has.contains(Access::WRITE));
                    let should = expected(role, now.attributes.uid == uid, *narrowed && uid == 6002);
                    assert_eq!(has, should, "step {step}: {letter} with {name}");
                }
            }
        }
    }
}
