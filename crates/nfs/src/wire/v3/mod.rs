//! NFS version 3, RFC 1813. One file per command, each with
//!
//! * `Request`, its arguments,
//! * `ResOk`, its results, and `ResFail`, what goes with a failure: [`Fail`](types::Fail) and the attributes the
//!   procedure's failure carries,
//! * `Res`, one or the other.

pub mod access;
pub mod commit;
pub mod create;
pub mod fsinfo;
pub mod fsstat;
pub mod getattr;
pub mod link;
pub mod lookup;
pub mod mkdir;
pub mod mknod;
pub mod pathconf;
pub mod read;
pub mod readdir;
pub mod readdirplus;
pub mod readlink;
pub mod remove;
pub mod rename;
pub mod rmdir;
pub mod setattr;
pub mod symlink;
pub mod types;
pub mod write;

pub mod entries;
#[cfg(test)]
mod tests;

use super::xdr::{Decode, enumeration};
use types::{DirOpArgs, FileHandle, Name, Status};
use wire::{Malformed, Reader};

/// The program's number, RFC 1813 2.1.
pub const PROGRAM: u32 = 100_003;
/// The version spoken here.
pub const VERSION: u32 = 3;

enumeration! {
    /// The procedures, RFC 1813 3.
    pub struct Procedure;
    NULL = 0,
    GETATTR = 1,
    SETATTR = 2,
    LOOKUP = 3,
    ACCESS = 4,
    READLINK = 5,
    READ = 6,
    WRITE = 7,
    CREATE = 8,
    MKDIR = 9,
    SYMLINK = 10,
    MKNOD = 11,
    REMOVE = 12,
    RMDIR = 13,
    RENAME = 14,
    LINK = 15,
    READDIR = 16,
    READDIRPLUS = 17,
    FSSTAT = 18,
    FSINFO = 19,
    PATHCONF = 20,
    COMMIT = 21,
}

/// The file that a call is about: the first argument of every procedure that has arguments.
pub fn first_handle(arguments: &[u8]) -> Option<FileHandle<'_>> {
    FileHandle::decode(&mut Reader::new(arguments)).ok()
}

/// A file that a call names: by its handle, or by its name in the folder of the handle.
pub type NamedFile<'a> = (FileHandle<'a>, Option<Name<'a>>);

/// The files that a call reads or changes, as its first arguments name them.
pub fn named_files(procedure: Procedure, arguments: &[u8]) -> Result<Vec<NamedFile<'_>>, Malformed> {
    let r = &mut Reader::new(arguments);
    let in_folders = match procedure {
        Procedure::LOOKUP
        | Procedure::CREATE
        | Procedure::MKDIR
        | Procedure::SYMLINK
        | Procedure::MKNOD
        | Procedure::REMOVE
        | Procedure::RMDIR => 1,
        Procedure::RENAME => 2,
        _ => return Ok(vec![(FileHandle::decode(r)?, None)]),
    };
    let in_folder = |_| DirOpArgs::decode(r).map(|at| (at.dir, Some(at.name)));
    (0..in_folders).map(in_folder).collect()
}

/// The status that begins the results of every procedure except NULL.
pub fn status(procedure: Procedure, results: &[u8]) -> Option<Status> {
    if procedure == Procedure::NULL {
        return None;
    }
    Status::decode(&mut Reader::new(results)).ok()
}
