//! RENAME, RFC 1813 3.3.14.

use super::types::{DirOpArgs, Fail, Wcc};
use crate::wire::xdr::record;

record! {
    /// RENAME3args.
    pub struct Request<'a> {
        pub from: DirOpArgs<'a>,
        pub to: DirOpArgs<'a>,
    }

    /// RENAME3resok, and the fields of RENAME3resfail after the status.
    #[derive(Default)]
    pub struct ResOk {
        pub from_dir_wcc: Wcc,
        pub to_dir_wcc: Wcc,
    }
}

/// RENAME3resfail, with both directories' attributes.
pub type ResFail = Fail<ResOk>;
/// RENAME3res.
pub type Res = Result<ResOk, ResFail>;
