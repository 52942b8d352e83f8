//! One client at its work: its session, its own folder, and what it made there.

use crate::meter::Meter;
use crate::pattern::{BytePattern, PERIOD, Random};
use crate::{Durability, Error, Result};
use client::{DataTransfer, OpenFileId, OpenIntent, Session};

/// The least bytes of a client's file.
pub(super) const LEAST: u64 = 256 << 10;
/// Transfers below this length are not pipelined: programs that make them wait for each.
const PIPELINED: u64 = 64 << 10;
/// The most files that a workload makes in a folder at full scale, divided by which numbers of files
/// scale.
const MAX_FILES: usize = 100_000;

/// Something that a client made, and removes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CreatedEntry {
    Folder(String),
    File(String),
}

/// One client.
pub(crate) struct Worker<'a> {
    pub(crate) session: Box<dyn Session>,
    /// Its own folder; of a disk, a prefix of names.
    pub(crate) folder: String,
    pub(crate) client: usize,
    pub(crate) clients: usize,
    pub(crate) scale: f64,
    pub(crate) depth: usize,
    pub(crate) durability: Durability,
    pub(crate) pattern: &'a BytePattern,
    pub(crate) random: Random,
    /// Bytes of its share of the work.
    pub(crate) bytes: u64,
    /// The lengths of the images, if they are given.
    pub(crate) images: &'a [u64],
    pub(crate) made: Vec<CreatedEntry>,
}

impl Worker<'_> {
    /// A number of files at this scale, for this client.
    pub(super) fn count(&self, at_full_scale: usize) -> usize {
        let count = (at_full_scale as f64 * self.scale) as usize / self.clients;
        count.clamp(4, MAX_FILES)
    }

    /// The length of its large file: whole blocks.
    pub(super) fn length(&self) -> u64 {
        self.bytes.max(LEAST).next_multiple_of(1 << 16)
    }

    pub(super) fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }

    pub(super) fn make_folder(&mut self, name: &str) -> Result<()> {
        let path = self.path(name);
        self.session.make_folder(&path)?;
        self.made.push(CreatedEntry::Folder(path));
        Ok(())
    }

    pub(super) fn create(&mut self, name: &str) -> Result<OpenFileId> {
        let path = self.path(name);
        let file = self.session.open(&path, OpenIntent::Create)?;
        self.made.push(CreatedEntry::File(path));
        Ok(file)
    }

    pub(super) fn open(&mut self, name: &str, how: OpenIntent) -> Result<OpenFileId> {
        self.session.open(&self.path(name), how)
    }

    pub(super) fn remove(&mut self, name: &str) -> Result<()> {
        let path = self.path(name);
        self.session.remove(&path)?;
        if let Some(at) = self.made.iter().rposition(|made| *made == CreatedEntry::File(path.clone())) {
            self.made.remove(at);
        }
        Ok(())
    }

    /// A new file with content, which no clock measures.
    pub(super) fn write_file(&mut self, name: &str, length: u64) -> Result<()> {
        let file = self.create(name)?;
        let block = self.session.largest().min(PERIOD) as u64;
        self.transfer(file, (0, length), block, true, None)?;
        self.session.close(file)
    }

    /// Reads or writes a range of a file in blocks, with up to `depth` in flight.
    pub(super) fn stream(
        &mut self,
        meter: &mut Meter<'_>,
        file: OpenFileId,
        range: (u64, u64),
        block: u64,
        writes: bool,
    ) -> Result<()> {
        self.transfer(file, range, block, writes, Some(meter))
    }

    fn transfer(
        &mut self,
        file: OpenFileId,
        (begin, end): (u64, u64),
        block: u64,
        writes: bool,
        mut meter: Option<&mut Meter<'_>>,
    ) -> Result<()> {
        let stable = writes && meter.is_some() && self.durability == Durability::Each;
        // Blocks of the most that the server takes are parts of longer transfers.
        let is_record = block < PIPELINED && block < self.session.largest() as u64;
        let depth = if is_record && meter.is_some() { 1 } else { self.depth };
        let mut next = begin;
        let mut flights: Vec<Flight> = Vec::with_capacity(depth);
        loop {
            let goes_on = meter.as_ref().is_none_or(|meter| meter.goes_on());
            while goes_on && next < end && flights.len() < depth {
                let length = (end - next).min(block) as usize;
                flights.push(self.start(file, next, length, writes, stable)?);
                next += length as u64;
            }
            if flights.is_empty() {
                return Ok(());
            }
            let flight = self.finish(&mut flights)?;
            if let Some(meter) = meter.as_deref_mut() {
                meter.done(flight.begun, flight.length as u64);
            }
        }
    }

    pub(super) fn start(
        &mut self,
        file: OpenFileId,
        offset: u64,
        length: usize,
        writes: bool,
        stable: bool,
    ) -> Result<Flight> {
        let transfer = match writes {
            true => DataTransfer::Write { offset, data: self.pattern.at(offset, length), stable },
            false => DataTransfer::Read { offset, length },
        };
        let begun = std::time::Instant::now();
        let ticket = self.session.start(file, transfer)?.0;
        Ok(Flight { ticket, offset, length, writes, begun })
    }

    /// Waits for one of these, and checks that it is whole and right.
    pub(super) fn finish(&mut self, flights: &mut Vec<Flight>) -> Result<Flight> {
        let finished = self.session.finish()?;
        let at = flights.iter().position(|flight| flight.ticket == finished.ticket.0);
        let at = at.ok_or_else(|| Error::Other("an answer to no request".into()))?;
        let flight = flights.swap_remove(at);
        if finished.length != flight.length {
            let (got, wanted) = (finished.length, flight.length);
            return Err(Error::Other(format!("the server moved {got} bytes of {wanted}")));
        }
        let known = flight.length.min(finished.head.len());
        if !flight.writes && !self.pattern.fits(flight.offset, &finished.head[..known]) {
            return Err(Error::Corrupt(flight.offset));
        }
        Ok(flight)
    }

    /// The end of a file that was written: flushed, unless durability asks for nothing.
    pub(super) fn settle(&mut self, file: OpenFileId) -> Result<()> {
        if self.durability != Durability::None {
            self.session.flush(file)?;
        }
        self.session.close(file)
    }

    /// Removes what it made, the last first. What cannot be removed stays in the list.
    pub(crate) fn clean(&mut self) -> Result<()> {
        let mut failed = None;
        let mut left = Vec::new();
        while let Some(made) = self.made.pop() {
            let removed = match &made {
                CreatedEntry::Folder(path) => self.session.remove_folder(path),
                CreatedEntry::File(path) => self.session.remove(path),
            };
            match removed {
                Ok(()) | Err(Error::Missing(_)) => {}
                Err(error) => {
                    let is_over = error.ends_session();
                    failed = Some(error);
                    left.push(made);
                    if is_over {
                        break;
                    }
                }
            }
        }
        self.made.extend(left.into_iter().rev());
        failed.map_or(Ok(()), Err)
    }
}

/// A transfer in flight.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flight {
    ticket: u64,
    offset: u64,
    pub(super) length: usize,
    writes: bool,
    pub(super) begun: std::time::Instant,
}
