//! LINK, RFC 1813 3.3.15.

use super::types::{DirOpArgs, Fail, FileHandle, PostOpAttr, Wcc};
use crate::wire::xdr::record;

record! {
    /// LINK3args.
    pub struct Request<'a> {
        pub file: FileHandle<'a>,
        pub link: DirOpArgs<'a>,
    }

    /// LINK3resok, and the fields of LINK3resfail after the status.
    #[derive(Default)]
    pub struct ResOk {
        pub attributes: PostOpAttr,
        pub link_dir_wcc: Wcc,
    }
}

/// LINK3resfail, with the file's and the directory's attributes.
pub type ResFail = Fail<ResOk>;
/// LINK3res.
pub type Res = Result<ResOk, ResFail>;
