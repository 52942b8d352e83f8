//! READDIRPLUS, RFC 1813 3.3.17.

use wire::Writer;

pub use super::entries::Entries;
use super::entries::{self, Listing};
use super::types::{Fail, Fattr3, FileHandle, Name, PostOpAttr, Verifier};
use crate::wire::xdr::{opaque_size, record};

record! {
    /// READDIRPLUS3args. `dircount` limits the directory information, `maxcount` READDIRPLUS3resok.
    pub struct Request<'a> {
        pub dir: FileHandle<'a>,
        pub cookie: u64,
        pub verifier: Verifier,
        pub dircount: u32,
        pub maxcount: u32,
    }

    /// entryplus3.
    pub struct Entry<'a> {
        pub fileid: u64,
        pub name: Name<'a>,
        /// The position from which the next request continues after this entry.
        pub cookie: u64,
        pub attributes: PostOpAttr,
        pub handle: Option<FileHandle<'a>>,
    }
}

impl entries::Entry for Entry<'_> {
    fn size(&self) -> usize {
        let attributes = self.attributes.map_or(0, |_| Fattr3::SIZE);
        let handle = self.handle.map_or(0, |handle| opaque_size(handle.len()));
        self.dir_size() + 4 + attributes + 4 + handle
    }

    fn dir_size(&self) -> usize {
        8 + opaque_size(self.name.len()) + 8
    }
}

/// Begins the reply to a request with these counts, the status included.
pub fn begin<'w>(
    w: &'w mut Writer,
    attributes: &PostOpAttr,
    verifier: &Verifier,
    dircount: u32,
    maxcount: u32,
) -> Entries<'w> {
    Entries::begin(w, attributes, verifier, dircount as usize, maxcount as usize)
}

/// READDIRPLUS3resok as a client gets it.
pub type ResOk<'a> = Listing<Entry<'a>>;
/// READDIRPLUS3resfail, with the directory's attributes.
pub type ResFail = Fail<PostOpAttr>;
/// READDIRPLUS3res as a client gets it.
pub type Res<'a> = Result<ResOk<'a>, ResFail>;
