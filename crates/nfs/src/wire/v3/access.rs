//! ACCESS, RFC 1813 3.3.4.

use super::types::{Fail, FileHandle, PostOpAttr};
use crate::wire::xdr::record;

/// Read a file or list a directory.
pub const READ: u32 = 0x01;
/// Look a name up in a directory.
pub const LOOKUP: u32 = 0x02;
/// Rewrite data or change entries.
pub const MODIFY: u32 = 0x04;
/// Write new data or add entries.
pub const EXTEND: u32 = 0x08;
/// Delete an entry.
pub const DELETE: u32 = 0x10;
/// Run a file.
pub const EXECUTE: u32 = 0x20;

record! {
    /// ACCESS3args.
    pub struct Request<'a> {
        pub object: FileHandle<'a>,
        pub access: u32,
    }

    /// ACCESS3resok.
    pub struct ResOk {
        pub attributes: PostOpAttr,
        pub access: u32,
    }
}

/// ACCESS3resfail.
pub type ResFail = Fail<PostOpAttr>;
/// ACCESS3res.
pub type Res = Result<ResOk, ResFail>;
