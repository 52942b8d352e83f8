//! The thread that writes the audit log.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

use super::line::{Key, Line, stamp};
use super::{AuditCounters, MOST_WAITING};

/// How long repeated operations on a file are summed up.
const SUM_FOR: Duration = Duration::from_secs(60);
/// The most sums at a time; then all of them are written.
const MOST_SUMS: usize = 4096;
/// How often sums, losses and errors are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often the same error is logged.
const SAY_EVERY: Duration = Duration::from_secs(60);
/// How long lines are collected after the first one. Meanwhile an operation wakes no thread, which takes longer than all
/// else that a line costs it. The queue has room for 400,000 lines in a second.
const COLLECT_FOR: Duration = Duration::from_millis(20);
/// Bytes that are collected before they are written.
const CHUNK: usize = 64 * 1024;

/// The file of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    /// The most bytes of a file.
    pub(super) size: u64,
    /// How many older files are kept.
    pub(super) older: usize,
}

/// Operations of the same kind after the first one.
struct RepeatSum {
    since: Instant,
    /// The last one, with the bytes of all.
    last: Line,
    times: u64,
}

/// The file that is written.
struct Current {
    file: File,
    length: u64,
}

/// Writes lines until all senders are gone.
pub(super) struct Writer {
    place: Place,
    counters: Arc<AuditCounters>,
    current: Option<Current>,
    /// What is not written yet, and the number of its lines.
    chunk: (Vec<u8>, u64),
    sums: HashMap<Key, RepeatSum>,
    /// The losses that were logged.
    told: u64,
    said: Option<Instant>,
}

impl Writer {
    pub(super) fn new(place: Place, counters: Arc<AuditCounters>) -> Self {
        let told = counters.lost.load(Ordering::Relaxed);
        Self {
            place,
            counters,
            current: None,
            chunk: (Vec::new(), 0),
            sums: HashMap::new(),
            told,
            said: None,
        }
    }

    pub(super) fn run(mut self, queue: &Receiver<Line>) {
        let mut looked = Instant::now();
        loop {
            match queue.recv_timeout(LOOK_EVERY) {
                Ok(line) => {
                    self.counters.waiting.fetch_sub(line.bytes(), Ordering::Relaxed);
                    self.take(line, Instant::now());
                    std::thread::sleep(COLLECT_FOR);
                    // What else waits is written together.
                    for line in queue.try_iter().take(MOST_WAITING) {
                        self.counters.waiting.fetch_sub(line.bytes(), Ordering::Relaxed);
                        self.take(line, Instant::now());
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let now = Instant::now();
            if now.duration_since(looked) >= LOOK_EVERY {
                looked = now;
                self.end_sums(|sum| now.duration_since(sum.since) >= SUM_FOR);
                self.tell_losses();
            }
            self.flush();
        }
        self.end_sums(|_| true);
        self.tell_losses();
        self.flush();
    }

    /// Adds a line, or counts it with those before it.
    fn take(&mut self, line: Line, now: Instant) {
        if !line.repeats() {
            // What was read and written before comes before it.
            let path = line.key.path.clone();
            self.end_sums(|sum| sum.last.key.path == path);
            return self.add(&line.json(1));
        }
        if let Some(sum) = self.sums.get_mut(&line.key) {
            let bytes = sum.last.bytes.saturating_add(line.bytes);
            (sum.last, sum.times) = (Line { bytes, ..line }, sum.times + 1);
            return;
        }
        if self.sums.len() >= MOST_SUMS {
            self.end_sums(|_| true);
        }
        self.add(&line.json(1));
        let last = Line { bytes: 0, ..line };
        self.sums.insert(last.key.clone(), RepeatSum { since: now, last, times: 0 });
    }

    fn end_sums(&mut self, is_due: impl Fn(&RepeatSum) -> bool) {
        let due: Vec<RepeatSum> = self.sums.extract_if(|_, sum| is_due(sum)).map(|(_, sum)| sum).collect();
        for sum in due.iter().filter(|sum| sum.times > 0) {
            self.add(&sum.last.json(sum.times));
        }
    }

    fn tell_losses(&mut self) {
        let lost = self.counters.lost.load(Ordering::Relaxed);
        let new = lost - self.told;
        if new > 0 && self.said.is_none_or(|said| said.elapsed() >= LOOK_EVERY) {
            (self.told, self.said) = (lost, Some(Instant::now()));
            tracing::warn!(lines = new, "lines of the audit log were lost: there were too many at once");
            self.add(format!("{{\"time\":\"{}\",\"lost\":{new}}}\n", stamp(SystemTime::now())).as_bytes());
        }
    }

    /// Counts losses from before it began as new.
    #[cfg(test)]
    pub(super) fn forget_told(&mut self) {
        self.told = 0;
    }

    fn add(&mut self, line: &[u8]) {
        let length = self.current.as_ref().map_or(0, |current| current.length) + self.chunk.0.len() as u64;
        if length > 0 && length + line.len() as u64 > self.place.size {
            self.flush();
            self.rotate();
        }
        self.chunk.0.extend_from_slice(line);
        self.chunk.1 += 1;
        if self.chunk.0.len() >= CHUNK {
            self.flush();
        }
    }

    /// Writes what was collected. Lines that cannot be written are lost.
    fn flush(&mut self) {
        if self.chunk.0.is_empty() {
            return;
        }
        let (chunk, lines) = std::mem::take(&mut self.chunk);
        match self.write(&chunk) {
            Ok(()) => _ = self.counters.written.fetch_add(lines, Ordering::Relaxed),
            Err(error) => {
                self.current = None;
                self.counters.lost.fetch_add(lines, Ordering::Relaxed);
                self.told += lines;
                if self.said.is_none_or(|said| said.elapsed() >= SAY_EVERY) {
                    self.said = Some(Instant::now());
                    let path = self.place.path.display();
                    tracing::error!(%error, %path, lines, "the audit log cannot be written; its lines are lost");
                }
            }
        }
    }

    fn write(&mut self, chunk: &[u8]) -> io::Result<()> {
        let current = match &mut self.current {
            Some(current) => current,
            None => self.current.insert(Current::open(&self.place.path)?),
        };
        if current.length > 0 && current.length + chunk.len() as u64 > self.place.size {
            self.rotate(); // it was that long before this server began
            self.current = Some(Current::open(&self.place.path)?);
        }
        let Some(current) = &mut self.current else { return Ok(()) };
        current.file.write_all(chunk)?;
        current.length += chunk.len() as u64;
        Ok(())
    }

    /// Gives the file the number 1, and older files the next number.
    fn rotate(&mut self) {
        self.current = None;
        let Place { path, older, .. } = &self.place;
        let result = (1..=*older).rev().try_for_each(|number| {
            let from = if number == 1 { path.clone() } else { numbered(path, number - 1) };
            match std::fs::rename(from, numbered(path, number)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        });
        if let Err(error) = result {
            tracing::warn!(%error, path = %path.display(), "the audit log is not rotated, and goes on in the same file");
        }
    }
}

/// `audit.log.3`.
fn numbered(path: &Path, number: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

impl Current {
    /// Opens the file to add to it. Only its owner can read a new one.
    fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        let length = file.metadata()?.len();
        Ok(Self { file, length })
    }
}
