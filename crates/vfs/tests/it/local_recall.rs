//! Real programs of this machine against files and folders that clients have in their caches.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use vfs::backend::host::{Host, HostOptions};
use vfs::backend::{NewKind, RenameMode};
use vfs::state::{Caching, Lease, LeaseRequest, Modes, Style};
use vfs::{Node, Open, OpenOptions, Site, Volume, VolumeOptions};

use crate::scene::{Notices, RWD, Scene, at, client, read, write};
use crate::waiting::until_async;

const R: Caching = Caching::READ;
const RH: Caching = Caching(3);
const RW: Caching = Caching(5);
const RWH: Caching = Caching::ALL;
/// Longer than anything takes on a slow machine, and shorter than the time of a host's lease.
const LONG: Duration = Duration::from_secs(25);

fn scene_with(options: VolumeOptions, site: &Arc<Site>) -> Scene {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let host = Host::open(dir.path(), &HostOptions::default()).unwrap();
    let volume = Arc::new(Volume::in_site(Arc::new(host), options, site.clone()));
    let root = volume.root().unwrap();
    Scene { volume, root, dir: Some(dir) }
}

fn scene() -> Scene {
    scene_with(VolumeOptions::default(), &Arc::default())
}

fn path(scene: &Scene, name: &str) -> PathBuf {
    scene.dir.as_ref().unwrap().path().join(name)
}

/// Runs a program on another thread.
fn run(program: &str, args: &[&str], folder: &Path) -> JoinHandle<Output> {
    let mut command = Command::new(program);
    command.args(args).current_dir(folder);
    tokio::task::spawn_blocking(move || command.output().unwrap())
}

async fn finished(running: JoinHandle<Output>) -> String {
    let output = timeout(LONG, running).await.expect("the program still waits").unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A client with an open file, and what it caches of it.
struct Holder {
    open: Open,
    lease: Lease,
    told: Notices,
}

/// Holds what it wants. A program that another test starts may have a descriptor of this process for a moment, between
/// fork and exec: then the host gives no lease.
async fn hold(scene: &Scene, number: u64, name: &str, access: Modes, want: Caching) -> Holder {
    hold_as(scene, number, name, access, (want, Style::Bits)).await
}

async fn hold_as(scene: &Scene, number: u64, name: &str, access: Modes, want: (Caching, Style)) -> Holder {
    for _ in 0..100 {
        let holder = hold_some(scene, number, name, access, want).await;
        if holder.lease.caching() == want.0 {
            return holder;
        }
        drop(holder);
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{want:?} of {name} is not granted");
}

/// Holds what it gets.
async fn hold_some(
    scene: &Scene,
    number: u64,
    name: &str,
    access: Modes,
    (want, style): (Caching, Style),
) -> Holder {
    let options = OpenOptions { access, ..at(&scene.root, name) };
    let found = scene.find(name).unwrap();
    let open = scene.volume.open(&client(number), &found, options).await.unwrap();
    let (lease, told) = lease(&open, number, want, style);
    Holder { open, lease, told }
}

fn lease(open: &Open, number: u64, want: Caching, style: Style) -> (Lease, Notices) {
    let (notices, told) = mpsc::unbounded_channel();
    let party = client(number).party;
    (open.lease(&LeaseRequest { party, want, style, notices }).unwrap(), told)
}

impl Holder {
    /// Waits for a break, flushes what it has, and gives back what must end. Returns what is left.
    async fn gives_way(&mut self, flush: &[u8]) -> Caching {
        let notice = timeout(LONG, self.told.recv()).await.expect("no notice").unwrap();
        if notice.from.contains(Caching::WRITE) && !flush.is_empty() {
            write(&self.open, 0, flush).await.unwrap();
        }
        if notice.needs_ack {
            self.lease.acknowledge(notice.to).unwrap();
        }
        notice.to
    }

    fn undisturbed(&mut self) {
        assert_eq!(self.told.try_recv().ok(), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_local_reader_sees_what_clients_have_not_written_yet() {
    let scene = scene();
    for (access, want, left) in [
        (RWD, RWH, Caching::NONE),
        (RWD, RW, Caching::NONE),
        // A descriptor that cannot write is guarded on beside readers.
        (Modes::READ.union(Modes::DELETE), RWH, RH),
    ] {
        let name = format!("{access:?}{want:?}");
        std::fs::write(path(&scene, &name), "old data").unwrap();
        let mut holder = hold(&scene, 1001, &name, access, want).await;
        assert_eq!(holder.lease.caching(), want, "{name}");
        let cat = run("cat", &[&name], path(&scene, "").as_path());
        let flush: &[u8] = if access == RWD { b"new" } else { b"" };
        assert_eq!(holder.gives_way(flush).await, left, "{name}");
        assert_eq!(finished(cat).await, if access == RWD { "new data" } else { "old data" }, "{name}");
        assert_eq!(holder.lease.caching(), left, "{name}");
        // What is left is undisturbed by the next reader.
        finished(run("cat", &[&name], path(&scene, "").as_path())).await;
        holder.undisturbed();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_local_writer_ends_every_kind_of_cache() {
    let scene = scene();
    let kinds = [
        (R, Style::Bits),
        (RH, Style::Bits),
        (RW, Style::Bits),
        (RWH, Style::Bits),
        (R, Style::Steps),
        (RW, Style::Steps),
        (RWH, Style::Steps),
    ];
    for (number, (want, style)) in kinds.into_iter().enumerate() {
        for access in [RWD, Modes::READ] {
            let name = format!("{number}{access:?}");
            std::fs::write(path(&scene, &name), "old").unwrap();
            let mut holder = hold_as(&scene, 1001, &name, access, (want, style)).await;
            assert_eq!(holder.lease.caching(), want, "{name}");
            let dd = run(
                "dd",
                &[&format!("of={name}"), "if=/dev/zero", "bs=1", "count=3", "conv=notrunc"],
                &path(&scene, ""),
            );
            assert_eq!(holder.gives_way(b"").await, Caching::NONE, "{name}");
            finished(dd).await;
            assert_eq!(read(&holder.open, 0, 3).await, [0; 3], "{name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_local_truncation_by_path_waits_too() {
    let scene = scene();
    std::fs::write(path(&scene, "file"), "old data").unwrap();
    let mut holder = hold(&scene, 1001, "file", RWD, RWH).await;
    let file = path(&scene, "file");
    let cut = tokio::task::spawn_blocking(move || {
        rustix::fs::open(
            &file,
            rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::TRUNC,
            rustix::fs::Mode::empty(),
        )
    });
    assert_eq!(holder.gives_way(b"flushed data").await, Caching::NONE);
    timeout(LONG, cut).await.unwrap().unwrap().unwrap();
    assert_eq!(holder.open.size().await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_clients_and_local_programs_at_once() {
    let scene = scene();
    std::fs::write(path(&scene, "file"), "data").unwrap();
    let mut holders = Vec::new();
    for number in 1001..=1003 {
        holders.push(hold(&scene, number, "file", Modes::READ, RH).await);
    }
    assert!(holders.iter().all(|holder| holder.lease.caching() == RH));
    let dir = path(&scene, "");
    let programs: Vec<_> =
        (0..4).map(|_| run("dd", &["if=/dev/null", "of=file", "bs=1", "seek=2"], &dir)).collect();
    for holder in &mut holders {
        assert_eq!(holder.gives_way(b"").await, Caching::NONE);
    }
    for program in programs {
        finished(program).await;
    }
    assert_eq!(holders[0].open.size().await.unwrap(), 2);
    // They may cache it again when the programs have closed it.
    let again = hold(&scene, 1001, "file", Modes::READ, RH).await;
    assert_eq!(again.lease.caching(), RH);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_local_processes_have_open_is_not_cached_against_them() {
    let scene = scene();
    std::fs::write(path(&scene, "file"), "data").unwrap();
    let reader = std::fs::File::open(path(&scene, "file")).unwrap();
    let wanted = (RWH, Style::Bits);
    assert_ne!(hold_some(&scene, 1001, "file", Modes::READ, wanted).await.lease.caching(), RWH);
    drop(reader);
    drop(hold(&scene, 1001, "file", Modes::READ, RWH).await);
    let writer = std::fs::OpenOptions::new().append(true).open(path(&scene, "file")).unwrap();
    assert_eq!(hold_some(&scene, 1001, "file", Modes::READ, wanted).await.lease.caching(), Caching::NONE);
    let wanted = (RWH, Style::Steps);
    assert_eq!(hold_some(&scene, 1001, "file", RWD, wanted).await.lease.caching(), Caching::NONE);
    drop(writer);
    drop(hold(&scene, 1001, "file", RWD, RWH).await);
}

// The clock stands still while anything can run, and jumps to the next timer then.
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_answer_loses_its_lease() {
    let scene = scene();
    std::fs::write(path(&scene, "file"), "data").unwrap();
    let mut holder = hold(&scene, 1001, "file", RWD, RWH).await;
    let (file, (send, receive)) = (path(&scene, "file"), tokio::sync::oneshot::channel());
    std::thread::spawn(move || send.send(std::fs::read_to_string(file).unwrap()));
    assert!(holder.told.recv().await.unwrap().needs_ack);
    assert!(holder.told.recv().await.unwrap().revoked);
    assert_eq!(receive.await.unwrap(), "data");
    assert_eq!(holder.lease.caching(), Caching::NONE);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_ends_lets_local_processes_go_on() {
    let scene = scene();
    std::fs::write(path(&scene, "file"), "data").unwrap();
    let mut holder = hold(&scene, 1001, "file", RWD, RWH).await;
    let cat = run("cat", &["file"], &path(&scene, ""));
    assert!(timeout(LONG, holder.told.recv()).await.unwrap().unwrap().needs_ack);
    drop(holder); // it closes the file instead of an answer
    assert_eq!(finished(cat).await, "data");
}

/// In a volume of its own: another host, with descriptors of its own.
fn beside(scene: &Scene) -> Scene {
    let host = Host::open(&path(scene, ""), &HostOptions::default()).unwrap();
    let site = scene.volume.site().clone();
    let volume = Arc::new(Volume::in_site(Arc::new(host), VolumeOptions::default(), site));
    let root = volume.root().unwrap();
    Scene { volume, root, dir: None }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_servers_own_opens_do_not_wait_for_its_leases() {
    let scene = scene();
    let other = beside(&scene);
    std::fs::write(path(&scene, "file"), "data").unwrap();
    // Readers beside each other, then a writer through the same descriptors, then through others.
    let mut holder = hold(&scene, 1001, "file", Modes::READ, RH).await;
    let mut second = hold(&other, 2001, "file", Modes::READ, RH).await;
    assert_eq!((holder.lease.caching(), second.lease.caching()), (RH, RH));
    // What the open of a writer recalls, it may have to wait for itself.
    let writing = tokio::spawn(async move {
        let writer = scene.open(3001, "file").await.unwrap();
        write(&writer, 0, b"more").await.unwrap();
        scene
    });
    assert_eq!(holder.gives_way(b"").await, Caching::NONE);
    assert_eq!(second.gives_way(b"").await, Caching::NONE);
    let scene = timeout(LONG, writing).await.unwrap().unwrap();
    drop((holder, second));

    std::fs::write(path(&scene, "second"), "data").unwrap();
    let mut holder = hold(&scene, 1001, "second", RWD, RWH).await;
    let theirs = tokio::spawn(async move { other.open(2001, "second").await.map(|open| (open, other)) });
    // Two descriptors that can write cannot be guarded: nothing is cached any more.
    while holder.gives_way(b"DATA").await != Caching::NONE {}
    let (theirs, _other) = timeout(LONG, theirs).await.unwrap().unwrap().unwrap();
    assert_eq!(read(&theirs, 0, 4).await, b"DATA");
}

/// A file that is open is found with the descriptor that it has, also after the server has forgotten idle files. A second
/// descriptor would end the guard, and clients would get no lease any more.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_open_for_long_keeps_its_guard() {
    let scene = scene();
    std::fs::write(path(&scene, "file"), "data").unwrap();
    let mut holder = hold(&scene, 1001, "file", RWD, RWH).await;
    (0..3).for_each(|_| scene.volume.tend());
    let mut again = hold(&scene, 1001, "file", RWD, RWH).await;
    holder.undisturbed();
    let cat = run("cat", &["file"], &path(&scene, ""));
    assert_eq!(again.gives_way(b"DATA").await, Caching::NONE);
    assert_eq!(finished(cat).await, "DATA");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_becomes_a_writer_keeps_its_guard() {
    let scene = scene();
    std::fs::write(path(&scene, "file"), "data").unwrap();
    let first = hold(&scene, 1001, "file", Modes::READ, RWH).await;
    let mut writer = hold(&scene, 1001, "file", RWD, RWH).await;
    drop(first);
    assert_eq!(writer.lease.caching(), RWH);
    let cat = run("cat", &["file"], &path(&scene, ""));
    assert_eq!(writer.gives_way(b"DATA").await, Caching::NONE);
    assert_eq!(finished(cat).await, "DATA");
}

/// Waits until the thread of the guards hears of names.
async fn heard() {
    tokio::time::sleep(Duration::from_millis(150)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn local_renames_and_removals_end_cached_handles() {
    let scene = scene();
    let cases: [&[&str]; 4] =
        [&["mv", "file", "away"], &["mv", "file", "below/file"], &["rm", "file"], &["mv", "other", "file"]];
    std::fs::create_dir(path(&scene, "below")).unwrap();
    for (number, case) in cases.into_iter().enumerate() {
        for at_once in [false, true] {
            std::fs::write(path(&scene, "file"), "data").unwrap();
            std::fs::write(path(&scene, "other"), "other").unwrap();
            let mut holder = hold(&scene, 1001, "file", RWD, RWH).await;
            if !at_once {
                heard().await;
            }
            finished(run(case[0], &case[1..], &path(&scene, ""))).await;
            let left = holder.gives_way(b"").await;
            assert!(!left.contains(Caching::HANDLE), "{number}: {left:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_local_changes_leave_handles_alone() {
    let scene = scene();
    std::fs::write(path(&scene, "file"), "data").unwrap();
    let mut holder = hold(&scene, 1001, "file", RWD, RWH).await;
    heard().await;
    finished(run("chmod", &["600", "file"], &path(&scene, ""))).await;
    finished(run("ln", &["file", "second name"], &path(&scene, ""))).await;
    finished(run("rm", &["second name"], &path(&scene, ""))).await;
    // A move by the client itself is no local one.
    holder.open.rename_to(&scene.root, b"renamed", RenameMode::Keep).await.unwrap();
    heard().await;
    holder.undisturbed();
    assert_eq!(holder.lease.caching(), RWH);
}

/// RFC 8881 10.4: a delegation promises that attributes and names stay.
#[tokio::test(flavor = "multi_thread")]
async fn local_changes_of_attributes_and_names_end_delegations() {
    let scene = scene();
    let cases: [&[&str]; 4] = [
        &["chmod", "600", "file"],
        &["ln", "file", "second name"],
        &["mv", "other", "file"],
        &["mv", "file", "third"],
    ];
    for case in cases {
        std::fs::write(path(&scene, "file"), "data").unwrap();
        std::fs::write(path(&scene, "other"), "other").unwrap();
        let mut holder = hold_as(&scene, 1001, "file", Modes::READ, (RH, Style::Whole)).await;
        assert_eq!(holder.lease.caching(), RH);
        finished(run(case[0], &case[1..], &path(&scene, ""))).await;
        assert_eq!(holder.gives_way(b"").await, Caching::NONE, "{case:?}");
    }
}

async fn hold_folder(scene: &Scene, folder: &Node) -> (Open, Lease, Notices) {
    let found = vfs::backend::Found { object: folder.clone(), attributes: folder.attributes().unwrap() };
    let options = OpenOptions::data(Modes::READ);
    let open = scene.volume.open(&client(1001), &found, options).await.unwrap();
    let (lease, told) = lease(&open, 1001, RH, Style::Bits);
    (open, lease, told)
}

#[tokio::test(flavor = "multi_thread")]
async fn local_changes_of_entries_end_leases_of_folders() {
    let scene = scene();
    let folder = scene.folder("folder");
    let cases: [&[&str]; 5] = [
        &["touch", "folder/new"],
        &["mv", "folder/new", "folder/newer"],
        &["mv", "folder/newer", "newest"],
        &["mkdir", "folder/sub"],
        &["rmdir", "folder/sub"],
    ];
    for case in cases {
        let (_open, lease, mut told) = hold_folder(&scene, &folder.object).await;
        assert_eq!(lease.caching(), RH);
        finished(run(case[0], &case[1..], &path(&scene, ""))).await;
        let notice = timeout(LONG, told.recv()).await.expect("no notice").unwrap();
        assert_eq!((notice.from, notice.to), (RH, Caching::NONE), "{case:?}");
        lease.acknowledge(Caching::NONE).unwrap();
    }
    // What the holder does itself, it knows.
    let (_open, lease, mut told) = hold_folder(&scene, &folder.object).await;
    scene.volume.create(&client(1001), &folder, b"own", NewKind::File, 0o644).unwrap();
    heard().await;
    assert!(told.try_recv().is_err());
    assert_eq!(lease.caching(), RH);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_setting_local_processes_do_not_wait() {
    let options = VolumeOptions { local_recall: false, ..VolumeOptions::default() };
    let scene = scene_with(options, &Arc::default());
    std::fs::write(path(&scene, "file"), "data").unwrap();
    let mut holder = hold(&scene, 1001, "file", RWD, RWH).await;
    assert_eq!(finished(run("cat", &["file"], &path(&scene, ""))).await, "data");
    holder.undisturbed();
}

const HELD_BY_CHILD: &str = "FOURFOLD_TEST_HELD_FILE";

/// Holds a lease until it is killed, if it is started by [`a_killed_server_leaves_no_lease`].
#[tokio::test(flavor = "multi_thread")]
async fn holds_a_lease_until_it_is_killed() {
    let Some(folder) = std::env::var_os(HELD_BY_CHILD) else { return };
    let host = Host::open(Path::new(&folder), &HostOptions::default()).unwrap();
    let volume = Arc::new(Volume::new(Arc::new(host), VolumeOptions::default()));
    let root = volume.root().unwrap();
    let scene = Scene { volume, root, dir: None };
    let _holder = hold(&scene, 1001, "file", RWD, RWH).await;
    std::fs::write(Path::new(&folder).join("ready"), "").unwrap();
    std::future::pending::<()>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_leaves_no_lease() {
    let scene = scene();
    std::fs::write(path(&scene, "file"), "data").unwrap();
    let mut server = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "local_recall::holds_a_lease_until_it_is_killed"])
        .env(HELD_BY_CHILD, path(&scene, ""))
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    until_async("the other server is not ready", async || path(&scene, "ready").exists()).await;
    let mut cat = run("cat", &["file"], &path(&scene, ""));
    assert!(timeout(Duration::from_millis(300), &mut cat).await.is_err(), "it does not wait");
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(finished(cat).await, "data");
}
