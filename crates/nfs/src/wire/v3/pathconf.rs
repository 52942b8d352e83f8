//! PATHCONF, RFC 1813 3.3.20.

use super::types::{Fail, FileHandle, PostOpAttr};
use crate::wire::xdr::record;

record! {
    /// PATHCONF3args.
    pub struct Request<'a> {
        pub object: FileHandle<'a>,
    }

    /// PATHCONF3resok.
    pub struct ResOk {
        pub attributes: PostOpAttr,
        pub linkmax: u32,
        pub name_max: u32,
        pub no_trunc: bool,
        pub chown_restricted: bool,
        pub case_insensitive: bool,
        pub case_preserving: bool,
    }
}

/// PATHCONF3resfail.
pub type ResFail = Fail<PostOpAttr>;
/// PATHCONF3res.
pub type Res = Result<ResOk, ResFail>;
