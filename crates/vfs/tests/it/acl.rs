//! Stored ACLs: what they allow each caller, in all operations, and how long they apply.

use std::sync::Arc;

use bytes::Bytes;

use vfs::acl::{AclChange, CreateAcl, Entries, Entry, Inherit, ModeInheritance, NewPermissions, Rights, Who};
use vfs::backend::faulty::{Call, Faulty};
use vfs::backend::host::{Host, HostOptions};
use vfs::backend::memory::Memory;
use vfs::backend::{Backend, Found, NewKind, RenameMode, Stability, XattrMode};
use vfs::names::Folding;
use vfs::state::{ClientId, Modes, Party};
use vfs::{Access, Actor, Caller, Error, Kind, OpenOptions, SetAttributes, Volume, VolumeOptions};

const READ: Rights = Rights(0x12_00a9);
const MAC: Folding = Folding { case_sensitive: false, normalisation_sensitive: false };
const ATTRIBUTE: &[u8] = b"user.fourfold.acl";

fn actor(uid: u32, gid: u32) -> Actor {
    Actor::new(Caller::new(uid, gid, &[]), Party::client(ClientId(u64::from(uid))))
}

fn root() -> Actor {
    actor(0, 0)
}

/// Owns the files of the tests.
fn anna() -> Actor {
    actor(5001, 5001)
}

/// Has rights by ACLs.
fn ben() -> Actor {
    actor(5002, 5002)
}

/// Any other user.
fn carl() -> Actor {
    actor(5003, 5003)
}

struct Share {
    volume: Arc<Volume>,
    backend: Arc<dyn Backend>,
    _folder: Option<tempfile::TempDir>,
}

impl Share {
    fn on(backend: Arc<dyn Backend>, folder: Option<tempfile::TempDir>) -> Self {
        let volume = Arc::new(Volume::new(backend.clone(), VolumeOptions::default()));
        let share = Self { volume, backend, _folder: folder };
        let all = SetAttributes { mode: Some(0o777), ..Default::default() };
        share.volume.set_attributes(&root(), &share.root(), &all).unwrap();
        share
    }

    fn root(&self) -> Found {
        self.volume.root().unwrap()
    }

    fn make(
        &self,
        by: &Actor,
        folder: &Found,
        name: &str,
        kind: NewKind<'_>,
        mode: u32,
    ) -> vfs::Result<Found> {
        Ok(self.volume.create(by, folder, name.as_bytes(), kind, mode)?.found)
    }

    /// A file of Anna's, with five bytes in it.
    fn file(&self, name: &str, mode: u32) -> Found {
        let file = self.make(&anna(), &self.root(), name, NewKind::File, mode).unwrap();
        run(self.volume.stateless().write(
            &anna(),
            &file,
            0,
            Bytes::from_static(b"hello"),
            Stability::Unstable,
        ))
        .unwrap();
        self.now(&file)
    }

    fn folder(&self, name: &str, mode: u32) -> Found {
        self.make(&anna(), &self.root(), name, NewKind::Folder, mode).unwrap()
    }

    fn now(&self, found: &Found) -> Found {
        self.volume.node(&found.object.key()).unwrap()
    }

    fn set(&self, by: &Actor, of: &Found, list: &[Entry]) -> vfs::Result<Found> {
        let entries = Some(Entries { list: list.to_vec(), ..Default::default() });
        self.volume.set_acl(by, of, &AclChange { entries, ..Default::default() })?;
        Ok(self.now(of))
    }

    fn reads(&self, by: &Actor, file: &Found) -> vfs::Result<()> {
        run(self.volume.stateless().read(by, &self.now(file), 0, 5)).map(drop)
    }

    fn writes(&self, by: &Actor, file: &Found) -> vfs::Result<()> {
        let hello = Bytes::from_static(b"hello");
        run(self.volume.stateless().write(by, &self.now(file), 0, hello, Stability::Unstable)).map(drop)
    }

    fn chmod(&self, by: &Actor, of: &Found, mode: u32) -> vfs::Result<()> {
        let changes = SetAttributes { mode: Some(mode), ..Default::default() };
        self.volume.set_attributes(by, &self.now(of), &changes).map(drop)
    }
}

/// Every rule is tested on a volume in memory, and on a host folder if this process can act for
/// others.
fn shares() -> Vec<Share> {
    let mut shares = vec![Share::on(Arc::new(Memory::ticking()), None)];
    if rustix::process::geteuid().is_root() {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::open(folder.path(), &HostOptions::default()).unwrap();
        shares.push(Share::on(Arc::new(host), Some(folder)));
    } else {
        println!("skipped on the host: only root can act for others");
    }
    shares
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn allow(user: u32, rights: Rights) -> Entry {
    Entry::allow(Who::User(user), rights)
}

const DENIED: vfs::Result<()> = Err(Error::AccessDenied);

#[test]
fn an_acl_gives_what_the_mode_does_not() {
    for share in shares() {
        let file = share.file("a", 0o600);
        assert_eq!(share.reads(&ben(), &file), DENIED);
        let file = share.set(&anna(), &file, &[allow(5001, Rights::ALL), allow(5002, READ)]).unwrap();
        assert_eq!((share.reads(&ben(), &file), share.writes(&ben(), &file)), (Ok(()), DENIED));
        assert_eq!((share.reads(&anna(), &file), share.writes(&anna(), &file)), (Ok(()), Ok(())));
        assert_eq!(share.reads(&carl(), &file), DENIED);
        let file = share.now(&file);
        assert_eq!(share.volume.access(&ben().caller, &file, Access(7)), Ok(Access(5)));
        assert_eq!(
            file.attributes.mode, 0o700,
            "what the mode sums up: all for the owner, nothing for others"
        );
    }
}

#[test]
fn an_acl_takes_what_the_mode_would_give() {
    for share in shares() {
        let file = share.file("a", 0o666);
        let list = [Entry::deny(Who::User(5002), READ), Entry::allow(Who::Everyone, READ)];
        let file = share.set(&anna(), &file, &list).unwrap();
        assert_eq!((share.reads(&ben(), &file), share.reads(&carl(), &file)), (DENIED, Ok(())));
        assert_eq!(share.writes(&anna(), &file), DENIED, "owners, too");
        assert_eq!(share.writes(&root(), &file), Ok(()), "but not the superuser");
        let open = |by: &Actor, modes| run(share.volume.open(by, &file, OpenOptions::data(modes))).map(drop);
        assert_eq!((open(&ben(), Modes::READ), open(&carl(), Modes::READ)), (DENIED, Ok(())));
        assert_eq!(open(&carl(), Modes::WRITE), DENIED);
    }
}

#[test]
fn what_was_set_is_read_back_and_still_counts_after_a_restart() {
    for share in shares() {
        let file = share.file("a", 0o600);
        let foreign = Who::Foreign(Arc::from(*b"\x01\x05somebody elsewhere"));
        let list = vec![
            Entry::deny(foreign.clone(), Rights(0x8000_0001)),
            allow(5002, READ).inherited_by(Inherit::INHERITED),
            Entry::allow(Who::OwnerRights, Rights::ALL),
        ];
        let entries = Entries { list, protected: true, auto_inherited: true };
        let change =
            AclChange { entries: Some(entries.clone()), group: Some(foreign.clone()), ..Default::default() };
        share.volume.set_acl(&anna(), &file, &change).unwrap();
        let again = Volume::new(share.backend.clone(), VolumeOptions::default());
        let file = again.node(&file.object.key()).unwrap();
        let acl = again.acl(&file).unwrap();
        assert_eq!((acl.owner, acl.group, acl.entries), (Who::User(5001), foreign, entries));
        assert!(acl.stored);
        run(again.stateless().read(&ben(), &file, 0, 5)).unwrap();
        assert_eq!(run(again.stateless().read(&carl(), &file, 0, 5)).unwrap_err(), Error::AccessDenied);
    }
}

#[test]
fn after_a_chmod_the_mode_counts() {
    for share in shares() {
        let file = share.file("a", 0o600);
        let list = [allow(5001, Rights::ALL), allow(5002, READ)];
        let file = share.set(&anna(), &file, &list).unwrap();
        share.chmod(&anna(), &file, 0o704).unwrap();
        assert_eq!(share.reads(&carl(), &file), Ok(()));
        assert!(!share.volume.acl(&share.now(&file)).unwrap().stored);
        share.chmod(&anna(), &file, 0o700).unwrap();
        assert_eq!(share.reads(&ben(), &file), DENIED, "what was stale does not come back");
        // A local process knows nothing of ACLs.
        let file = share.set(&anna(), &file, &list).unwrap();
        let by_others = SetAttributes { mode: Some(0o744), ..Default::default() };
        file.object.set_attributes(&root().caller, &by_others).unwrap();
        assert_eq!((share.reads(&carl(), &file), share.writes(&anna(), &file)), (Ok(()), Ok(())));
        // The same mode again changes nothing.
        let file = share.set(&anna(), &file, &list).unwrap();
        share.chmod(&anna(), &file, 0o700).unwrap();
        assert_eq!(share.reads(&ben(), &file), Ok(()));
    }
}

#[test]
fn an_acl_that_says_what_a_mode_says_is_a_mode() {
    for share in shares() {
        let file = share.file("a", 0o640);
        let derived = share.volume.acl(&file).unwrap().entries.list;
        let file = share.set(&anna(), &file, &[allow(5002, READ)]).unwrap();
        assert!(file.object.xattr(ATTRIBUTE).is_ok());
        let file = share.set(&anna(), &file, &derived).unwrap();
        assert_eq!(file.attributes.mode, 0o640);
        assert_eq!(file.object.xattr(ATTRIBUTE), Err(Error::NoSuchAttribute));
        assert_eq!((share.reads(&ben(), &file), share.writes(&anna(), &file)), (DENIED, Ok(())));
    }
}

#[test]
fn an_acl_that_this_server_did_not_store_is_none() {
    for share in shares() {
        let (mine, hers) = (share.file("mine", 0o644), share.file("hers", 0o666));
        share.set(&anna(), &mine, &[allow(5001, Rights::ALL), allow(5002, READ)]).unwrap();
        let mut forged = mine.object.xattr(ATTRIBUTE).unwrap();
        let last = forged.len() - 17; // before the seal
        forged[last] ^= 1;
        for value in [&forged[..], &forged[..forged.len() - 16], b"", &[1; 40]] {
            hers.object.set_xattr(&carl().caller, ATTRIBUTE, value, XattrMode::Set).unwrap();
            assert!(!share.volume.acl(&share.now(&hers)).unwrap().stored);
            assert_eq!(share.reads(&carl(), &hers), Ok(()));
        }
        // A whole one is for another mode.
        let whole = mine.object.xattr(ATTRIBUTE).unwrap();
        hers.object.set_xattr(&carl().caller, ATTRIBUTE, &whole, XattrMode::Set).unwrap();
        assert_eq!(share.reads(&carl(), &hers), Ok(()));
    }
}

#[test]
fn a_folder_of_the_servers_name_made_by_a_user_is_not_trusted() {
    let share = Share::on(Arc::new(Memory::ticking()), None);
    let root = share.root().object;
    let folder = root.create(&carl().caller, b".fourfold-streams", NewKind::Folder, 0o700).unwrap();
    let key = folder.object.create(&carl().caller, b"acl-key", NewKind::File, 0o600).unwrap();
    key.object.write_at(&carl().caller, 0, &[0; 16], Stability::File).unwrap();
    let share = Share { volume: Arc::new(Volume::new(share.backend.clone(), Default::default())), ..share };
    let file = share.file("a", 0o600);
    assert_eq!(share.set(&anna(), &file, &[allow(5002, READ)]).err(), Some(Error::NotPermitted));
    assert_eq!((share.reads(&anna(), &file), share.reads(&ben(), &file)), (Ok(()), DENIED));
}

#[test]
fn acl_owner_and_group_are_changed_by_those_who_may() {
    for share in shares() {
        let file = share.file("a", 0o666);
        let set =
            |by: &Actor, change: AclChange| share.volume.set_acl(by, &share.now(&file), &change).map(drop);
        let entries = |list: &[Entry]| {
            let entries = Some(Entries { list: list.to_vec(), ..Default::default() });
            AclChange { entries, ..Default::default() }
        };
        let owner = |uid| AclChange { owner: Some(Who::User(uid)), ..Default::default() };
        let group = |gid| AclChange { group: Some(Who::Group(gid)), ..Default::default() };
        assert_eq!(set(&ben(), entries(&[])), DENIED, "writing a file is not changing its ACL");
        assert_eq!(set(&ben(), owner(5002)), DENIED);
        assert_eq!(set(&anna(), owner(5002)), DENIED, "an owner cannot give files away");
        assert_eq!(set(&anna(), group(5002)), Err(Error::NotPermitted), "not into a group of others");
        let takes = Rights::TAKE_OWNERSHIP.union(Rights::WRITE_ACL);
        set(&anna(), entries(&[allow(5002, takes)])).unwrap();
        assert_eq!(set(&ben(), owner(5003)), Err(Error::NotPermitted), "he may take it, not give it");
        set(&ben(), owner(5002)).unwrap();
        set(&ben(), group(5002)).unwrap();
        set(&ben(), entries(&[allow(5003, READ)])).unwrap();
        let now = share.now(&file);
        assert_eq!((now.attributes.uid, now.attributes.gid), (5002, 5002));
        assert_eq!((share.reads(&carl(), &file), share.reads(&anna(), &file)), (Ok(()), DENIED));
        set(&root(), owner(5001)).unwrap();
        assert_eq!(share.reads(&carl(), &file), Ok(()), "the entries stay with a new owner");
        assert_eq!(
            set(&root(), AclChange { owner: Some(Who::Everyone), ..Default::default() }),
            Err(Error::Invalid)
        );
    }
}

#[test]
fn set_user_id_bits_are_not_set_by_others() {
    for share in shares() {
        let file = share.file("a", 0o755);
        share.set(&anna(), &file, &[allow(5002, Rights::ALL)]).unwrap();
        share.chmod(&ben(), &file, 0o6755).unwrap();
        assert_eq!(share.now(&file).attributes.mode, 0o755);
        assert_eq!(share.chmod(&carl(), &file, 0o755), Err(Error::NotPermitted));
        share.chmod(&anna(), &file, 0o4755).unwrap();
        let change = AclChange { owner: Some(Who::User(5003)), ..Default::default() };
        share.volume.set_acl(&root(), &share.now(&file), &change).unwrap();
        assert_eq!(share.now(&file).attributes.mode, 0o755);
    }
}

#[test]
fn times_are_set_by_those_who_may_write_attributes() {
    for share in shares() {
        let file = share.file("a", 0o600);
        let attributes = Rights::WRITE_ATTRIBUTES;
        share.set(&anna(), &file, &[allow(5002, attributes), allow(5003, READ)]).unwrap();
        let at = vfs::Time { secs: 1_000_000_000, nanos: 0 };
        let changes = SetAttributes { modified: vfs::SetTime::To(at), ..Default::default() };
        let set = |by: &Actor| share.volume.set_attributes(by, &share.now(&file), &changes).map(drop);
        assert_eq!((set(&carl()), set(&ben())), (DENIED, Ok(())));
        assert_eq!(share.now(&file).attributes.modified, at);
    }
}

#[test]
fn an_acl_lets_make_things_in_a_folder_as_whoever_makes_them() {
    for share in shares() {
        let folder = share.folder("f", 0o700);
        let entries = [allow(5002, Rights::WRITE_DATA.union(Rights::EXECUTE)), allow(5001, Rights::ALL)];
        let folder = share.set(&anna(), &folder, &entries).unwrap();
        let made = share.make(&ben(), &folder, "a", NewKind::File, 0o640).unwrap();
        let attributes = made.attributes;
        assert_eq!((attributes.uid, attributes.gid, attributes.mode), (5002, 5002, 0o640));
        share.make(&ben(), &folder, "link", NewKind::Link(b"a"), 0).unwrap();
        assert_eq!(share.make(&ben(), &folder, "b", NewKind::Folder, 0o755).err(), Some(Error::AccessDenied));
        assert_eq!(share.make(&carl(), &folder, "c", NewKind::File, 0o644).err(), Some(Error::AccessDenied));
        let device = share.make(&ben(), &folder, "d", NewKind::CharDevice(1, 3), 0o666);
        assert!(matches!(device, Err(Error::NotPermitted | Error::AccessDenied)), "not by an ACL");
        let folder = share.now(&folder);
        assert!(share.volume.lookup(&ben().caller, &folder.object, b"a").is_ok());
        assert!(share.volume.mac_tree().lookup_folded(&ben().caller, &folder, b"A", MAC).is_ok());
        assert_eq!(
            share.volume.lookup(&carl().caller, &folder.object, b"a").err(),
            Some(Error::AccessDenied)
        );
        assert_eq!(share.volume.list(&ben().caller, &folder, 0).err(), Some(Error::AccessDenied));
    }
}

#[test]
fn an_acl_lets_list_a_folder_and_look_at_what_is_in_it() {
    for share in shares() {
        let folder = share.folder("f", 0o700);
        share.make(&anna(), &folder, "a", NewKind::File, 0o600).unwrap();
        let list = [allow(5002, Rights::READ_DATA.union(Rights::EXECUTE)), allow(5003, Rights::READ_DATA)];
        let folder = share.set(&anna(), &folder, &list).unwrap();
        for (by, looked) in [(ben(), Ok(5001)), (carl(), Err(Error::AccessDenied))] {
            let page = share.volume.list(&by.caller, &folder, 0).unwrap();
            let entry = page.entries().iter().find(|entry| entry.name() == b"a").unwrap();
            assert_eq!(page.details(&by.caller, entry).map(|details| details.attributes.uid), looked);
        }
    }
}

#[test]
fn users_of_windows_pass_a_folder_whose_acl_does_not_let_them() {
    for share in shares() {
        let folder = share.make(&anna(), &share.root(), "folder", NewKind::Folder, 0o700).unwrap();
        share.make(&anna(), &folder, "file", NewKind::File, 0o644).unwrap();
        let look = |by: &Caller| share.volume.lookup(by, &folder.object, b"file").map(drop);
        let by_smb = ben().caller.of(auth::FileProtocol::Smb, Some("ben"), [127, 0, 0, 1].into());
        assert_eq!(look(&by_smb), Err(Error::AccessDenied), "the mode decides, as for local users");
        let folder = share.set(&anna(), &folder, &[allow(5002, Rights::READ_ATTRIBUTES)]).unwrap();
        let look = |by: &Caller| share.volume.lookup(by, &folder.object, b"file").map(drop);
        assert_eq!(look(&ben().caller), Err(Error::AccessDenied));
        assert_eq!(look(&by_smb), Ok(()));
        let listed = share.volume.list(&by_smb, &folder, 0).map(drop);
        assert_eq!(listed, Err(Error::AccessDenied), "it passes, but does not see what is there");
    }
}

#[test]
fn removing_takes_the_files_right_or_the_folders() {
    for share in shares() {
        let folder = share.folder("f", 0o755);
        let pass = Rights::EXECUTE;
        let names = ["by-file", "by-folder", "refused"];
        let files = names.map(|name| share.make(&anna(), &folder, name, NewKind::File, 0o666).unwrap());
        share.set(&anna(), &files[0], &[allow(5002, Rights::DELETE)]).unwrap();
        let list = [allow(5002, pass), allow(5003, pass.union(Rights::DELETE_CHILD))];
        let folder = share.set(&anna(), &folder, &list).unwrap();
        let remove = |by: &Actor, name: &str| {
            share.volume.remove(by, &share.now(&folder), name.as_bytes(), Kind::File).map(drop)
        };
        assert_eq!(remove(&ben(), "refused"), DENIED);
        assert_eq!(remove(&anna(), "refused"), DENIED, "the owner, allowed by the mode alone");
        assert_eq!(remove(&ben(), "by-file"), Ok(()));
        assert_eq!(remove(&carl(), "by-folder"), Ok(()));
        assert_eq!(remove(&carl(), "by-folder"), Err(Error::NotFound));
    }
}

#[test]
fn moving_takes_leaving_one_folder_and_coming_into_another() {
    for share in shares() {
        let (from, to) = (share.folder("from", 0o755), share.folder("to", 0o755));
        share.make(&anna(), &from, "a", NewKind::File, 0o600).unwrap();
        let old = share.make(&anna(), &to, "old", NewKind::File, 0o600).unwrap();
        let pass = Rights::EXECUTE;
        let leaves = [allow(5002, pass.union(Rights::DELETE_CHILD))];
        let from = share.set(&anna(), &from, &leaves).unwrap();
        let mv = |by: &Actor, name: &str| {
            let (from, to) = (share.now(&from), share.now(&to));
            let mode = RenameMode::Replace;
            share.volume.rename(by, (&from, b"a"), (&to, name.as_bytes()), mode).map(drop)
        };
        assert_eq!(mv(&ben(), "b"), DENIED);
        share.set(&anna(), &to, &[allow(5002, pass.union(Rights::WRITE_DATA))]).unwrap();
        assert_eq!(mv(&ben(), "old"), DENIED, "he may not remove what is there");
        share.set(&anna(), &old, &[allow(5002, Rights::DELETE)]).unwrap();
        assert_eq!(mv(&carl(), "old"), DENIED);
        assert_eq!(mv(&ben(), "old"), Ok(()));
    }
}

#[test]
fn what_is_made_inherits() {
    for share in shares() {
        let folder = share.folder("f", 0o777);
        let both = Inherit::FILES.union(Inherit::FOLDERS);
        let list = [
            Entry::allow(Who::Everyone, Rights::ALL),
            Entry::allow(Who::Owner, Rights::ALL).inherited_by(both.union(Inherit::ONLY)),
            allow(5003, READ).inherited_by(both),
        ];
        let folder = share.set(&anna(), &folder, &list).unwrap();
        let file = share.make(&ben(), &folder, "a", NewKind::File, 0o644).unwrap();
        let acl = share.volume.acl(&file).unwrap();
        let expected = [allow(5002, Rights::ALL), allow(5003, READ)];
        assert_eq!((acl.entries.list.as_slice(), acl.stored), (&expected[..], true));
        assert_eq!(
            file.attributes.mode, 0o700,
            "the mode sums up what was inherited, not what was asked for"
        );
        assert_eq!((share.reads(&carl(), &file), share.reads(&anna(), &file)), (Ok(()), DENIED));
        // And again, one further down.
        let inner = share.make(&ben(), &folder, "inner", NewKind::Folder, 0o755).unwrap();
        let deep = share.make(&ben(), &inner, "deep", NewKind::File, 0o644).unwrap();
        assert_eq!(share.volume.acl(&deep).unwrap().entries.list, expected);
        share.make(&ben(), &inner, "link", NewKind::Link(b"deep"), 0).unwrap();
    }
}

/// RFC 8881 6.4.3.1: what is made with a mode inherits, and says this mode.
#[test]
fn what_is_inherited_says_the_mode_if_the_client_wants_that() {
    for share in shares() {
        let folder = share.folder("f", 0o777);
        let both = Inherit::FILES.union(Inherit::FOLDERS);
        let list = [
            allow(5001, Rights::ALL).inherited_by(both),
            allow(5002, Rights::ALL).inherited_by(both),
            Entry::allow(Who::Everyone, READ).inherited_by(both),
        ];
        let folder = share.set(&anna(), &folder, &list).unwrap();
        let make = |name: &[u8], kind, mode, inherited| {
            let permissions = NewPermissions { mode, inherited, acl: None };
            share.volume.create_with_permissions(&anna(), &folder, name, kind, &permissions).unwrap()
        };
        let file = make(b"a", NewKind::File, 0o640, ModeInheritance::Saying(0o640));
        assert_eq!(file.attributes.mode, 0o640);
        assert!(share.volume.acl(&file).unwrap().stored);
        assert_eq!((share.reads(&ben(), &file), share.reads(&carl(), &file)), (Ok(()), DENIED));
        assert_eq!(share.volume.access(&ben().caller, &file, Access::WRITE).unwrap(), Access::NONE);
        // The same mode without a umask: the folder passes on no right to write to others.
        let file = make(b"b", NewKind::File, 0o666, ModeInheritance::Within(0o666));
        assert_eq!(file.attributes.mode, 0o644);
        assert_eq!(share.volume.access(&ben().caller, &file, Access::WRITE).unwrap(), Access::WRITE);
        assert_eq!(share.volume.access(&carl().caller, &file, Access::WRITE).unwrap(), Access::NONE);
        // A folder passes on what it was passed.
        let inner = make(b"inner", NewKind::Folder, 0o700, ModeInheritance::Saying(0o700));
        assert_eq!((inner.attributes.mode, share.reads(&ben(), &inner)), (0o700, DENIED));
        let deep = share.make(&anna(), &inner, "deep", NewKind::File, 0o600).unwrap();
        assert_eq!((share.reads(&ben(), &deep), share.reads(&carl(), &deep)), (Ok(()), Ok(())));
    }
}

/// Permissions of a file that is given this ACL.
fn with(acl: &CreateAcl) -> NewPermissions<'_> {
    NewPermissions { mode: 0o666, acl: Some(acl), ..NewPermissions::default() }
}

#[test]
fn a_file_is_made_with_the_acl_that_it_is_given() {
    for share in shares() {
        let folder = share.folder("f", 0o777);
        let everybody = Entry::allow(Who::Everyone, Rights::ALL);
        let list = [everybody.clone(), everybody.inherited_by(Inherit::FILES)];
        let folder = share.set(&anna(), &folder, &list).unwrap();
        let list = vec![allow(5002, Rights::ALL)];
        let acl =
            CreateAcl { entries: Entries { list: list.clone(), protected: true, auto_inherited: false } };
        let (volume, new) = (&share.volume, NewKind::File);
        let made = volume.create_with_permissions(&ben(), &folder, b"a", new, &with(&acl)).unwrap();
        assert_eq!(volume.acl(&made).unwrap().entries, acl.entries);
        assert_eq!((share.reads(&ben(), &made), share.reads(&carl(), &made)), (Ok(()), DENIED));
        let too_many = Entries { list: vec![list[0].clone(); 1001], ..acl.entries };
        let made = volume.create_with_permissions(
            &ben(),
            &folder,
            b"b",
            new,
            &with(&CreateAcl { entries: too_many }),
        );
        assert_eq!(made.err(), Some(Error::TooMany));
        assert_eq!(volume.lookup(&ben().caller, &folder.object, b"b").err(), Some(Error::NotFound), "undone");
    }
}

#[test]
fn rights_by_mode_are_those_that_the_host_grants() {
    for share in shares() {
        let folder = share.folder("f", 0o757);
        let file = share.make(&anna(), &folder, "a", NewKind::File, 0o604).unwrap();
        let folder = share.now(&folder);
        let rights = |by: Actor, parent| share.volume.rights(&by.caller, &file, parent).unwrap();
        let stat = Rights::READ_ATTRIBUTES.union(Rights::READ_ACL).union(Rights::SYNCHRONIZE);
        let reads = stat.union(Rights::READ_DATA).union(Rights::READ_NAMED);
        assert_eq!(rights(ben(), None), reads);
        assert_eq!(
            rights(ben(), Some(&folder)),
            reads.union(Rights::DELETE),
            "a right to change the folder removes"
        );
        assert_eq!(rights(actor(5002, 5001), None), stat);
        let writes = Rights(0x116).union(Rights::WRITE_ACL);
        assert_eq!(rights(anna(), None), reads.union(writes));
        assert_eq!(rights(root(), None), Rights::ALL);
        share.chmod(&anna(), &folder, 0o1757).unwrap();
        assert_eq!(rights(ben(), Some(&share.now(&folder))), reads, "a sticky folder keeps others' files");
        let read_only = VolumeOptions { read_only: true, ..Default::default() };
        let volume = Volume::new(share.backend.clone(), read_only);
        assert_eq!(volume.rights(&root().caller, &file, None), Ok(Rights(0x12_00a9)));
    }
}

#[test]
fn a_volume_without_acls_asks_the_host_for_none() {
    let backend = Arc::new(Faulty::new(Memory::ticking()));
    let share = Share::on(backend.clone(), None);
    let file = share.file("a", 0o644);
    backend.plan().fail_from(1, Some(Call::Xattr), Error::Io);
    let lookups = backend.plan().calls(Some(Call::Lookup));
    share.reads(&ben(), &file).unwrap();
    share.volume.rights(&ben().caller, &file, None).unwrap();
    share.make(&ben(), &share.root(), "b", NewKind::File, 0o644).unwrap();
    assert_eq!(backend.plan().calls(Some(Call::Lookup)), lookups);
    backend.plan().clear();
    share.set(&anna(), &file, &[allow(5002, READ)]).unwrap();
    share.reads(&ben(), &file).unwrap();
    let asked = backend.plan().calls(Some(Call::Xattr));
    share.reads(&ben(), &file).unwrap();
    assert_eq!(backend.plan().calls(Some(Call::Xattr)), asked, "one that has not changed is remembered");
}

#[test]
fn a_failing_disk_grants_nothing() {
    let backend = Arc::new(Faulty::new(Memory::ticking()));
    let share = Share::on(backend.clone(), None);
    let file = share.file("a", 0o666);
    share.set(&anna(), &file, &[allow(5002, READ)]).unwrap();
    let volume = Volume::new(backend.clone(), VolumeOptions::default());
    let file = share.now(&file);
    volume.access(&root().caller, &share.root(), Access(7)).unwrap(); // knows that there are ACLs
    backend.plan().fail_from(1, Some(Call::Xattr), Error::Io);
    assert_eq!(run(volume.stateless().read(&carl(), &file, 0, 5)).unwrap_err(), Error::Io);
}
