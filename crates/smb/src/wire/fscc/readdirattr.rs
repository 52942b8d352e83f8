//! The metadata that a Mac wants of each entry of a listing (create context AAPL, server capability
//! READ_DIR_ATTR). They take the places of EaSize, ShortName and Reserved2 of
//! FileIdBothDirectoryInformation. Apple's smbfs, `smb_2.h`.

use wire::{Malformed, Reader};

use super::directory::put;
use crate::wire::security::AccessMask;

/// The negotiated form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadDirAttrVersion {
    /// READ_DIR_ATTR.
    V1,
    /// READ_DIR_ATTR_V2. It also says whether the client can skip the query for extended
    /// attributes.
    V2 { has_no_xattrs: bool },
}

/// Bit 0 of the second version's flags.
const NO_XATTRS: u16 = 1;
/// The value of the first version in the place of the second's flags: the length that ShortName
/// always had.
const V1_LENGTH: u16 = 24;

/// A Mac's view of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MacAttributes {
    /// The caller's rights. A reparse point has its tag in this place.
    pub maximal_access: AccessMask,
    pub version: ReadDirAttrVersion,
    pub resource_fork_len: u64,
    pub finder_info: ShortFinderInfo,
    /// With the bits of the file's type; 0 where the server does not say.
    pub mode: u16,
}

impl MacAttributes {
    /// Bytes 64 to 96 of an entry.
    pub(super) fn put(&self, out: &mut [u8]) {
        let flags = match self.version {
            ReadDirAttrVersion::V1 => V1_LENGTH,
            ReadDirAttrVersion::V2 { has_no_xattrs } => {
                if has_no_xattrs {
                    NO_XATTRS
                } else {
                    0
                }
            }
        };
        put(out, 64, self.maximal_access.0.to_le_bytes());
        put(out, 68, flags.to_le_bytes());
        put(out, 70, self.resource_fork_len.to_le_bytes());
        put(out, 78, self.finder_info.0);
        put(out, 94, self.mode.to_le_bytes());
    }

    /// Reads bytes 64 to 96 of an entry. A client knows which version it asked for; here the flags tell.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let maximal_access = AccessMask(r.u32_le()?);
        let version = match r.u16_le()? {
            V1_LENGTH => ReadDirAttrVersion::V1,
            flags => ReadDirAttrVersion::V2 { has_no_xattrs: flags & NO_XATTRS != 0 },
        };
        let (resource_fork_len, finder_info) = (r.u64_le()?, ShortFinderInfo(r.array()?));
        Ok(Self { maximal_access, version, resource_fork_len, finder_info, mode: r.u16_le()? })
    }

    /// The form of a reparse point.
    pub fn without_access(self) -> Self {
        Self { maximal_access: AccessMask(0), ..self }
    }
}

/// Half of the Finder info: type and creator (zeros of a folder), Finder flags, extended flags, and the date added. All
/// big-endian, as on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShortFinderInfo(pub [u8; 16]);

impl ShortFinderInfo {
    /// `date_added` counts seconds from the beginning of 2000, UTC.
    pub fn new(finder_info: &[u8; 32], is_folder: bool, date_added: i32) -> Self {
        let mut short = [0; 16];
        if !is_folder {
            short[..8].copy_from_slice(&finder_info[..8]);
        }
        short[8..10].copy_from_slice(&finder_info[8..10]);
        short[10..12].copy_from_slice(&finder_info[24..26]);
        put(&mut short, 12, date_added.to_be_bytes());
        Self(short)
    }
}
