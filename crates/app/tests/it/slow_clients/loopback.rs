//! Clients that send a request in pieces, on the server's own machine.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::seen::{Diagnoses, is_overloaded};
use crate::bench::server::Server;

/// How long the doctor may take.
const FOUND_WITHIN: Duration = Duration::from_secs(60);
/// The time in which a client must have done something before its having no trouble counts.
const LONG_ENOUGH_MS: u64 = 3000;

/// A call of procedure NULL of NFS version 3 with a record mark, RFC 5531 sections 9 and 11.
const CALL: [u32; 11] = [0x8000_0028, 1, 0, 2, 100_003, 3, 0, 0, 0, 0, 0];
/// A record mark, and an accepted reply without a result.
const REPLY_LENGTH: usize = 28;

/// A client that sends each call in two pieces, until it is dropped.
pub(super) struct PieceClient {
    pub(super) address: SocketAddr,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl PieceClient {
    /// `pause` gives the time between the pieces of a call of this number. Without `no_delay` the client's Nagle algorithm holds the
    /// second piece back until the first is acknowledged.
    pub(super) fn begin(server: SocketAddr, no_delay: bool, pause: fn(u64) -> Duration) -> Self {
        let mut stream = TcpStream::connect(server).unwrap();
        stream.set_nodelay(no_delay).unwrap();
        let (address, ends) = (stream.local_addr().unwrap(), Arc::<AtomicBool>::default());
        let call: Vec<u8> = CALL.iter().flat_map(|word| word.to_be_bytes()).collect();
        let ended = ends.clone();
        let thread = std::thread::spawn(move || {
            let (first, second) = call.split_at(20);
            for number in (0..).take_while(|_| !ended.load(Ordering::Relaxed)) {
                stream.write_all(first).unwrap();
                std::thread::sleep(pause(number)); // the client's own time
                stream.write_all(second).unwrap();
                stream.read_exact(&mut [0; REPLY_LENGTH]).unwrap();
            }
        });
        Self { address, ends, thread: Some(thread) }
    }
}

impl Drop for PieceClient {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn pieces_that_wait_for_acknowledgements_are_told_from_others() {
    let server = Server::start();
    let nfs: u16 = server.port("mount -t nfs", ",port=").parse().unwrap();
    let nfs = SocketAddr::from(([127, 0, 0, 1], nfs));
    let at_once = |_| Duration::ZERO;
    let held_back = PieceClient::begin(nfs, false, at_once);
    let others = [
        PieceClient::begin(nfs, true, at_once),
        // It waits for as long as the timer, but not for the acknowledgement: it goes on when the server acknowledges at once.
        PieceClient::begin(nfs, true, |_| Duration::from_millis(42)),
        // A busy machine stops its programs for times of all lengths.
        PieceClient::begin(nfs, true, |number| Duration::from_millis(number * 7 % 100)),
    ];
    let deadline = Instant::now() + FOUND_WITHIN;
    loop {
        let seen = Diagnoses::now(server.folder.path());
        let is_well = |client: &PieceClient| {
            let address = client.address.to_string();
            seen.active_ms(&address) >= LONG_ENOUGH_MS && seen.troubles(&address).is_empty()
        };
        let said = seen.said(&held_back.address.to_string(), "delayed-ack");
        if let Some(said) = said.filter(|_| others.iter().all(is_well)) {
            assert!(said.contains("waits of 40 ms") && said.contains("the waits have ended"), "{said}");
            return;
        }
        if Instant::now() >= deadline && is_overloaded() {
            return eprintln!("skipped: the machine is overloaded");
        }
        assert!(Instant::now() < deadline, "{seen}");
        std::thread::sleep(Duration::from_millis(250));
    }
}
