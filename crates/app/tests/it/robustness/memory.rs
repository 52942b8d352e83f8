//! Clients of all protocols that make the server hold memory, over a thousand connections: its
//! memory stays bounded, other clients are served meanwhile, and the memory returns to the host
//! afterwards.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ::iscsi::client::{Data, Login, command_16};
use ::iscsi::wire::pdu::{Lun, NO_TAG, TextRequest};
use ::smb::client::FrameProtection;
use ::smb::wire::create::Disposition;
use ::smb::wire::{Command, FileKey, echo};
use nfs::wire::v3::{PROGRAM, Procedure, VERSION, readdirplus};
use nfs::wire::xdr::Opaque;
use wire::Writer;

use crate::robustness::client::{Client, message, record};
use crate::robustness::iscsi::{self, Iscsi};
use crate::robustness::neighbour::Neighbour;
use crate::robustness::server::{Server, folder};
use crate::robustness::smb::{Smb, charge, now, read_request};
use crate::waiting::is_so_within;

const MIB: u64 = 1 << 20;
/// Connections of each kind of attack.
const EACH: usize = 170;
/// Threads that open the connections.
const THREADS: usize = 8;
/// Files in the listed folder: with their long names, a whole listing is longer than 1 MiB.
const FILES: usize = 2500;
/// Requests for the names of all targets, sent at once. Four times as many took most of the server's processor time in this test.
const REQUESTS_FOR_NAMES: usize = 1000;
/// How long the attack lasts once all clients are connected.
const HELD_FOR: Duration = Duration::from_secs(8);
/// The most memory of the server at any time.
const MOST: u64 = 512 * MIB;
/// The most memory when it is idle again, without the program itself. A release build has 46 MiB. A
/// debug build, whose frames on the threads' stacks are larger, has 66 MiB.
const IDLE: u64 = if cfg!(debug_assertions) { 80 * MIB } else { 50 * MIB };
/// How soon it must be idle again.
const IDLE_WITHIN: Duration = Duration::from_secs(60);
/// The longest time of a read of the working client, on a busy machine.
const SLOWEST: Duration = Duration::from_secs(20);

/// The connections that an attack keeps open.
type OpenConnection = Box<dyn Send>;

#[test]
fn a_thousand_greedy_connections_are_bounded_and_their_memory_is_given_back() {
    crate::robustness::connections::possible();
    let (top, share) = folder();
    let listed = share.join("listed");
    std::fs::create_dir(&listed).unwrap();
    crate::robustness::server::open_to_all(&listed);
    for number in 0..FILES {
        std::fs::write(listed.join(format!("{}{number}", "n".repeat(240))), b"").unwrap();
    }
    let server = Server::start_with_iscsi(top.path(), &share);
    prepare(&server);
    let neighbours = [Neighbour::start(server.port), Neighbour::start_smb(server.smb_port)];
    let at_work = AtWork::start(server.smb_port);

    let begun = Instant::now();
    let held = attack(&server);
    println!("{} connections in {:?}: {} MiB", held.len(), begun.elapsed(), server.memory() / MIB);
    std::thread::sleep(HELD_FOR); // the time in which its memory may grow
    println!("{} MiB held, {} MiB at most", server.memory() / MIB, server.most_memory() / MIB);
    at_work.finish();
    for neighbour in neighbours {
        neighbour.finish("a thousand greedy connections");
    }
    assert!(server.most_memory() < MOST, "{} bytes at most", server.most_memory());

    drop(held);
    let ended = Instant::now();
    let is_idle = is_so_within(IDLE_WITHIN, || server.own_memory() < IDLE);
    println!("{} MiB after {:?}", server.own_memory() / MIB, ended.elapsed());
    assert!(is_idle, "{} bytes a minute after", server.own_memory());
}

/// Makes a file and a disk with contents.
fn prepare(server: &Server) {
    let mut smb = Smb::enter_as_machine(server.smb_port, 1);
    let file = smb.make("big", b"");
    let block = vec![7; MIB as usize];
    ask_for_credits(&mut smb);
    for at in 0..16 {
        smb.try_write(file, at * MIB, &block, ::smb::wire::write::Flags::NONE).unwrap().unwrap();
    }
    let mut initiator = iscsi::enter(server.iscsi_port);
    for at in 0..16 {
        initiator.write(0, at * 2048, &block, false).unwrap();
    }
}

/// Every attack on [`EACH`] connections.
fn attack(server: &Server) -> Vec<OpenConnection> {
    let (port, smb_port, iscsi_port) = (server.port, server.smb_port, server.iscsi_port);
    let kinds: [Box<dyn Fn() -> io::Result<OpenConnection> + Send + Sync>; 6] = [
        Box::new(move || listings(port)),
        Box::new(move || sealed_reads(smb_port)),
        Box::new(move || reads_with_digests(iscsi_port)),
        Box::new(move || names_of_targets(iscsi_port)),
        Box::new(move || half_a_record(port)),
        Box::new(move || half_a_write(smb_port)),
    ];
    let kinds = Arc::new(kinds);
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let kinds = kinds.clone();
            std::thread::spawn(move || {
                let mut held = Vec::new();
                for number in (thread..EACH * kinds.len()).step_by(THREADS) {
                    // If the server has ended a connection meanwhile, the attack has had its
                    // effect.
                    held.extend(kinds[number % kinds.len()]().ok());
                }
                held
            })
        })
        .collect();
    threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
}

/// Sends as much as the socket accepts at once, `times` times.
fn send_at_once(stream: &mut TcpStream, times: usize, mut next: impl FnMut() -> Vec<u8>) -> io::Result<()> {
    stream.set_write_timeout(Some(Duration::from_millis(20)))?;
    for _ in 0..times {
        if stream.write_all(&next()).is_err() {
            break;
        }
    }
    Ok(())
}

fn listings(port: u16) -> io::Result<OpenConnection> {
    let mut client = Client::connect(port)?;
    let listed = client.mnt("/share/listed").map_err(|_| io::ErrorKind::Other)?;
    let mut xid = 0;
    send_at_once(&mut client.stream, 4, || {
        xid += 1;
        let (dircount, maxcount) = (1 << 20, 1 << 20);
        let request =
            readdirplus::Request { dir: Opaque(&listed), cookie: 0, verifier: [0; 8], dircount, maxcount };
        record(&message(xid, 1000, (PROGRAM, VERSION, Procedure::READDIRPLUS.0), &request))
    })?;
    Ok(Box::new(client))
}

fn ask_for_credits(smb: &mut Smb) {
    for _ in 0..2 {
        let mut echo = smb.request(Command::ECHO, |w| echo::Request.encode(w));
        echo.header.credits = u16::MAX;
        smb.try_request(echo).unwrap();
    }
}

fn open_big(smb: &mut Smb) -> FileKey {
    smb.open("big", |request| request.disposition = Disposition::OPEN).unwrap()
}

/// A client that is logged in and has the large file open; an error if the server has ended it
/// meanwhile.
fn smb_client(port: u16) -> io::Result<(Smb, FileKey)> {
    let entered = std::panic::catch_unwind(|| {
        let mut smb = Smb::enter(port);
        ask_for_credits(&mut smb);
        let file = open_big(&mut smb);
        (smb, file)
    });
    entered.map_err(|_| io::ErrorKind::Other.into())
}

fn sealed_reads(port: u16) -> io::Result<OpenConnection> {
    let (mut smb, file) = smb_client(port)?;
    let mut stream = smb.client.link.0.try_clone()?;
    let session = smb.session.clone();
    send_at_once(&mut stream, 16, || {
        let read = read_request(file, 0, 8 << 20);
        let request = smb.request(Command::READ, |w| read.encode(w)).charge(charge(8 << 20));
        smb.client.prepare(vec![request], FrameProtection::Sealed(&session)).1
    })?;
    Ok(Box::new(smb))
}

fn half_a_write(port: u16) -> io::Result<OpenConnection> {
    let (mut smb, file) = smb_client(port)?;
    let mut stream = smb.client.link.0.try_clone()?;
    let data = vec![7; 8 << 20];
    let flags = ::smb::wire::write::Flags::NONE;
    let write =
        ::smb::wire::write::Request { data: 0..0, offset: 0, file, channel: 0, remaining_bytes: 0, flags };
    let request = smb.request(Command::WRITE, |w| write.encode(&data, w)).charge(charge(data.len()));
    let frame = smb.client.prepare(vec![request], FrameProtection::Plain).1;
    send_at_once(&mut stream, 1, || frame[..frame.len() - 1].to_vec())?;
    Ok(Box::new(smb))
}

fn half_a_record(port: u16) -> io::Result<OpenConnection> {
    let mut client = Client::connect(port)?;
    let whole = record(&vec![0; 1 << 20]);
    send_at_once(&mut client.stream, 1, || whole[..whole.len() - 1].to_vec())?;
    Ok(Box::new(client))
}

fn reads_with_digests(port: u16) -> io::Result<OpenConnection> {
    let login = Login { digests: true, ..iscsi::login() };
    let mut client = iscsi::enter_with(port, &login).map_err(|_| io::ErrorKind::Other)?;
    client.link().set_write_timeout(Some(Duration::from_millis(20)))?;
    for _ in 0..16 {
        let read = command_16(0x88, 0, 0, (8 << 20) / 512);
        if client.begin(0, &read, Data::In(8 << 20)).is_err() {
            break;
        }
    }
    Ok(Box::new(client))
}

fn names_of_targets(port: u16) -> io::Result<OpenConnection> {
    let login = Login { isid: iscsi::isid(), ..Login::discovery() };
    let mut client = iscsi::log_in(port, &login).map_err(|_| io::ErrorKind::Other)?;
    client.link().set_write_timeout(Some(Duration::from_millis(20)))?;
    for _ in 0..REQUESTS_FOR_NAMES {
        if ask_for_names(&mut client).is_err() {
            break;
        }
    }
    Ok(Box::new(client))
}

/// An immediate request, which has no place in the window of commands.
fn ask_for_names(client: &mut Iscsi) -> Result<(), ::iscsi::client::Error> {
    let (task_tag, cmd_sn, exp_stat_sn) = (client.new_tag(), client.cmd_sn, client.exp_stat_sn);
    let (lun, transfer_tag) = (Lun::default(), NO_TAG);
    let request = TextRequest {
        immediate: true,
        last: true,
        more: false,
        lun,
        task_tag,
        transfer_tag,
        cmd_sn,
        exp_stat_sn,
    };
    let text = b"SendTargets=All\0";
    let mut w = Writer::new();
    request.encode(text.len(), &mut w);
    client.send(w, text)
}

/// A client that reads 1 MiB at a time, encrypted, and receives the data.
struct AtWork {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Duration>>,
}

impl AtWork {
    fn start(port: u16) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let mut smb = Smb::enter_as_machine(port, b'w');
        ask_for_credits(&mut smb);
        let file = open_big(&mut smb);
        let mut read = move || {
            let begun = Instant::now();
            let request = smb.request(Command::READ, |w| read_request(file, 0, 1 << 20).encode(w));
            let session = smb.session.clone();
            let sent =
                smb.client.send(vec![request.charge(charge(1 << 20))], FrameProtection::Sealed(&session));
            let id = now(sent).unwrap()[0];
            assert_eq!(smb.answer(id).unwrap().status(), ::smb::wire::Status::SUCCESS);
            begun.elapsed()
        };
        read();
        let thread = std::thread::spawn(move || {
            let mut took = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                took.push(read());
                std::thread::sleep(Duration::from_millis(5));
            }
            took
        });
        Self { stop, thread }
    }

    fn finish(self) {
        self.stop.store(true, Ordering::Relaxed);
        let mut took = self.thread.join().expect("it got only right answers");
        took.sort();
        let (middle, slowest) = (took[took.len() / 2], took[took.len() - 1]);
        println!("{} encrypted reads of 1 MiB beside: {middle:?} mostly, {slowest:?} at most", took.len());
        assert!(slowest < SLOWEST, "{slowest:?}");
    }
}
