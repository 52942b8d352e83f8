//! The superblock of a volume ("Volumes", apfs_superblock_t).

use wire::{Malformed, Reader};

use super::names::Comparison;
use super::object::{Decoded, Header};

/// `APSB`.
const MAGIC: u32 = 0x4253_5041;

/// "Incompatible Volume Feature Flags".
mod incompatible {
    pub(super) const FOLDED: u64 = 1;
    pub(super) const NORMALIZED: u64 = 8;
    pub(super) const SEALED: u64 = 0x20;
    /// Snapshots without data, a change of keys that ended, an incomplete restore; and bits that are not published, which
    /// others read so: keys per file, marked preallocated extents, a second root.
    pub(super) const READABLE: u64 = FOLDED | 2 | 4 | NORMALIZED | 0x10 | SEALED | 0x40 | 0x80 | 0x100;
}

/// "Volume Flags".
mod flag {
    pub(super) const UNENCRYPTED: u64 = 1;
    pub(super) const ONE_KEY: u64 = 8;
}

/// How a volume is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encryption {
    None,
    /// One key for all: FileVault without a Mac's own hardware.
    OneKey,
    /// A key for each file, which the Mac's hardware protects.
    KeyPerFile,
}

/// The superblock of a volume, or of a snapshot of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VolumeSuperblock {
    pub(super) header: Header,
    pub(super) incompatible: u64,
    /// How many blocks are allocated for it.
    pub(super) allocated: u64,
    pub(super) object_map: u64,
    pub(super) catalogue: u64,
    pub(super) extents: u64,
    pub(super) snapshots: u64,
    pub(super) next_oid: u64,
    pub(super) files: u64,
    pub(super) folders: u64,
    pub(super) links: u64,
    pub(super) others: u64,
    pub(super) snapshot_count: u64,
    pub(super) uuid: [u8; 16],
    pub(super) name: String,
    pub(super) snapshot_extension: u64,
    /// Whether it is being encrypted, decrypted, or encrypted by another key.
    pub(super) is_changing_keys: bool,
    /// Of a sealed volume: the object of its seal, and the tree of its extents.
    pub(super) integrity: u64,
    pub(super) file_extents: u64,
    flags: u64,
}

impl VolumeSuperblock {
    pub(super) fn decode(bytes: &[u8]) -> Decoded<Self> {
        let mut r = Reader::new(bytes);
        let header = Header::decode(&mut r)?;
        if r.u32_le()? != MAGIC {
            return Err(Malformed("it does not begin with APSB"));
        }
        r.skip(4 + 16)?; // index, compatible and read-only compatible features
        let incompatible = r.u64_le()?;
        r.skip(24)?; // when it was unmounted, reserved blocks, quota
        let allocated = r.u64_le()?;
        r.skip(20 + 12)?; // state of encryption, types of trees
        let (object_map, catalogue, extents, snapshots) =
            (r.u64_le()?, r.u64_le()?, r.u64_le()?, r.u64_le()?);
        r.skip(16)?; // what it is to be reverted to
        let (next_oid, files, folders, links) = (r.u64_le()?, r.u64_le()?, r.u64_le()?, r.u64_le()?);
        let (others, snapshot_count) = (r.u64_le()?, r.u64_le()?);
        r.skip(16)?; // blocks allocated and freed in all
        let uuid = r.array()?;
        r.skip(8)?; // when it was changed
        let flags = r.u64_le()?;
        r.skip(9 * 48)?; // who formatted and who changed it
        let name = r.take(256)?;
        let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
        let name = String::from_utf8_lossy(&name[..end]).into_owned();
        r.skip(8 + 8)?; // next document, role, root of a snapshot
        let is_changing_keys = r.u64_le()? != 0;
        r.skip(16)?; // clones
        let snapshot_extension = r.u64_le()?;
        r.skip(16)?; // group of volumes
        let (integrity, file_extents) = (r.u64_le()?, r.u64_le()?);
        Ok(Self {
            header,
            incompatible,
            allocated,
            object_map,
            catalogue,
            extents,
            snapshots,
            next_oid,
            files,
            folders,
            links,
            others,
            snapshot_count,
            uuid,
            name,
            is_changing_keys,
            snapshot_extension,
            integrity,
            file_extents,
            flags,
        })
    }

    pub(super) fn comparison(&self) -> Comparison {
        if self.incompatible & incompatible::FOLDED != 0 {
            Comparison::Folded
        } else if self.incompatible & incompatible::NORMALIZED != 0 {
            Comparison::Normalized
        } else {
            Comparison::Exact
        }
    }

    pub(super) fn is_sealed(&self) -> bool {
        self.incompatible & incompatible::SEALED != 0
    }

    /// Features that this code does not know.
    pub(super) fn unknown_features(&self) -> u64 {
        self.incompatible & !incompatible::READABLE
    }

    pub(super) fn encryption(&self) -> Encryption {
        if self.flags & flag::UNENCRYPTED != 0 {
            Encryption::None
        } else if self.flags & flag::ONE_KEY != 0 {
            Encryption::OneKey
        } else {
            Encryption::KeyPerFile
        }
    }
}
