//! SYMLINK, RFC 1813 3.3.10.

pub use super::create::{Res, ResFail, ResOk};
use super::types::{DirOpArgs, Path, Sattr3};
use crate::wire::xdr::record;

record! {
    /// SYMLINK3args.
    pub struct Request<'a> {
        pub place: DirOpArgs<'a>,
        pub attributes: Sattr3,
        pub data: Path<'a>,
    }
}
