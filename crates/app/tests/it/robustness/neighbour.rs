//! A well-behaved client that must not be affected by others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ::smb::wire::create::Disposition;
use nfs::wire::v3::types::Status;
use nfs::wire::v3::write::StableHow;

use crate::robustness::client::Client;
use crate::robustness::smb::Smb;

/// The longest time of a round of calls, on a busy machine.
const SLOWEST: Duration = Duration::from_secs(30);

/// A client at work on a thread of its own.
pub(crate) struct Neighbour {
    stop: Arc<AtomicBool>,
    rounds: Arc<AtomicU32>,
    thread: JoinHandle<Duration>,
}

impl Neighbour {
    /// Starts a neighbour over NFS, and waits until it works.
    pub(crate) fn start(port: u16) -> Self {
        Self::at_work(move || {
            let mut client = Client::mount(port);
            move |number| round(&mut client, number)
        })
    }

    /// The same over SMB.
    pub(crate) fn start_smb(port: u16) -> Self {
        Self::at_work(move || {
            let mut smb = Smb::enter_as_machine(port, b'n');
            move |number| smb_round(&mut smb, number)
        })
    }

    fn at_work<R: FnMut(u32)>(begin: impl FnOnce() -> R + Send + 'static) -> Self {
        let (stop, rounds) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
        let (stopped, counted) = (stop.clone(), rounds.clone());
        let thread = std::thread::spawn(move || {
            let mut round = begin();
            let mut slowest = Duration::ZERO;
            while !stopped.load(Ordering::Relaxed) {
                let begun = Instant::now();
                round(counted.load(Ordering::Relaxed));
                slowest = slowest.max(begun.elapsed());
                counted.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(2));
            }
            slowest
        });
        let neighbour = Self { stop, rounds, thread };
        neighbour.wait_for_a_round();
        neighbour
    }

    fn wait_for_a_round(&self) {
        let before = self.rounds.load(Ordering::Relaxed);
        while self.rounds.load(Ordering::Relaxed) == before && !self.thread.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Stops it after one more round. All its answers must have been right and in time.
    pub(crate) fn finish(self, during: &str) {
        self.wait_for_a_round();
        self.stop.store(true, Ordering::Relaxed);
        let slowest = self.thread.join().expect("the neighbour got only right answers");
        let rounds = self.rounds.load(Ordering::Relaxed);
        println!("{during}: the neighbour made {rounds} rounds of calls, the slowest took {slowest:?}");
        assert!(slowest < SLOWEST, "the slowest of {rounds} rounds took {slowest:?}");
    }
}

fn round(client: &mut Client, number: u32) {
    let (root, name) = (client.root.clone(), format!("neighbour{}", number % 8));
    let content = format!("round {number}").into_bytes();
    let file = client.create(&root, &name).unwrap();
    client.write(&file, 0, &content, StableHow::UNSTABLE).unwrap();
    assert_eq!(client.lookup(&root, &name).unwrap(), file);
    let size = client.getattr(&file).unwrap().size;
    let read = client.read(&file, 0, 1024).unwrap();
    assert!(read.bytes == content && read.eof && size == content.len() as u64);
    client.remove(&root, &name).unwrap();
    assert_eq!(client.lookup(&root, &name), Err(Status::NOENT));
}

fn smb_round(smb: &mut Smb, number: u32) {
    // The names differ from those of the NFS neighbour, which may run at the same time.
    let name = format!("smb-neighbour{}", number % 8);
    let content = format!("round {number}").into_bytes();
    let file = smb.make(&name, &content);
    assert_eq!(smb.content(file).as_ref(), Ok(&content));
    smb.close(file).unwrap();
    smb.remove(&name).unwrap();
    let there = smb.open(&name, |request| request.disposition = Disposition::OPEN);
    assert_eq!(there, Err(::smb::wire::Status::OBJECT_NAME_NOT_FOUND));
}
