//! Changes by local processes (here: the standard library) and by clients, as a subscriber sees them on a real folder.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use vfs::backend::host::{Host, HostOptions};
use vfs::backend::{Found, NewKind, RenameMode, Stability, XattrMode};
use vfs::events::{Aspects, ChangeKind, Depth, Event, EventScope, Filter, Subscription};
use vfs::state::{ClientId, Modes, Party};
use vfs::{Actor, Beside, Caller, Kind, Open, OpenOptions, Volume, VolumeOptions, WatchedClosings, Watching};

use crate::alone::is_alone;
use crate::waiting::until;

const ME: ClientId = ClientId(7);
/// After this time no event comes any more: longer than the thread ever waits, twice.
const QUIET: Duration = Duration::from_millis(500);

struct Share {
    dir: tempfile::TempDir,
    volume: Arc<Volume>,
    me: Actor,
    root: Found,
}

impl Share {
    fn new() -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let host = Host::open(dir.path(), &HostOptions::default()).unwrap();
        let volume = Arc::new(Volume::new(Arc::new(host), VolumeOptions::default()));
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let me = Actor::new(Caller::new(uid, gid, &[]), Party::client(ME));
        let root = volume.root().unwrap();
        Self { dir, volume, me, root }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    /// What an index hears: the volume, and of the root what is closed.
    fn index(&self) -> (Subscription, WatchedClosings) {
        let events = self.volume.subscribe(EventScope::Volume, Filter::ALL, 1000).unwrap();
        (events, WatchedClosings::of(&self.volume, &self.root).expect("the host watches folders"))
    }

    /// A new file, open for reading and writing.
    fn open(&self, name: &[u8]) -> Open {
        let made = self.volume.create(&self.me, &self.root, name, NewKind::File, 0o644).unwrap().found;
        let place = Beside { folder: &self.root.object, name };
        let options = OpenOptions { place: Some(place), ..OpenOptions::data(Modes(3)) };
        wait(self.volume.open(&self.me, &made, options)).unwrap()
    }

    fn watch(&self, depth: Depth) -> Watching {
        let watching = self.volume.watch(&self.me.caller, &self.root, depth, Filter::ALL, 1000).unwrap();
        assert!(watching.hears_local());
        watching
    }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn write(open: &Open) {
    wait(open.write_at(0, Bytes::from_static(b"x"), Stability::Unstable)).unwrap();
}

/// The events until this one.
fn until_word(events: &mut Subscription, last: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    until("the last event does not come", || {
        words.extend(events.take_all().iter().map(word));
        words.last().is_some_and(|word| word == last)
    });
    words
}

/// What happened, in short: `+a` created, `-a` removed, `a>b` moved, `a=` data, `a~` another
/// change; `!` for changes by this server, and `?` for "look again". Paths from the watched folder.
fn word(event: &Event) -> String {
    let Event::Changed(seen) = event else { return "?".into() };
    let path = |names: &Option<Vec<vfs::events::Name>>, name: &[u8]| {
        let names = names.iter().flatten().map(|name| &**name).chain([name]);
        names.map(|name| String::from_utf8_lossy(name).into_owned()).collect::<Vec<_>>().join("/")
    };
    let here = path(&seen.at, &seen.change.name);
    let what = match &seen.change.what {
        ChangeKind::Created => format!("+{here}"),
        ChangeKind::Removed => format!("-{here}"),
        ChangeKind::Renamed { old_name, .. } => format!("{}>{here}", path(&seen.was, old_name)),
        ChangeKind::Modified(aspects) if aspects.intersects(Aspects::DATA) => format!("{here}="),
        ChangeKind::Modified(_) => format!("{here}~"),
    };
    if seen.change.by == Some(ME) { what + "!" } else { what }
}

/// All events until all awaited ones have come and some time more.
fn heard(watching: &mut Watching, awaited: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    until("awaited events do not come", || {
        words.extend(watching.try_next().map(|event| word(&event)));
        words.len() >= awaited
    });
    std::thread::sleep(QUIET); // no event shows that none follows
    while let Some(event) = watching.try_next() {
        words.push(word(&event));
    }
    words
}

#[test]
fn what_local_processes_do_is_heard_with_its_names() {
    let share = Share::new();
    let mut watching = share.watch(Depth::Entries);
    let (a, b) = (share.path().join("a"), share.path().join("b"));
    std::fs::write(&a, b"").unwrap();
    assert_eq!(heard(&mut watching, 1), ["+a"]);
    std::fs::write(&a, b"hello").unwrap();
    assert_eq!(heard(&mut watching, 1), ["a="]);
    std::fs::set_permissions(&a, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!(heard(&mut watching, 1), ["a~"]);
    std::fs::rename(&a, &b).unwrap();
    assert_eq!(heard(&mut watching, 1), ["a>b"]);
    std::fs::remove_file(&b).unwrap();
    assert_eq!(heard(&mut watching, 1), ["-b"]);
    std::fs::create_dir(share.path().join("d")).unwrap();
    std::fs::write(share.path().join("d/deep"), b"x").unwrap();
    assert_eq!(heard(&mut watching, 1), ["+d"]); // only its own entries
}

#[test]
fn a_file_that_comes_from_or_goes_to_elsewhere_is_new_or_gone() {
    let share = Share::new();
    let elsewhere = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut watching = share.watch(Depth::Entries);
    std::fs::write(elsewhere.path().join("a"), b"").unwrap();
    std::fs::rename(elsewhere.path().join("a"), share.path().join("a")).unwrap();
    assert_eq!(heard(&mut watching, 1), ["+a"]);
    std::fs::rename(share.path().join("a"), elsewhere.path().join("a")).unwrap();
    assert_eq!(heard(&mut watching, 1), ["-a"]);
}

#[test]
fn our_own_changes_are_heard_once() {
    let share = Share::new();
    let (volume, me, root) = (&share.volume, &share.me, &share.root);
    let mut watching = share.watch(Depth::Entries);
    let made = volume.create(me, root, b"a", NewKind::File, 0o644).unwrap();
    volume.create(me, root, b"d", NewKind::Folder, 0o755).unwrap();
    volume.link(me, &made.found, root, b"l").unwrap();
    volume.rename(me, (root, b"a"), (root, b"b"), RenameMode::Replace).unwrap();
    volume.remove(me, root, b"b", Kind::File).unwrap();
    volume.remove(me, root, b"d", Kind::Folder).unwrap();
    assert_eq!(heard(&mut watching, 6), ["+a!", "+d!", "+l!", "a>b!", "-b!", "-d!"]);
    // Writes have only the name that comes with the event; attributes likewise.
    let file = volume.create(me, root, b"w", NewKind::File, 0o644).unwrap().found;
    assert_eq!(heard(&mut watching, 1), ["+w!"]);
    let write = volume.stateless().write(me, &file, 0, Bytes::from_static(b"x"), Stability::Unstable);
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(write).unwrap();
    assert_eq!(heard(&mut watching, 1), ["w="]);
}

#[test]
fn writes_through_an_open_are_told_once_until_a_subscriber_takes_one() {
    let share = Share::new();
    let (a, b) = (share.open(b"a"), share.open(b"b"));
    let (mut events, _closings) = share.index();
    let words = |events: &mut Subscription| events.take_all().iter().map(word).collect::<Vec<_>>();
    (0..3).for_each(|_| [&a, &b].into_iter().for_each(write));
    assert_eq!(words(&mut events), ["a=!", "b=!"]);
    (0..3).for_each(|_| [&b, &a].into_iter().for_each(write));
    assert_eq!(words(&mut events), ["b=!", "a=!"]);
    // The next write is told by the new name.
    write(&a);
    share.volume.rename(&share.me, (&share.root, b"a"), (&share.root, b"c"), RenameMode::Replace).unwrap();
    write(&a);
    assert_eq!(words(&mut events), ["a=!", "a>c!", "c=!"]);
    // A window of a client gets each write that comes after the one that it took.
    let mut window = share.watch(Depth::Entries);
    for _ in 0..2 {
        write(&a);
        assert_eq!(words(&mut window), ["c=!"]);
    }
}

#[test]
fn a_write_without_an_open_is_told_by_the_name_that_the_host_knows() {
    let share = Share::new();
    let file = share.volume.create(&share.me, &share.root, b"a", NewKind::File, 0o644).unwrap().found;
    let (mut events, _closings) = share.index();
    let stateless = share.volume.stateless();
    let write =
        || wait(stateless.write(&share.me, &file, 0, Bytes::from_static(b"x"), Stability::Unstable)).unwrap();
    for _ in 0..2 {
        write();
        write();
        assert_eq!(until_word(&mut events, "a=!"), ["a=!"]);
    }
}

#[test]
fn a_local_write_is_told_when_the_file_is_closed_unless_a_window_shows_its_folder() {
    let share = Share::new();
    let (mut events, _closings) = share.index();
    let at = |name: &str| share.path().join(name);
    let append = |mut file: &std::fs::File| std::io::Write::write_all(&mut file, b"x").unwrap();
    let file = std::fs::File::create(at("a")).unwrap();
    append(&file);
    std::fs::create_dir(at("1")).unwrap();
    assert_eq!(until_word(&mut events, "+1"), ["+a", "+1"]);
    let mut window = share.watch(Depth::Entries);
    append(&file);
    until_word(&mut window, "a=");
    drop(window);
    events.take_all();
    append(&file);
    std::fs::create_dir(at("2")).unwrap();
    assert_eq!(until_word(&mut events, "+2"), ["+2"]);
    drop(file);
    assert_eq!(until_word(&mut events, "a="), ["a="]);
}

#[test]
fn a_change_that_failed_hides_nobody_elses() {
    let share = Share::new();
    let mut watching = share.watch(Depth::Entries);
    std::fs::write(share.path().join("a"), b"").unwrap();
    assert!(share.volume.create(&share.me, &share.root, b"a", NewKind::File, 0o644).is_err());
    assert_eq!(heard(&mut watching, 1), ["+a"]);
}

#[test]
fn the_same_change_by_others_after_ours_is_heard() {
    let share = Share::new();
    let mut watching = share.watch(Depth::Entries);
    share.volume.create(&share.me, &share.root, b"a", NewKind::File, 0o644).unwrap();
    std::fs::remove_file(share.path().join("a")).unwrap();
    std::fs::write(share.path().join("a"), b"").unwrap();
    assert_eq!(heard(&mut watching, 3), ["+a!", "-a", "+a"]);
}

#[test]
fn a_subtree_is_heard_as_deep_as_it_grows() {
    let share = Share::new();
    std::fs::create_dir_all(share.path().join("x/y")).unwrap();
    let mut watching = share.watch(Depth::Below);
    std::fs::write(share.path().join("x/y/old"), b"").unwrap();
    assert_eq!(heard(&mut watching, 1), ["+x/y/old"]);
    std::fs::create_dir_all(share.path().join("x/new/er")).unwrap();
    std::fs::write(share.path().join("x/new/er/file"), b"").unwrap();
    let mut came = heard(&mut watching, 3);
    came.retain(|word| !word.ends_with('='));
    assert_eq!(came, ["+x/new", "+x/new/er", "+x/new/er/file"]);
    std::fs::rename(share.path().join("x/new"), share.path().join("moved")).unwrap();
    std::fs::write(share.path().join("moved/er/later"), b"").unwrap();
    assert_eq!(heard(&mut watching, 2), ["x/new>moved", "+moved/er/later"]);
    // Changes by this server, in folders that this server made.
    let made = share.volume.create(&share.me, &share.root, b"ours", NewKind::Folder, 0o755).unwrap().found;
    share.volume.create(&share.me, &made, b"file", NewKind::File, 0o644).unwrap();
    std::fs::remove_file(share.path().join("ours/file")).unwrap();
    assert_eq!(heard(&mut watching, 3), ["+ours!", "+ours/file!", "-ours/file"]);
    // There are no more events of a folder that leaves the subtree.
    let outside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::rename(share.path().join("moved"), outside.path().join("moved")).unwrap();
    assert_eq!(heard(&mut watching, 1), ["-moved"]);
    std::fs::write(outside.path().join("moved/er/unseen"), b"").unwrap();
    assert_eq!(heard(&mut watching, 0), [""; 0]);
}

#[test]
fn a_folder_below_is_no_business_of_a_subtree_beside_it() {
    let share = Share::new();
    std::fs::create_dir_all(share.path().join("a")).unwrap();
    std::fs::create_dir_all(share.path().join("b")).unwrap();
    let a = share.volume.lookup(&share.me.caller, &share.root.object, b"a").unwrap();
    let b = share.volume.lookup(&share.me.caller, &share.root.object, b"b").unwrap();
    let mut watching = share.volume.watch(&share.me.caller, &a, Depth::Below, Filter::ALL, 100).unwrap();
    share.volume.create(&share.me, &b, b"file", NewKind::File, 0o644).unwrap();
    share.volume.create(&share.me, &a, b"file", NewKind::File, 0o644).unwrap();
    assert_eq!(heard(&mut watching, 1), ["+file!"]);
}

#[test]
fn lost_events_say_look_again() {
    let share = Share::new();
    let most: usize = std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events")
        .map_or(16_384, |text| text.trim().parse().unwrap());
    let mut watching = share.watch(Depth::Entries);
    // Two names in turn, so that no two events are alike, faster than the thread empties the queue.
    let (a, b) = (share.path().join("a"), share.path().join("b"));
    std::fs::write(&a, b"").unwrap();
    std::fs::write(&b, b"").unwrap();
    let mut lost = false;
    let start = Instant::now();
    let modes = [0o600, 0o644];
    while !lost && start.elapsed() < Duration::from_secs(20) {
        for at in 0..most {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(modes[at / 2 % 2]);
            std::fs::set_permissions(if at % 2 == 0 { &a } else { &b }, mode).unwrap();
        }
        while let Some(event) = watching.try_next() {
            lost |= event == Event::Overflowed;
        }
    }
    assert!(lost);
    // The events that were not lost are still being published. While the queue is full, a new name is lost, too.
    let mut names = 0..;
    until("no name after the lost events is heard", || {
        std::fs::write(share.path().join(format!("after {}", names.next().unwrap())), b"").unwrap();
        std::iter::from_fn(|| watching.try_next()).any(|event| word(&event).starts_with("+after"))
    });
}

#[test]
fn listings_and_subscribers_share_a_watch() {
    let share = Share::new();
    for i in 0..500 {
        std::fs::write(share.path().join(format!("a-rather-long-file-name-{i}")), b"").unwrap();
    }
    let count = || share.volume.list(&share.me.caller, &share.root, 0).unwrap().entries().len();
    let sizes = || {
        let page = share.volume.list(&share.me.caller, &share.root, 0).unwrap();
        let files = page.entries().iter().filter(|entry| entry.name().starts_with(b"a-"));
        files.map(|e| page.details(&share.me.caller, e).unwrap().attributes.size).sum::<u64>()
    };
    let before = count();
    let mut watching = share.watch(Depth::Entries);
    std::fs::remove_file(share.path().join("a-rather-long-file-name-0")).unwrap();
    assert_eq!(count(), before - 1); // drops the listing and its share of the watch
    assert_eq!(heard(&mut watching, 1), ["-a-rather-long-file-name-0"]);
    for i in 1..50 {
        std::fs::write(share.path().join(format!("a-rather-long-file-name-{i}")), b"12345").unwrap();
        assert_eq!(sizes(), 5 * i); // whichever thread empties the queue first
    }
    let mut came = heard(&mut watching, 49);
    came.dedup(); // there may be one event each for emptying and writing a file
    assert_eq!(came.len(), 49);
    drop(watching);
    std::fs::write(share.path().join("a-rather-long-file-name-1"), b"123456").unwrap();
    assert_eq!(sizes(), 5 * 49 + 1);
}

#[test]
fn the_thread_goes_with_the_last_subscriber() {
    // It counts the threads of its process.
    if !is_alone("local::the_thread_goes_with_the_last_subscriber") {
        return;
    }
    let share = Share::new();
    let threads = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let names = tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok());
        names.filter(|name| name.trim() == "changes").count()
    };
    let watching = share.watch(Depth::Entries);
    until("there is no thread", || threads() > 0);
    drop(watching);
    until("the thread goes on", || threads() == 0);
}

#[test]
fn a_sidecar_is_a_part_of_its_file() {
    let share = Share::new();
    let (volume, me, root) = (&share.volume, &share.me, &share.root);
    if root.object.set_xattr(&Caller::root(), b"user.test", b"", XattrMode::Set).is_err() {
        println!("skipped: no extended attributes here");
        return;
    }
    volume.create(me, root, b"a", NewKind::File, 0o644).unwrap();
    let mut watching = share.watch(Depth::Entries);
    // As a Mac makes it over NFS.
    volume.create(me, root, b"._a", NewKind::File, 0o644).unwrap();
    let came = heard(&mut watching, 1);
    assert!(came.contains(&"a~!".into()) && came.iter().all(|word| word.starts_with("a~")), "{came:?}");
    // As a local Netatalk changes it.
    std::fs::write(share.path().join("._a"), b"").unwrap();
    assert_eq!(heard(&mut watching, 1), ["a~"]);
    volume.rename(me, (root, b"a"), (root, b"b"), RenameMode::Replace).unwrap();
    assert!(share.path().join("._b").exists());
    let came = heard(&mut watching, 1);
    assert!(came.contains(&"a>b!".into()), "{came:?}");
    assert!(came.iter().all(|word| word == "a>b!" || word.ends_with('~')), "{came:?}");
    // A file that is no sidecar but has such a name is a file.
    std::fs::write(share.path().join("._alone"), b"").unwrap();
    assert_eq!(heard(&mut watching, 1), ["+._alone"]);
}
