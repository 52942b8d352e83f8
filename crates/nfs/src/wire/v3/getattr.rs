//! GETATTR, RFC 1813 3.3.1.

use super::types::{Fail, Fattr3, FileHandle};
use crate::wire::xdr::record;

record! {
    /// GETATTR3args.
    pub struct Request<'a> {
        pub object: FileHandle<'a>,
    }

    /// GETATTR3resok.
    pub struct ResOk {
        pub attributes: Fattr3,
    }
}

/// A failure is the status alone.
pub type ResFail = Fail<()>;
/// GETATTR3res.
pub type Res = Result<ResOk, ResFail>;
