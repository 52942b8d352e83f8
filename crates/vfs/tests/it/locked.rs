//! Locked files: a file that a client has locked cannot be written, moved or removed by any client.
//! On the memory and the host backend.

use std::sync::Arc;

use bytes::Bytes;

use vfs::backend::faulty::{Call, Faulty};
use vfs::backend::host::{Host, HostOptions};
use vfs::backend::memory::Memory;
use vfs::backend::{Backend, Found, NewKind, RenameMode, Stability, XattrMode};
use vfs::mac::{DosAttributes, FileBits, Metadata};
use vfs::state::{ClientId, Modes, Party};
use vfs::{
    Actor, Attributes, Beside, Caller, Error, Kind, OpenOptions, Result, SetAttributes, Volume, VolumeOptions,
};

/// A volume with a file "notes", the actor, and the file.
struct Scene {
    backend: Arc<dyn Backend>,
    volume: Arc<Volume>,
    actor: Actor,
    _dir: Option<tempfile::TempDir>,
}

fn scenes() -> Vec<Scene> {
    let dir = tempfile::tempdir().unwrap();
    let host = Host::open(dir.path(), &HostOptions::default()).unwrap();
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let scene = |backend: Arc<dyn Backend>, caller, _dir| {
        let volume = Arc::new(Volume::new(backend.clone(), VolumeOptions::default()));
        let actor = Actor::new(caller, Party::client(ClientId(7)));
        let root = volume.root().unwrap();
        volume.create(&actor, &root, b"notes", NewKind::File, 0o644).unwrap();
        Scene { backend, volume, actor, _dir }
    };
    vec![
        scene(Arc::new(Memory::ticking()), Caller::root(), None),
        scene(Arc::new(host), Caller::new(uid, gid, &[]), Some(dir)),
    ]
}

impl Scene {
    fn root(&self) -> Found {
        self.volume.root().unwrap()
    }

    fn file(&self) -> Found {
        self.volume.lookup(&self.actor.caller, &self.root().object, b"notes").unwrap()
    }

    fn describe(&self, change: impl FnOnce(&mut Metadata)) {
        let (root, file) = (self.root(), self.file());
        let place = Some(Beside { folder: &root.object, name: b"notes" });
        self.volume.change_metadata(&self.actor, &file, place, change).unwrap();
    }

    fn describe_nothing(&self) {
        self.volume.metadata(&self.file(), None).unwrap();
    }

    /// Lists everything, as SMB and AFP list folders.
    fn list(&self) {
        let page = self.volume.list(&self.actor.caller, &self.root(), 0).unwrap();
        for entry in page.named() {
            let _ = page.rich_details(&self.actor.caller, entry).unwrap();
        }
    }

    /// The same server after a restart.
    fn restart(&mut self) {
        self.volume = Arc::new(Volume::new(self.backend.clone(), VolumeOptions::default()));
    }

    fn write(&self) -> Result<()> {
        let data = Bytes::from_static(b"new");
        run(self.volume.stateless().write(&self.actor, &self.file(), 0, data, Stability::Unstable)).map(drop)
    }

    fn cut(&self) -> Result<()> {
        let size = SetAttributes { size: Some(0), ..SetAttributes::default() };
        self.volume.set_attributes(&self.actor, &self.file(), &size).map(drop)
    }

    fn open_to_write(&self) -> Result<()> {
        run(self.volume.open(&self.actor, &self.file(), OpenOptions::data(Modes::WRITE))).map(drop)
    }

    fn rename(&self, from: &[u8], to: &[u8]) -> Result<()> {
        let root = self.root();
        self.volume.rename(&self.actor, (&root, from), (&root, to), RenameMode::Replace).map(drop)
    }

    fn remove(&self, name: &[u8], kind: Kind) -> Result<()> {
        self.volume.remove(&self.actor, &self.root(), name, kind).map(drop)
    }

    fn assert_locked(&self) {
        assert_eq!(self.write(), Err(Error::Locked));
        assert_eq!(self.cut(), Err(Error::Locked));
        assert_eq!(self.open_to_write(), Err(Error::Locked));
        assert_eq!(self.rename(b"notes", b"other"), Err(Error::Locked));
        assert_eq!(self.remove(b"notes", Kind::File), Err(Error::Locked));
        assert!(self.volume.inhibits(&self.file().object).unwrap().contains(FileBits::LOCKED));
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[test]
fn a_locked_file_is_neither_written_nor_moved_nor_removed_until_it_is_unlocked() {
    for mut scene in scenes() {
        scene.write().unwrap();
        scene.describe(|metadata| metadata.set_locked(true));
        scene.assert_locked();
        scene.restart();
        scene.assert_locked();
        scene.describe(|metadata| metadata.comment = b"said of a locked file".to_vec());
        scene.assert_locked();
        scene.describe(|metadata| metadata.set_locked(false));
        scene.write().unwrap();
        scene.rename(b"notes", b"notes2").unwrap();
        scene.remove(b"notes2", Kind::File).unwrap();
    }
}

#[test]
fn each_bit_says_one_thing() {
    for scene in scenes() {
        scene.describe(|metadata| metadata.set_readonly(true));
        assert_eq!(scene.write(), Err(Error::Locked));
        scene.describe(|metadata| metadata.bits = FileBits::RENAME_INHIBIT);
        scene.describe(|metadata| metadata.set_readonly(false));
        scene.write().unwrap();
        assert_eq!(scene.rename(b"notes", b"other"), Err(Error::Locked));
        scene.describe(|metadata| metadata.bits = FileBits::DELETE_INHIBIT);
        assert_eq!(scene.remove(b"notes", Kind::File), Err(Error::Locked));
        scene.rename(b"notes", b"other").unwrap();
    }
}

#[test]
fn a_file_with_the_read_only_attribute_is_moved_and_removed_through_an_open_only() {
    for scene in scenes() {
        scene.describe(|metadata| metadata.set_dos(DosAttributes::READONLY));
        assert_eq!(scene.write(), Err(Error::Locked));
        assert_eq!(scene.remove(b"notes", Kind::File), Err(Error::Locked));
        assert_eq!(scene.rename(b"notes", b"other"), Err(Error::Locked));
        let root = scene.root();
        let place = Some(Beside { folder: &root.object, name: b"notes" });
        let options = OpenOptions { place, granted: true, ..OpenOptions::data(Modes::DELETE) };
        let open = run(scene.volume.open(&scene.actor, &scene.file(), options)).unwrap();
        run(open.rename_to(&root, b"other", RenameMode::Replace)).unwrap();
        run(open.remove_on_close(true)).unwrap();
        run(open.close()).unwrap();
        assert_eq!(scene.remove(b"other", Kind::File), Err(Error::NotFound));
    }
}

#[test]
fn a_file_that_nobody_may_write_by_its_mode_is_shown_as_read_only_and_stores_nothing() {
    for scene in scenes() {
        let chmod = |mode| {
            let change = SetAttributes { mode: Some(mode), ..SetAttributes::default() };
            scene.volume.set_attributes(&scene.actor, &scene.file(), &change).unwrap();
        };
        let stored = || scene.file().object.list_xattrs().unwrap();
        chmod(0o444);
        assert!(scene.volume.metadata(&scene.file(), None).unwrap().has_read_only_attribute());
        let page = scene.volume.list(&scene.actor.caller, &scene.root(), 0).unwrap();
        let listed = page.named().map(|entry| page.rich_details(&scene.actor.caller, entry).unwrap());
        assert!(listed.map(|one| one.is_readonly()).collect::<Vec<_>>().contains(&true));
        // A client sends what it was shown, and a Mac locks it once more.
        scene.describe(|metadata| metadata.set_dos(metadata.dos | DosAttributes::READONLY));
        scene.describe(|metadata| metadata.set_locked(true));
        assert!(stored().is_empty());
        scene.describe(|metadata| metadata.set_dos(DosAttributes::HIDDEN | DosAttributes::READONLY));
        assert!(!scene.volume.is_locked(&scene.file().object).unwrap());
        // For clients that know modes it is a file like any other.
        scene.rename(b"notes", b"other").unwrap();
        scene.rename(b"other", b"notes").unwrap();
        scene.describe(|metadata| metadata.set_dos(DosAttributes::HIDDEN));
        assert_eq!(scene.file().attributes.mode & 0o777, 0o644);
        assert!(!scene.volume.metadata(&scene.file(), None).unwrap().is_readonly());
        scene.write().unwrap();
    }
}

#[test]
fn a_mode_locks_nothing_where_the_volume_says_so() {
    for mut scene in scenes() {
        let change = SetAttributes { mode: Some(0o444), ..SetAttributes::default() };
        scene.volume.set_attributes(&scene.actor, &scene.file(), &change).unwrap();
        let options = VolumeOptions { read_only_by_mode: false, ..VolumeOptions::default() };
        scene.volume = Arc::new(Volume::new(scene.backend.clone(), options));
        assert!(!scene.volume.metadata(&scene.file(), None).unwrap().is_readonly());
        assert!(!scene.volume.mac_tree().is_locked_by_mode(&scene.file()).unwrap());
        scene.describe(|metadata| metadata.set_dos(DosAttributes::ARCHIVE));
        assert_eq!(scene.file().attributes.mode & 0o777, 0o444);
    }
}

#[test]
fn a_locked_file_has_no_right_to_write_for_clients_that_know_modes() {
    for scene in scenes() {
        let shown = || {
            let now = scene.file().attributes;
            scene.volume.stateless().mode_with_locks(&scene.file().object, &Attributes { mode: 0o664, ..now })
        };
        let listed = || {
            let page = scene.volume.list(&scene.actor.caller, &scene.root(), 0).unwrap();
            let entry = page.named().next().unwrap();
            page.details_with_locks(&scene.actor.caller, entry).unwrap().attributes.mode & 0o777
        };
        assert_eq!((shown(), listed()), (0o664, 0o644));
        scene.describe(|metadata| metadata.set_dos(DosAttributes::READONLY));
        assert_eq!((shown(), listed()), (0o444, 0o444));
        scene.describe(|metadata| metadata.set_dos(DosAttributes::ARCHIVE));
        assert_eq!((shown(), listed()), (0o664, 0o644));
    }
}

/// Two servers of one folder, each with a memory of its own. The second one shows what the first one has done.
#[test]
fn the_bits_of_a_shared_file_are_asked_for_again_when_it_has_changed() {
    let faulty = Arc::new(Faulty::new(Memory::ticking()));
    let server = || {
        let options = VolumeOptions { shared: true, ..VolumeOptions::default() };
        Arc::new(Volume::new(faulty.clone(), options))
    };
    let (first, second) = (server(), server());
    let actor = Actor::new(Caller::root(), Party::client(ClientId(7)));
    let root = first.root().unwrap();
    first.create(&actor, &root, b"notes", NewKind::File, 0o644).unwrap();
    let asked =
        || [Call::ListXattrs, Call::Xattr].map(|call| faulty.plan().calls(Some(call))).iter().sum::<u64>();
    // The mode that the second one shows, and what that costs.
    let shown = || {
        let found = second.lookup(&actor.caller, &second.root().unwrap().object, b"notes").unwrap();
        let before = asked();
        let mode = second.stateless().mode_with_locks(&found.object, &found.attributes) & 0o777;
        (mode, asked() - before)
    };
    second.inhibits(&second.root().unwrap().object).unwrap(); // what is asked once of the folder
    assert_eq!((shown(), shown()), ((0o644, 1), (0o644, 0)), "a plain file costs one call, once");
    for (dos, mode) in [(DosAttributes::READONLY, 0o444), (DosAttributes::ARCHIVE, 0o644)] {
        let file = first.lookup(&actor.caller, &root.object, b"notes").unwrap();
        let place = Some(Beside { folder: &root.object, name: b"notes" });
        first.change_metadata(&actor, &file, place, |metadata| metadata.set_dos(dos)).unwrap();
        let (now, costs) = shown();
        assert!(now == mode && costs > 0, "{now:o} {costs}");
        assert_eq!(shown(), (mode, 0));
        let found = second.lookup(&actor.caller, &root.object, b"notes").unwrap();
        assert_eq!(second.is_locked(&found.object), Ok(mode == 0o444), "a change asks each time");
    }
}

#[test]
fn a_locked_file_is_not_replaced() {
    for scene in scenes() {
        let root = scene.root();
        scene.volume.create(&scene.actor, &root, b"new", NewKind::File, 0o644).unwrap();
        scene.describe(|metadata| metadata.set_locked(true));
        assert_eq!(scene.rename(b"new", b"notes"), Err(Error::Locked));
    }
}

#[test]
fn a_locked_folder_stays_and_its_entries_come_and_go() {
    for scene in scenes() {
        let root = scene.root();
        let folder = scene.volume.create(&scene.actor, &root, b"box", NewKind::Folder, 0o755).unwrap().found;
        let place = Some(Beside { folder: &root.object, name: b"box" });
        scene.volume.change_metadata(&scene.actor, &folder, place, |one| one.set_locked(true)).unwrap();
        assert_eq!(scene.remove(b"box", Kind::Folder), Err(Error::Locked));
        assert_eq!(scene.rename(b"box", b"other"), Err(Error::Locked));
        scene.volume.create(&scene.actor, &folder, b"inside", NewKind::File, 0o644).unwrap();
        scene.volume.remove(&scene.actor, &folder, b"inside", Kind::File).unwrap();
    }
}

#[test]
fn an_earlier_open_writes_but_does_not_remove() {
    for scene in scenes() {
        let root = scene.root();
        let place = Some(Beside { folder: &root.object, name: b"notes" });
        let access = Modes::WRITE.union(Modes::DELETE);
        let options = OpenOptions { place, granted: true, ..OpenOptions::data(access) };
        let open = run(scene.volume.open(&scene.actor, &scene.file(), options)).unwrap();
        scene.describe(|metadata| metadata.set_locked(true));
        run(open.write_at(0, Bytes::from_static(b"late"), Stability::Unstable)).unwrap();
        assert_eq!(run(open.remove_on_close(true)), Err(Error::Locked));
        assert_eq!(run(open.rename_to(&root, b"other", RenameMode::Replace)), Err(Error::Locked));
    }
}

#[test]
fn what_another_program_has_locked_counts_once_it_was_seen() {
    for mut scene in scenes() {
        let mut locked = Metadata::default();
        locked.set_locked(true);
        // As Netatalk leaves it.
        let mode = XattrMode::Set;
        let name = b"user.org.netatalk.Metadata";
        scene.file().object.set_xattr(&Caller::root(), name, &locked.to_netatalk(), mode).unwrap();
        for see in [Scene::describe_nothing, Scene::list] {
            scene.file().object.remove_xattr(&Caller::root(), name).unwrap();
            scene.root().object.remove_xattr(&Caller::root(), b"user.fourfold.inhibits").ok();
            scene.file().object.set_xattr(&Caller::root(), name, &locked.to_netatalk(), mode).unwrap();
            scene.restart();
            scene.write().unwrap();
            see(&scene);
            scene.assert_locked();
            scene.volume.tend();
            scene.restart();
            scene.assert_locked();
        }
    }
}

#[test]
fn the_sidecar_of_a_locked_file_is_a_part_of_it() {
    for scene in scenes() {
        let root = scene.root();
        let sidecar = scene.volume.create(&scene.actor, &root, b"._notes", NewKind::File, 0o644).unwrap();
        scene.describe(|metadata| metadata.set_locked(true));
        let data = Bytes::from_static(b"\0\x05\x16\x07");
        let write =
            scene.volume.stateless().write(&scene.actor, &sidecar.found, 0, data, Stability::Unstable);
        assert_eq!(run(write).map(drop), Err(Error::Locked));
        assert_eq!(scene.remove(b"._notes", Kind::File), Err(Error::Locked));
    }
}
