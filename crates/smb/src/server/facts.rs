//! What clients are told about a file again and again: times, sizes, attributes.

use vfs::backend::Found;
use vfs::mac::Metadata;
use vfs::{Attributes, Beside, Kind};

use super::open::File;
use crate::wire::Status;
use crate::wire::time::NtTime;
use crate::wire::values::NetworkOpen;

/// FILE_ATTRIBUTE_*, MS-FSCC 2.6.
pub(super) mod attribute {
    pub(in crate::server) const READONLY: u32 = 0x1;
    pub(in crate::server) const HIDDEN: u32 = 0x2;
    pub(in crate::server) const SYSTEM: u32 = 0x4;
    pub(in crate::server) const DIRECTORY: u32 = 0x10;
    pub(in crate::server) const ARCHIVE: u32 = 0x20;
    pub(in crate::server) const NORMAL: u32 = 0x80;
    pub(in crate::server) const SPARSE_FILE: u32 = 0x200;
    pub(in crate::server) const REPARSE_POINT: u32 = 0x400;
}

/// Times, sizes and attributes of an open file.
pub(super) struct Facts {
    pub(super) attributes: Attributes,
    pub(super) metadata: Metadata,
    /// The size of the stream that is open.
    pub(super) size: u64,
}

impl Facts {
    /// As of now.
    pub(super) async fn of(file: &File) -> Result<Self, Status> {
        let attributes = file.open.attributes()?;
        let size = if file.open.is_data() { attributes.size } else { file.open.size().await? };
        let found = Found { object: file.open.node().clone(), attributes };
        let place = file.open.place();
        let place = place.as_ref().map(|(folder, name)| Beside { folder, name });
        let metadata = file.open.volume().metadata(&found, place)?;
        Ok(Self { attributes, metadata, size })
    }

    /// FILE_ATTRIBUTE_*, MS-FSCC 2.6.
    pub(super) fn file_attributes(&self) -> u32 {
        let dos = self.metadata.dos.0
            & (attribute::READONLY | attribute::HIDDEN | attribute::SYSTEM | attribute::ARCHIVE);
        let kind = match self.attributes.kind {
            Kind::Folder => attribute::DIRECTORY,
            Kind::Link => attribute::REPARSE_POINT,
            _ => 0,
        };
        match dos | kind {
            0 => attribute::NORMAL,
            all => all,
        }
    }

    /// When it was made.
    pub(super) fn created(&self) -> NtTime {
        let attributes = &self.attributes;
        let host = attributes.created.unwrap_or(attributes.modified.min(attributes.changed));
        self.metadata.times.created.unwrap_or(host).into()
    }

    /// What CREATE and CLOSE answer.
    pub(super) fn network_open(&self) -> NetworkOpen {
        let attributes = &self.attributes;
        NetworkOpen {
            creation_time: self.created().0,
            last_access_time: NtTime::from(attributes.accessed).0,
            last_write_time: NtTime::from(attributes.modified).0,
            change_time: NtTime::from(attributes.changed).0,
            allocation_size: attributes.allocated,
            end_of_file: if attributes.kind == Kind::Folder { 0 } else { self.size },
            file_attributes: self.file_attributes(),
        }
    }
}
