//! The records of the catalogue: TN1150, "Catalog File Data", with the fields that macOS added since (`hfs_format.h`).

use formats::{Kind, Time};
use wire::{Malformed, Reader};

use super::fork::ForkData;

/// The top folder, and what it is in.
pub(super) const ROOT: u32 = 2;
pub(super) const ROOT_PARENT: u32 = 1;
/// The first number of files and folders of users.
pub(super) const FIRST_USER: u32 = 16;

/// Flags of records.
pub(super) const HAS_LINK_CHAIN: u16 = 0x20;

/// Lengths of records.
pub(super) const FOLDER_LEN: usize = 88;
pub(super) const FILE_LEN: usize = 248;

const UF_COMPRESSED: u32 = 0x20;
const FORMAT_MASK: u16 = 0o170_000;
/// Seconds from 1904 to 1970.
const EPOCH: i64 = 2_082_844_800;

/// A record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Record<'a> {
    Folder(Item, FolderPart),
    File(Item, FilePart),
    /// Says where a file or folder is.
    Thread {
        is_folder: bool,
        parent: u32,
        name: &'a [u8],
    },
}

/// What files and folders have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) id: u32,
    pub(super) flags: u16,
    pub(super) created: u32,
    pub(super) modified: u32,
    pub(super) changed: u32,
    pub(super) accessed: u32,
    pub(super) backed_up: u32,
    pub(super) owner: u32,
    pub(super) group: u32,
    pub(super) admin_flags: u8,
    pub(super) owner_flags: u8,
    pub(super) mode: u16,
    /// The number of the inode of a link, the links of an inode, or the device.
    pub(super) special: u32,
    pub(super) finder_info: [u8; 32],
}

/// What only folders have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FolderPart {
    /// How many entries it has.
    pub(super) valence: u32,
}

/// What only files have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FilePart {
    pub(super) data: ForkData,
    pub(super) resource: ForkData,
}

impl<'a> Record<'a> {
    pub(super) fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        match r.u16_be()? {
            1 => folder(&mut r),
            2 => file(&mut r),
            kind @ (3 | 4) => {
                r.skip(2)?;
                let (parent, length) = (r.u32_be()?, usize::from(r.u16_be()?));
                Ok(Self::Thread { is_folder: kind == 3, parent, name: r.take(2 * length)? })
            }
            _ => Err(Malformed("a record has a type that is not known")),
        }
    }
}

fn folder<'a>(r: &mut Reader<'_>) -> Result<Record<'a>, Malformed> {
    let (flags, valence) = (r.u16_be()?, r.u32_be()?);
    let item = Item::decode(r, flags)?;
    r.skip(8)?; // encoding, count of folders
    Ok(Record::Folder(item, FolderPart { valence }))
}

fn file<'a>(r: &mut Reader<'_>) -> Result<Record<'a>, Malformed> {
    let flags = r.u16_be()?;
    r.skip(4)?; // the first link of an inode
    let item = Item::decode(r, flags)?;
    r.skip(8)?; // encoding, reserved
    let (data, resource) = (ForkData::decode(r)?, ForkData::decode(r)?);
    Ok(Record::File(item, FilePart { data, resource }))
}

impl Item {
    fn decode(r: &mut Reader<'_>, flags: u16) -> Result<Self, Malformed> {
        let id = r.u32_be()?;
        let (created, modified, changed) = (r.u32_be()?, r.u32_be()?, r.u32_be()?);
        let (accessed, backed_up) = (r.u32_be()?, r.u32_be()?);
        let (owner, group) = (r.u32_be()?, r.u32_be()?);
        let (admin_flags, owner_flags, mode, special) = (r.u8()?, r.u8()?, r.u16_be()?, r.u32_be()?);
        let finder_info = r.array()?;
        Ok(Self {
            id,
            flags,
            created,
            modified,
            changed,
            accessed,
            backed_up,
            owner,
            group,
            admin_flags,
            owner_flags,
            mode,
            special,
            finder_info,
        })
    }

    fn finder_type(&self) -> (&[u8], &[u8]) {
        (&self.finder_info[..4], &self.finder_info[4..8])
    }

    /// Whether this file record is a name of a file that has several.
    pub(super) fn is_file_link(&self) -> bool {
        self.finder_type() == (b"hlnk", b"hfs+")
    }

    /// Whether this file record is a name of a folder that has several.
    pub(super) fn is_folder_link(&self) -> bool {
        self.finder_type() == (b"fdrp", b"MACS") && self.flags & HAS_LINK_CHAIN != 0
    }

    /// Whether the data fork is compressed.
    pub(super) fn is_compressed(&self) -> bool {
        self.bsd_flags() & UF_COMPRESSED != 0
    }

    fn bsd_flags(&self) -> u32 {
        u32::from(self.admin_flags) << 16 | u32::from(self.owner_flags)
    }

    /// The flags that are shown: files are shown decompressed.
    pub(super) fn shown_flags(&self) -> u32 {
        self.bsd_flags() & !UF_COMPRESSED
    }

    /// The kind of a file record, and its permissions. Mac OS 9 stored none.
    pub(super) fn kind_and_mode(&self, is_folder: bool) -> (Kind, u16) {
        let kind = match self.mode & FORMAT_MASK {
            _ if is_folder => Kind::Folder,
            0o120_000 => Kind::Link,
            0o010_000 => Kind::Fifo,
            0o140_000 => Kind::Socket,
            0o020_000 => Kind::CharDevice,
            0o060_000 => Kind::BlockDevice,
            _ => Kind::File,
        };
        let mode = match (self.mode, is_folder) {
            (0, true) => 0o755,
            (0, false) => 0o644,
            (mode, _) => mode & 0o7777,
        };
        (kind, mode)
    }
}

/// A date of HFS+: seconds since 1904 in UTC. 0 is no date.
pub(super) fn time(seconds: u32) -> Option<Time> {
    (seconds != 0).then(|| Time { secs: i64::from(seconds) - EPOCH, nanos: 0 })
}
