//! What is held, as `status` and the console show it.

use std::fmt;

use super::leases::Caching;
use super::ledger::Resource;
use super::opens::{Modes, TableOpen};
use super::range::Lock;
use super::table::Entry;
use super::{ClientId, OpenId, State, Stream};
use formats::{FileId, Result};

/// An open, for display.
#[derive(Debug, Clone)]
pub struct OpenInfo {
    /// Which file.
    pub file: FileId,
    /// `vfs::Volume::view` of a volume through which the file is used; 0 if that is not known.
    pub view: u32,
    /// Which stream of it.
    pub stream: Stream,
    /// Its number.
    pub open: OpenId,
    /// The client that opened it.
    pub client: ClientId,
    /// Its access.
    pub access: Modes,
    /// The access that it denies to others.
    pub deny: Modes,
}

/// A locked range, for display.
#[derive(Debug, Clone)]
pub struct RangeInfo {
    /// Which file.
    pub file: FileId,
    /// `vfs::Volume::view` of a volume through which the file is used; 0 if that is not known.
    pub view: u32,
    /// Which stream of it.
    pub stream: Stream,
    /// The lock.
    pub lock: Lock,
}

/// A lease, for display.
#[derive(Debug, Clone)]
pub struct LeaseInfo {
    /// Which file.
    pub file: FileId,
    /// `vfs::Volume::view` of a volume through which the file is used; 0 if that is not known.
    pub view: u32,
    /// Which stream of it.
    pub stream: Stream,
    /// The client that has it.
    pub client: ClientId,
    /// What its holder may cache.
    pub held: Caching,
    /// It is being taken back.
    pub breaking: bool,
}

/// How much is held on a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Opens.
    pub opens: usize,
    /// Byte ranges.
    pub ranges: usize,
    /// Requests that wait for a range.
    pub waiters: usize,
    /// Leases.
    pub leases: usize,
}

fn info(file: FileId, entry: &Entry, open: &TableOpen) -> OpenInfo {
    OpenInfo {
        file,
        view: entry.view,
        stream: open.stream.clone(),
        open: open.id,
        client: open.party.client,
        access: open.access,
        deny: open.deny,
    }
}

impl State {
    /// How much is held.
    pub fn totals(&self) -> Totals {
        let total = |what| self.table.ledger.total(what);
        Totals {
            opens: total(Resource::Open),
            ranges: total(Resource::Range),
            waiters: total(Resource::Waiter),
            leases: total(Resource::Lease),
        }
    }

    /// Notes through which volume a file with an entry is used.
    pub fn note_view(&self, file: FileId, view: u32) {
        _ = self.table.with_existing(file, |entry| entry.view = view);
    }

    /// Up to `most` opens, of one file or of all, in no order. Only those in states that are here: to ask for others would
    /// bring the state of each file that is listed.
    pub fn opens(&self, of: Option<FileId>, most: usize) -> Vec<OpenInfo> {
        let mut found = Vec::new();
        let mut add = |file: FileId, entry: &Entry| {
            found.extend(entry.opens.iter().take(most - found.len()).map(|open| info(file, entry, open)));
            found.len() < most
        };
        match of {
            Some(file) if self.table.has(file) => _ = self.table.look(file, |entry| add(file, entry)).ok(),
            Some(_) => {}
            None => self.table.look_at_all(add),
        }
        found
    }

    /// The opens of a file, of the clients of all servers. `LeaseRecall` if another server has its state.
    pub fn opens_of(&self, file: FileId) -> Result<Vec<OpenInfo>> {
        let all =
            self.table.look(file, |entry| entry.opens.iter().map(|open| info(file, entry, open)).collect());
        Ok(all?.unwrap_or_default())
    }

    /// Up to `most` leases that allow some caching, in no order.
    pub fn leases(&self, most: usize) -> Vec<LeaseInfo> {
        let mut found = Vec::new();
        self.table.look_at_all(|file, entry| {
            let held = entry.leases.iter().filter(|lease| lease.held != Caching::NONE);
            found.extend(held.take(most - found.len()).map(|lease| LeaseInfo {
                file,
                view: entry.view,
                stream: lease.stream.clone(),
                client: lease.party.client,
                held: lease.held,
                breaking: lease.is_breaking(),
            }));
            found.len() < most
        });
        found
    }

    /// Up to `most` locked ranges, of one file or of all, in no order.
    pub fn ranges(&self, of: Option<FileId>, most: usize) -> Vec<RangeInfo> {
        let mut found = Vec::new();
        self.table.look_at_all(|file, entry| {
            if of.is_none_or(|of| of == file) {
                let all =
                    entry.ranges.iter().flat_map(|(stream, r)| r.iter().map(move |lock| (stream, lock)));
                let room = most - found.len();
                let info = |(stream, lock): (&Stream, &Lock)| (stream.clone(), lock.clone());
                found.extend(all.take(room).map(info).map(|(stream, lock)| RangeInfo {
                    file,
                    view: entry.view,
                    stream,
                    lock,
                }));
            }
            found.len() < most
        });
        found
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "State {:?}", self.totals())
    }
}
