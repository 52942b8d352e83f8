//! WRITE, RFC 1813 3.3.7.

use super::types::{Data, Fail, FileHandle, Verifier, Wcc};
use crate::wire::xdr::{enumeration, record};

enumeration! {
    /// stable_how: the data that must be on stable storage before the reply, or that are.
    pub struct StableHow;
    UNSTABLE = 0,
    DATA_SYNC = 1,
    FILE_SYNC = 2,
}

record! {
    /// WRITE3args. The data is a part of the message: `Bytes::slice_ref` keeps it without a copy.
    pub struct Request<'a> {
        pub file: FileHandle<'a>,
        pub offset: u64,
        pub count: u32,
        pub stable: StableHow,
        pub data: Data<'a>,
    }

    /// WRITE3args as far as the first byte of the data: a message that has arrived in part may have no more.
    pub struct Beginning<'a> {
        pub file: FileHandle<'a>,
        pub offset: u64,
        pub count: u32,
        pub stable: StableHow,
        /// Of the data.
        pub length: u32,
    }

    /// WRITE3resok.
    pub struct ResOk {
        pub wcc: Wcc,
        pub count: u32,
        pub committed: StableHow,
        pub verifier: Verifier,
    }
}

/// WRITE3resfail.
pub type ResFail = Fail<Wcc>;
/// WRITE3res.
pub type Res = Result<ResOk, ResFail>;
