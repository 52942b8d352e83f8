//! What the deny modes of an open stand against besides reading and writing: `deny-modes`.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use vfs::backend::memory::Memory;
use vfs::backend::{Found, NewKind, RenameMode};
use vfs::state::{ClientId, Modes, Party};
use vfs::{
    Actor, Beside, Caller, ClientProfile, Denials, Error, Kind, Open, OpenOptions, Result, Volume,
    VolumeOptions,
};

struct Scene {
    volume: Arc<Volume>,
    root: Found,
    nfs: Actor,
    /// "notes" as a Mac has it open that denies writing.
    open: Open,
}

fn actor(client: u64) -> Actor {
    Actor::new(Caller::root(), Party::client(ClientId(client)))
}

fn scene(denials: Denials) -> Scene {
    let options = VolumeOptions { denials, ..VolumeOptions::default() };
    let volume = Arc::new(Volume::new(Arc::new(Memory::ticking()), options));
    let root = volume.root().unwrap();
    volume.create(&actor(1), &root, b"notes", NewKind::File, 0o644).unwrap();
    let notes = volume.lookup(&Caller::root(), &root.object, b"notes").unwrap();
    let deny = volume.mac_tree().denied_by_macs(Modes::WRITE);
    let place = Some(Beside { folder: &root.object, name: b"notes" });
    let options = OpenOptions { deny, place, ..OpenOptions::data(Modes::READ) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let open = runtime.block_on(volume.open(&actor(1), &notes, options)).unwrap();
    Scene { volume, root, nfs: actor(2), open }
}

impl Scene {
    fn rename(&self, actor: &Actor, from: &str, to: &str) -> Result<()> {
        let (from, to) = ((&self.root, from.as_bytes()), (&self.root, to.as_bytes()));
        self.volume.rename(actor, from, to, RenameMode::Replace).map(drop)
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.volume.remove(&self.nfs, &self.root, name.as_bytes(), Kind::File).map(drop)
    }
}

#[test]
fn strict_denies_every_name_to_all_but_other_macs() {
    let scene = scene(Denials::Strict);
    for to in ["other", ".nfs0000000000000001"] {
        assert_eq!(scene.rename(&scene.nfs, "notes", to), Err(Error::ShareConflict));
    }
    assert_eq!(scene.remove("notes"), Err(Error::ShareConflict));
    let mac = actor(3).with_profile(ClientProfile { renames_open: true, ..ClientProfile::default() });
    scene.rename(&mac, "notes", "other").unwrap();
    assert_eq!(scene.remove("other"), Err(Error::ShareConflict));
    drop(scene.open);
    let removed = scene.volume.remove(&scene.nfs, &scene.root, b"other", Kind::File);
    removed.unwrap();
}

/// Linux gives a file that a process has open a name of the form `.nfs*`, and removes that when the process closes it.
#[test]
fn an_nfs_client_may_remove_in_two_steps_where_the_setting_says_so() {
    let scene = scene(Denials::SillyRename);
    assert_eq!(scene.remove("notes"), Err(Error::ShareConflict));
    assert_eq!(scene.rename(&scene.nfs, "notes", "other"), Err(Error::ShareConflict));
    let silly = ".nfs000000000000000100000001";
    scene.rename(&scene.nfs, "notes", silly).unwrap();
    assert_eq!(scene.rename(&scene.nfs, silly, "other"), Err(Error::ShareConflict));
    scene.remove(silly).unwrap();
    assert_eq!(scene.open.attributes().unwrap().size, 0, "it is open as before");
}

#[test]
fn data_only_denies_no_name() {
    let scene = scene(Denials::DataOnly);
    scene.rename(&scene.nfs, "notes", "other").unwrap();
    scene.remove("other").unwrap();
}
