//! REMOVE, RFC 1813 3.3.12.

use super::types::{DirOpArgs, Fail, Wcc};
use crate::wire::xdr::record;

record! {
    /// REMOVE3args.
    pub struct Request<'a> {
        pub object: DirOpArgs<'a>,
    }

    /// REMOVE3resok.
    pub struct ResOk {
        pub dir_wcc: Wcc,
    }
}

/// REMOVE3resfail, with the directory's attributes.
pub type ResFail = Fail<Wcc>;
/// REMOVE3res.
pub type Res = Result<ResOk, ResFail>;
