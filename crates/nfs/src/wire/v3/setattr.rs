//! SETATTR, RFC 1813 3.3.2.

use super::types::{Fail, FileHandle, NfsTime, Sattr3, Wcc};
use crate::wire::xdr::record;

record! {
    /// SETATTR3args.
    pub struct Request<'a> {
        pub object: FileHandle<'a>,
        pub new_attributes: Sattr3,
        /// sattrguard3: only if the object's ctime is this one, else NFS3ERR_NOT_SYNC.
        pub guard: Option<NfsTime>,
    }

    /// SETATTR3resok.
    pub struct ResOk {
        pub wcc: Wcc,
    }
}

/// SETATTR3resfail.
pub type ResFail = Fail<Wcc>;
/// SETATTR3res.
pub type Res = Result<ResOk, ResFail>;
