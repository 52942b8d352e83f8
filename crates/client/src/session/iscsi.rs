//! iSCSI, with the initiator of the crate `iscsi`. A disk has no files: each client has a region of it,
//! and each file a part of the region.
//!
//! The session writes only to a disk that holds nothing but zeros where it looks: the first and the last
//! mebibyte, where partition tables and file systems have their marks, and the client's whole region.
//! What it has written it overwrites with zeros when the file is removed.

use std::collections::{HashMap, VecDeque};

use ::iscsi::client::{Algorithm, Chap, Client, Data, Error as IscsiError, Login, command_16};

use super::socket::Socket;
use super::{
    Abilities, Completion, DataTransfer, OpenFileId, OpenIntent, Reach, Session, Slots, Ticket, Traffic,
};
use crate::{Error, Result, Target};

/// The bytes at each end of a disk that must be zeros, and are never written.
const EDGE: u64 = 1 << 20;
/// The most bytes of one command.
const LARGEST: usize = 1 << 20;
/// The size of blocks that this client supports.
const BLOCK: u64 = 512;
const READ_16: u8 = 0x88;
const WRITE_16: u8 = 0x8A;
/// Force unit access, SBC-3 5.35.
const FUA: u8 = 0x08;

/// How disks are divided.
#[derive(Debug, Clone, Copy)]
pub(super) struct Regions {
    /// The most clients.
    pub(super) slots: usize,
    /// Bytes of a client's region.
    pub(super) room: u64,
}

/// A file's part of the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    begin: u64,
    length: u64,
}

struct IscsiFlight {
    tag: u32,
    length: usize,
    is_read: bool,
}

pub(super) struct IscsiDisk {
    client: Client<Socket>,
    lun: u16,
    seconds: u64,
    size: u64,
    region: Part,
    used: u64,
    is_checked: bool,
    parts: HashMap<String, Part>,
    files: Slots<String>,
    flights: VecDeque<IscsiFlight>,
}

impl IscsiDisk {
    pub(super) fn connect(target: &Target, reach: &Reach, regions: Regions, client: usize) -> Result<Self> {
        let number = target.path.parse();
        let lun = if target.path.is_empty() { Ok(0) } else { number };
        let lun = lun.map_err(|_| Error::Address(format!("{} is not the number of a LUN", target.path)))?;
        let initiator = format!("iqn.2026-11.invalid.fourfold:bench-{}", std::process::id());
        let mut isid = [0x80, 0, 0, 0, 0, 0];
        getrandom::fill(&mut isid[1..]).map_err(|error| Error::Other(error.to_string()))?;
        let login = Login { initiator: &initiator, isid, chap: chap(target), ..Login::to(&target.share) };
        let mut session = Client::new(Socket::connect(&target.address(), reach)?);
        session.log_in(&login).map_err(|error| match error {
            IscsiError::Login(status) => Error::Login(format!("{status:?}")),
            other => said(other, reach.seconds()),
        })?;
        session.until_ready(lun).map_err(|error| said(error, reach.seconds()))?;
        let (blocks, size) = session.capacity(lun).map_err(|error| said(error, reach.seconds()))?;
        if u64::from(size) != BLOCK {
            return Err(Error::Unsupported("a disk whose blocks have not 512 bytes"));
        }
        let size = blocks * BLOCK;
        let region = region(size, regions, client)?;
        Ok(Self {
            client: session,
            lun,
            seconds: reach.seconds(),
            size,
            region,
            used: 0,
            is_checked: false,
            parts: HashMap::new(),
            files: Slots::default(),
            flights: VecDeque::new(),
        })
    }

    fn said(&self, error: IscsiError) -> Error {
        said(error, self.seconds)
    }

    /// Refuses a disk that holds anything, before the first write.
    fn check(&mut self) -> Result<()> {
        if self.is_checked {
            return Ok(());
        }
        let edges = [(0, EDGE), (self.size - EDGE, EDGE), (self.region.begin, self.region.length)];
        for (begin, length) in edges {
            let mut at = begin;
            while at < begin + length {
                let count = (begin + length - at).min(LARGEST as u64) / BLOCK;
                let data = self.client.read(self.lun, at / BLOCK, count as u32);
                if data.map_err(|error| self.said(error))?.iter().any(|byte| *byte != 0) {
                    return Err(Error::Refused(format!(
                        "the disk is not empty: it has data in the {count} blocks from {}. \
                         Make a new LUN to measure",
                        at / BLOCK
                    )));
                }
                at += count * BLOCK;
            }
        }
        self.is_checked = true;
        Ok(())
    }

    fn part(&self, file: OpenFileId) -> Result<Part> {
        let name = self.files.get(file)?;
        self.parts.get(name).copied().ok_or_else(|| Error::Missing(name.clone()))
    }

    /// The first block and the number of blocks of a transfer, which must lie in whole blocks of the
    /// file's part. The part grows at the end of the region.
    fn blocks(&mut self, file: OpenFileId, offset: u64, length: usize) -> Result<(u64, u32)> {
        let part = self.part(file)?;
        let end = offset + length as u64;
        if !offset.is_multiple_of(BLOCK) || !(length as u64).is_multiple_of(BLOCK) {
            return Err(Error::Unsupported("a transfer of parts of blocks"));
        }
        if end > part.length {
            let is_last = part.begin + part.length == self.region.begin + self.used;
            let used = self.used + end - part.length;
            if !is_last || used > self.region.length {
                return Err(Error::Full);
            }
            self.used = used;
            let name = self.files.get(file)?.clone();
            self.parts.insert(name, Part { length: end, ..part });
        }
        Ok(((part.begin + offset) / BLOCK, (length as u64 / BLOCK) as u32))
    }
}

/// The proof of a target's user, if there is one.
#[must_use]
pub fn chap(target: &Target) -> Option<Chap<'_>> {
    let (name, secret) = (target.user.as_str(), target.password.as_bytes());
    let chap = Chap { name, secret, algorithm: Algorithm::Md5, mutual: None };
    (!name.is_empty()).then_some(chap)
}

/// Whether a disk exists and has nothing but zeros at its edges.
#[must_use]
pub fn is_empty(target: &Target, reach: &Reach) -> bool {
    let regions = Regions { slots: 1, room: 0 };
    IscsiDisk::connect(target, reach, regions, 0).and_then(|mut disk| disk.check()).is_ok()
}

/// The region of a client.
fn region(size: u64, regions: Regions, client: usize) -> Result<Part> {
    let length = regions.room.next_multiple_of(LARGEST as u64);
    let begin = EDGE + client as u64 * length;
    let needed = 2 * EDGE + regions.slots as u64 * length;
    match needed <= size {
        true => Ok(Part { begin, length }),
        false => Err(Error::Other(format!(
            "the disk has {} MiB, and the measurement needs {} MiB; use a larger LUN or a smaller --scale",
            size >> 20,
            needed >> 20
        ))),
    }
}

impl Session for IscsiDisk {
    fn abilities(&self) -> Abilities {
        Abilities { pipelined: true, ..Abilities::default() }
    }

    fn largest(&self) -> usize {
        LARGEST
    }

    fn agreed(&self) -> String {
        let agreed = &self.client.agreed;
        format!(
            "iSCSI LUN {} of {} MiB, segments up to {} KiB, first burst {} KiB",
            self.lun,
            self.size >> 20,
            agreed.max_segment >> 10,
            agreed.first_burst >> 10
        )
    }

    fn traffic(&self) -> Traffic {
        self.client.link_ref().traffic()
    }

    fn make_folder(&mut self, _: &str) -> Result<()> {
        Err(Error::Unsupported("a folder on a disk"))
    }

    fn remove_folder(&mut self, _: &str) -> Result<()> {
        Err(Error::Unsupported("a folder on a disk"))
    }

    fn open(&mut self, path: &str, how: OpenIntent) -> Result<OpenFileId> {
        self.check()?;
        if how.makes() {
            let part = Part { begin: self.region.begin + self.used, length: 0 };
            self.parts.insert(path.to_owned(), part);
        }
        match self.parts.contains_key(path) {
            true => Ok(self.files.put(path.to_owned())),
            false => Err(Error::Missing(path.to_owned())),
        }
    }

    fn close(&mut self, file: OpenFileId) -> Result<()> {
        self.files.take(file).map(drop)
    }

    fn start(&mut self, file: OpenFileId, transfer: DataTransfer<'_>) -> Result<Ticket> {
        let (offset, length, is_read) = match transfer {
            DataTransfer::Read { offset, length } => (offset, length, true),
            DataTransfer::Write { offset, data, .. } => (offset, data.len(), false),
        };
        let (lba, count) = self.blocks(file, offset, length)?;
        let begun = match transfer {
            DataTransfer::Read { .. } => {
                let data = Data::In(length as u32);
                self.client.begin(self.lun, &command_16(READ_16, 0, lba, count), data)
            }
            DataTransfer::Write { data, stable, .. } => {
                let flags = if stable { FUA } else { 0 };
                self.client.begin(self.lun, &command_16(WRITE_16, flags, lba, count), Data::Out(data))
            }
        };
        let tag = begun.map_err(|error| self.said(error))?;
        self.flights.push_back(IscsiFlight { tag, length, is_read });
        Ok(Ticket(tag.into()))
    }

    fn finish(&mut self) -> Result<Completion> {
        let flight =
            self.flights.pop_front().ok_or_else(|| Error::Other("no transfer is in flight".into()))?;
        let answer = self.client.end(flight.tag).and_then(::iscsi::client::Answer::well);
        let data = answer.map_err(|error| self.said(error))?;
        Ok(match flight.is_read {
            true => Completion::read(flight.tag.into(), &data),
            false => Completion::wrote(flight.tag.into(), flight.length),
        })
    }

    fn flush(&mut self, _: OpenFileId) -> Result<()> {
        self.client.synchronize(self.lun).map_err(|error| self.said(error))
    }

    fn list(&mut self, _: &str) -> Result<usize> {
        Err(Error::Unsupported("a listing of a disk"))
    }

    fn stat(&mut self, path: &str) -> Result<u64> {
        self.parts.get(path).map(|part| part.length).ok_or_else(|| Error::Missing(path.to_owned()))
    }

    /// Overwrites the file's part with zeros.
    fn remove(&mut self, path: &str) -> Result<()> {
        let part = self.parts.remove(path).ok_or_else(|| Error::Missing(path.to_owned()))?;
        let zeros = vec![0; LARGEST];
        let mut at = part.begin;
        while at < part.begin + part.length {
            let count = (part.begin + part.length - at).min(LARGEST as u64);
            let written = self.client.write(self.lun, at / BLOCK, &zeros[..count as usize], false);
            written.map_err(|error| self.said(error))?;
            at += count;
        }
        if part.begin + part.length == self.region.begin + self.used {
            self.used -= part.length;
        }
        if self.parts.is_empty() {
            self.used = 0;
        }
        Ok(())
    }
}

/// An error of the iSCSI client, whose calls time out after so many seconds.
#[must_use]
pub fn said(error: IscsiError, seconds: u64) -> Error {
    match error {
        IscsiError::Io(error) => Error::of_io(&error, seconds),
        // Space allocation failed, write protect: SPC-4 F.2.
        IscsiError::Command(status, Some((key, asc))) => match format!("{key:?}") {
            key if key.contains("DATA_PROTECT") => Error::Full,
            key => Error::Other(format!("{status:?} {key} {asc:?}")),
        },
        other => Error::Other(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_of_clients_do_not_overlap_and_leave_the_edges_free() {
        let regions = Regions { slots: 3, room: (5 << 20) + 1 };
        let size = 20 << 20;
        let parts: Vec<Part> = (0..3).map(|client| region(size, regions, client).unwrap()).collect();
        assert_eq!(parts[0], Part { begin: 1 << 20, length: 6 << 20 });
        assert!(parts.windows(2).all(|two| two[0].begin + two[0].length == two[1].begin));
        assert!(parts[2].begin + parts[2].length <= size - EDGE);
        assert!(region(size - 1, regions, 0).is_err());
    }
}
