//! MOUNT versions 1, 2 (RFC 1094 Appendix A) and 3 (RFC 1813 Appendix I).
//!
//! The versions differ in the answer to MNT: a handle of fixed size in 1 and 2, which serve NFSv2,
//! and one of variable size with the authentication flavours in 3. The rest is the same in all.

use wire::{Malformed, Reader, Writer};

use super::v3::types::FileHandle;
use super::xdr::{Decode, Encode, Opaque, Words, enumeration, list, put_list, record};

/// The program's number.
pub const PROGRAM: u32 = 100_005;
/// The lowest and the highest version spoken here.
pub const VERSIONS: (u32, u32) = (1, 3);
/// The longest path, MNTPATHLEN.
pub const PATH_LIMIT: usize = 1024;
/// The longest name, MNTNAMLEN.
pub const NAME_LIMIT: usize = 255;
/// FHSIZE, the size of a handle in versions 1 and 2.
pub const FHSIZE: usize = 32;
/// The most authentication flavours decoded or sent.
pub const FLAVORS_LIMIT: usize = 16;

/// dirpath.
pub type DirPath<'a> = Opaque<'a, PATH_LIMIT>;
/// name: of a host, or of a group in an export list.
pub type Name<'a> = Opaque<'a, NAME_LIMIT>;

enumeration! {
    /// The procedures. EXPORTALL, in versions 1 and 2, is EXPORT again; PATHCONF is in version 2 only.
    pub struct Procedure;
    NULL = 0,
    MNT = 1,
    DUMP = 2,
    UMNT = 3,
    UMNTALL = 4,
    EXPORT = 5,
    EXPORTALL = 6,
    PATHCONF = 7,
}

enumeration! {
    /// mountstat3, RFC 1813 5.1.5; versions 1 and 2 send a UNIX errno, which these are.
    pub struct Status;
    OK = 0,
    PERM = 1,
    NOENT = 2,
    IO = 5,
    ACCES = 13,
    NOTDIR = 20,
    INVAL = 22,
    NAMETOOLONG = 63,
    NOTSUPP = 10004,
    SERVERFAULT = 10006,
}

record! {
    /// The argument of MNT and UMNT.
    pub struct Request<'a> {
        pub path: DirPath<'a>,
    }

    /// mountres3_ok, the answer to MNT in version 3.
    pub struct MountOk<'a> {
        pub handle: FileHandle<'a>,
        pub flavors: Words<FLAVORS_LIMIT>,
    }
}

/// A result of MNT: `T` is [`MountOk`] in version 3 and `[u8; FHSIZE]` in versions 1 and 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MountRes<T>(pub Result<T, Status>);

impl<'a, T: Decode<'a>> Decode<'a> for MountRes<T> {
    fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        match Status::decode(r)? {
            Status::OK => T::decode(r).map(|ok| Self(Ok(ok))),
            status => Ok(Self(Err(status))),
        }
    }
}

impl<T: Encode> Encode for MountRes<T> {
    fn encode(&self, w: &mut Writer) {
        match &self.0 {
            Ok(ok) => (Status::OK.encode(w), ok.encode(w)).0,
            Err(status) => status.encode(w),
        }
    }
}

record! {
    /// mountbody: a client and the path that it mounted, an item of DUMP's list.
    pub struct MountBody<'a> {
        pub host: Name<'a>,
        pub path: DirPath<'a>,
    }
}

/// Writes the answer to DUMP.
pub fn put_mounted<'a>(w: &mut Writer, mounted: impl IntoIterator<Item = MountBody<'a>>) {
    put_list(w, mounted);
}

/// Reads the answer to DUMP.
pub fn mounted<'a>(r: &mut Reader<'a>) -> Result<Vec<MountBody<'a>>, Malformed> {
    list(r)
}

/// exportnode: a path and the clients that may mount it, an item of EXPORT's list. Without clients:
/// all clients may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export<'a> {
    pub path: DirPath<'a>,
    pub groups: Vec<Name<'a>>,
}

impl<'a> Decode<'a> for Export<'a> {
    fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        Ok(Self { path: Decode::decode(r)?, groups: list(r)? })
    }
}

impl Encode for Export<'_> {
    fn encode(&self, w: &mut Writer) {
        self.path.encode(w);
        put_list(w, &self.groups);
    }
}

/// Writes the answer to EXPORT.
pub fn put_exports<'a>(w: &mut Writer, exports: impl IntoIterator<Item = Export<'a>>) {
    put_list(w, exports);
}

/// Reads the answer to EXPORT.
pub fn exports<'a>(r: &mut Reader<'a>) -> Result<Vec<Export<'a>>, Malformed> {
    list(r)
}

#[cfg(test)]
mod tests;
