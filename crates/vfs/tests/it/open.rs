//! Files as clients have them open: permissions, waiting for other clients, and the meaning of each
//! stream.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;

use vfs::backend::faulty::{Call, Faulty};
use vfs::backend::host::{Host, HostOptions};
use vfs::backend::memory::Memory;
use vfs::backend::{Backend, Found, NewKind, RenameMode, Stability, XattrMode};
use vfs::names::Folding;
use vfs::state::{
    Caching, ClientId, LeaseRequest, LockKind, LockRefusal, Modes, Party, Range, Stream, Style, Totals,
};
use vfs::{
    Actor, Beside, Caller, Error, Kind, LookupResult, Open, OpenOptions, Payload, Volume, VolumeOptions,
};

fn volume() -> Arc<Volume> {
    Arc::new(Volume::new(Arc::new(Memory::ticking()), VolumeOptions::default()))
}

fn client(number: u64) -> Actor {
    Actor::new(Caller::new(0, 0, &[]), Party::client(ClientId(number)))
}

fn make(volume: &Volume, name: &str) -> Found {
    let root = volume.root().unwrap();
    volume.create(&client(1), &root, name.as_bytes(), NewKind::File, 0o644).unwrap().found
}

fn data(access: Modes, deny: Modes) -> OpenOptions<'static> {
    OpenOptions { deny, ..OpenOptions::data(access) }
}

async fn read(open: &Open, offset: u64, length: usize) -> Vec<u8> {
    match open.read_at(offset, length).await.unwrap().payload {
        Payload::Bytes(bytes) => bytes,
        Payload::File { .. } => panic!("short reads are copied"),
    }
}

async fn write(open: &Open, offset: u64, data: &'static [u8]) -> vfs::Result<()> {
    open.write_at(offset, Bytes::from_static(data), Stability::Unstable).await
}

#[tokio::test]
async fn what_an_open_denies_nobody_else_may_until_it_is_dropped() {
    let (volume, both) = (volume(), Modes::READ.union(Modes::WRITE));
    let file = make(&volume, "a");
    let first = volume.open(&client(1), &file, data(both, Modes::WRITE)).await.unwrap();
    let refused = volume.open(&client(2), &file, data(Modes::WRITE, Modes::NONE)).await;
    assert_eq!(refused.unwrap_err(), Error::ShareConflict);
    // It cannot deny an access that the first one has, either.
    let refused = volume.open(&client(2), &file, data(Modes::READ, Modes::READ)).await;
    assert_eq!(refused.unwrap_err(), Error::ShareConflict);
    let reader = volume.open(&client(2), &file, data(Modes::READ, Modes::NONE)).await.unwrap();
    write(&first, 0, b"hello").await.unwrap();
    assert_eq!(read(&reader, 1, 10).await, b"ello");
    drop(first);
    drop(volume.open(&client(2), &file, data(Modes::WRITE, Modes::NONE)).await.unwrap());
    drop(reader);
    assert_eq!(volume.state().totals(), Totals::default());
}

#[tokio::test]
async fn an_open_does_what_it_was_opened_for() {
    let volume = volume();
    let file = make(&volume, "a");
    let reader = volume.open(&client(1), &file, OpenOptions::data(Modes::READ)).await.unwrap();
    assert_eq!(write(&reader, 0, b"x").await, Err(Error::AccessDenied));
    assert_eq!(reader.truncate(0).await, Err(Error::AccessDenied));
    let writer = volume.open(&client(1), &file, OpenOptions::data(Modes::WRITE)).await.unwrap();
    assert_eq!(writer.read_at(0, 1).await.unwrap_err(), Error::AccessDenied);
    write(&writer, 0, b"abc").await.unwrap();
    writer.truncate(2).await.unwrap();
    writer.sync().await.unwrap();
    assert_eq!((writer.size().await, writer.attributes().unwrap().size), (Ok(2), 2));
}

#[tokio::test]
async fn data_that_were_synced_outlast_a_power_cut() {
    let faulty = Arc::new(Faulty::losing_writes(Memory::ticking()));
    let volume = Arc::new(Volume::new(faulty.clone(), VolumeOptions::default()));
    let file = make(&volume, "a");
    let open =
        volume.open(&client(1), &file, OpenOptions::data(Modes::READ.union(Modes::WRITE))).await.unwrap();
    write(&open, 0, b"kept").await.unwrap();
    open.sync_data().await.unwrap();
    write(&open, 0, b"lost").await.unwrap();
    faulty.crash();
    assert_eq!(read(&open, 0, 9).await, b"kept");
    faulty.plan().fail(1, Some(Call::Sync), Error::Io);
    assert_eq!(open.sync_data().await, Err(Error::Io));
}

#[tokio::test]
async fn an_open_needs_the_right_to_read() {
    let (volume, root) = (volume(), Actor { caller: Caller::root(), ..client(1) });
    let secret = make(&volume, "a");
    let mode = vfs::SetAttributes { mode: Some(0o600), ..Default::default() };
    volume.set_attributes(&root, &secret, &mode).unwrap();
    let secret = volume.node(&secret.object.key()).unwrap();
    let stranger = Actor { caller: Caller::new(9, 9, &[]), ..client(2) };
    let refused = volume.open(&stranger, &secret, OpenOptions::data(Modes::READ)).await;
    assert_eq!(refused.unwrap_err(), Error::AccessDenied);
    drop(volume.open(&stranger, &secret, OpenOptions::data(Modes::NONE)).await.unwrap()); // only looks
    assert_eq!(volume.state().totals(), Totals::default());
}

#[tokio::test]
async fn locked_ranges_bind_others_and_go_with_the_open() {
    let (volume, both) = (volume(), Modes::READ.union(Modes::WRITE));
    let file = make(&volume, "a");
    let first = volume.open(&client(1), &file, OpenOptions::data(both)).await.unwrap();
    let second = volume.open(&client(2), &file, OpenOptions::data(both)).await.unwrap();
    let range = Range::new(10, 5).unwrap();
    first.lock(range, LockKind::Exclusive).await.unwrap();
    assert_eq!(write(&second, 8, b"xyz").await, Err(Error::RangeLocked));
    write(&second, 0, b"xyz").await.unwrap();
    write(&first, 8, b"xyz").await.unwrap();
    let Err(LockRefusal::Blocked(blocker)) = second.lock(range, LockKind::Shared).await else { panic!() };
    assert_eq!((blocker.owner.client, blocker.range), (ClientId(1), range));
    assert_eq!(first.unlock(Range::new(10, 4).unwrap()).await, Ok(false)); // not what was locked
    drop(first);
    second.lock(range, LockKind::Exclusive).await.unwrap();
    assert_eq!(second.unlock(range).await, Ok(true));
}

#[tokio::test(start_paused = true)]
async fn an_open_waits_for_the_cache_of_another_client() {
    let volume = volume();
    let file = make(&volume, "a");
    let mut holder = volume.open(&client(1), &file, OpenOptions::data(Modes::WRITE)).await.unwrap();
    let (notices, mut told) = mpsc::unbounded_channel();
    let request =
        LeaseRequest { party: Party::client(ClientId(1)), want: Caching::ALL, style: Style::Bits, notices };
    let lease = volume.state().lease(file.object.id(), &Stream::Data, &request).unwrap();
    assert_eq!(lease.caching(), Caching::ALL);
    holder.guard_mut().keep(lease);
    let (opening, found) = (volume.clone(), file.clone());
    let other = tokio::spawn(async move {
        let open = opening.open(&client(2), &found, OpenOptions::data(Modes::READ)).await.unwrap();
        read(&open, 0, 10).await
    });
    let notice = told.recv().await.unwrap();
    assert_eq!(notice.to, Caching::READ.union(Caching::HANDLE));
    tokio::time::sleep(Duration::from_millis(20)).await; // until nothing else is left to do
    assert!(!other.is_finished());
    write(&holder, 0, b"kept back").await.unwrap(); // a write that it had delayed
    holder.guard().lease().unwrap().acknowledge(notice.to).unwrap();
    assert_eq!(other.await.unwrap(), b"kept back");
}

fn beside<'a>(root: &'a Found, name: &'a str, stream: Stream) -> OpenOptions<'a> {
    let place = Some(Beside { folder: &root.object, name: name.as_bytes() });
    OpenOptions { stream, place, ..OpenOptions::data(Modes::READ.union(Modes::WRITE)) }
}

#[tokio::test]
async fn the_resource_fork_is_what_the_sidecar_shows() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let host = Host::open(dir.path(), &HostOptions::default()).unwrap();
    let root_object = host.root().unwrap().object;
    if root_object.set_xattr(&Caller::root(), b"user.test", b"", XattrMode::Set).is_err() {
        println!("skipped: no extended attributes here");
        return;
    }
    let volume = Arc::new(Volume::new(Arc::new(host), VolumeOptions::default()));
    let (file, root) = (make(&volume, "a"), volume.root().unwrap());
    let fork = volume.open(&client(1), &file, beside(&root, "a", Stream::Resource)).await.unwrap();
    assert_eq!((fork.size().await, read(&fork, 0, 10).await), (Ok(0), vec![]));
    write(&fork, 2, b"resource").await.unwrap();
    fork.sync().await.unwrap();
    assert_eq!((fork.size().await, fork.attributes().unwrap().size), (Ok(10), 0));
    let seen = fork.read_at(8, 10).await.unwrap();
    assert_eq!((seen.end, seen.payload.len()), (true, 2));
    let LookupResult::File(sidecar) = volume.stateless().look(&Caller::root(), &root, b"._a").unwrap() else {
        panic!("a fork is on the disk");
    };
    let shown = volume.stateless().read(&client(2), &sidecar, 0, 4096).await.unwrap().payload;
    let Payload::Bytes(shown) = shown else { panic!("short reads are copied") };
    assert_eq!(&shown[82..], b"\0\0resource"); // AppleDouble with Finder info: the fork begins at 82
    fork.truncate(0).await.unwrap();
    assert!(!dir.path().join("._a").exists());
}

#[tokio::test]
async fn an_open_fork_follows_its_file() {
    let (volume, me) = (volume(), client(1));
    let (file, root) = (make(&volume, "a"), volume.root().unwrap());
    let fork = volume.open(&me, &file, beside(&root, "a", Stream::Resource)).await.unwrap();
    write(&fork, 0, b"before").await.unwrap();
    let folder = volume.create(&me, &root, b"d", NewKind::Folder, 0o755).unwrap().found;
    volume.rename(&me, (&root, b"a"), (&folder, b"b"), RenameMode::Replace).unwrap();
    write(&fork, 6, b", after").await.unwrap();
    assert_eq!(read(&fork, 0, 100).await, b"before, after");
    // Another file in the old place is another file.
    make(&volume, "a");
    let same = volume.open(&client(2), &file, beside(&folder, "b", Stream::Resource)).await.unwrap();
    assert_eq!(read(&same, 0, 100).await, b"before, after");
    let by_old_place = volume.open(&client(2), &file, beside(&root, "a", Stream::Resource)).await.unwrap();
    assert_eq!(read(&by_old_place, 0, 100).await, b"before, after", "its own fork, wherever the file is");
}

#[tokio::test]
async fn a_named_stream_is_there_or_made() {
    let (volume, me) = (volume(), client(1));
    let (file, root) = (make(&volume, "a"), volume.root().unwrap());
    let notes = || beside(&root, "a", Stream::Named("notes".into()));
    assert_eq!(volume.open(&me, &file, notes()).await.unwrap_err(), Error::NoSuchAttribute);
    let stream = volume.open(&me, &file, OpenOptions { create: true, ..notes() }).await.unwrap();
    assert_eq!(stream.size().await, Ok(0));
    write(&stream, 0, b"remember").await.unwrap();
    stream.truncate(5).await.unwrap();
    stream.sync().await.unwrap();
    let same = volume.open(&client(2), &file, notes()).await.unwrap();
    assert_eq!(read(&same, 1, 100).await, b"emem");
    // Deny modes and locks are per stream.
    stream.lock(Range::ALL, LockKind::Exclusive).await.unwrap();
    assert_eq!(same.read_at(0, 1).await.unwrap_err(), Error::RangeLocked);
    assert_eq!(same.truncate(0).await, Err(Error::RangeLocked));
    let data = volume.open(&client(2), &file, OpenOptions::data(Modes::WRITE)).await.unwrap();
    write(&data, 0, b"free").await.unwrap();
    let without_place = OpenOptions { place: None, ..notes() };
    assert_eq!(volume.open(&me, &file, without_place).await.unwrap_err(), Error::Invalid);
}

const MAC: Folding = Folding { case_sensitive: false, normalisation_sensitive: false };

fn folded(volume: &Volume, name: &str, folding: Folding) -> vfs::Result<String> {
    let root = volume.root().unwrap();
    let (name, found) = volume.mac_tree().lookup_folded(&Caller::root(), &root, name.as_bytes(), folding)?;
    assert_eq!(root.object.lookup(&Caller::root(), &name).unwrap().object.id(), found.object.id());
    Ok(String::from_utf8(name).unwrap())
}

#[test]
fn a_name_is_found_exactly_else_composed_else_folded() {
    let memory = Memory::ticking();
    let volume = Volume::new(Arc::new(memory.clone()), VolumeOptions::default());
    let root = memory.root().unwrap().object;
    // Twins, as a UNIX program may make them: composed and not, and in two cases.
    for name in ["\u{e9}t\u{e9}", "e\u{301}te\u{301}", "README", "ReadMe", "stra\u{df}e"] {
        root.create(&Caller::root(), name.as_bytes(), NewKind::File, 0o644).unwrap();
    }
    for exact in ["\u{e9}t\u{e9}", "e\u{301}te\u{301}", "README", "ReadMe"] {
        assert_eq!(folded(&volume, exact, MAC).as_deref(), Ok(exact));
    }
    // Half composed: its stored form is there. In capitals: the first of the twins in the order of bytes.
    assert_eq!(folded(&volume, "e\u{301}t\u{e9}", MAC).as_deref(), Ok("\u{e9}t\u{e9}"));
    assert_eq!(folded(&volume, "\u{c9}T\u{c9}", MAC).as_deref(), Ok("e\u{301}te\u{301}"));
    assert_eq!(folded(&volume, "readme", MAC).as_deref(), Ok("README"));
    assert_eq!(folded(&volume, "STRA\u{1e9e}E", MAC).as_deref(), Ok("stra\u{df}e"));
    assert_eq!(folded(&volume, "strasse", MAC), Err(Error::NotFound));
    let unix = Folding { case_sensitive: true, normalisation_sensitive: true };
    assert_eq!(folded(&volume, "readme", unix), Err(Error::NotFound));
    assert_eq!(folded(&volume, "nothing", MAC), Err(Error::NotFound));
}

#[test]
fn a_missing_name_is_looked_up_once() {
    let faulty = Arc::new(Faulty::new(Memory::ticking()));
    let volume = Volume::new(faulty.clone(), VolumeOptions::default());
    let root = volume.root().unwrap();
    volume.create(&client(1), &root, b"d", NewKind::Folder, 0o755).unwrap();
    let folding = Folding { case_sensitive: true, ..Folding::default() };
    let lookups = |path: &[&[u8]]| {
        let before = faulty.plan().calls(Some(Call::Lookup));
        let resolved = volume.lookup_path(&Caller::root(), &root, path, folding).unwrap();
        assert!(resolved.found.is_none());
        faulty.plan().calls(Some(Call::Lookup)) - before
    };
    assert_eq!(lookups(&[b"new"]), 1);
    assert_eq!(lookups(&[b"d", b"new"]), 2);
}

#[test]
fn folding_sees_a_kept_listing_change() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let host = Host::open(dir.path(), &HostOptions::default()).unwrap();
    let volume = Volume::new(Arc::new(host), VolumeOptions::default());
    for i in 0..3000 {
        std::fs::write(dir.path().join(format!("Some-File-Number-{i}")), b"").unwrap();
    }
    assert_eq!(folded(&volume, "some-file-number-2999", MAC).as_deref(), Ok("Some-File-Number-2999"));
    std::fs::rename(dir.path().join("Some-File-Number-7"), dir.path().join("Moved")).unwrap();
    assert_eq!(folded(&volume, "some-file-number-7", MAC), Err(Error::NotFound));
    assert_eq!(folded(&volume, "MOVED", MAC).as_deref(), Ok("Moved"));
    let root = volume.root().unwrap();
    volume.remove(&client(1), &root, b"Moved", Kind::File).unwrap();
    assert_eq!(folded(&volume, "MOVED", MAC), Err(Error::NotFound));
}
