//! MKDIR, RFC 1813 3.3.9.

pub use super::create::{Res, ResFail, ResOk};
use super::types::{DirOpArgs, Sattr3};
use crate::wire::xdr::record;

record! {
    /// MKDIR3args.
    pub struct Request<'a> {
        pub place: DirOpArgs<'a>,
        pub attributes: Sattr3,
    }
}
