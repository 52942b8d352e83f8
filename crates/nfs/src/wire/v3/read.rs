//! READ, RFC 1813 3.3.6.

use wire::Writer;

use super::types::{Data, Fail, FileHandle, PostOpAttr};
use crate::wire::xdr::{Encode, record};

record! {
    /// READ3args.
    pub struct Request<'a> {
        pub file: FileHandle<'a>,
        pub offset: u64,
        pub count: u32,
    }
}

/// READ3resok up to and including the length of the data. The sender appends `count` bytes of data
/// and [`padding`](crate::wire::xdr::padding), from a buffer or straight from the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResOk {
    pub attributes: PostOpAttr,
    pub count: u32,
    pub eof: bool,
}

impl Encode for ResOk {
    fn encode(&self, w: &mut Writer) {
        self.attributes.encode(w);
        w.u32_be(self.count);
        self.eof.encode(w);
        w.u32_be(self.count); // the opaque's own length
    }
}

record! {
    /// READ3resok as a client gets it.
    pub struct ResOkData<'a> {
        pub attributes: PostOpAttr,
        pub count: u32,
        pub eof: bool,
        pub data: Data<'a>,
    }
}

/// READ3resfail.
pub type ResFail = Fail<PostOpAttr>;
/// READ3res without the data.
pub type Res = Result<ResOk, ResFail>;
/// READ3res as a client gets it.
pub type ResData<'a> = Result<ResOkData<'a>, ResFail>;
