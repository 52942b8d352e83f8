//! What a partition has: its file system, recognized by its first bytes.

use std::sync::Arc;

use crate::check::Steps;
use crate::part::read_vec;
use crate::partitions::Partition;
use crate::{Error, Passphrase, ReadAt, Result, Volume, apfs, exfat, ext, fat, hfsplus};

/// A file system, or what else a partition may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// HFS+ or HFSX, also in a wrapper of HFS.
    HfsPlus,
    /// HFS of the classic Mac OS.
    Hfs,
    /// A container of APFS.
    Apfs,
    /// A physical volume of CoreStorage: FileVault 2 on HFS+, Fusion Drives.
    CoreStorage,
    /// FAT12, FAT16 or FAT32.
    Fat,
    /// exFAT.
    ExFat,
    /// NTFS.
    Ntfs,
    /// ext2, ext3 or ext4.
    Ext,
    /// XFS.
    Xfs,
    /// Nothing that is known.
    Unknown,
}

impl Content {
    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::HfsPlus => "HFS+",
            Self::Hfs => "HFS",
            Self::Apfs => "APFS",
            Self::CoreStorage => "CoreStorage",
            Self::Fat => "FAT",
            Self::ExFat => "exFAT",
            Self::Ntfs => "NTFS",
            Self::Ext => "ext4",
            Self::Xfs => "XFS",
            Self::Unknown => "unknown content",
        }
    }
}

/// Recognizes the file system that begins here.
pub fn recognize(bytes: &Arc<dyn ReadAt>) -> Content {
    /// Behind the superblock of ext4.
    const HEAD: u64 = 2048;
    let length = bytes.length().min(HEAD) as usize;
    let Ok(mut head) = read_vec(bytes.as_ref(), 0, length) else { return Content::Unknown };
    head.resize(HEAD as usize, 0);
    let has = |at: usize, magic: &[u8]| head[at..].starts_with(magic);
    if has(1024, b"H+\0\x04") || has(1024, b"HX\0\x05") || has(1024, b"BD") && has(1024 + 124, b"H+") {
        return Content::HfsPlus;
    }
    match () {
        () if has(32, b"NXSB") => Content::Apfs,
        () if has(88, b"CS") => Content::CoreStorage,
        () if has(3, b"EXFAT   ") => Content::ExFat,
        () if has(3, b"NTFS    ") => Content::Ntfs,
        () if has(510, b"\x55\xAA") && (has(54, b"FAT1") || has(82, b"FAT32   ")) => Content::Fat,
        () if has(0, b"XFSB") => Content::Xfs,
        () if has(1024 + 56, b"\x53\xEF") => Content::Ext,
        () if has(1024, b"BD") => Content::Hfs,
        () if hfsplus::has_alternate_header(bytes.as_ref()) => Content::HfsPlus,
        () => Content::Unknown,
    }
}

/// What a partition has: what its bytes say, or else what its type in the map says, so that a file system without a sound
/// beginning is not passed over.
pub fn of(partition: &Partition, bytes: &Arc<dyn ReadAt>) -> Content {
    match (recognize(bytes), partition.kind.as_str()) {
        (Content::Unknown, "48465300-0000-11AA-AA11-00306543ECAC" | "Apple_HFS" | "Apple_HFSX" | "0xaf") => {
            Content::HfsPlus
        }
        (Content::Unknown, "7C3457EF-0000-11AA-AA11-00306543ECAC") => Content::Apfs,
        (Content::Unknown, "53746F72-6167-11AA-AA11-00306543ECAC") => Content::CoreStorage,
        (content, _) => content,
    }
}

/// The volumes of a partition.
pub(crate) fn volumes(
    content: Content,
    bytes: Arc<dyn ReadAt>,
    passphrase: Option<&Passphrase>,
) -> Vec<Volume> {
    let unsupported = |content: Content| Volume {
        name: String::new(),
        format: content.name().into(),
        files: Err(Error::NotSupported(content.name().into())),
        snapshots: Vec::new(),
    };
    match content {
        Content::Unknown => Vec::new(),
        Content::HfsPlus => vec![hfsplus::volume(bytes)],
        Content::Apfs => apfs_volumes(&bytes, passphrase),
        Content::Fat => vec![fat::volume(bytes)],
        Content::ExFat => vec![exfat::volume(bytes)],
        Content::Ext => vec![ext::volume(bytes)],
        other => vec![unsupported(other)],
    }
}

/// A container that cannot be read is in the list all the same.
fn apfs_volumes(bytes: &Arc<dyn ReadAt>, passphrase: Option<&Passphrase>) -> Vec<Volume> {
    apfs::volumes(bytes, passphrase).unwrap_or_else(|error| {
        let format = Content::Apfs.name().into();
        vec![Volume { name: String::new(), format, files: Err(error), snapshots: Vec::new() }]
    })
}

/// Checks a partition. `false` if nothing checks this format.
///
/// # Errors
///
/// [`Error::Damaged`] where the check cannot go on; what the source says.
pub(crate) fn check(
    content: Content,
    bytes: Arc<dyn ReadAt>,
    passphrase: Option<&Passphrase>,
    steps: &mut Steps<'_>,
) -> Result<bool> {
    match content {
        Content::HfsPlus => hfsplus::check(bytes, steps).map(|()| true),
        Content::Apfs => apfs::check(bytes, passphrase, steps).map(|()| true),
        _ => Ok(false),
    }
}
