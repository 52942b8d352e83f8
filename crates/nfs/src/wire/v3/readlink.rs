//! READLINK, RFC 1813 3.3.5.

use super::types::{Fail, FileHandle, Path, PostOpAttr};
use crate::wire::xdr::record;

record! {
    /// READLINK3args.
    pub struct Request<'a> {
        pub symlink: FileHandle<'a>,
    }

    /// READLINK3resok.
    pub struct ResOk<'a> {
        pub attributes: PostOpAttr,
        pub data: Path<'a>,
    }
}

/// READLINK3resfail.
pub type ResFail = Fail<PostOpAttr>;
/// READLINK3res.
pub type Res<'a> = Result<ResOk<'a>, ResFail>;
