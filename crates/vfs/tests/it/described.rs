//! The description of a file: metadata, extended attributes, the list of its streams. On the memory
//! and the host backend.

use std::sync::Arc;

use bytes::Bytes;

use vfs::backend::host::{Host, HostOptions};
use vfs::backend::memory::Memory;
use vfs::backend::{Found, NewKind, Object, Stability, XattrMode};
use vfs::events::{Aspects, ChangeKind, Event, EventScope, Filter, ScopedChange};
use vfs::mac::{DosAttributes, FileBits, FinderInfo, Metadata, sidecar};
use vfs::state::{ClientId, Modes, Party, Stream};
use vfs::{
    Actor, Attributes, Beside, Caller, Error, FileId, Kind, OpenOptions, Relayout, RelayoutOptions, Time,
    Volume, VolumeOptions, Xattr, XattrChange,
};

/// A volume on each backend, the folder of the host if it has one, and the actor.
fn volumes() -> Vec<(Arc<Volume>, Option<tempfile::TempDir>, Actor)> {
    let dir = tempfile::tempdir().unwrap();
    let host = Host::open(dir.path(), &HostOptions::default()).unwrap();
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let new = |backend| Arc::new(Volume::new(backend, VolumeOptions::default()));
    vec![
        (new(Arc::new(Memory::ticking())), None, actor(Caller::root())),
        (new(Arc::new(host)), Some(dir), actor(Caller::new(uid, gid, &[]))),
    ]
}

fn actor(caller: Caller) -> Actor {
    Actor::new(caller, Party::client(ClientId(7)))
}

fn make(volume: &Volume, actor: &Actor, name: &[u8]) -> (Found, Found) {
    let root = volume.root().unwrap();
    let file = volume.create(actor, &root, name, NewKind::File, 0o644).unwrap().found;
    (root, file)
}

fn beside<'a>(folder: &'a Found, name: &'a [u8]) -> Option<Beside<'a>> {
    Some(Beside { folder: &folder.object, name })
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[test]
fn metadata_reads_back_and_dos_attributes_alone_are_one_attribute() {
    for (volume, dir, actor) in volumes() {
        let (root, file) = make(&volume, &actor, b"a");
        let place = beside(&root, b"a");
        assert!(volume.metadata(&file, place).unwrap().is_empty());
        let archive = |metadata: &mut Metadata| metadata.dos = DosAttributes::ARCHIVE;
        volume.change_metadata(&actor, &file, place, archive).unwrap();
        assert_eq!(volume.metadata(&file, place).unwrap().dos, DosAttributes::ARCHIVE);
        assert_eq!(file.object.list_xattrs().unwrap(), [b"user.DOSATTRIB".to_vec()]);
        // [MS-FSCC] 2.6 FILE_ATTRIBUTE_ARCHIVE 0x20, where docs/on-disk-format.md says: attributes at 12.
        assert_eq!(file.object.xattr(b"user.DOSATTRIB").unwrap()[12..16], [0x20, 0, 0, 0]);
        let changed = file.object.attributes().unwrap().changed;
        volume.change_metadata(&actor, &file, place, archive).unwrap();
        assert_eq!(file.object.attributes().unwrap().changed, changed, "nothing is written");
        let label = |metadata: &mut Metadata| metadata.set_hidden(true);
        volume.change_metadata(&actor, &file, place, label).unwrap();
        assert!(file.object.xattr(b"user.org.netatalk.Metadata").is_ok());
        assert!(volume.metadata(&file, None).unwrap().is_hidden());
        volume.change_metadata(&actor, &root, None, label).unwrap();
        assert!(volume.metadata(&volume.root().unwrap(), None).unwrap().is_hidden());
        drop(dir);
    }
}

#[test]
fn a_lock_in_netatalks_header_binds_all_clients() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join(".AppleDouble")).unwrap();
    std::fs::write(dir.path().join(".AppleDouble/old"), b"").unwrap();
    let host = Host::open(dir.path(), &HostOptions::default()).unwrap();
    let volume = Volume::new(Arc::new(host), VolumeOptions::default());
    let actor = actor(Caller::root());
    let (root, file) = make(&volume, &actor, b"f");
    let lock = |metadata: &mut Metadata| metadata.set_bits(FileBits::WRITE_INHIBIT);
    volume.change_metadata(&actor, &file, beside(&root, b"f"), lock).unwrap();
    assert!(dir.path().join(".AppleDouble/f").exists());
    assert!(volume.inhibits(&file.object).unwrap().contains(FileBits::WRITE_INHIBIT));
    assert!(volume.is_locked(&file.object).unwrap());
}

#[test]
fn a_new_file_gets_its_first_metadata_without_being_asked() {
    for (volume, dir, actor) in volumes() {
        let (root, file) = make(&volume, &actor, b"a");
        let at = Time { secs: 1_000_000_000, nanos: 0 };
        let mut first = Metadata::default();
        first.dos = DosAttributes::ARCHIVE;
        volume.caching_tree().describe_new(&actor, &file, beside(&root, b"a").unwrap(), &first).unwrap();
        assert_eq!(volume.metadata(&file, beside(&root, b"a")).unwrap(), first);
        first.times.created = Some(at);
        volume.caching_tree().describe_new(&actor, &file, beside(&root, b"a").unwrap(), &first).unwrap();
        let known = volume.metadata(&file, beside(&root, b"a")).unwrap();
        assert_eq!((known.created(&file.attributes), known.dos), (at, DosAttributes::ARCHIVE));
        drop(dir);
    }
}

#[test]
fn only_the_owner_and_who_may_write_change_metadata() {
    let volume = Volume::new(Arc::new(Memory::ticking()), VolumeOptions::default());
    let user = |uid| actor(Caller::new(uid, 100, &[]));
    let (_, file) = make(&volume, &user(10), b"a");
    let hide = |metadata: &mut Metadata| metadata.set_hidden(true);
    assert_eq!(volume.change_metadata(&user(11), &file, None, hide), Err(Error::AccessDenied));
    assert_eq!(volume.change_xattrs(&user(11), &file, None, |_| Ok(Vec::new())), Err(Error::AccessDenied));
    assert_eq!(volume.change_metadata(&user(10), &file, None, hide), Ok(()));
    let options = VolumeOptions { read_only: true, ..VolumeOptions::default() };
    let volume = Volume::new(Arc::new(Memory::ticking()), options);
    let root = volume.root().unwrap();
    assert_eq!(volume.change_metadata(&user(0), &root, None, hide), Err(Error::ReadOnly));
}

#[test]
fn without_a_birth_time_a_file_was_made_when_it_was_first_known() {
    let at = |secs| Time { secs, nanos: 0 };
    let attributes = Attributes {
        id: FileId::new(0, 1),
        kind: Kind::File,
        mode: 0,
        uid: 0,
        gid: 0,
        links: 1,
        size: 0,
        allocated: 0,
        device: (0, 0),
        accessed: at(1),
        modified: at(5),
        changed: at(4),
        created: None,
    };
    let none = Metadata::default();
    assert_eq!(none.created(&attributes), at(4));
    assert_eq!(none.created(&Attributes { created: Some(at(9)), ..attributes }), at(9));
}

fn changes(events: &mut vfs::events::Subscription) -> Vec<ScopedChange> {
    let mut all = Vec::new();
    while let Some(event) = events.try_next() {
        if let Event::Changed(seen) = event {
            all.push(seen);
        }
    }
    all
}

#[test]
fn a_watch_of_the_folder_gets_one_event_with_the_client() {
    let volume = Arc::new(Volume::new(Arc::new(Memory::ticking()), VolumeOptions::default()));
    let me = actor(Caller::root());
    let (root, file) = make(&volume, &me, b"a");
    let mut events = volume.subscribe(EventScope::Folder(root.object.id()), Filter::ALL, 16).unwrap();
    let made = |metadata: &mut Metadata| metadata.times.created = Some(Time { secs: 5, nanos: 0 });
    volume.change_metadata(&me, &file, beside(&root, b"a"), made).unwrap();
    let [ScopedChange { change, .. }] = &changes(&mut events)[..] else { panic!("one change") };
    assert_eq!(change.what, ChangeKind::Modified(Aspects::ATTRIBUTES.union(Aspects::CREATED)));
    assert_eq!((&*change.name, change.by), (&b"a"[..], Some(ClientId(7))));
}

#[test]
fn extended_attributes_are_changed_by_name_and_all_of_them_or_none() {
    for (volume, dir, actor) in volumes() {
        let (root, file) = make(&volume, &actor, b"a");
        let change = |changes: &[XattrChange]| {
            volume.change_xattrs(&actor, &file, beside(&root, b"a"), |_| Ok(changes.to_vec()))
        };
        let set = |name: &[u8], value: &[u8]| (name.to_vec(), Some(value.to_vec()));
        assert_eq!(volume.xattrs(&file), Ok(Vec::new()));
        change(&[set(b"note", b"\0\xff"), set(b"Note", b"n")]).unwrap();
        assert_eq!(file.object.xattr(b"user.fourfold.ea.note").unwrap(), b"\0\xff");
        change(&[(b"note".to_vec(), None)]).unwrap();
        let one = vec![Xattr { name: b"Note".to_vec(), value: b"n".to_vec() }];
        assert_eq!(volume.xattrs(&file), Ok(one.clone()));
        for (bad, error) in
            [(&b""[..], Error::InvalidName), (b"\0", Error::InvalidName), (&[b'x'; 239], Error::NameTooLong)]
        {
            assert_eq!(change(&[set(b"other", b"x"), set(bad, b"x")]), Err(error));
        }
        assert_eq!(volume.xattrs(&file), Ok(one), "none of them, if not all");
        assert!(!volume.has_streams(&file).unwrap(), "they are no streams");
        drop(dir);
    }
}

async fn put(
    volume: &Arc<Volume>,
    actor: &Actor,
    file: &Found,
    at: Beside<'_>,
    stream: Stream,
    bytes: &[u8],
) {
    let options = OpenOptions {
        stream,
        create: true,
        place: Some(at),
        ..OpenOptions::data(Modes::READ.union(Modes::WRITE))
    };
    let open = volume.open(actor, file, options).await.unwrap();
    open.write_at(0, Bytes::copy_from_slice(bytes), Stability::Unstable).await.unwrap();
}

#[test]
fn streams_are_listed_with_their_lengths_and_removed() {
    for (volume, dir, actor) in volumes() {
        let (root, file) = make(&volume, &actor, b"a");
        let at = beside(&root, b"a").unwrap();
        run(async {
            assert_eq!(volume.streams(&actor, &file, Some(at)).await, Ok(Vec::new()));
            assert!(!volume.has_streams(&file).unwrap());
            // Names: short, long for an attribute, long for a file's name, and the host's own words.
            let long = ["ä".repeat(126), "x".repeat(255), "%/".repeat(120)];
            let names = ["one", &long[0], &long[1], &long[2], "DOSATTRIB", "fourfold.kept"];
            for (at_name, name) in names.iter().enumerate() {
                put(&volume, &actor, &file, at, Stream::Named((*name).into()), &vec![7; at_name + 1]).await;
            }
            put(&volume, &actor, &file, at, Stream::Named("large".into()), &vec![1; 200_000]).await;
            put(&volume, &actor, &file, at, Stream::Resource, b"fork").await;
            let mut listed = volume.streams(&actor, &file, Some(at)).await.unwrap();
            listed.sort_by_key(|stream| stream.len);
            let said: Vec<_> = listed.iter().map(|s| (&s.name[..], s.len)).collect();
            let mut expected: Vec<_> = names.iter().map(|name| name.as_bytes()).zip(1..).collect();
            expected.push((b"large", 200_000));
            assert_eq!(said, expected);
            assert!(listed.last().unwrap().allocated >= 200_000);
            assert_eq!(volume.fork_len(&file, at), Ok(4));
            assert!(volume.has_streams(&file).unwrap());
            assert!(volume.metadata(&file, Some(at)).unwrap().dos == DosAttributes::default());

            for name in names.into_iter().chain(["large"]) {
                volume.remove_stream(&actor, &file, at, &Stream::Named(name.into())).await.unwrap();
            }
            assert_eq!(volume.streams(&actor, &file, Some(at)).await, Ok(Vec::new()));
            volume.remove_stream(&actor, &file, at, &Stream::Resource).await.unwrap();
            assert_eq!(volume.fork_len(&file, at), Ok(0));
            for gone in [Stream::Resource, Stream::Named("one".into())] {
                let again = volume.remove_stream(&actor, &file, at, &gone).await;
                assert_eq!(again, Err(Error::NoSuchAttribute));
            }
        });
        drop(dir);
    }
}

#[test]
fn what_a_caller_may_not_read_it_is_told_about() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root acts as others");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let host = Arc::new(Host::open(dir.path(), &HostOptions::default()).unwrap());
    let volume = Volume::new(host, VolumeOptions::default());
    let (root, file) = make(&volume, &actor(Caller::root()), b"a");
    let hide = |metadata: &mut Metadata| metadata.set_hidden(true);
    volume.change_metadata(&actor(Caller::root()), &file, beside(&root, b"a"), hide).unwrap();
    std::fs::set_permissions(dir.path().join("a"), std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .unwrap();
    std::fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let found = volume.lookup(&Caller::new(4242, 4242, &[]), &root.object, b"a").unwrap();
    assert!(volume.metadata(&found, beside(&root, b"a")).unwrap().is_hidden());
}

/// A sidecar that another server has written is taken into the file's attributes when it is first looked at. That a file is
/// to get another layout changes none of it before, and it is as it was when that is taken back: version 5 of Samba's
/// `user.DOSATTRIB` (MS-SMB2 has none; Samba's librpc/idl/xattr.idl), which this server does not write.
#[test]
fn a_file_of_another_server_is_as_it_was_after_a_dry_run_and_an_undo() {
    let xattrs = |of: &dyn Object| {
        let mut all: Vec<_> = of
            .list_xattrs()
            .unwrap()
            .into_iter()
            .map(|name| (name.clone(), of.xattr(&name).unwrap()))
            .collect();
        all.sort();
        all
    };
    for (volume, _dir, by) in volumes() {
        let (root, file) = make(&volume, &by, b"a");
        let mut attributes = vec![0, 0, 5, 0, 5, 0, 0, 0, 0x11, 0, 0, 0, 0x20, 0, 0, 0];
        attributes.extend(133_444_736_000_000_000_u64.to_le_bytes());
        let set = |name: &[u8], value: &[u8]| {
            file.object.set_xattr(&Caller::root(), name, value, XattrMode::Set).unwrap();
        };
        set(b"user.DOSATTRIB", &attributes);
        set("user.DosStream.a\u{f022}b:$DATA".as_bytes(), b"stream\0");
        let mut info = FinderInfo::NONE;
        info.set_type(*b"TEXT", *b"ttxt");
        let bytes = [&sidecar::synthesize(&info, &[(&b"color"[..], b"red")], 4).0[..], b"fork"].concat();
        let beside_it = root.object.create(&Caller::root(), b"._a", NewKind::File, 0o644).unwrap().object;
        beside_it.write_at(&Caller::root(), 0, &bytes, Stability::Unstable).unwrap();
        let before = (xattrs(&*file.object), xattrs(&*beside_it));
        let place = beside(&root, b"a").unwrap();
        let mut raw = None;
        let mut relayout = |style, dry_run| {
            let options = RelayoutOptions { style, shown_counts: false, dry_run };
            let mut save = |before: &vfs::streams::Raw| {
                raw = Some(before.clone());
                Ok(())
            };
            volume.relayout(&by, &file, place, options, &mut save).unwrap()
        };
        let style = vfs::streams::Style::SAMBA_STREAMS;
        assert!(matches!(relayout(style, true), Relayout::Outside(_)));
        assert_eq!((xattrs(&*file.object), xattrs(&*beside_it)), before);
        let Relayout::Done(after) = relayout(style, false) else { panic!("it is to be changed") };
        assert_ne!(xattrs(&*file.object), before.0);
        let raw = raw.unwrap();
        let undo = || volume.undo_relayout(&by, &file, place, &raw, Some(after)).unwrap();
        // An undo that was cut off begins again: what was taken back already stays so.
        for _ in 0..2 {
            assert!(undo());
            let back = root.object.lookup(&Caller::root(), b"._a").unwrap().object;
            assert_eq!((xattrs(&*file.object), xattrs(&*back)), before);
        }
        set(b"user.color", b"red");
        assert!(!undo(), "it was changed since");
        assert_eq!(file.object.xattr(b"user.color").unwrap(), b"red");
    }
}
