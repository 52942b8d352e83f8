//! The logs in a share: one for each run of a server, which it alone writes.
//!
//! ```text
//! .fourfold-ids/LINEAGE.SERVER   what this server has told, in records
//! .fourfold-ids/lock             an empty file: who has its range locked may tell
//! ```

use std::fmt::Write as _;

use vfs::backend::{Found, NewKind, Stability, Wait};
use vfs::{Access, Caller, Error, FileId, Node, OwnFolder, Result, Volume};
use wire::Writer;

use super::record::{self, IdRecord, LENGTH};

/// How many records are read at a time.
pub(super) const PART: u64 = 8192;
const LOCK: &[u8] = b"lock";
const RECORD: u64 = LENGTH as u64;

/// A log, and how long it is.
pub(super) struct Log {
    pub(super) name: String,
    pub(super) server: u16,
    pub(super) end: u64,
}

/// Some records of a log.
pub(super) struct Part {
    pub(super) records: Vec<IdRecord>,
    /// Where the next ones are.
    pub(super) end: u64,
}

/// The name of the log of a server.
pub(super) fn name(lineage: &[u8; 16], server: u16) -> String {
    let mut name = lineage.iter().fold(String::new(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}"); // a string takes all
        name
    });
    let _ = write!(name, ".{server}");
    name
}

/// The logs of this lineage with a name that is wanted.
pub(super) fn list(
    volume: &Volume,
    lineage: &[u8; 16],
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Log>> {
    let folder = match volume.own_folders().find(OwnFolder::IDS) {
        Err(Error::NotFound) => return Ok(Vec::new()),
        other => other?,
    };
    let (mut names, start) = (Vec::new(), name(lineage, 0));
    let start = start.trim_end_matches('0');
    folder.list(0, &mut |entry| {
        let server = str::from_utf8(entry.name).ok().and_then(|name| {
            let number = name.strip_prefix(start)?.parse::<u16>().ok()?;
            is_wanted(name).then(|| (name.to_owned(), number))
        });
        names.extend(server);
        true
    })?;
    let mut logs = Vec::new();
    for (name, server) in names {
        match folder.entry_attributes(&Caller::root(), name.as_bytes()) {
            Ok(attributes) => logs.push(Log { name, server, end: attributes.size / RECORD * RECORD }),
            Err(Error::NotFound) => {} // removed meanwhile
            Err(error) => return Err(error),
        }
    }
    Ok(logs)
}

/// Reads on in a log, up to [`PART`] records. What is no record is passed over.
pub(super) fn read(volume: &Volume, log: &Log, from: u64) -> Result<Part> {
    let (root, folder) = (Caller::root(), volume.own_folders().find(OwnFolder::IDS)?);
    let found = folder.lookup(&root, log.name.as_bytes())?;
    found.object.prepare(&root, &found.attributes, Access::READ, true)?;
    let from = if from > log.end { 0 } else { from }; // an older copy of the file has replaced it
    let mut bytes = Vec::new();
    let wanted = (log.end - from).min(PART * RECORD);
    found.object.read_at(from, wanted as usize, &mut bytes, Wait::Allowed)?;
    let (whole, _) = bytes.as_chunks::<LENGTH>();
    if from == 0 && whole.first().is_none_or(|first| !record::is_beginning(first)) {
        return Ok(Part { records: Vec::new(), end: log.end }); // of a later version, or no log
    }
    let records = whole.iter().filter_map(IdRecord::decode).collect();
    Ok(Part { records, end: from + (whole.len() * LENGTH) as u64 })
}

/// The file whose range is locked by the server that may tell.
pub(super) fn lock_file(volume: &Volume) -> Result<FileId> {
    find_or_make(volume, LOCK).map(|found| found.object.id())
}

/// Removes the log of a server.
pub(super) fn remove(volume: &Volume, name: &str) -> Result<()> {
    volume.own_folders().find(OwnFolder::IDS)?.remove(&Caller::root(), name.as_bytes())
}

/// The log of this server.
pub(super) struct OwnLog {
    pub(super) share: String,
    pub(super) name: String,
    node: Node,
}

impl OwnLog {
    /// The log of this name, begun if it is new.
    pub(super) fn begin(volume: &Volume, share: &str, name: String, server: &str) -> Result<Self> {
        let found = find_or_make(volume, name.as_bytes())?;
        let own = Self { share: share.to_owned(), name, node: found.object };
        if found.attributes.size == 0 {
            own.write(0, &record::beginning(server))?;
            volume.own_folders().find(OwnFolder::IDS)?.sync(Stability::File)?;
        }
        Ok(own)
    }

    /// Adds records: they are on the disk, or in the store, when this returns. If the file was replaced by an
    /// older copy, they go behind what others may have read. Returns where the next ones go.
    pub(super) fn append(&self, records: &[IdRecord], ended: u64) -> Result<u64> {
        let mut w = Writer::onto(Vec::with_capacity(records.len() * LENGTH));
        records.iter().for_each(|record| record.encode(&mut w));
        let end = self.node.attributes()?.size.next_multiple_of(RECORD); // a part of a record stays alone
        let at = end.max(ended);
        self.write(at, w.as_bytes())?;
        Ok(at + w.len() as u64)
    }

    /// Whether the file was removed.
    pub(super) fn is_lost(&self) -> bool {
        self.node.attributes().map_or(true, |attributes| attributes.links == 0)
    }

    fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
        let root = Caller::root();
        self.node.prepare(&root, &self.node.attributes()?, Access::WRITE, true)?;
        self.node.write_at(&root, at, bytes, Stability::Data)
    }
}

/// Several servers may make it at the same moment.
fn find_or_make(volume: &Volume, name: &[u8]) -> Result<Found> {
    let folder = match volume.own_folders().make(OwnFolder::IDS) {
        Err(Error::Exists) => volume.own_folders().find(OwnFolder::IDS),
        other => other,
    }?;
    let root = Caller::root();
    match folder.lookup(&root, name) {
        Err(Error::NotFound) => match folder.create(&root, name, NewKind::File, 0o600) {
            Err(Error::Exists) => folder.lookup(&root, name),
            other => other,
        },
        other => other,
    }
}
