//! The host backend on a real folder: expected values are what the host's own tools would see.

use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use bytes::Bytes;

use vfs::backend::host::{Host, HostOptions};
use vfs::backend::{Backend, Heard, NewKind, RenameMode, Stability, WatchEvent};
use vfs::state::{ClientId, Party};
use vfs::{Access, Actor, Caller, Error, Kind, SetAttributes, Volume, VolumeOptions};

fn volume() -> (tempfile::TempDir, Volume, Actor) {
    let dir = tempfile::tempdir().unwrap();
    let host = Host::open(dir.path(), &HostOptions::default()).unwrap();
    let caller = Caller::new(rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw(), &[]);
    (dir, Volume::new(Arc::new(host), VolumeOptions::default()), actor(caller))
}

fn actor(caller: Caller) -> Actor {
    Actor::new(caller, Party::client(ClientId(1)))
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[test]
fn all_of_it_is_put_on_the_disk_when_asked() {
    let (_dir, volume, _) = volume();
    assert_eq!(run(volume.sync_all()), Ok(()));
}

#[test]
fn a_file_is_made_written_read_and_found_by_its_key_after_a_rename() {
    let (dir, volume, caller) = volume();
    let root = volume.root().unwrap();
    let made = volume.create(&caller, &root, b"a", NewKind::File, 0o640).unwrap();
    assert!(made.folder.after.changed >= made.folder.before.changed);
    let node = made.found;
    let hello = Bytes::from_static(b"hello");
    let change = run(volume.stateless().write(&caller, &node, 3, hello, Stability::File)).unwrap();
    assert_eq!((change.before.size, change.after.size), (0, 8));
    assert_eq!(std::fs::read(dir.path().join("a")).unwrap(), b"\0\0\0hello");
    assert_eq!(std::fs::metadata(dir.path().join("a")).unwrap().mode() & 0o7777, 0o640);

    volume.rename(&caller, (&root, b"a"), (&root, b"b"), RenameMode::Replace).unwrap();
    let key = node.object.key();
    drop(node);
    let again = Host::open(dir.path(), &HostOptions::default()).unwrap();
    let found = again.by_key(&key).unwrap();
    assert_eq!(found.attributes.size, 8);
    assert_eq!(found.attributes.id.inode, std::fs::metadata(dir.path().join("b")).unwrap().ino());
}

#[test]
fn every_key_from_before_works_in_a_volume_opened_anew() {
    let (dir, volume, caller) = volume();
    let root = volume.root().unwrap();
    let folder = volume.create(&caller, &root, b"folder", NewKind::Folder, 0o755).unwrap().found;
    let mut keys = vec![root.object.key(), folder.object.key()];
    for number in 0..20 {
        let place = if number % 2 == 0 { &root } else { &folder };
        let name = format!("file{number}").into_bytes();
        keys.push(volume.create(&caller, place, &name, NewKind::File, 0o644).unwrap().found.object.key());
    }
    let again = Host::open(dir.path(), &HostOptions::default()).unwrap();
    for key in keys {
        assert_eq!(again.by_key(&key).map(|found| found.object.key()), Ok(key));
    }
}

#[test]
fn what_has_no_name_is_stale_even_while_a_program_has_it_open() {
    let (dir, volume, caller) = volume();
    let root = volume.root().unwrap();
    let file = volume.create(&caller, &root, b"a", NewKind::File, 0o644).unwrap().found.object.key();
    let folder = volume.create(&caller, &root, b"b", NewKind::Folder, 0o755).unwrap().found.object.key();
    let held = ["a", "b"].map(|name| std::fs::File::open(dir.path().join(name)).unwrap());
    std::fs::remove_file(dir.path().join("a")).unwrap();
    std::fs::remove_dir(dir.path().join("b")).unwrap();
    for key in [file, folder] {
        for _ in 0..3 {
            assert_eq!(volume.node(&key).err(), Some(Error::Stale));
        }
    }
    drop(held);
}

#[test]
fn a_removed_file_gives_its_space_back_at_once() {
    let (dir, volume, caller) = volume();
    let root = volume.root().unwrap();
    let file = volume.create(&caller, &root, b"a", NewKind::File, 0o644).unwrap().found;
    run(volume.stateless().write(&caller, &file, 0, Bytes::from_static(b"abc"), Stability::Unstable))
        .unwrap();
    let path = format!("{}/a (deleted)", dir.path().display());
    drop(file);
    volume.remove(&caller, &root, b"a", Kind::File).unwrap();
    let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let held = open.filter_map(|fd| std::fs::read_link(fd.path()).ok()).filter(|to| to.as_os_str() == &*path);
    assert_eq!(held.count(), 0);
}

#[test]
fn a_removed_file_is_stale_and_its_key_is_never_anothers() {
    let (_dir, volume, caller) = volume();
    let root = volume.root().unwrap();
    let mut keys = std::collections::HashSet::new();
    for _ in 0..50 {
        let key = volume.create(&caller, &root, b"x", NewKind::File, 0o600).unwrap().found.object.key();
        volume.remove(&caller, &root, b"x", Kind::File).unwrap();
        assert_eq!(volume.node(&key).err(), Some(Error::Stale));
        assert!(keys.insert(key), "a key was used twice");
    }
}

#[test]
fn links_are_never_followed() {
    let (dir, volume, caller) = volume();
    std::os::unix::fs::symlink("/etc/passwd", dir.path().join("out")).unwrap();
    let root = volume.root().unwrap();
    let link = volume.lookup(&caller.caller, &root.object, b"out").unwrap();
    assert_eq!(link.attributes.kind, Kind::Link);
    assert_eq!(link.object.read_link().unwrap(), b"/etc/passwd");
    assert_eq!(run(volume.stateless().read(&caller, &link, 0, 10)).unwrap_err(), Error::IsLink);
    assert_eq!(volume.lookup(&caller.caller, &link.object, b"x").err(), Some(Error::NotFolder));
}

#[test]
fn a_listing_hears_of_local_changes_at_once() {
    let (dir, volume, caller) = volume();
    let root = volume.root().unwrap();
    for i in 0..500 {
        std::fs::write(dir.path().join(format!("a-rather-long-file-name-{i}")), b"").unwrap();
    }
    let sizes = |volume: &Volume| {
        let page = volume.list(&caller.caller, &root, 0).unwrap();
        let files = page.entries().iter().filter(|e| !e.name().starts_with(b".".as_slice()));
        files.map(|e| page.details(&caller.caller, e).unwrap().attributes.size).sum::<u64>()
    };
    assert_eq!(sizes(&volume), 0);
    for i in 0..20 {
        std::fs::write(dir.path().join(format!("a-rather-long-file-name-{i}")), b"12345").unwrap();
        assert_eq!(sizes(&volume), 5 * (i + 1));
    }
    std::fs::remove_file(dir.path().join("a-rather-long-file-name-0")).unwrap();
    assert_eq!(sizes(&volume), 5 * 19);
}

#[test]
fn every_cookie_leads_to_the_entry_after_it_while_others_come_and_go() {
    let (dir, volume, caller) = volume();
    let root = volume.root().unwrap();
    let names: Vec<String> = (0..300).map(|i| format!("entry-{i}")).collect();
    names.iter().for_each(|name| std::fs::write(dir.path().join(name), b"").unwrap());
    let mut seen = std::collections::HashSet::new();
    let mut cookie = 0;
    let mut step = 0;
    loop {
        let page = volume.list(&caller.caller, &root, cookie).unwrap();
        let Some(entry) = page.entries().first() else { break };
        assert!(seen.insert(entry.name().to_vec()), "seen twice: {:?}", entry.name());
        cookie = entry.cookie;
        std::fs::write(dir.path().join(format!("new-{step}")), b"").unwrap();
        let _ = std::fs::remove_file(dir.path().join(format!("new-{}", step / 2)));
        step += 1;
        assert!(step < 2000);
    }
    names.iter().for_each(|name| assert!(seen.contains(name.as_bytes()), "{name} was skipped"));
}

#[test]
fn permissions_are_those_of_the_caller() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can act for others");
        return;
    }
    let (dir, volume, root_user) = volume();
    let root = volume.root().unwrap();
    let all = SetAttributes { mode: Some(0o777), ..Default::default() };
    volume.set_attributes(&root_user, &root, &all).unwrap();
    let (anna, ben) = (actor(Caller::new(5001, 5001, &[77])), actor(Caller::new(5002, 5002, &[])));
    let made = volume.create(&anna, &root, b"diary", NewKind::File, 0o640).unwrap();
    assert_eq!((made.found.attributes.uid, made.found.attributes.gid), (5001, 5001));
    let diary = made.found;
    run(volume.stateless().write(&anna, &diary, 0, Bytes::from_static(b"secret"), Stability::Unstable))
        .unwrap();
    assert_eq!(run(volume.stateless().read(&ben, &diary, 0, 6)).unwrap_err(), Error::AccessDenied);
    assert_eq!(
        run(volume.stateless().write(&ben, &diary, 0, Bytes::from_static(b"x"), Stability::Unstable))
            .unwrap_err(),
        Error::AccessDenied
    );
    // An ACL for Ben, which the mode does not show. setfacl makes it.
    let path = dir.path().join("diary");
    let acl = std::process::Command::new("setfacl").args(["-m", "u:5002:r"]).arg(&path).status();
    if acl.is_ok_and(|status| status.success()) {
        let diary = volume.node(&diary.object.key()).unwrap();
        run(volume.stateless().read(&ben, &diary, 0, 6)).unwrap();
        assert_eq!(volume.access(&ben.caller, &diary, Access(7)).unwrap(), Access::READ);
    }
}

#[test]
fn a_sidecar_that_was_committed_is_where_other_servers_look() {
    let (dir, volume, caller) = volume();
    let root = volume.root().unwrap();
    volume.create(&caller, &root, b"a", NewKind::File, 0o600).unwrap();
    assert!(volume.stateless().look(&caller.caller, &root, b"._a").is_err());
    let sidecar = volume.create(&caller, &root, b"._a", NewKind::File, 0o600).unwrap().found;
    // RFC 1740 and XNU: magic, version, filler, 2 entries: Finder info (9) at 50, fork (2) at 82, of no bytes.
    let mut head = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        \x00\x02".to_vec();
    head.extend([0, 0, 0, 9, 0, 0, 0, 50, 0, 0, 0, 32, 0, 0, 0, 2, 0, 0, 0, 82, 0, 0, 0, 0]);
    head.extend(b"TEXTttxt");
    head.resize(82, 0);
    run(volume.stateless().write(&caller, &sidecar, 0, Bytes::from(head), Stability::Unstable)).unwrap();
    run(volume.sync(&sidecar)).unwrap();
    let file = volume.lookup(&caller.caller, &root.object, b"a").unwrap();
    // Netatalk's attribute: Finder info at 0x7a of 402 bytes.
    let attribute = file.object.xattr(b"user.org.netatalk.Metadata").unwrap();
    assert_eq!((attribute.len(), &attribute[0x7a..0x82]), (402, b"TEXTttxt".as_slice()));
    let page = volume.list(&caller.caller, &root, 0).unwrap();
    assert!(page.entries().iter().all(|entry| entry.name() != b"._a"));
    assert!(dir.path().join("._a").exists());
}

/// inotify(7): a read gives as many events as fit its buffer.
#[test]
fn all_events_are_heard_however_many_reads_they_take() {
    let dir = tempfile::tempdir().unwrap();
    let host = Host::open(dir.path(), &HostOptions::default()).unwrap();
    let root = host.root().unwrap();
    host.watch(&*root.object, vfs::backend::DataNotice::EachWrite).unwrap();
    for count in [0, 1, 59, 60, 61, 62, 500] {
        for number in 0..count {
            let name = format!("{number:0width$}", width = 4 + number * 7 % 250);
            std::fs::File::create(dir.path().join(name)).unwrap();
        }
        let mut created = 0;
        host.watch_events(&mut |event| match event {
            WatchEvent::Entry { what: Heard::Created, .. } => created += 1,
            WatchEvent::Missed => panic!("events were lost"),
            _ => {}
        });
        assert_eq!(created, count);
        for entry in std::fs::read_dir(dir.path()).unwrap() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
        host.watch_events(&mut |_| ());
    }
}

#[test]
fn a_name_that_local_programs_give_to_others_leads_to_these() {
    let (dir, volume, caller) = volume();
    let root = volume.root().unwrap();
    let path = |name: &str| dir.path().join(name);
    let look = |name: &[u8]| volume.lookup(&caller.caller, &root.object, name);
    let number = |name: &str| std::fs::metadata(path(name)).unwrap().ino();
    for round in 0..50 {
        volume.create(&caller, &root, b"a", NewKind::File, 0o644).unwrap();
        volume.create(&caller, &root, b"b", NewKind::File, 0o644).unwrap();
        let before = [look(b"a").unwrap(), look(b"b").unwrap()];
        std::fs::rename(path("a"), path("c")).unwrap();
        std::fs::rename(path("b"), path("a")).unwrap();
        std::fs::rename(path("c"), path("b")).unwrap();
        let after = [look(b"a").unwrap(), look(b"b").unwrap()];
        assert_eq!(before[0].object.key(), after[1].object.key(), "{round}");
        assert_eq!(before[1].object.key(), after[0].object.key(), "{round}");
        drop((before, after));
        // The number of a file that is gone may be given to a new one at once.
        volume.remove(&caller, &root, b"a", Kind::File).unwrap();
        std::fs::remove_file(path("b")).unwrap();
        std::fs::write(path("a"), b"new").unwrap();
        let new = look(b"a").unwrap();
        assert_eq!((new.attributes.size, new.attributes.id.inode), (3, number("a")), "{round}");
        assert_eq!(look(b"b").err(), Some(Error::NotFound));
        std::fs::hard_link(path("a"), path("b")).unwrap();
        let other = look(b"b").unwrap();
        assert_eq!((other.object.key(), other.attributes.links), (new.object.key(), 2));
        volume.remove(&caller, &root, b"a", Kind::File).unwrap();
        assert_eq!(volume.node(&new.object.key()).map(|found| found.attributes.links), Ok(1));
        volume.remove(&caller, &root, b"b", Kind::File).unwrap();
        assert_eq!(volume.node(&new.object.key()).err(), Some(Error::Stale));
    }
}
