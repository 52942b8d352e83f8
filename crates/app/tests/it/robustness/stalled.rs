//! A disk that stalls for one file does not delay requests for another file, not even over the same
//! connection.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use conn::{Limits, Server, Watchdog};
use nfs::server::{Export, ExportOptions, HandleSecret, Service, serve_stream};
use nfs::wire::v3::types::Status;
use nfs::wire::v3::write::StableHow;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use vfs::backend::Backend;
use vfs::backend::faulty::Faulty;
use vfs::backend::memory::Memory;
use vfs::{FileId, Volume, VolumeOptions};

use crate::robustness::client::{Client, read_message, receive, record};
use crate::robustness::smb;
use crate::waiting::until;

/// As many threads as `fourfold serve` has on two processors.
const THREADS: usize = 16;
/// As many as wait for disks by design.
const DISK_THREADS: usize = 128;
/// The longest time of a request for another file meanwhile, on a busy machine. A stall ends with its test only.
pub(crate) const IN_TIME: Duration = Duration::from_secs(10);

/// A server in this process, with a disk that can stall.
pub(crate) struct Stalling {
    _runtime: Runtime,
    _stop: watch::Sender<bool>,
    pub(crate) disk: Arc<Faulty>,
    /// The NFS port.
    pub(crate) port: u16,
    pub(crate) smb_port: u16,
}

impl Stalling {
    pub(crate) fn start(limits: Limits) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(DISK_THREADS)
            .enable_all()
            .build()
            .unwrap();
        let disk = Arc::new(Faulty::new(Memory::ticking()));
        let volume = Arc::new(Volume::new(disk.clone(), VolumeOptions::default()));
        let smb = smb::service(volume.clone());
        let export = Export { name: "share".into(), tag: 1, volume, options: ExportOptions::default() };
        let service = Service::new(vec![export], HandleSecret::new([7; 16]), SystemTime::now());
        let _entered = runtime.enter();
        let listen = || conn::bind_tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        let (nfs, smb_listener) = (listen(), listen());
        let (port, smb_port) = (nfs.local_addr().unwrap().port(), smb_listener.local_addr().unwrap().port());
        let (stop, stopping) = watch::channel(false);
        let watchdog = Watchdog::start("NFS and SMB");
        let dog = watchdog.clone();
        let serve = move |stream, peer| serve_stream(service.clone(), stream, peer, limits, dog.clone());
        runtime.spawn(Server::new(100, Arc::default()).run(nfs, stopping.clone(), serve));
        let serve =
            move |stream, peer| ::smb::server::serve_stream(smb.clone(), stream, peer, watchdog.clone());
        runtime.spawn(Server::new(100, Arc::default()).run(smb_listener, stopping, serve));
        drop(_entered);
        Self { _runtime: runtime, _stop: stop, disk, port, smb_port }
    }

    /// Makes a file that has its name as its content.
    pub(crate) fn file(&self, client: &mut Client, name: &str) -> (Vec<u8>, FileId) {
        let root = client.root.clone();
        let handle = client.create(&root, name).unwrap();
        client.write(&handle, 0, name.as_bytes(), StableHow::FILE_SYNC).unwrap();
        let inode = client.getattr(&handle).unwrap().fileid;
        (handle, self.disk.root().unwrap().object.id().with_inode(inode))
    }

    /// Waits until so many calls hang on the stalled file.
    pub(crate) fn until_waiting(&self, count: usize) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while self.disk.plan().waiting() < count {
            assert!(Instant::now() < deadline, "{} of {count} wait", self.disk.plan().waiting());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Its drop ends the stall, also when a test fails: the disk's threads end with the runtime.
pub(crate) struct DiskStall<'a>(pub(crate) &'a Faulty, pub(crate) FileId);

impl<'a> DiskStall<'a> {
    pub(crate) fn begin(disk: &'a Faulty, file: FileId) -> Self {
        disk.plan().stall(file);
        Self(disk, file)
    }
}

impl Drop for DiskStall<'_> {
    fn drop(&mut self) {
        self.0.plan().release(self.1);
    }
}

/// Reads, writes, lists and makes files; everything in time.
fn works_in_time(client: &mut Client, file: &[u8], what: &str) {
    let root = client.root.clone();
    for number in 0..5 {
        let begun = Instant::now();
        assert_eq!(client.content(file).unwrap(), b"well");
        client.write(file, 0, b"well", StableHow::FILE_SYNC).unwrap();
        let name = format!("made{number}");
        client.create(&root, &name).unwrap();
        assert!(client.names(&root).unwrap().contains(&name));
        client.remove(&root, &name).unwrap();
        assert!(begun.elapsed() < IN_TIME, "{what}: {:?}", begun.elapsed());
    }
}

#[test]
fn other_files_are_served_over_other_connections_and_the_same() {
    let server = Stalling::start(Limits::default());
    let mut client = Client::mount(server.port);
    let (well, _) = server.file(&mut client, "well");
    let (ill, id) = server.file(&mut client, "ill");
    let stalled = DiskStall::begin(&server.disk, id);

    client.send(&record(&read_message(7, &ill, 0, 100))).unwrap();
    server.until_waiting(1);
    works_in_time(&mut client, &well, "the same connection");
    works_in_time(&mut Client::mount(server.port), &well, "another connection");

    drop(stalled);
    let reply = receive(&mut client.stream).unwrap();
    assert_eq!(reply[..4], 7_u32.to_be_bytes());
    assert!(reply.ends_with(b"ill\0"), "the data, padded");
    works_in_time(&mut client, &well, "afterwards");
}

#[test]
fn several_requests_may_hang_of_several_clients() {
    let server = Stalling::start(Limits::default());
    let mut client = Client::mount(server.port);
    let (well, _) = server.file(&mut client, "well");
    let (ill, id) = server.file(&mut client, "ill");
    let stalled = DiskStall::begin(&server.disk, id);
    let mut others: Vec<Client> = (0..3).map(|_| Client::mount(server.port)).collect();
    for (number, other) in (0..).zip(&mut others) {
        for xid in 0..2 {
            other.send(&record(&read_message(number * 2 + xid, &ill, 0, 100))).unwrap();
        }
    }
    server.until_waiting(2); // the others may wait for a permit
    works_in_time(&mut client, &well, "a client that asks for nothing stalled");
    for other in &mut others {
        works_in_time(other, &well, "a client that waits for two replies");
    }
    drop(stalled);
    for other in &mut others {
        for _ in 0..2 {
            assert!(receive(&mut other.stream).unwrap().ends_with(b"ill\0"));
        }
    }
}

#[test]
fn more_requests_may_hang_than_there_are_threads() {
    let server = Stalling::start(Limits::default());
    let mut client = Client::mount(server.port);
    let (well, _) = server.file(&mut client, "well");
    let (ill, id) = server.file(&mut client, "ill");
    let stalled = DiskStall::begin(&server.disk, id);
    const READS: u32 = 5 * THREADS as u32;
    let mut reader = Client::mount(server.port);
    for xid in 0..READS {
        reader.send(&record(&read_message(xid, &ill, 0, 100))).unwrap();
    }
    server.until_waiting(1);
    std::thread::sleep(Duration::from_millis(500)); // so long all of them hang
    works_in_time(&mut client, &well, "while a client reads ahead in a stalled file");
    drop(stalled);
    for _ in 0..READS {
        assert!(receive(&mut reader.stream).unwrap().ends_with(b"ill\0"));
    }
}

#[test]
fn more_data_may_be_waited_for_than_there_are_threads_that_wait() {
    let server = Stalling::start(Limits::default());
    let mut client = Client::mount(server.port);
    let (well, _) = server.file(&mut client, "well");
    let (ill, id) = server.file(&mut client, "ill");
    server.disk.plan().stall_data(id);
    let stalled = DiskStall(&server.disk, id);
    let mut readers: Vec<Client> = (0..3).map(|_| Client::mount(server.port)).collect();
    for reader in &mut readers {
        for xid in 0..DISK_THREADS as u32 {
            reader.send(&record(&read_message(xid, &ill, 0, 100))).unwrap();
        }
    }
    server.until_waiting(10);
    std::thread::sleep(Duration::from_millis(200)); // so long all of them hang
    works_in_time(&mut client, &well, "while clients read ahead in a file whose data stalls");
    works_in_time(&mut readers[0], &well, "one of them");
    drop(stalled);
    for reader in &mut readers {
        for _ in 0..DISK_THREADS {
            assert!(receive(&mut reader.stream).unwrap().ends_with(b"ill\0"));
        }
    }
}

#[test]
fn a_client_that_goes_away_while_its_request_hangs_leaves_nothing_behind() {
    let server = Stalling::start(Limits::default());
    let mut client = Client::mount(server.port);
    let (well, _) = server.file(&mut client, "well");
    let (ill, id) = server.file(&mut client, "ill");
    let stalled = DiskStall::begin(&server.disk, id);
    for xid in 0..4 {
        let mut gone = Client::mount(server.port);
        gone.send(&record(&read_message(xid, &ill, 0, 100))).unwrap();
        server.until_waiting(xid as usize + 1);
    }
    works_in_time(&mut client, &well, "after four clients went away");
    drop(stalled);
    assert_eq!(client.content(&ill).unwrap(), b"ill");
}

#[test]
fn a_record_that_does_not_go_on_ends_its_connection() {
    let limits = Limits { receive_timeout: Duration::from_millis(300), ..Limits::default() };
    let server = Stalling::start(limits);
    let mut client = Client::mount(server.port);
    let root = client.root.clone();
    let mut unfinished = Client::mount(server.port);
    unfinished.send(&record(&read_message(1, &root, 0, 1))[..20]).unwrap();
    assert!(unfinished.is_closed_within(IN_TIME));
    // Silence between records is no reason to close: the other connection has been silent for as
    // long.
    assert_eq!(client.read(&root, 0, 1).err(), Some(Status::ISDIR));
}

#[test]
fn a_record_that_never_gets_further_than_a_byte_at_a_time_ends_its_connection() {
    let limits = Limits { receive_timeout: Duration::from_millis(300), ..Limits::default() };
    let server = Stalling::start(limits);
    let mut trickling = Client::mount(server.port);
    trickling.send(&0x8010_0000_u32.to_be_bytes()).unwrap(); // 1 MiB announced
    let begun = Instant::now();
    while trickling.send(&[0]).is_ok() {
        assert!(begun.elapsed() < IN_TIME);
        std::thread::sleep(Duration::from_millis(20)); // the pace of the client
    }
}

#[test]
fn a_client_that_takes_nothing_for_too_long_is_let_go() {
    let limits = Limits { send_timeout: Duration::from_millis(300), ..Limits::default() };
    let server = Stalling::start(limits);
    let mut client = Client::mount(server.port);
    let root = client.root.clone();
    let (big, _) = server.file(&mut client, "big");
    client.write(&big, 0, &vec![1; 1 << 20], StableHow::UNSTABLE).unwrap();
    let mut deaf = Client::mount(server.port);
    deaf.stream.set_write_timeout(Some(IN_TIME)).unwrap();
    let begun = Instant::now();
    let ended = (0..).find(|&xid| deaf.send(&record(&read_message(xid, &big, 0, 1 << 20))).is_err());
    println!("a deaf client was let go after {ended:?} reads and {:?}", begun.elapsed());
    assert!(begun.elapsed() < IN_TIME);
    assert!(client.lookup(&root, "big").is_ok());
}

/// The monitor is called as if ten seconds had passed. Requests of other tests in this process may
/// end meanwhile.
#[test]
fn a_server_in_which_nothing_ends_is_reported_with_what_its_threads_do() {
    let server = Stalling::start(Limits::default());
    let mut client = Client::mount(server.port);
    let (ill, id) = server.file(&mut client, "ill");
    let stalled = DiskStall::begin(&server.disk, id);
    client.send(&record(&read_message(7, &ill, 0, 100))).unwrap();
    server.until_waiting(1);
    let (mut monitor, mut later) = (conn::Monitor::new(), Instant::now());
    let mut said = String::new();
    until("no report", || {
        later += Duration::from_secs(11);
        if let conn::Hang::Lasts(Some(report)) = monitor.look(later) {
            said = report.to_string();
        }
        said.contains("hold a thread of the server") && said.contains("the oldest is of")
    });
    drop(stalled);
    receive(&mut client.stream).unwrap();
}
