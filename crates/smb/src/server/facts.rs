//! What clients are told about a file again and again: times, sizes, attributes.

use vfs::Attributes;
use vfs::mac::Metadata;

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
