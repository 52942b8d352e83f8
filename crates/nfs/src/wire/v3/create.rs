//! CREATE, RFC 1813 3.3.8.

use wire::{Malformed, Reader, Writer};

use super::types::{DirOpArgs, Fail, FileHandle, PostOpAttr, Sattr3, Verifier, Wcc};
use crate::wire::xdr::{Decode, Encode, record};

/// createhow3: what to do when the name exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateHow {
    /// Use the existing file.
    Unchecked(Sattr3),
    /// NFS3ERR_EXIST.
    Guarded(Sattr3),
    /// NFS3ERR_EXIST, unless the same request made the file before: the file has stored the
    /// verifier.
    Exclusive(Verifier),
}

impl Decode<'_> for CreateHow {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        match r.u32_be()? {
            0 => Sattr3::decode(r).map(Self::Unchecked),
            1 => Sattr3::decode(r).map(Self::Guarded),
            2 => Verifier::decode(r).map(Self::Exclusive),
            _ => Err(Malformed("unknown createmode3")),
        }
    }
}

impl Encode for CreateHow {
    fn encode(&self, w: &mut Writer) {
        match self {
            Self::Unchecked(attributes) => (0_u32.encode(w), attributes.encode(w)),
            Self::Guarded(attributes) => (1_u32.encode(w), attributes.encode(w)),
            Self::Exclusive(verifier) => (2_u32.encode(w), verifier.encode(w)),
        };
    }
}

record! {
    /// CREATE3args.
    pub struct Request<'a> {
        pub place: DirOpArgs<'a>,
        pub how: CreateHow,
    }

    /// CREATE3resok; MKDIR, SYMLINK and MKNOD have the same.
    pub struct ResOk<'a> {
        pub object: Option<FileHandle<'a>>,
        pub attributes: PostOpAttr,
        pub dir_wcc: Wcc,
    }
}

/// CREATE3resfail, with the directory's attributes; MKDIR, SYMLINK and MKNOD have the same.
pub type ResFail = Fail<Wcc>;
/// CREATE3res.
pub type Res<'a> = Result<ResOk<'a>, ResFail>;
