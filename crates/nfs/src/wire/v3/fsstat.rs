//! FSSTAT, RFC 1813 3.3.18.

use super::types::{Fail, FileHandle, PostOpAttr};
use crate::wire::xdr::record;

record! {
    /// FSSTAT3args.
    pub struct Request<'a> {
        pub root: FileHandle<'a>,
    }

    /// FSSTAT3resok: bytes and file slots, in all, free, and free for the caller.
    pub struct ResOk {
        pub attributes: PostOpAttr,
        pub total_bytes: u64,
        pub free_bytes: u64,
        pub available_bytes: u64,
        pub total_files: u64,
        pub free_files: u64,
        pub available_files: u64,
        /// For how many seconds this is expected not to change. 0: it may change at any time.
        pub invarsec: u32,
    }
}

/// FSSTAT3resfail.
pub type ResFail = Fail<PostOpAttr>;
/// FSSTAT3res.
pub type Res = Result<ResOk, ResFail>;
