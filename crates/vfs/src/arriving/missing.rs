//! What of a folder of the other server could not be made here. Each pass tries it again, and people are told of it: a server that
//! has the only copy of something must not be turned off in the belief that all has arrived.
//!
//! The names are in a file of the store, which belongs to the folder here and goes when the folder goes. The mark of the folder
//! says that there is such a file ([`ArrivalStage::Partly`]); the share's own folder has a mark for other things, and is always asked.
//!
//! | bytes | |
//! |---|---|
//! | 1 | the version: 1 |
//! | 8 | how many there are, little-endian; the first ones follow |
//! | each | a letter ([`MissingContent`]), the name, a zero byte, why, a zero byte |

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::mark::{ArrivalStage, Mark};
use super::{ArrivalState, Coming, Listing, keep_date, mark};
use crate::backend::{NewKind, Object, RenameMode, Stability, Wait};
use crate::caller::server;
use crate::streams::store;
use crate::{Access, Error, Result};

/// The longest record of a folder, in bytes. What does not fit is counted and neither named nor tried again.
const LONGEST: usize = 1 << 20;
const VERSION: u8 = 1;
/// The version and the count.
const HEAD: usize = 9;
/// How many are named to people.
const MOST_NAMED: usize = 20;

/// Something of the other server that is not here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Its path on that server.
    pub path: String,
    /// Why, in words.
    pub why: String,
}

/// How much is not here, and the first of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Tally {
    pub(super) count: u64,
    pub(super) named: Vec<Missing>,
}

impl Tally {
    pub(super) fn add(&mut self, path: String, why: String) {
        self.count += 1;
        if self.named.len() < MOST_NAMED {
            self.named.push(Missing { path, why });
        }
    }

    fn add_record(&mut self, folder: &str, record: &Record) {
        let unnamed = record.count - record.entries.len() as u64;
        for one in &record.entries {
            let name = String::from_utf8_lossy(&one.name);
            let path = if folder.is_empty() { name.into_owned() } else { format!("{folder}/{name}") };
            self.add(path, one.why.clone());
        }
        self.count += unnamed;
    }
}

/// What is not here of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MissingContent {
    /// All of it: it could not be made.
    Entry = b'E' as isize,
    /// All of it: it has a name that nobody can ask the other server for.
    Name = b'N' as isize,
    /// Some of what it has besides its data.
    Details = b'D' as isize,
}

impl MissingContent {
    const ALL: [Self; 3] = [Self::Entry, Self::Name, Self::Details];
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Absentee {
    absence: MissingContent,
    name: Vec<u8>,
    why: String,
}

impl Absentee {
    fn len(&self) -> usize {
        1 + self.name.len() + 1 + self.why.len() + 1
    }
}

/// What is not here of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Record {
    /// All of them, with those that are not in the list.
    count: u64,
    entries: Vec<Absentee>,
    /// The bytes of the list.
    len: usize,
}

impl Record {
    fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn add_entry(&mut self, name: &[u8], why: String) {
        self.add(Absentee { absence: MissingContent::Entry, name: name.to_vec(), why });
    }

    pub(super) fn add_details(&mut self, name: &[u8], why: String) {
        self.add(Absentee { absence: MissingContent::Details, name: name.to_vec(), why });
    }

    pub(super) fn add_name(&mut self, name: &str) {
        let why = "its name is not UTF-8, none that a file can have, or there twice".to_owned();
        self.add(Absentee { absence: MissingContent::Name, name: name.as_bytes().to_vec(), why });
    }

    fn add(&mut self, mut one: Absentee) {
        one.name.retain(|byte| *byte != 0);
        one.why.retain(|c| c != '\0');
        self.count += 1;
        if self.len + one.len() <= LONGEST - HEAD {
            self.len += one.len();
            self.entries.push(one);
        }
    }

    /// What stays missing when all entries of the folder are made anew.
    fn details(self) -> Self {
        let mut kept = Self::default();
        self.entries
            .into_iter()
            .filter(|one| one.absence == MissingContent::Details)
            .for_each(|one| kept.add(one));
        kept
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend(self.count.to_le_bytes());
        for one in &self.entries {
            bytes.push(one.absence as u8);
            bytes.extend_from_slice(&one.name);
            bytes.push(0);
            bytes.extend_from_slice(one.why.as_bytes());
            bytes.push(0);
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (head, mut rest) = bytes.split_at_checked(HEAD)?;
        let mut record = Self::default();
        while let Some((letter, after)) = rest.split_first() {
            let absence = MissingContent::ALL.into_iter().find(|absence| *absence as u8 == *letter)?;
            let (name, after) = until_zero(after)?;
            let (why, after) = until_zero(after)?;
            let why = std::str::from_utf8(why).ok()?.to_owned();
            record.add(Absentee { absence, name: name.to_vec(), why });
            rest = after;
        }
        record.count = u64::from_le_bytes(*head[1..].first_chunk()?).max(record.count);
        (head[0] == VERSION).then_some(record)
    }
}

fn until_zero(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|byte| *byte == 0)?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

impl ArrivalState {
    /// Makes all entries of a folder. What cannot be made is in its record, also if an error ends it early. Returns whether something
    /// is.
    pub(super) fn arrive_all(&self, folder: &Arc<dyn Object>, path: &str, listing: &Listing) -> Result<bool> {
        let old = self.record(&**folder)?;
        let mut record = old.clone().details();
        listing.unreadable.iter().for_each(|name| record.add_name(name));
        let made = listing
            .entries
            .iter()
            .try_for_each(|coming| self.arrive_or_note(folder, path, coming, &mut record));
        if record != old {
            self.write_record(&**folder, &record)?;
        }
        made?;
        self.absent.lock().add_record(path, &record);
        Ok(!record.is_empty())
    }

    /// Makes one entry. An error that concerns only this one is noted.
    fn arrive_or_note(
        &self,
        folder: &Arc<dyn Object>,
        path: &str,
        coming: &Coming,
        record: &mut Record,
    ) -> Result<()> {
        match self.arrive(folder, path, coming) {
            Err(Error::Away) => self.heard(Err(Error::Away)),
            Err(error @ (Error::NoSpace | Error::QuotaExceeded | Error::ReadOnly)) => Err(error),
            Err(error) => {
                let name = String::from_utf8_lossy(&coming.name);
                tracing::warn!(folder = path, %name, %error, "an entry of the old server cannot be made");
                record.add_entry(&coming.name, error.to_string());
                Ok(())
            }
            Ok(None) => Ok(()),
            Ok(Some(why)) => {
                record.add_details(&coming.name, why);
                Ok(())
            }
        }
    }

    /// Makes what could not be made before. Adds what still cannot be made.
    pub(super) fn retry(&self, folder: &Arc<dyn Object>, absent: &mut Tally) -> Result<()> {
        let Some(path) = self.partly_here(&**folder)? else { return Ok(()) };
        let _turn = self.turn(&**folder).lock();
        let old = self.record(&**folder)?;
        if old.is_empty() {
            return Ok(());
        }
        let listing = match self.heard(self.source.entries(&path)) {
            Ok(listing) => listing,
            // Nothing of the folder is only there any more.
            Err(Error::NotFound) => Listing::default(),
            Err(_) => {
                absent.add_record(&path, &old);
                return Ok(());
            }
        };
        let before = folder.attributes()?;
        let mut record = Record { count: old.count - old.entries.len() as u64, ..Record::default() };
        let done = self.retry_each(folder, &path, (&old, &listing), &mut record);
        if record != old {
            self.write_record(&**folder, &record)?;
            if folder.key() != self.root {
                keep_date(&**folder, before.modified)?;
            }
        }
        if record.is_empty() && folder.key() != self.root {
            self.remove_mark(&**folder)?;
        }
        absent.add_record(&path, &record);
        done
    }

    fn retry_each(
        &self,
        folder: &Arc<dyn Object>,
        path: &str,
        (old, listing): (&Record, &Listing),
        record: &mut Record,
    ) -> Result<()> {
        let there: HashMap<&[u8], &Coming> =
            listing.entries.iter().map(|coming| (&*coming.name, coming)).collect();
        let unreadable: HashSet<&[u8]> = listing.unreadable.iter().map(String::as_bytes).collect();
        let mut entries = old.entries.iter();
        while let Some(one) = entries.next() {
            let coming = there.get(&*one.name);
            match (one.absence, coming) {
                (MissingContent::Details, Some(_)) => record.add(one.clone()),
                (MissingContent::Name, _) if unreadable.contains(&*one.name) => record.add(one.clone()),
                (MissingContent::Entry, Some(coming)) => {
                    self.open_again()?;
                    if let Err(error) = self.arrive_or_note(folder, path, coming, record) {
                        record.add(one.clone());
                        entries.for_each(|one| record.add(one.clone()));
                        return if error == Error::Away { Ok(()) } else { Err(error) };
                    }
                }
                _ => {} // it is gone there
            }
        }
        Ok(())
    }

    /// Data may be missing again: the share needs its old server until they are here.
    fn open_again(&self) -> Result<()> {
        let root = self.inner.root()?.object;
        match mark::read(&*root)? {
            Some(mark) if mark.stage == ArrivalStage::AllButMissing => {
                mark::write(&*root, &Mark::new(ArrivalStage::Listed, ""))
            }
            _ => Ok(()),
        }
    }

    /// The path there of a listed folder that may lack entries.
    fn partly_here(&self, folder: &dyn Object) -> Result<Option<String>> {
        if folder.key() == self.root {
            return Ok(Some(String::new()));
        }
        let mark = self.mark(folder)?.filter(|mark| mark.stage == ArrivalStage::Partly);
        Ok(mark.map(|mark| mark.path))
    }

    fn record(&self, folder: &dyn Object) -> Result<Record> {
        let Some(stored) = self.streams.own_store.folder(&folder.key())? else {
            return Ok(Record::default());
        };
        let there = match stored.lookup(server(), store::MISSING) {
            Ok(there) => there,
            Err(Error::NotFound) => return Ok(Record::default()),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        there.object.prepare(server(), &there.attributes, Access::READ, true)?;
        there.object.read_at(0, LONGEST, &mut bytes, Wait::Allowed)?;
        Record::decode(&bytes).ok_or(Error::Io)
    }

    fn write_record(&self, folder: &dyn Object, record: &Record) -> Result<()> {
        if record.is_empty() {
            let Some(stored) = self.streams.own_store.folder(&folder.key())? else { return Ok(()) };
            return match stored.remove(server(), store::MISSING) {
                Ok(()) | Err(Error::NotFound) => self.streams.own_store.drop_empty(&folder.key()),
                Err(error) => Err(error),
            };
        }
        let stored = self.streams.own_store.make_folder(&folder.key())?;
        match stored.remove(server(), store::UNFINISHED) {
            Ok(()) | Err(Error::NotFound) => {}
            Err(error) => return Err(error),
        }
        let new = stored.create(server(), store::UNFINISHED, NewKind::File, 0o600)?;
        new.object.prepare(server(), &new.attributes, Access::WRITE, true)?;
        new.object.write_at(server(), 0, &record.encode(), Stability::File)?;
        stored.rename(server(), store::UNFINISHED, &*stored, store::MISSING, RenameMode::Replace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written_and_damage_is_none() {
        let mut record = Record::default();
        record.add_entry(b"\xff", "the name is too long".into());
        record.add_name("a\nb");
        record.add_details(b"film", "no room".into());
        let bytes = record.encode();
        assert_eq!(&bytes[..12], b"\x01\x03\0\0\0\0\0\0\0E\xff\0");
        assert_eq!(Record::decode(&bytes), Some(record.clone()));
        for len in (0..bytes.len()).filter(|len| bytes[..*len].last() != Some(&0) || *len < HEAD) {
            assert_eq!(Record::decode(&bytes[..len]), None, "{len}");
        }
        assert_eq!(Record::decode(b"\x02\0\0\0\0\0\0\0\0"), None);
        assert_eq!(Record::decode(b"\x01\0\0\0\0\0\0\0\0X\0\0"), None);
        assert_eq!(record.clone().details().entries.len(), 1);
    }

    #[test]
    fn a_long_record_counts_what_it_does_not_name() {
        let mut record = Record::default();
        for number in 0..9_000_u32 {
            record.add_entry(format!("{number:0200}").as_bytes(), "the name is too long".into());
        }
        let bytes = record.encode();
        assert!(bytes.len() <= LONGEST && record.entries.len() < 9_000, "{}", bytes.len());
        let again = Record::decode(&bytes).unwrap();
        assert_eq!((again.count, &again), (9_000, &record));
        let mut tally = Tally::default();
        tally.add_record("a", &record);
        assert_eq!((tally.count, tally.named.len()), (9_000, MOST_NAMED));
        assert!(tally.named[0].path.starts_with("a/000"));
    }
}
