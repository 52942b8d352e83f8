//! The same ids at all servers of a cluster.
//!
//! Each server gives ids out of blocks that are its own, and tells the others by a log in a share: a file to which it alone
//! appends. The tables of the index are what was read of all logs. A file without an id there may have got one at another
//! server, so an id is given while a range of a file in the share is locked, which binds all servers, and after the logs were
//! read to their ends:
//!
//! ```text
//! id of a file ─► in the tables? ──► id
//!                     │ no
//!                     └─► lock ─► read on in the logs ─► in the tables? ──► id
//!                                                            │ no
//!                                                            └─► next of the block ─► own log ─► tables ─► id
//! file of an id ─► in the tables? ──► file
//!                     │ no
//!                     └─► read on in the logs ─► in the tables?
//! ```
//!
//! * A record is on the disk before a client sees the id.
//! * A server that was stopped while it wrote may finish its write when it wakes, after others have given ids. No client was
//!   told of that. If it is of a file that has got another id since, the lower one counts at all servers, and both lead to the
//!   file.
//! * Two files that exchange their ids are two more records. They count in their order (`turn`), and are read while the range is
//!   locked. If one of them was not written, no client was told, and the other one does not count.
//! * A server whose index has ids of another lineage (its own, as it was alone, or those of another cluster) forgets them. The
//!   first server of a cluster tells the others of the ids that it has given alone.

mod begin;
mod hold;
mod local;
mod logs;
mod record;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use lock::Mutex;
use tokio::runtime::Handle;
use vfs::index::{Index, IndexError, VolumeTag};
use vfs::state::ClientId;
use vfs::{Error, LastingKey, Volume};

use super::ledger::{ALL, Ledger};
use super::{CatalogId, Limits};
use crate::ranks;
use local::TURN;
use logs::OwnLog;
use record::{IdRecord, SharedFileKey};

pub(super) use local::{LogProgress, SeenRows};

/// How many files of a listing get their ids together.
pub(super) const AT_A_TIME: usize = 128;

/// What the servers of a cluster must agree on to have the same ids.
pub trait Servers: Send + Sync {
    /// The number of this server, which no other one has or had.
    fn number(&self) -> u16;
    /// Its name, for people.
    fn name(&self) -> String;
    /// Whether the server with this number may still tell something.
    fn is_alive(&self, server: u16) -> bool;
    /// The lineage of the ids: `None` if there are none yet.
    ///
    /// # Errors
    /// The others cannot be asked.
    fn lineage(&self) -> Result<Option<[u8; 16]>, String>;
    /// The lineage: `own` if there was no lineage yet. Then no block has ids below `next`.
    ///
    /// # Errors
    /// The others cannot be asked. The lineage may be `own`.
    fn begin(&self, own: [u8; 16], next: u64) -> Result<[u8; 16], String>;
    /// Ids that only this server gives. `None`: there are no more.
    ///
    /// # Errors
    /// The others cannot be asked.
    fn block(&self) -> Result<Option<Range<u64>>, String>;
    /// The number that all servers have for the file system with this device number here.
    fn file_system(&self, device: u32) -> Option<u32>;
}

/// The ids that the servers of a cluster have in common.
pub struct SharedIds {
    index: Index,
    ledger: OnceLock<Arc<Ledger>>,
    servers: Arc<dyn Servers>,
    /// Where waiting for other servers runs.
    runtime: Handle,
    /// Who has the range locked.
    client: ClientId,
    sharing: Mutex<(), ranks::CatalogSharing>,
    work: Mutex<Work, ranks::CatalogShared>,
}

/// A share that may have logs.
struct LoggedShare {
    share: String,
    volume: Arc<Volume>,
    /// This server does not use what is there: see `OwnFolders::find`.
    is_untrusted: bool,
}

#[derive(Default)]
struct Work {
    lineage: Option<[u8; 16]>,
    /// By the names of the shares, which are the same at all servers.
    places: Vec<LoggedShare>,
    systems: Systems,
    /// The ids that this server may give.
    block: Range<u64>,
    own: Option<OwnLog>,
    /// Where the log of this server ended when it was written last.
    end: u64,
    /// Logs that were read to the end, of servers that write no more.
    finished: HashSet<String>,
}

/// The numbers of file systems: here, and for all servers.
#[derive(Default)]
struct Systems {
    out: HashMap<u64, u64>,
    back: HashMap<u64, u64>,
    /// The numbers of the cluster in the logs are older ones: they mean this file system, if there is only one.
    before: Option<Option<u64>>,
}

impl Systems {
    fn named(&self, file: &LastingKey) -> SharedFileKey {
        match self.out.get(&file.file_system) {
            Some(number) => {
                SharedFileKey { file: LastingKey { file_system: *number, ..*file }, of_cluster: true }
            }
            None => SharedFileKey { file: *file, of_cluster: false },
        }
    }

    /// The file here. `None` if its file system is not shared here.
    fn here(&self, named: &SharedFileKey) -> Option<LastingKey> {
        if !named.of_cluster {
            return Some(named.file);
        }
        let now = || self.back.get(&named.file.file_system).copied();
        let file_system = self.before.unwrap_or_else(now)?;
        Some(LastingKey { file_system, ..named.file })
    }
}

impl Work {
    /// Where this server tells the others, and all lock: the first share that may be changed.
    fn main(&self) -> Option<&LoggedShare> {
        self.places.iter().find(|place| !place.volume.is_read_only() && !place.is_untrusted)
    }
}

fn shared(what: impl ToString) -> IndexError {
    IndexError::Shared(what.to_string())
}

impl SharedIds {
    /// Without shares. Tasks that wait run on `runtime`.
    pub fn new(index: &Index, servers: Arc<dyn Servers>, runtime: Handle) -> Arc<Self> {
        let (sharing, work, client) = (Mutex::default(), Mutex::default(), ClientId::unused());
        let (index, ledger) = (index.clone(), OnceLock::new());
        Arc::new(Self { index, ledger, servers, runtime, client, sharing, work })
    }

    /// This server is alone from now on: the ids in its index are its own. If it comes back to its cluster, it begins anew.
    ///
    /// # Errors
    /// The index fails.
    pub fn leave(index: &Index) -> Result<(), IndexError> {
        if local::lineage(index.store())?.is_some() {
            local::set_lineage(index.store(), None)
        } else {
            Ok(())
        }
    }

    /// These are the shares, by their names. The first time, this server tells what it gave alone, or forgets it. What the others
    /// have told is read by [`catch_up`](Self::catch_up), or when a client needs an id that is not known: with millions of
    /// files that takes minutes. Waits for the cluster.
    ///
    /// # Errors
    /// The index or a share fails, or the cluster cannot be asked.
    pub fn set_shares(&self, mut shares: Vec<(String, Arc<Volume>)>) -> Result<(), IndexError> {
        shares.sort_by(|a, b| a.0.cmp(&b.0));
        let mut work = self.work.lock();
        work.systems = Systems::default();
        for (_, volume) in &shares {
            let root = volume.root().map_err(shared)?.object;
            let here = volume.lasting_key(&root.key()).map_err(shared)?.file_system;
            if let Some(number) = self.servers.file_system(root.id().device).filter(|_| here != 0) {
                work.systems.out.insert(here, number.into());
                work.systems.back.insert(number.into(), here);
            }
        }
        let place = |(share, volume)| LoggedShare { share, volume, is_untrusted: false };
        work.places = shares.into_iter().map(place).collect();
        work.own = None;
        if work.lineage.is_none() {
            work.lineage = Some(self.begin(&mut work)?);
        }
        if work.main().is_none() && !work.places.is_empty() {
            tracing::warn!(
                "no share for Macs may be changed: the servers of the cluster give files other ids, as they cannot tell \
                 each other of them"
            );
        }
        Ok(())
    }

    /// Reads what the other servers have told since the last time. Nothing, before this server has its shares.
    ///
    /// # Errors
    /// The index or a share fails.
    pub fn catch_up(&self) -> Result<(), IndexError> {
        let mut work = self.work.lock();
        if work.lineage.is_none() || self.read_on(&mut work, false)? {
            return Ok(());
        }
        drop(work);
        let _sharing = self.sharing.lock();
        let _held = self.hold()?;
        self.read_on(&mut self.work.lock(), true).map(drop)
    }

    /// The id of a file, given on first sight.
    pub(super) fn id(&self, key: &LastingKey) -> Result<CatalogId, IndexError> {
        let ledger = self.ledger()?;
        if let Some(id) = ledger.known(self.index.store(), key)? {
            return Ok(id);
        }
        self.give(&[*key])?;
        ledger.known(self.index.store(), key)?.ok_or_else(|| shared("an id was removed while it was given"))
    }

    /// Gives ids to those of these files that have none.
    pub(super) fn give(&self, keys: &[LastingKey]) -> Result<(), IndexError> {
        if self.unknown(keys)?.is_empty() {
            return Ok(());
        }
        let _sharing = self.sharing.lock();
        let unknown = self.unknown(keys)?;
        if unknown.is_empty() {
            return Ok(()); // another thread has asked, too
        }
        let _held = self.hold()?;
        let mut work = self.work.lock();
        self.read_on(&mut work, true)?;
        let mut records = Vec::new();
        for file in self.unknown(&unknown)? {
            let (id, named) = (self.next(&mut work)?, work.systems.named(&file));
            records.push(IdRecord { id, turn: 0, named });
        }
        self.tell(&mut work, &records)
    }

    /// Two files exchange their ids: on the disk before this returns. The other servers learn of it when they read on.
    pub(super) fn exchange(&self, one: &LastingKey, other: &LastingKey) -> Result<(), IndexError> {
        self.give(&[*one, *other])?;
        let (ledger, _sharing) = (self.ledger()?, self.sharing.lock());
        let _held = self.hold()?;
        let mut work = self.work.lock();
        self.read_on(&mut work, true)?;
        let id = |key| ledger.known(self.index.store(), key)?.ok_or_else(|| shared("a file has gone"));
        let turn = ledger.seen.of(TURN).unwrap_or(0) + 1;
        let turn = u32::try_from(turn).map_err(|_| IndexError::Exhausted)?;
        let named = [work.systems.named(one), work.systems.named(other)];
        let records = [
            IdRecord { id: id(other)?, turn, named: named[0] },
            IdRecord { id: id(one)?, turn, named: named[1] },
        ];
        self.tell(&mut work, &records)?;
        drop(work);
        self.index.flush()
    }

    fn ledger(&self) -> Result<&Ledger, IndexError> {
        if let Some(ledger) = self.ledger.get() {
            return Ok(ledger);
        }
        let ledger = self.index.tenant(VolumeTag(ALL), |store| Ledger::open(store, Limits::default()))?;
        Ok(self.ledger.get_or_init(|| ledger))
    }

    /// Those of these files that have no id here, each once.
    fn unknown(&self, keys: &[LastingKey]) -> Result<Vec<LastingKey>, IndexError> {
        let (ledger, mut unknown) = (self.ledger()?, Vec::new());
        for key in keys {
            if ledger.known(self.index.store(), key)?.is_none() && !unknown.contains(key) {
                unknown.push(*key);
            }
        }
        Ok(unknown)
    }

    /// The next id of the block, or of a new one. If etcd was restored from a backup, it gives blocks again: ids that a file has are
    /// passed over, which are all known here, as the logs were read to their ends.
    fn next(&self, work: &mut Work) -> Result<CatalogId, IndexError> {
        loop {
            if work.block.is_empty() {
                work.block = self.servers.block().map_err(shared)?.ok_or(IndexError::Exhausted)?;
            }
            let next = work.block.next().ok_or(IndexError::Exhausted)?;
            let id = u32::try_from(next).map(CatalogId).map_err(|_| IndexError::Exhausted)?;
            if self.ledger()?.key(self.index.store(), id)?.is_none() {
                return Ok(id);
            }
        }
    }

    /// Tells the other servers, and puts it into the tables.
    fn tell(&self, work: &mut Work, records: &[IdRecord]) -> Result<(), IndexError> {
        let (mut told, end) = (None, work.end);
        if let Some(own) = self.own_log(work)? {
            let key = key_of(&own.share, &own.name);
            // Logs may have been read for long since the lock was taken.
            if conn::is_fenced() {
                return Err(shared("other servers may have taken over"));
            }
            let end = own.append(records, end).map_err(shared)?;
            work.end = end;
            told = Some((key, end));
        }
        let (swaps, given): (Vec<_>, Vec<_>) = records.iter().partition(|record| record.turn > 0);
        self.note(&work.systems, given, told.as_ref().map(|(log, end)| (log.as_str(), *end)))?;
        let turn = last_turn(&swaps);
        self.note_swaps(&work.systems, (swaps, turn), &told.into_iter().collect::<Vec<_>>())
    }

    /// The log of this server in the present main share.
    fn own_log<'w>(&self, work: &'w mut Work) -> Result<Option<&'w OwnLog>, IndexError> {
        let lineage = work.lineage.ok_or_else(|| shared("the ids are not begun"))?;
        if work.own.as_ref().is_some_and(OwnLog::is_lost) {
            work.own = None;
        }
        if work.own.is_none() {
            let Some(place) = work.main() else { return Ok(None) };
            let name = logs::name(&lineage, self.servers.number());
            let own =
                OwnLog::begin(&place.volume, &place.share, name, &self.servers.name()).map_err(shared)?;
            work.own = Some(own);
        }
        Ok(work.own.as_ref())
    }

    /// Reads on in all logs. Without the lock, records of exchanges are left (false): those of several logs could be read in
    /// another order than they were written.
    fn read_on(&self, work: &mut Work, is_held: bool) -> Result<bool, IndexError> {
        let lineage = work.lineage.ok_or_else(|| shared("the ids are not begun"))?;
        let ledger = self.ledger()?;
        let (mut swaps, mut ends, mut turn) = (Vec::new(), Vec::new(), 0);
        for place in work.places.iter_mut().filter(|place| !place.is_untrusted) {
            let is_wanted = |log: &str| !work.finished.contains(&key_of(&place.share, log));
            let logs = match logs::list(&place.volume, &lineage, is_wanted) {
                Err(Error::NotPermitted) => {
                    place.is_untrusted = true; // which was logged
                    continue;
                }
                other => other.map_err(shared)?,
            };
            for log in logs {
                let key = key_of(&place.share, &log.name);
                let is_over = !self.servers.is_alive(log.server) && log.server != self.servers.number();
                let (mut at, mut of_log) = (ledger.seen.of(&key).unwrap_or(0), Vec::new());
                while at != log.end {
                    let part = logs::read(&place.volume, &log, at).map_err(shared)?;
                    if part.end == at {
                        break;
                    }
                    at = part.end;
                    let (more, given): (Vec<_>, Vec<_>) =
                        part.records.iter().partition(|record| record.turn > 0);
                    of_log.extend(more);
                    // What follows the first exchange is read again after a crash.
                    self.note(&work.systems, given, of_log.is_empty().then_some((&key, at)))?;
                }
                let has_swaps = !of_log.is_empty();
                if has_swaps {
                    ends.push((key.clone(), at));
                    turn = turn.max(last_turn(&of_log));
                    swaps.extend(whole(&of_log));
                }
                if is_over && (is_held || !has_swaps) {
                    work.finished.insert(key);
                }
            }
        }
        if !is_held {
            return Ok(ends.is_empty());
        }
        swaps.sort_by_key(|record| record.turn);
        self.note_swaps(&work.systems, (swaps, turn), &ends).map(|()| true)
    }

    /// Puts ids that were given on first sight into the tables. `read`: a log was read to this place.
    fn note(
        &self,
        systems: &Systems,
        given: Vec<IdRecord>,
        read: Option<(&str, u64)>,
    ) -> Result<(), IndexError> {
        let ledger = self.ledger()?;
        self.index.make_room()?;
        given.iter().for_each(|record| ledger.pass(record.id));
        let here = given.iter().filter_map(|record| Some((record.id, systems.here(&record.named)?)));
        let rows = self.index.between_batches(|| {
            let rows = ledger.learn(self.index.store(), here)?;
            Ok::<_, IndexError>(rows + read.map_or(0, |(log, end)| ledger.seen.note(log, end)))
        })?;
        self.index.added(rows);
        Ok(())
    }

    /// The same for ids that were exchanged, in their order. `turn`: the last one that was read; 0: no exchange was read.
    fn note_swaps(
        &self,
        systems: &Systems,
        (swaps, turn): (Vec<IdRecord>, u32),
        read: &[(String, u64)],
    ) -> Result<(), IndexError> {
        if turn == 0 {
            return Ok(());
        }
        let (ledger, turn) = (self.ledger()?, u64::from(turn));
        self.index.make_room()?;
        let rows = self.index.between_batches(|| {
            let here = swaps.iter().filter_map(|record| Some((record.id, systems.here(&record.named)?)));
            let rows: usize = here.map(|(id, key)| ledger.give(&key, id)).sum();
            let turn = ledger.seen.of(TURN).map_or(turn, |known| known.max(turn));
            let seen: usize = read.iter().map(|(log, end)| ledger.seen.note(log, *end)).sum();
            rows + seen + ledger.seen.note(TURN, turn)
        });
        self.index.added(rows);
        Ok(())
    }
}

/// The exchanges of a log: those with both records.
fn whole(of_log: &[IdRecord]) -> impl Iterator<Item = IdRecord> {
    let exchanges = of_log.chunk_by(|one, other| one.turn == other.turn);
    exchanges.filter(|exchange| exchange.len() == 2).flatten().copied()
}

fn last_turn(records: &[IdRecord]) -> u32 {
    records.iter().map(|record| record.turn).max().unwrap_or(0)
}

/// How the index calls a log.
fn key_of(share: &str, log: &str) -> String {
    format!("{share}/{log}")
}

/// The bytes of a record like this one, of another file on the same file system.
#[cfg(test)]
pub(super) fn record_bytes(id: CatalogId, like: &[u8], key: &vfs::HostKey) -> Vec<u8> {
    let mut record = IdRecord::decode(like.try_into().unwrap()).unwrap();
    (record.id, record.named.file.key) = (id, *key);
    let mut w = wire::Writer::new();
    record.encode(&mut w);
    w.into_bytes()
}
