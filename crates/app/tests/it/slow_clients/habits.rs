//! What clients do all the time until the test ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use client::{Connector, DataTransfer, OpenFileId, OpenIntent, Reach, Result, Session, Target};

use super::ClientProgram;
use super::networks::{ClientPlace, enter};

/// The file that all read, and its length.
pub(super) const LARGE: (&str, u64) = ("large", 8 << 20);
const BLOCK: usize = 128 << 10;
/// How long a client waits for an answer: longer than any test.
const TIMEOUT: Duration = Duration::from_secs(600);

/// What a client does with its session until the flag is set.
pub(super) type Habit = fn(&mut dyn Session, &AtomicBool) -> Result<()>;

/// A client at work; it ends when dropped.
pub(super) struct BusyClient {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl BusyClient {
    /// Logs in from a namespace, and begins. `url` leads to a share.
    pub(super) fn begin(place: &ClientPlace, url: &str, habit: Habit) -> Self {
        let (namespace, target) = (place.namespace.clone(), Target::parse(url).unwrap());
        let ends = Arc::<AtomicBool>::default();
        let ended = ends.clone();
        let thread = std::thread::spawn(move || {
            enter(&namespace).unwrap();
            let mut session = Connector::new(target, Reach::direct(TIMEOUT), 1, 0).connect(0).unwrap();
            if let Err(error) = habit(session.as_mut(), &ended)
                && !ended.load(Ordering::Relaxed)
            {
                panic!("a client in {namespace} failed: {error}");
            }
        });
        Self { ends, thread: Some(thread) }
    }
}

impl ClientProgram for BusyClient {
    fn is_busy(&mut self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    fn end(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}

impl Drop for BusyClient {
    fn drop(&mut self) {
        self.end();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a failure was seen by `is_busy`
        }
    }
}

/// The places of blocks of the large file, over and over, until the flag is set.
fn blocks(length: usize, ends: &AtomicBool) -> impl Iterator<Item = u64> {
    let of_file = LARGE.1 / length as u64;
    (0_u64..)
        .map(move |number| number % of_file * length as u64)
        .take_while(|_| !ends.load(Ordering::Relaxed))
}

fn start_read(session: &mut dyn Session, file: OpenFileId, offset: u64, length: usize) -> Result<()> {
    session.start(file, DataTransfer::Read { offset, length }).map(drop)
}

/// Reads the large file over and over, `depth` blocks at a time, and does something after each block.
fn read(session: &mut dyn Session, ends: &AtomicBool, depth: usize, after: &dyn Fn()) -> Result<()> {
    let file = session.open(LARGE.0, OpenIntent::Read)?;
    let mut in_flight = 0;
    for offset in blocks(BLOCK, ends) {
        start_read(session, file, offset, BLOCK)?;
        in_flight += 1;
        if in_flight == depth {
            session.finish()?;
            in_flight -= 1;
            after();
        }
    }
    session.abandon();
    Ok(())
}

/// Reads as fast as it comes.
pub(super) fn reads(session: &mut dyn Session, ends: &AtomicBool) -> Result<()> {
    read(session, ends, 4, &|| ())
}

/// Reads one block after the other.
pub(super) fn reads_blocks(session: &mut dyn Session, ends: &AtomicBool) -> Result<()> {
    read(session, ends, 1, &|| ())
}

/// Reads, and needs long for what it has read.
pub(super) fn takes_slowly(session: &mut dyn Session, ends: &AtomicBool) -> Result<()> {
    read(session, ends, 4, &|| std::thread::sleep(Duration::from_millis(60)))
}

/// Reads short records, one after the other, and does something after each.
fn read_records(session: &mut dyn Session, ends: &AtomicBool, after: &dyn Fn()) -> Result<()> {
    const RECORD: usize = 4096;
    let file = session.open(LARGE.0, OpenIntent::Read)?;
    for offset in blocks(RECORD, ends) {
        start_read(session, file, offset, RECORD)?;
        session.finish()?;
        after();
    }
    Ok(())
}

/// Asks for one short record after the other.
pub(super) fn asks_one_by_one(session: &mut dyn Session, ends: &AtomicBool) -> Result<()> {
    read_records(session, ends, &|| ())
}

/// The same, and computes for long with each. To the server that is the same as a pause.
pub(super) fn computes(session: &mut dyn Session, ends: &AtomicBool) -> Result<()> {
    read_records(session, ends, &|| std::thread::sleep(Duration::from_millis(35)))
}

/// Reads and writes at the same time, then reads alone, for as long each.
pub(super) fn copies_then_reads(session: &mut dyn Session, ends: &AtomicBool) -> Result<()> {
    const SPELL: Duration = Duration::from_secs(5);
    let large = session.open(LARGE.0, OpenIntent::Read)?;
    let own = format!("copy of {:?}", std::thread::current().id());
    let copy = session.open(&own, OpenIntent::Create)?;
    let data = vec![7; BLOCK];
    let begun = Instant::now();
    for offset in blocks(BLOCK, ends) {
        start_read(session, large, offset, BLOCK)?;
        let copies = (begun.elapsed().as_secs() / SPELL.as_secs()).is_multiple_of(2);
        if copies {
            session.start(copy, DataTransfer::Write { offset, data: &data, stable: false })?;
            session.finish()?;
        }
        session.finish()?;
    }
    Ok(())
}
