//! FSINFO, RFC 1813 3.3.19.

use super::types::{Fail, FileHandle, NfsTime, PostOpAttr};
use crate::wire::xdr::record;

/// Hard links are supported.
pub const FSF3_LINK: u32 = 0x01;
/// Symbolic links are supported.
pub const FSF3_SYMLINK: u32 = 0x02;
/// PATHCONF has the same answer for every object.
pub const FSF3_HOMOGENEOUS: u32 = 0x08;
/// SETATTR can set times to the client's values.
pub const FSF3_CANSETTIME: u32 = 0x10;

record! {
    /// FSINFO3args.
    pub struct Request<'a> {
        pub root: FileHandle<'a>,
    }

    /// FSINFO3resok: the most, the preferred and the unit of a READ and a WRITE, and so on.
    pub struct ResOk {
        pub attributes: PostOpAttr,
        pub rtmax: u32,
        pub rtpref: u32,
        pub rtmult: u32,
        pub wtmax: u32,
        pub wtpref: u32,
        pub wtmult: u32,
        pub dtpref: u32,
        pub max_file_size: u64,
        pub time_delta: NfsTime,
        pub properties: u32,
    }
}

/// FSINFO3resfail.
pub type ResFail = Fail<PostOpAttr>;
/// FSINFO3res.
pub type Res = Result<ResOk, ResFail>;
