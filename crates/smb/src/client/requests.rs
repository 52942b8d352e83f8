//! Plain requests. A caller changes the fields that matter to it.

use crate::wire::create::{self, Disposition, Impersonation, ShareAccess};
use crate::wire::security::AccessMask;
use crate::wire::{FileKey, OplockLevel, read};

/// A CREATE that opens or makes a file for reading, writing and removing, and shares it with all
/// other opens.
pub fn open_request(name: &str) -> create::Request<'static> {
    create::Request {
        oplock_level: OplockLevel::NONE,
        impersonation: Impersonation::IMPERSONATION,
        desired_access: (AccessMask::FILE_READ | AccessMask::FILE_WRITE | AccessMask::DELETE).0,
        file_attributes: 0,
        share_access: ShareAccess::READ | ShareAccess::WRITE | ShareAccess::DELETE,
        disposition: Disposition::OPEN_IF,
        options: create::Options::NONE,
        name: name.encode_utf16().collect(),
        contexts: Vec::new(),
    }
}

/// A READ of up to `length` bytes.
pub fn read_request(file: FileKey, offset: u64, length: u32) -> read::Request {
    read::Request {
        flags: read::Flags::NONE,
        length,
        offset,
        file,
        minimum_count: 0,
        channel: 0,
        remaining_bytes: 0,
    }
}
