//! Clients of all four protocols work on one large folder, while the settings are reloaded
//! repeatedly: each client must make progress. The program is a debug build, which verifies the
//! order of its locks.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ::afp::client::ROOT;
use ::afp::wire::directory::Place;
use ::afp::wire::enumerate::{Enumerate, EnumerateForm};
use ::afp::wire::fork::AccessMode;
use ::afp::wire::{DirBitmap, FileBitmap, Path as AfpPath, ResultCode, command};
use ::smb::wire::create::{Disposition, Options};
use ::smb::wire::fscc::FileClass;
use ::smb::wire::fscc::file_name::Target;
use ::smb::wire::query_directory::{Flags, Request as List};
use ::smb::wire::security::AccessMask;
use ::smb::wire::{Command, FileKey, InfoType, Status, set_info};
use nfs::wire::v3::types::Status as NfsStatus;
use nfs::wire::v3::write::StableHow;
use rustix::process::Signal;
use wire::Writer;

use crate::robustness::afp::Afp;
use crate::robustness::client::Client;
use crate::robustness::iscsi;
use crate::robustness::server::{Server, folder, open_to_all};
use crate::robustness::smb::{Smb, ok};

const FILES: usize = 2_000;
/// How long the test runs, unless `FOURFOLD_STRESS_SECONDS` says otherwise.
const SECONDS: u64 = 60;
/// The longest time of a client's round, on a busy machine.
const SLOWEST: Duration = Duration::from_secs(20);
const RELOAD_EVERY: Duration = Duration::from_secs(2);
/// Files of its own that each writing client has at a time.
const OWN: u64 = 20;

/// One client on a thread of its own.
struct Worker {
    what: &'static str,
    rounds: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

struct Workers {
    stop: Arc<AtomicBool>,
    all: Vec<Worker>,
}

impl Workers {
    fn start<R: FnMut(u64) + Send + 'static>(&mut self, what: &'static str, mut round: R) {
        let (stop, rounds) = (self.stop.clone(), Arc::new(AtomicU64::new(0)));
        let done = rounds.clone();
        let work = move || {
            while !stop.load(Ordering::Relaxed) {
                round(done.load(Ordering::Relaxed));
                done.fetch_add(1, Ordering::Relaxed);
            }
        };
        self.all.push(Worker { what, rounds, thread: std::thread::spawn(work) });
    }

    /// Watches until the time is over; each client must have completed a round within [`SLOWEST`].
    fn watch(&self, server: &Server, time: Duration) {
        let end = Instant::now() + time;
        let mut seen = vec![(0, Instant::now()); self.all.len()];
        let mut reloaded = Instant::now();
        while Instant::now() < end {
            std::thread::sleep(Duration::from_millis(200));
            for (worker, (before, since)) in self.all.iter().zip(&mut seen) {
                let rounds = worker.rounds.load(Ordering::Relaxed);
                if rounds != *before {
                    (*before, *since) = (rounds, Instant::now());
                }
                let (what, quiet) = (worker.what, since.elapsed());
                assert!(!worker.thread.is_finished(), "{what} failed in round {rounds}");
                assert!(quiet < SLOWEST, "{what} has waited for {quiet:?} in round {rounds}");
            }
            if reloaded.elapsed() > RELOAD_EVERY {
                server.signal(Signal::HUP);
                reloaded = Instant::now();
            }
        }
    }

    fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        for worker in self.all {
            worker.thread.join().unwrap();
            println!("{}: {} rounds", worker.what, worker.rounds.load(Ordering::Relaxed));
        }
    }
}

fn name(at: usize) -> String {
    format!("a file of the large folder {at:05}")
}

fn fill(share: &Path) {
    let large = share.join("large");
    std::fs::create_dir(&large).unwrap();
    open_to_all(&large);
    for at in 0..FILES {
        std::fs::write(large.join(name(at)), b"x").unwrap();
        open_to_all(&large.join(name(at)));
    }
}

/// The answer, once no other client's cache blocks the request.
fn until_free<T>(mut ask: impl FnMut() -> Result<T, NfsStatus>) -> T {
    let begun = Instant::now();
    loop {
        match ask() {
            Err(NfsStatus::JUKEBOX) if begun.elapsed() < SLOWEST => {
                std::thread::sleep(Duration::from_millis(5));
            }
            answer => return answer.unwrap(),
        }
    }
}

fn nfs_lists(port: u16) -> impl FnMut(u64) + Send {
    let mut nfs = Client::mount(port);
    let large = nfs.lookup(&nfs.root.clone(), "large").unwrap();
    move |_| {
        let names = nfs.names_plus(&large).unwrap().len();
        assert!(names >= FILES, "the listing has {names} names");
    }
}

/// Makes, writes, renames and removes files of its own, and writes to a common one.
fn nfs_writes(port: u16) -> impl FnMut(u64) + Send {
    let mut nfs = Client::mount(port);
    let large = nfs.lookup(&nfs.root.clone(), "large").unwrap();
    move |round| {
        let file = until_free(|| nfs.create(&large, &format!("nfs {round}")));
        until_free(|| nfs.write(&file, 0, &[1; 3_000], StableHow::UNSTABLE));
        until_free(|| nfs.rename(&large, &format!("nfs {round}"), &format!("nfs moved {round}")));
        if round >= OWN {
            until_free(|| nfs.remove(&large, &format!("nfs moved {}", round - OWN)));
        }
        let known = nfs.lookup(&large, &name(round as usize % FILES)).unwrap();
        until_free(|| nfs.write(&known, 0, &[2; 100], StableHow::UNSTABLE));
    }
}

fn smb_lists(port: u16) -> impl FnMut(u64) + Send {
    let mut smb = Smb::enter_as_machine(port, 1);
    move |_| {
        let file = smb
            .open("large", |request| {
                // An open of the folder with the right to delete it would block renames, MS-FSA
                // 2.1.5.15.11.
                request.desired_access = AccessMask::FILE_READ.0;
                request.disposition = Disposition::OPEN;
                request.options = Options::DIRECTORY_FILE;
            })
            .unwrap();
        let mut bytes = 0;
        loop {
            let (information_class, flags, file_index) = (37, Flags::NONE, 0);
            let (output_buffer_length, pattern) = (1 << 16, vec![u16::from(b'*')]);
            let list = List { information_class, flags, file_index, file, output_buffer_length, pattern };
            let answer = smb.call(Command::QUERY_DIRECTORY, |w| list.encode(w));
            match ok(&answer) {
                Ok(()) => bytes += answer.message.len(),
                Err(status) => break assert_eq!(status, Status::NO_MORE_FILES),
            }
        }
        assert!(bytes > FILES * 64, "the listing has {bytes} bytes");
        smb.close(file).unwrap();
    }
}

fn smb_writes(port: u16) -> impl FnMut(u64) + Send {
    let mut smb = Smb::enter_as_machine(port, 2);
    move |round| {
        let file = smb.open(&format!("large\\smb {round}"), |_| ()).unwrap();
        smb.write(file, 0, &[3; 3_000]).unwrap();
        smb_rename(&mut smb, file, &format!("large\\smb moved {round}"));
        smb.close(file).unwrap();
        if round >= OWN {
            smb.remove(&format!("large\\smb moved {}", round - OWN)).unwrap();
        }
        let known = smb.open(&format!("large\\{}", name(round as usize * 7 % FILES)), |_| ()).unwrap();
        smb.write(known, 0, &[4; 100]).unwrap();
        smb.close(known).unwrap();
    }
}

fn smb_rename(smb: &mut Smb, file: FileKey, to: &str) {
    let mut w = Writer::new();
    let target = Target { replace_if_exists: false, root_directory: 0, name: to.encode_utf16().collect() };
    target.encode(&mut w);
    let data = w.into_bytes();
    let (info_type, information_class) = (InfoType::FILE, FileClass::RENAME.0);
    let request =
        set_info::Request { info_type, information_class, additional_information: 0, file, data: &data };
    ok(&smb.call(Command::SET_INFO, |w| request.encode(w))).unwrap();
}

fn afp_folder(afp: &mut Afp) -> u32 {
    let of = (afp.volume, ROOT, "large");
    let (_, id) = afp.client.parameters(of, FileBitmap::empty(), DirBitmap::DIR_ID).unwrap();
    u32::from_be_bytes(id.try_into().unwrap())
}

fn afp_lists(port: u16) -> impl FnMut(u64) + Send {
    let mut afp = Afp::enter(port);
    let large = afp_folder(&mut afp);
    move |_| {
        let mut start = 1;
        loop {
            let place = Place { volume: afp.volume, folder: large, path: AfpPath::utf8(b"") };
            let (files, folders) = (FileBitmap(0x2140), DirBitmap(0x2140)); // names, parents, node ids
            let ask = Enumerate { place, files, folders, count: 500, start, max_reply: 1 << 17 };
            let answer =
                afp.client.call(command::ENUMERATE_EXT2, |w| ask.encode(EnumerateForm::Ext2, w)).unwrap();
            if answer.code() == ResultCode::OBJECT_NOT_FOUND {
                break;
            }
            let reply = answer.well().unwrap();
            start += u32::from(u16::from_be_bytes([reply[4], reply[5]]));
        }
        assert!(start as usize > FILES, "the listing ended after {start} entries");
    }
}

fn afp_writes(port: u16) -> impl FnMut(u64) + Send {
    let mut afp = Afp::enter(port);
    let large = afp_folder(&mut afp);
    move |round| {
        let (volume, new) = (afp.volume, format!("afp {round}"));
        afp.client.create_in(volume, large, &new).unwrap();
        for resource in [false, true] {
            let access = AccessMode::READ | AccessMode::WRITE;
            let fork = afp.client.open_fork((volume, large, &new), resource, access).unwrap();
            afp.client.write(fork, 0, &[5; 3_000]).unwrap();
            afp.client.close(fork).unwrap();
        }
        afp.client.rename(volume, large, &new, &format!("afp moved {round}")).unwrap();
        if round >= OWN {
            afp.client.delete(volume, large, &format!("afp moved {}", round - OWN)).unwrap();
        }
    }
}

fn disk_works(port: u16, number: u64) -> impl FnMut(u64) + Send {
    let mut disk = iscsi::enter(port);
    move |round| {
        let data = vec![round as u8; 64 * 512];
        let at = number * 1024 + round % 16 * 64;
        disk.write(0, at, &data, false).unwrap();
        assert!(disk.read(0, at, 64).unwrap() == data);
        if round % 50 == 0 {
            disk.synchronize(0).unwrap();
        }
    }
}

#[test]
fn all_clients_make_progress_on_one_folder_while_the_settings_are_read_again() {
    let seconds = std::env::var("FOURFOLD_STRESS_SECONDS").ok().and_then(|said| said.parse().ok());
    let (top, share) = folder();
    fill(&share);
    let server = Server::start_with_iscsi(top.path(), &share);
    let mut workers = Workers { stop: Arc::default(), all: Vec::new() };
    for number in 0..2 {
        workers.start("NFS, listing", nfs_lists(server.port));
        workers.start("iSCSI", disk_works(server.iscsi_port, number));
    }
    workers.start("NFS, writing", nfs_writes(server.port));
    workers.start("SMB, listing", smb_lists(server.smb_port));
    workers.start("SMB, writing", smb_writes(server.smb_port));
    workers.start("AFP, listing", afp_lists(server.afp_port));
    workers.start("AFP, writing", afp_writes(server.afp_port));
    workers.watch(&server, Duration::from_secs(seconds.unwrap_or(SECONDS)));
    workers.end();
    let log = std::fs::read_to_string(top.path().join("log")).unwrap();
    assert!(!log.contains("lock order") && !log.contains("panicked"), "{log}");
    server.signal(Signal::TERM);
    assert_eq!(server.exit_code(), Some(0));
}
