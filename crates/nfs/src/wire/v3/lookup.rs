//! LOOKUP, RFC 1813 3.3.3.

use super::types::{DirOpArgs, Fail, FileHandle, PostOpAttr};
use crate::wire::xdr::record;

record! {
    /// LOOKUP3args.
    pub struct Request<'a> {
        pub what: DirOpArgs<'a>,
    }

    /// LOOKUP3resok.
    pub struct ResOk<'a> {
        pub object: FileHandle<'a>,
        pub attributes: PostOpAttr,
        pub dir_attributes: PostOpAttr,
    }
}

/// LOOKUP3resfail, with the directory's attributes.
pub type ResFail = Fail<PostOpAttr>;
/// LOOKUP3res.
pub type Res<'a> = Result<ResOk<'a>, ResFail>;
