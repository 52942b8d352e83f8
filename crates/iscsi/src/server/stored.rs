//! The stored state of units that several servers have, one after the other: files beside the disks
//! in the share.
//!
//! ```text
//! NAA.NUMBER.kept         the state; empty: nothing is stored
//! NAA.NUMBER.SERVER.new   the same while it is written
//! ```
//!
//! A server that begins to serve a unit copies the last state to the next number, which no other
//! server can take at the same time, and writes to that file only. A server that was stopped while
//! it wrote may finish that when it wakes. Its file then has a lower number than that of its
//! successor, and is never read again.

use std::io;
use std::sync::Arc;

use vfs::backend::{NewKind, RenameMode, Stability, Wait};
use vfs::{Access, Caller, Error, OwnFolder, Result, Volume};

use super::UnitStateStore;

/// The longest file that is read.
const LONGEST: u64 = 16 << 20;
/// How often the last state is looked for while servers begin to serve the unit, one after another.
const TRIES: usize = 4;

/// The state of a unit that this server serves.
pub struct UnitRecord {
    volume: Arc<Volume>,
    naa: u64,
    number: u64,
    /// The number of this server, which no other server has or had.
    server: u16,
    begun: Vec<u8>,
}

impl UnitRecord {
    /// The state that the server before has stored. It cannot be changed by that server any more.
    ///
    /// # Errors
    /// `Exists`: another server begins to serve the unit. Others are those of the share.
    pub fn begin(volume: &Arc<Volume>, naa: u64, server: u16) -> Result<Arc<Self>> {
        let (last, begun) = last(volume, naa)?.unwrap_or_default();
        let record = Self { volume: volume.clone(), naa, number: last + 1, server, begun };
        record.write(&record.begun, RenameMode::Keep)?;
        record.remove_older();
        Ok(Arc::new(record))
    }

    fn write(&self, bytes: &[u8], mode: RenameMode) -> Result<()> {
        let (root, folder) = (Caller::root(), self.volume.own_folders().make(OwnFolder::LUNS)?);
        let name = name(self.naa, self.number);
        let new = format!("{:016x}.{}.{}.new", self.naa, self.number, self.server);
        match folder.remove(&root, new.as_bytes()) {
            Ok(()) | Err(Error::NotFound) => {}
            Err(error) => return Err(error),
        }
        let made = folder.create(&root, new.as_bytes(), NewKind::File, 0o600)?;
        made.object.prepare(&root, &made.attributes, Access::WRITE, true)?;
        if !bytes.is_empty() {
            made.object.write_at(&root, 0, bytes, Stability::File)?;
        }
        let renamed = folder.rename(&root, new.as_bytes(), &*folder, name.as_bytes(), mode);
        if renamed.is_err() {
            let _ = folder.remove(&root, new.as_bytes()); // it is overwritten the next time otherwise
        }
        renamed?;
        folder.sync(Stability::File)
    }

    /// Removes what servers before this one have stored, or have not finished. What stays is never read.
    fn remove_older(&self) {
        let Ok(folder) = self.volume.own_folders().find(OwnFolder::LUNS) else { return };
        for file in files(&self.volume, self.naa).unwrap_or_default() {
            if file.number < self.number {
                let _ = folder.remove(&Caller::root(), &file.name);
            }
        }
    }
}

impl UnitStateStore for UnitRecord {
    fn load(&self, _: u64) -> io::Result<Option<Vec<u8>>> {
        Ok((!self.begun.is_empty()).then(|| self.begun.clone()))
    }

    fn keep(&self, _: u64, bytes: &[u8]) -> io::Result<()> {
        self.write(bytes, RenameMode::Replace).map_err(io::Error::other)
    }
}

/// The state of units that other servers serve: it can be read.
pub struct ReadOnlyKeeper(pub Arc<Volume>);

impl UnitStateStore for ReadOnlyKeeper {
    fn load(&self, naa: u64) -> io::Result<Option<Vec<u8>>> {
        let found = last(&self.0, naa).map_err(io::Error::other)?;
        Ok(found.map(|(_, bytes)| bytes).filter(|bytes| !bytes.is_empty()))
    }

    fn keep(&self, _: u64, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }
}

/// Removes the state of a unit that exists no more.
///
/// # Errors
/// Those of the share.
pub fn forget(volume: &Volume, naa: u64) -> Result<()> {
    for file in files(volume, naa)? {
        match volume.own_folders().find(OwnFolder::LUNS)?.remove(&Caller::root(), &file.name) {
            Ok(()) | Err(Error::NotFound) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The NAA identifier of the unit whose state a file in the disks' folder has, also while it is
/// written.
#[must_use]
pub fn naa_of(name: &str) -> Option<u64> {
    parse(name).map(|(naa, _, _)| naa)
}

/// The NAA identifier in the name of such a file, its number, and whether it is written completely.
fn parse(name: &str) -> Option<(u64, u64, bool)> {
    let (naa, rest) = name.split_once('.')?;
    let (numbers, end) = rest.rsplit_once('.')?;
    let (number, is_whole) = match (end, numbers.split_once('.')) {
        ("kept", None) => (numbers, true),
        ("new", Some((number, server))) => {
            server.parse::<u16>().ok()?;
            (number, false)
        }
        _ => return None,
    };
    let naa = if naa.len() == 16 { u64::from_str_radix(naa, 16).ok()? } else { return None };
    Some((naa, number.parse().ok()?, is_whole))
}

fn name(naa: u64, number: u64) -> String {
    format!("{naa:016x}.{number}.kept")
}

/// A file with the state of a unit.
#[derive(Debug, PartialEq, Eq)]
struct UnitStateFile {
    number: u64,
    name: Vec<u8>,
    /// It is not one that was being written.
    is_whole: bool,
}

/// The files with the state of a unit.
fn files(volume: &Volume, naa: u64) -> Result<Vec<UnitStateFile>> {
    let folder = match volume.own_folders().find(OwnFolder::LUNS) {
        Err(Error::NotFound) => return Ok(Vec::new()),
        other => other?,
    };
    let mut found = Vec::new();
    folder.list(0, &mut |entry| {
        let parsed = str::from_utf8(entry.name).ok().and_then(parse);
        let own = parsed.filter(|(of, _, _)| *of == naa);
        found.extend(own.map(|(_, number, is_whole)| UnitStateFile {
            number,
            name: entry.name.to_vec(),
            is_whole,
        }));
        true
    })?;
    Ok(found)
}

/// The state with the highest number.
fn last(volume: &Volume, naa: u64) -> Result<Option<(u64, Vec<u8>)>> {
    for _ in 1..TRIES {
        match read_last(volume, naa) {
            Err(Error::NotFound | Error::Stale) => {} // a server that begins has replaced it by the next one
            other => return other,
        }
    }
    read_last(volume, naa)
}

fn read_last(volume: &Volume, naa: u64) -> Result<Option<(u64, Vec<u8>)>> {
    let whole = files(volume, naa)?.into_iter().filter(|file| file.is_whole);
    let Some(UnitStateFile { number, name, .. }) = whole.max_by_key(|file| file.number) else {
        return Ok(None);
    };
    let (root, folder) = (Caller::root(), volume.own_folders().find(OwnFolder::LUNS)?);
    let found = folder.lookup(&root, &name)?;
    if found.attributes.size > LONGEST {
        return Err(Error::FileTooLarge);
    }
    found.object.prepare(&root, &found.attributes, Access::READ, true)?;
    let mut bytes = Vec::new();
    found.object.read_at(0, found.attributes.size as usize, &mut bytes, Wait::Allowed)?;
    Ok(Some((number, bytes)))
}

#[cfg(test)]
mod tests {
    use vfs::VolumeOptions;
    use vfs::backend::faulty::{Call, Faulty};
    use vfs::backend::memory::Memory;

    use super::*;

    const NAA: u64 = 0x3000_0000_0000_0001;

    fn volume() -> Arc<Volume> {
        Arc::new(Volume::new(Arc::new(Memory::ticking()), VolumeOptions::default()))
    }

    fn stored(volume: &Arc<Volume>) -> Option<Vec<u8>> {
        ReadOnlyKeeper(volume.clone()).load(NAA).unwrap()
    }

    #[test]
    fn the_next_server_has_what_the_last_one_has_stored() {
        let volume = volume();
        assert_eq!(stored(&volume), None);
        let first = UnitRecord::begin(&volume, NAA, 1).unwrap();
        assert_eq!((first.load(NAA).unwrap(), stored(&volume)), (None, None));
        first.keep(NAA, b"one").unwrap();
        first.keep(NAA, b"two").unwrap();
        assert_eq!(stored(&volume), Some(b"two".to_vec()));
        let second = UnitRecord::begin(&volume, NAA, 2).unwrap();
        assert_eq!(second.load(NAA).unwrap(), Some(b"two".to_vec()));
        let name = b"3000000000000001.2.kept".to_vec();
        assert_eq!(files(&volume, NAA).unwrap(), [UnitStateFile { number: 2, name, is_whole: true }]);
        forget(&volume, NAA).unwrap();
        assert_eq!(stored(&volume), None);
    }

    #[test]
    fn a_server_that_wakes_late_changes_nothing_that_others_read() {
        let volume = volume();
        let first = UnitRecord::begin(&volume, NAA, 1).unwrap();
        first.keep(NAA, b"before").unwrap();
        let second = UnitRecord::begin(&volume, NAA, 2).unwrap();
        second.keep(NAA, b"after").unwrap();
        first.keep(NAA, b"late").unwrap();
        assert_eq!(stored(&volume), Some(b"after".to_vec()));
        assert_eq!(UnitRecord::begin(&volume, NAA, 3).unwrap().load(NAA).unwrap(), Some(b"after".to_vec()));
    }

    #[test]
    fn a_state_that_the_next_server_replaces_while_it_is_read_is_not_lost() {
        let faulty = Arc::new(Faulty::new(Memory::ticking()));
        let volume = Arc::new(Volume::new(faulty.clone(), VolumeOptions::default()));
        UnitRecord::begin(&volume, NAA, 1).unwrap().keep(NAA, b"one").unwrap();
        for gone in [Error::NotFound, Error::Stale] {
            faulty.plan().fail(3, Some(Call::Lookup), gone); // after those of the folder
            assert_eq!(stored(&volume), Some(b"one".to_vec()), "{gone:?}");
        }
    }

    #[test]
    fn what_a_server_has_not_finished_does_not_stay() {
        let volume = volume();
        let unfinished = |server: u16, number: u64| {
            let folder = volume.own_folders().make(OwnFolder::LUNS).unwrap();
            let name = format!("{NAA:016x}.{number}.{server}.new");
            folder.create(&Caller::root(), name.as_bytes(), NewKind::File, 0o600).unwrap();
        };
        UnitRecord::begin(&volume, NAA, 1).unwrap().keep(NAA, b"one").unwrap();
        unfinished(1, 1);
        unfinished(3, 2); // another server begins at the same time
        let second = UnitRecord::begin(&volume, NAA, 2).unwrap();
        assert_eq!(second.load(NAA).unwrap(), Some(b"one".to_vec()));
        let numbers = |volume| files(volume, NAA).unwrap().iter().map(|file| file.number).collect::<Vec<_>>();
        let mut there = numbers(&volume);
        there.sort_unstable();
        assert_eq!(there, [2, 2]);
        forget(&volume, NAA).unwrap();
        assert!(numbers(&volume).is_empty());
    }

    #[test]
    fn two_servers_cannot_begin_with_one_number() {
        let volume = volume();
        UnitRecord::begin(&volume, NAA, 1).unwrap();
        // As of a server that has read the last state, and was stopped then.
        let late = UnitRecord { volume: volume.clone(), naa: NAA, number: 2, server: 1, begun: Vec::new() };
        UnitRecord::begin(&volume, NAA, 2).unwrap().keep(NAA, b"after").unwrap();
        assert_eq!(late.write(b"late", RenameMode::Keep), Err(Error::Exists));
        assert_eq!(stored(&volume), Some(b"after".to_vec()));
    }

    #[test]
    fn its_files_are_known_by_their_names() {
        assert_eq!(naa_of("3000000000000001.7.kept"), Some(NAA));
        assert_eq!(naa_of("3000000000000001.7.2.new"), Some(NAA));
        assert_eq!(naa_of("3000000000000001.7.70000.new"), None, "not the number of a server");
        for other in ["disk.img", "3000000000000001.kept", "3000000000000001.7.new", "1.7.kept", ".3.kept"] {
            assert_eq!(naa_of(other), None, "{other}");
        }
    }
}
