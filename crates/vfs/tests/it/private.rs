//! The server's state inside a share: no client reaches it, and no client can move it to a place
//! where the next server would show it.

use std::path::Path;
use std::sync::Arc;

use vfs::backend::host::{Host, HostOptions};
use vfs::backend::{Backend, Found, Object, RenameMode};
use vfs::state::{ClientId, Party};
use vfs::{Actor, Caller, Error, Kind, Volume, VolumeOptions};

const STATE: &str = ".local/state/fourfold";

/// A home folder with the state in it, and other files beside that.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(home.path().join(STATE)).unwrap();
    std::fs::write(home.path().join(STATE).join("accounts.toml"), "secret").unwrap();
    std::fs::create_dir_all(home.path().join(".local/state/other")).unwrap();
    std::fs::write(home.path().join("letter"), "").unwrap();
    home
}

fn host(home: &Path, private: Option<&str>) -> Arc<Host> {
    let private = private.map(|path| home.join(path));
    Arc::new(Host::open(home, &HostOptions { private, ..HostOptions::default() }).unwrap())
}

fn names(folder: &dyn Object) -> Vec<String> {
    let mut names = Vec::new();
    let mut sink = |entry: vfs::backend::ListEntry<'_>| {
        names.push(String::from_utf8(entry.name.to_vec()).unwrap());
        true
    };
    folder.list(0, &mut sink).unwrap();
    names.retain(|name| !matches!(name.as_str(), "." | ".."));
    names.sort();
    names
}

fn own() -> Caller {
    Caller::new(rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw(), &[])
}

fn at(host: &Host, path: &str) -> vfs::Result<Found> {
    let names: Vec<&[u8]> = path.split('/').map(str::as_bytes).collect();
    host.root()?.object.lookup_path(&own(), &names)
}

#[test]
fn nothing_of_it_is_found_by_name_path_listing_or_handle() {
    let home = home();
    let before = host(home.path(), None);
    let keys =
        [STATE, ".local/state/fourfold/accounts.toml"].map(|path| at(&before, path).unwrap().object.key());
    let host = host(home.path(), Some(STATE));
    let above = at(&host, ".local/state").unwrap().object;
    assert_eq!(above.lookup(&own(), b"fourfold").err(), Some(Error::AccessDenied));
    for path in [STATE, ".local/state/fourfold/accounts.toml", ".local/state/fourfold/gone"] {
        assert_eq!(at(&host, path).err(), Some(Error::AccessDenied), "{path}");
    }
    assert_eq!(names(&*above), ["other"]);
    for key in keys {
        assert!(host.by_key(&key).is_err(), "{key:?}");
    }
    assert!(at(&host, ".local/state/other").is_ok() && at(&host, "letter").is_ok());
}

#[test]
fn neither_it_nor_a_folder_above_it_gets_another_name_or_is_replaced() {
    let home = home();
    let volume = Volume::new(host(home.path(), Some(STATE)), VolumeOptions::default());
    let actor = Actor::new(own(), Party::client(ClientId(1)));
    let root = volume.root().unwrap();
    let local = volume.lookup(&actor.caller, &root.object, b".local").unwrap();
    let state = volume.lookup(&actor.caller, &local.object, b"state").unwrap();
    let other = volume.lookup(&actor.caller, &state.object, b"other").unwrap();
    for (folder, name) in [(&root, &b".local"[..]), (&local, b"state"), (&state, b"fourfold")] {
        let away = volume.rename(&actor, (folder, name), (&root, b"away"), RenameMode::Replace);
        assert_eq!(away.err(), Some(Error::AccessDenied), "{name:?}");
        let exchanged = volume.rename(&actor, (&state, b"other"), (folder, name), RenameMode::Exchange);
        assert_eq!(exchanged.err(), Some(Error::AccessDenied), "{name:?}");
        assert!(volume.remove(&actor, folder, name, Kind::Folder).is_err());
    }
    assert!(home.path().join(STATE).join("accounts.toml").exists());
    drop(other);
    volume.rename(&actor, (&state, b"other"), (&root, b"letters"), RenameMode::Replace).unwrap();
    volume.rename(&actor, (&root, b"letter"), (&local, b"letter"), RenameMode::Replace).unwrap();
}

#[test]
fn a_state_folder_of_an_earlier_version_is_hidden_by_its_name_in_every_folder() {
    let home = home();
    std::fs::create_dir_all(home.path().join("project/.fourfold")).unwrap();
    let volume = Volume::new(host(home.path(), None), VolumeOptions::default());
    let actor = Actor::new(own(), Party::client(ClientId(1)));
    let root = volume.root().unwrap();
    let project = volume.lookup(&actor.caller, &root.object, b"project").unwrap();
    assert!(volume.lookup(&actor.caller, &project.object, b".fourfold").is_err());
    assert!(volume.create(&actor, &root, b".fourfold", vfs::backend::NewKind::Folder, 0o700).is_err());
}
