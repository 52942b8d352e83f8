//! Several servers of one folder, with etcd: what a client of one has binds the clients of the others,
//! in every protocol, and the loss of a server or of etcd's leader does not break that.
//!
//! The tests need the program `etcd` (Debian: etcd-server). Without it they say so and do nothing.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ::smb::wire::create::{Disposition, ShareAccess};
use ::smb::wire::create_context::request::Context;
use ::smb::wire::create_context::values::{DurableFlags, Lease, LeaseFlags};
use ::smb::wire::fscc::FileClass;
use ::smb::wire::oplock_break::{self, Notification};
use ::smb::wire::{Command as Smb2, FileKey, LeaseKey, LeaseState, OplockLevel, Status, change_notify, lock};
use nfs::wire::nlm::NlmStat;
use nfs::wire::v3::types::Status as NfsStatus;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustix::process::Signal;

use crate::ports::free_port;
use crate::robustness::client::Client;
use crate::robustness::server::{Server, USER, folder};
use crate::robustness::smb::client::{Smb, ok};

/// The lease of a server is 5 s; etcd looks for leases that have ended each half second.
const TAKEOVER: Duration = Duration::from_secs(20);

/// Members of etcd; killed when dropped.
struct Etcd {
    _top: tempfile::TempDir,
    members: Vec<Child>,
    ports: Vec<u16>,
}

impl Etcd {
    /// `None` if this host has no etcd.
    fn start(count: usize) -> Option<Self> {
        if Command::new("etcd").arg("--version").stdout(Stdio::null()).status().is_err() {
            println!("skipped: there is no program `etcd`; install the package etcd-server");
            return None;
        }
        let top = tempfile::tempdir().unwrap();
        let url = |port: u16| format!("http://127.0.0.1:{port}");
        let ports: Vec<(u16, u16)> =
            (0..count).map(|_| (free_port().unwrap(), free_port().unwrap())).collect();
        let list: Vec<String> =
            ports.iter().enumerate().map(|(at, (_, peer))| format!("n{at}={}", url(*peer))).collect();
        let start = |(at, (client, peer)): (usize, &(u16, u16))| {
            let words = [
                ("--name", format!("n{at}")),
                ("--data-dir", top.path().join(format!("n{at}")).display().to_string()),
                ("--listen-client-urls", url(*client)),
                ("--advertise-client-urls", url(*client)),
                ("--listen-peer-urls", url(*peer)),
                ("--initial-advertise-peer-urls", url(*peer)),
                ("--initial-cluster", list.join(",")),
                ("--initial-cluster-state", "new".to_owned()),
            ];
            let words = words.iter().flat_map(|(flag, value)| [(*flag).to_owned(), value.clone()]);
            Command::new("etcd").args(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        let members = ports.iter().enumerate().map(start).collect();
        Some(Self { _top: top, members, ports: ports.iter().map(|(client, _)| *client).collect() })
    }

    fn setting(&self) -> String {
        let hosts: Vec<String> = self.ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        format!("etcd://{}", hosts.join(","))
    }

    /// Kills the leader, which is the member that says so.
    fn kill_leader(&mut self) {
        let is_leader = |port: &u16| {
            let status = post(*port, "/v3/maintenance/status");
            let id = |key: &str| {
                let from = status.find(&format!("\"{key}\":\""))? + key.len() + 4;
                Some(status[from..].split('"').next()?.to_owned())
            };
            id("leader").is_some() && id("leader") == id("member_id")
        };
        let at = self.ports.iter().position(is_leader).expect("no member is the leader");
        self.members[at].kill().unwrap();
        self.members[at].wait().unwrap();
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        for member in &mut self.members {
            let _ = member.kill();
            let _ = member.wait();
        }
    }
}

fn post(port: u16, path: &str) -> String {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    write!(stream, "POST {path} HTTP/1.0\r\nHost: etcd\r\nContent-Length: 2\r\n\r\n{{}}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Two servers of one folder.
struct Scene {
    top: tempfile::TempDir,
    share: PathBuf,
    etcd: Etcd,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Scene {
    fn new(members_of_etcd: usize) -> Option<Self> {
        let etcd = Etcd::start(members_of_etcd)?;
        let (top, share) = folder();
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Some(Self { top, share, etcd, issuer })
    }

    /// Starts a server of this name. It waits until an earlier one of the name is not a member any more.
    fn start(&self, name: &str) -> Server {
        let top = self.top.path().join(name);
        let _ = std::fs::create_dir(&top); // there if it is started again
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = certificate.signed_by(&key, &self.issuer).unwrap();
        std::fs::write(top.join("own.pem"), certificate.pem()).unwrap();
        std::fs::write(top.join("own.key"), key.serialize_pem()).unwrap();
        std::fs::write(top.join("ca.pem"), self.issuer.pem()).unwrap();
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port().unwrap()));
        let settings = format!(
            "[server]\ncluster = \"{}\"\ncluster-server = \"{name}\"\ncluster-listen = \"{listen}\"\n\
             cluster-certificate = \"own.pem\"\ncluster-key = \"own.key\"\ncluster-ca = \"ca.pem\"\n\
             grace-period = 0\n\n[[user]]\nname = \"{}\"\nuid = 1000\n",
            self.etcd.setting(),
            USER.0
        );
        std::fs::write(top.join("fourfold.toml"), settings).unwrap();
        let (share, user) = (format!("share={}", self.share.display()), format!("{}:{}", USER.0, USER.1));
        Server::run(&top, &[&share, "--nfs-port", "0", "--smb-port", "0", "--user", &user])
    }

    fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.top.path().join(name).join("log")).unwrap_or_default()
    }
}

/// LOCK, MS-SMB2 2.2.26: the first ten bytes, for this client alone.
fn lock_smb(smb: &mut Smb, file: FileKey) -> Result<(), Status> {
    let flags = lock::Flags::EXCLUSIVE | lock::Flags::FAIL_IMMEDIATELY;
    let locks = vec![lock::Element { offset: 0, length: 10, flags }];
    let request = lock::Request { sequence_number: 0, sequence_index: 0, file, locks };
    ok(&smb.call(Smb2::LOCK, |w| request.encode(w)))
}

fn open(smb: &mut Smb, name: &str, share: ShareAccess) -> Result<FileKey, Status> {
    smb.open(name, |request| {
        request.disposition = Disposition::OPEN;
        request.share_access = share;
    })
}

const SHARED: ShareAccess = ShareAccess::READ.union(ShareAccess::WRITE).union(ShareAccess::DELETE);

/// Repeats a request of NFS, as clients do after JUKEBOX.
fn settled<T>(mut ask: impl FnMut() -> Result<T, NfsStatus>) -> Result<T, NfsStatus> {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        match ask() {
            Err(NfsStatus::JUKEBOX) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}

#[test]
fn what_a_client_of_one_gateway_has_binds_the_clients_of_the_other() {
    let Some(scene) = Scene::new(1) else { return };
    let (first, second) = (scene.start("gate1"), scene.start("gate2"));
    let mut here = Smb::enter_as_machine(first.smb_port, 1);
    let mut there = Smb::enter_as_machine(second.smb_port, 2);
    let mut nfs = Client::mount(second.port);
    let root = nfs.root.clone();
    let file = here.make("notes", b"0123456789abcdefghij");
    let handle = nfs.lookup(&root, "notes").unwrap();

    // A lock of SMB, against NLM, SMB and a read of NFS at the other server.
    lock_smb(&mut here, file).unwrap();
    assert_eq!(nfs.lock(&handle, 7, (0, 5), true), NlmStat::DENIED);
    let other = open(&mut there, "notes", SHARED).unwrap();
    assert_eq!(lock_smb(&mut there, other), Err(Status::LOCK_NOT_GRANTED));
    assert_eq!(settled(|| nfs.read(&handle, 0, 5).map(drop)), Err(NfsStatus::ACCES));
    assert_eq!(nfs.lock(&handle, 7, (10, 5), true), NlmStat::GRANTED);
    assert_eq!(nfs.unlock(&handle, 7, (10, 5)), NlmStat::GRANTED);
    there.close(other).unwrap();
    here.close(file).unwrap();
    assert_eq!(settled(|| nfs.read(&handle, 0, 5).map(drop)), Ok(()));

    // A denial, and a removal on close.
    let alone = open(&mut here, "notes", ShareAccess::NONE).unwrap();
    assert_eq!(open(&mut there, "notes", SHARED), Err(Status::SHARING_VIOLATION));
    assert_eq!(settled(|| nfs.read(&handle, 0, 5).map(drop)), Err(NfsStatus::ACCES));
    here.close(alone).unwrap();

    lease_is_broken_across(&mut here, &mut there);
    change_is_told_across(&mut here, &mut nfs);
}

/// A client that may cache writes is asked by the other server, and writes back before the other client reads.
fn lease_is_broken_across(here: &mut Smb, there: &mut Smb) {
    let state = LeaseState::READ | LeaseState::HANDLE | LeaseState::WRITE;
    let lease = Lease { key: LeaseKey(*b"a key of a lease"), state, flags: LeaseFlags::NONE, v2: None };
    let context = Context::Lease(lease);
    let file = here.open("notes", |request| {
        request.disposition = Disposition::OPEN;
        request.oplock_level = OplockLevel::LEASE;
        request.contexts = vec![context.encode()];
    });
    let file = file.unwrap();
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| {
            let file = open(there, "notes", SHARED).unwrap();
            let data = there.read(file, 0, 5).unwrap();
            there.close(file).unwrap();
            data
        });
        let Notification::Lease(told) = Notification::decode(&here.notified().message).unwrap() else {
            panic!("not of a lease")
        };
        assert!(!opening.is_finished(), "it waits for the holder");
        here.write(file, 0, b"clean").unwrap();
        let ack = oplock_break::LeaseBreak { key: told.key, state: told.new_state };
        assert_eq!(here.call(Smb2::OPLOCK_BREAK, |w| ack.encode(w)).status(), Status::SUCCESS);
        assert_eq!(opening.join().unwrap(), b"clean");
    });
    here.close(file).unwrap();
}

fn change_is_told_across(here: &mut Smb, nfs: &mut Client) {
    use ::smb::wire::create::Options;
    let folder = here.open("", |request| request.options = Options::DIRECTORY_FILE).unwrap();
    let request = change_notify::Request {
        flags: change_notify::Flags::NONE,
        output_buffer_length: 4096,
        file: folder,
        completion_filter: change_notify::CompletionFilter::FILE_NAME,
    };
    let id = here.start(here.request(Smb2::CHANGE_NOTIFY, |w| request.encode(w))).unwrap();
    here.told_to_wait(id);
    let root = nfs.root.clone();
    settled(|| nfs.create(&root, "new")).unwrap();
    assert_eq!(here.answer(id).unwrap().status(), Status::SUCCESS);
}

/// How long it takes until a file can be opened that a client of a lost server has denied.
fn opened_after(smb: &mut Smb) -> Duration {
    let begun = Instant::now();
    loop {
        match open(smb, "notes", SHARED) {
            Ok(file) => {
                smb.close(file).unwrap();
                return begun.elapsed();
            }
            Err(status) => assert!(begun.elapsed() < Duration::from_secs(40), "{status:?}"),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_gateway_that_is_killed_or_stopped_is_taken_over() {
    let Some(scene) = Scene::new(1) else { return };
    let (first, second) = (scene.start("gate1"), scene.start("gate2"));
    let mut there = Smb::enter_as_machine(second.smb_port, 2);
    let mut here = Smb::enter_as_machine(first.smb_port, 1);
    here.make("notes", b"0123456789");
    let mine = open(&mut there, "notes", SHARED).unwrap();
    lock_smb(&mut there, mine).unwrap();
    there.close(mine).unwrap();
    drop(here);
    let mut here = Smb::enter_as_machine(first.smb_port, 3);
    let _alone = open(&mut here, "notes", ShareAccess::NONE).unwrap();
    assert_eq!(open(&mut there, "notes", SHARED), Err(Status::SHARING_VIOLATION));
    first.kill();
    let took = opened_after(&mut there);
    println!("killed: taken over after {took:?}");
    assert!(took < TAKEOVER, "{took:?}");

    // The same server again, which has another number now. It is stopped, and wakes with old ideas.
    let first = scene.start("gate1");
    let mut here = Smb::enter_as_machine(first.smb_port, 1);
    let _alone = open(&mut here, "notes", ShareAccess::NONE).unwrap();
    assert_eq!(open(&mut there, "notes", SHARED), Err(Status::SHARING_VIOLATION));
    first.signal(Signal::STOP);
    let took = opened_after(&mut there);
    println!("stopped: taken over after {took:?}");
    assert!(took < TAKEOVER, "{took:?}");
    first.signal(Signal::CONT);
    assert!(here.echo().is_err(), "a server that was stopped answered");
    assert_eq!(first.exit_code(), Some(75));
    assert!(scene.log("gate1").contains("could not renew its membership"));
}

/// A durable open of version 2 with a lease, or the same open again. `number` is that of the CREATE.
fn durable(smb: &mut Smb, name: &str, number: u8, again: Option<FileKey>) -> Result<FileKey, Status> {
    let (key, state) = (LeaseKey([number; 16]), LeaseState::READ | LeaseState::HANDLE);
    let lease = Context::Lease(Lease { key, state, flags: LeaseFlags::NONE, v2: None });
    let (create_guid, flags) = ([number; 16], DurableFlags::NONE);
    let asked = match again {
        Some(file) => Context::DurableReconnectV2 { file, create_guid, flags },
        None => Context::DurableRequestV2 { timeout_ms: 60_000, flags, create_guid },
    };
    smb.open(name, |request| {
        request.share_access = if name == "alone" { ShareAccess::NONE } else { SHARED };
        request.oplock_level = OplockLevel::LEASE;
        request.contexts = vec![lease.encode(), asked.encode()];
    })
}

/// MS-SMB2 3.3.5.9.12, at another server.
#[test]
fn a_durable_open_of_a_lost_gateway_goes_on_at_another_one() {
    let Some(scene) = Scene::new(1) else { return };
    let (first, second) = (scene.start("gate1"), scene.start("gate2"));
    let mut here = Smb::enter_as_machine(first.smb_port, 1);
    let mut there = Smb::enter_as_machine(second.smb_port, 2);
    let kept = durable(&mut here, "kept", 1, None).unwrap();
    here.write(kept, 0, b"before").unwrap();
    lock_smb(&mut here, kept).unwrap();
    let going = durable(&mut here, "going", 3, None).unwrap();
    here.set(going, FileClass::DISPOSITION, |w| w.u8(1)).unwrap();
    durable(&mut here, "alone", 2, None).unwrap();
    let beside = open(&mut there, "kept", SHARED).unwrap();
    // A lock of its own would end the other one's lease, and so its handle.
    assert_eq!(there.read(beside, 0, 6), Err(Status::FILE_LOCK_CONFLICT));
    first.kill();

    // It waits for the loss. Meanwhile others wait, too, and then find the lock.
    let mut moved = Smb::enter_as_machine(second.smb_port, 1);
    let begun = Instant::now();
    let kept = durable(&mut moved, "kept", 1, Some(kept)).unwrap();
    println!("durable: it went on after {:?}", begun.elapsed());
    assert!(begun.elapsed() < TAKEOVER);
    assert_eq!(there.read(beside, 0, 6), Err(Status::FILE_LOCK_CONFLICT));
    moved.write(kept, 0, b"after!").unwrap();
    assert_eq!(moved.read(kept, 0, 6).unwrap(), b"after!");
    // The other one yields to an open that it denies, and is gone.
    let opened = open(&mut there, "alone", SHARED).unwrap();
    there.close(opened).unwrap();
    assert_eq!(durable(&mut moved, "alone", 2, Some(kept)), Err(Status::OBJECT_NAME_NOT_FOUND));
    // A mark for removal is kept, too.
    assert_eq!(open(&mut there, "going", SHARED), Err(Status::DELETE_PENDING));
    let going = durable(&mut moved, "going", 3, Some(going)).unwrap();
    moved.close(going).unwrap();
    assert_eq!(open(&mut there, "going", SHARED), Err(Status::OBJECT_NAME_NOT_FOUND));

    // Its new server stops in order.
    let first = scene.start("gate1");
    second.signal(Signal::TERM);
    let mut back = Smb::enter_as_machine(first.smb_port, 1);
    let kept = durable(&mut back, "kept", 1, Some(kept)).unwrap();
    let mut there = Smb::enter_as_machine(first.smb_port, 4);
    let beside = open(&mut there, "kept", SHARED).unwrap();
    assert_eq!(there.read(beside, 0, 6), Err(Status::FILE_LOCK_CONFLICT));
    back.close(kept).unwrap();
    assert_eq!(there.read(beside, 0, 6).unwrap(), b"after!");
    assert_eq!(lock_smb(&mut there, beside), Ok(()));
}

#[test]
fn gateways_go_on_when_the_leader_of_etcd_is_killed() {
    let Some(mut scene) = Scene::new(3) else { return };
    let (first, second) = (scene.start("gate1"), scene.start("gate2"));
    let mut here = Smb::enter_as_machine(first.smb_port, 1);
    let mut there = Smb::enter_as_machine(second.smb_port, 2);
    let file = here.make("notes", b"0123456789");
    lock_smb(&mut here, file).unwrap();
    scene.etcd.kill_leader();
    let until = Instant::now() + Duration::from_secs(7); // longer than an election takes
    while Instant::now() < until {
        let other = open(&mut there, "notes", SHARED).unwrap();
        assert_eq!(lock_smb(&mut there, other), Err(Status::LOCK_NOT_GRANTED));
        there.close(other).unwrap();
        std::thread::sleep(Duration::from_millis(100)); // the pace of a client
    }
    here.close(file).unwrap();
    let other = open(&mut there, "notes", SHARED).unwrap();
    assert_eq!(lock_smb(&mut there, other), Ok(()));
}

/// The costs that docs/cluster.md states: `cargo test -p fourfold --test it robustness::gateways -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn what_a_shared_and_a_private_file_cost() {
    const TIMES: u32 = 300;
    let Some(scene) = Scene::new(1) else { return };
    let (first, second) = (scene.start("gate1"), scene.start("gate2"));
    let mut here = Smb::enter_as_machine(first.smb_port, 1);
    let mut there = Smb::enter_as_machine(second.smb_port, 2);
    here.make("notes", b"0123456789");
    let open_and_close = |smb: &mut Smb| {
        let file = open(smb, "notes", SHARED).unwrap();
        smb.close(file).unwrap();
    };
    open_and_close(&mut here);
    let begun = Instant::now();
    (0..TIMES).for_each(|_| open_and_close(&mut here));
    println!("private: {:?} for an open and close", begun.elapsed() / TIMES);
    let begun = Instant::now();
    for _ in 0..TIMES / 2 {
        open_and_close(&mut here);
        open_and_close(&mut there);
    }
    println!("in turns: {:?} for an open and close", begun.elapsed() / TIMES);
}
