//! READDIR, RFC 1813 3.3.16.

use wire::Writer;

pub use super::entries::Entries;
use super::entries::{self, Listing};
use super::types::{Fail, FileHandle, Name, PostOpAttr, Verifier};
use crate::wire::xdr::{opaque_size, record};

record! {
    /// READDIR3args. `count` limits READDIR3resok.
    pub struct Request<'a> {
        pub dir: FileHandle<'a>,
        pub cookie: u64,
        pub verifier: Verifier,
        pub count: u32,
    }

    /// entry3.
    pub struct Entry<'a> {
        pub fileid: u64,
        pub name: Name<'a>,
        /// The position from which the next request continues after this entry.
        pub cookie: u64,
    }
}

impl entries::Entry for Entry<'_> {
    fn size(&self) -> usize {
        8 + opaque_size(self.name.len()) + 8
    }

    fn dir_size(&self) -> usize {
        self.size()
    }
}

/// Begins the reply to a request with this `count`, the status included.
pub fn begin<'w>(w: &'w mut Writer, attributes: &PostOpAttr, verifier: &Verifier, count: u32) -> Entries<'w> {
    Entries::begin(w, attributes, verifier, usize::MAX, count as usize)
}

/// READDIR3resok as a client gets it.
pub type ResOk<'a> = Listing<Entry<'a>>;
/// READDIR3resfail, with the directory's attributes.
pub type ResFail = Fail<PostOpAttr>;
/// READDIR3res as a client gets it.
pub type Res<'a> = Result<ResOk<'a>, ResFail>;
