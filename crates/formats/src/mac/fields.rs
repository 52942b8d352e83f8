//! The meaning of the entries of an AppleSingle or AppleDouble file, whatever program wrote them.

use wire::{Malformed, Reader};

use super::apple_double::{AppleDouble, ByteOrder, EntryId};
use super::bits::FileBits;
use super::finder_info::FinderInfo;
use super::problem::Problem;
use super::time;
use crate::Time;

/// What the entries of an AppleSingle or AppleDouble file say besides the forks; `None` where there is no such entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fields {
    /// Entry 9.
    pub finder_info: Option<FinderInfo>,
    /// Entry 4, in whatever encoding the client used.
    pub comment: Option<Vec<u8>>,
    /// Entry 8, or the dates of entry 7.
    pub dates: Option<Dates>,
    /// Entry 14: the upper half is unused, the lower half are [`FileBits`].
    pub server_info: Option<u32>,
    /// Entry 3: the file's name where it was made.
    pub real_name: Option<Vec<u8>>,
    /// Netatalk's four private entries, when all are there.
    pub id_hint: Option<IdHint>,
    /// All other entries but the forks.
    pub kept: Vec<KeptEntry>,
}

/// Entry 8. Dates before 1931 and after 2068 cannot be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "obvious")]
pub struct Dates {
    pub created: Option<Time>,
    pub modified: Option<Time>,
    pub backup: Option<Time>,
    pub accessed: Option<Time>,
}

/// Netatalk's catalogue node id for the file, to be trusted only while device, inode and stamp are still right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the entries; their bytes, as the writing machine orders them")]
pub struct IdHint {
    pub dev: [u8; 8],
    pub ino: [u8; 8],
    pub syn: [u8; 8],
    pub id: [u8; 4],
}

/// An entry that this server does not understand, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "obvious")]
pub struct KeptEntry {
    pub id: EntryId,
    pub bytes: Vec<u8>,
}

impl Fields {
    /// Reads all entries but the forks, and adds what is wrong with them to `problems`.
    pub fn read(file: &AppleDouble<'_>, problems: &mut Vec<Problem>) -> Self {
        let mut fields = Self { id_hint: IdHint::read(file), ..Self::default() };
        let mut room = file.head().len();
        for entry in &file.entries {
            let bytes = file.bytes(entry.id).unwrap_or_default();
            // Entries that overlap, which is noted already, cannot make more of a file than it is.
            let Some(left) = room.checked_sub(if entry.id.is_fork() { 0 } else { bytes.len() }) else {
                continue;
            };
            room = left;
            if fields.take(file, entry.id, bytes).is_err() && entry.length > 0 {
                problems.push(Problem::EntryLength { id: entry.id.0, length: entry.length });
                fields.keep(entry.id, bytes);
            }
        }
        fields
    }

    fn take(&mut self, file: &AppleDouble<'_>, id: EntryId, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        match id {
            EntryId::DATA_FORK | EntryId::RESOURCE_FORK => {}
            EntryId::FINDER_INFO => self.finder_info = Some(FinderInfo::new(r.array()?)),
            EntryId::COMMENT => self.comment = Some(bytes.to_vec()),
            EntryId::FILE_DATES => self.dates = Some(Dates::read(&mut r, file.order)?),
            EntryId::FILE_INFO_V1 if file.filler.starts_with(b"Macintosh") => {
                self.dates = Some(Dates::read_version_1(&mut r, file.order)?);
            }
            EntryId::SERVER_FILE_INFO => self.server_info = Some(r.u32_be()?),
            EntryId::REAL_NAME => self.real_name = Some(bytes.to_vec()),
            id if self.id_hint.is_some() && IdHint::IDS.contains(&id) => {}
            id => self.keep(id, bytes),
        }
        Ok(())
    }

    fn keep(&mut self, id: EntryId, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.kept.push(KeptEntry { id, bytes: bytes.to_vec() });
        }
    }

    /// The attribute bits of entry 14, and "locked" of entry 10.
    pub fn bits(&self) -> FileBits {
        let mac_info = self.kept.iter().find(|entry| entry.id == EntryId::MAC_FILE_INFO);
        let locked = mac_info.is_some_and(|entry| entry.bytes.get(3).is_some_and(|flags| flags & 1 != 0));
        let bits = FileBits(self.server_info.unwrap_or_default() as u16);
        if locked { bits | FileBits::LOCKED } else { bits }
    }
}

impl Dates {
    /// Their size in entry 8.
    pub const LEN: usize = 16;

    fn read(r: &mut Reader<'_>, order: ByteOrder) -> Result<Self, Malformed> {
        let mut date = || Ok(time::from_2000(order.u32(r)? as i32));
        Ok(Self { created: date()?, modified: date()?, backup: date()?, accessed: date()? })
    }

    /// Entry 7 of a version 1 file from a Macintosh: created, modified, backup since 1904, then flags.
    fn read_version_1(r: &mut Reader<'_>, order: ByteOrder) -> Result<Self, Malformed> {
        let mut date = || Ok(time::from_1904(order.u32(r)?));
        Ok(Self { created: date()?, modified: date()?, backup: date()?, accessed: None })
    }

    /// The bytes of entry 8.
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        let dates = [self.created, self.modified, self.backup, self.accessed];
        for (place, date) in bytes.chunks_exact_mut(4).zip(dates) {
            place.copy_from_slice(&time::to_2000(date).to_be_bytes());
        }
        bytes
    }
}

impl IdHint {
    const IDS: [EntryId; 4] =
        [EntryId::NETATALK_DEV, EntryId::NETATALK_INO, EntryId::NETATALK_SYN, EntryId::NETATALK_ID];

    fn read(file: &AppleDouble<'_>) -> Option<Self> {
        let [dev, ino, syn, id] = Self::IDS.map(|id| file.bytes(id).unwrap_or_default());
        Some(Self {
            dev: dev.try_into().ok()?,
            ino: ino.try_into().ok()?,
            syn: syn.try_into().ok()?,
            id: id.try_into().ok()?,
        })
    }
}
