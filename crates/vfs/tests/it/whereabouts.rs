//! The places of files on the host backend, after moves by clients and local programs.

use std::sync::Arc;

use vfs::backend::host::{Host, HostOptions};
use vfs::{Caller, Error, Volume, VolumeOptions};

#[test]
fn a_file_is_found_after_local_programs_moved_it_and_not_outside() {
    let outside = tempfile::tempdir().unwrap();
    let dir = outside.path().join("share");
    std::fs::create_dir_all(dir.join("a/b")).unwrap();
    std::fs::write(dir.join("a/one"), b"").unwrap();
    let open = || {
        let host = Host::open(&dir, &HostOptions::default()).unwrap();
        Volume::new(Arc::new(host), VolumeOptions::default())
    };
    let volume = open();
    let caller = Caller::new(rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw(), &[]);
    let root = volume.root().unwrap();
    let folder = volume.lookup(&caller, &root.object, b"a").unwrap();
    let key = volume.lookup(&caller, &folder.object, b"one").unwrap().object.key();
    drop(volume);

    let volume = open(); // a new volume remembers no places
    let place = || {
        let (folder, name) = volume.place_of(&volume.node(&key)?)?;
        Ok((volume.path_of(&folder.object).unwrap(), name))
    };
    let there = |path: &[&str], name: &str| {
        Ok((path.iter().map(|name| name.as_bytes().to_vec()).collect::<Vec<_>>(), name.as_bytes().to_vec()))
    };
    assert_eq!(place(), there(&["a"], "one"));
    std::fs::rename(dir.join("a/one"), dir.join("a/b/two")).unwrap();
    assert_eq!(place(), there(&["a", "b"], "two"));
    std::fs::rename(dir.join("a/b"), dir.join("c")).unwrap();
    assert_eq!(place(), there(&["c"], "two"));
    std::fs::rename(dir.join("c/two"), dir.join("three")).unwrap();
    assert_eq!(place(), there(&[], "three"));
    std::fs::rename(dir.join("three"), outside.path().join("gone")).unwrap();
    assert_eq!(place(), Err(Error::Stale));
    std::fs::rename(outside.path().join("gone"), dir.join("back")).unwrap();
    assert_eq!(place(), there(&[], "back"));
    std::fs::remove_file(dir.join("back")).unwrap();
    assert_eq!(place(), Err(Error::Stale));
}
