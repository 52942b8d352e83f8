//! COMMIT, RFC 1813 3.3.21.

use super::types::{Fail, FileHandle, Verifier, Wcc};
use crate::wire::xdr::record;

record! {
    /// COMMIT3args. A count of 0 means from the offset to the end.
    pub struct Request<'a> {
        pub file: FileHandle<'a>,
        pub offset: u64,
        pub count: u32,
    }

    /// COMMIT3resok.
    pub struct ResOk {
        pub wcc: Wcc,
        pub verifier: Verifier,
    }
}

/// COMMIT3resfail.
pub type ResFail = Fail<Wcc>;
/// COMMIT3res.
pub type Res = Result<ResOk, ResFail>;
