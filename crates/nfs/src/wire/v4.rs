//! NFS version 4, minor versions 0 to 2: RFC 7530, RFC 8881 and RFC 7862. The layouts are those of
//! RFC 7531.
//!
//! A call is one COMPOUND: a [`Head`], then its operations. Each operation is decoded on its own:
//! one that does not decode fails alone (NFS4ERR_BADXDR), after those before it took effect. The
//! server answers version 4 only when it is told to: see `Service::set_versions`.

pub mod acls;
pub mod attributes;
pub mod callbacks;
pub mod clients;
pub mod files;
pub mod locations;
pub mod locks;
pub mod opens;
pub mod ranges;
pub mod sessions;
pub mod types;
pub mod xattrs;

#[cfg(test)]
mod tests;

use super::xdr::{Decode, Encode, Opaque, enumeration, put_words, record};
use types::Status;
use wire::{Malformed, Reader, Writer};

pub use files::CompoundOperation;

/// The version of the program, RFC 7530 1.
pub const VERSION: u32 = 4;
/// The procedure that has all operations. The only other one is NULL, 0.
pub const COMPOUND: u32 = 1;
/// The newest minor version, RFC 7862.
pub const NEWEST_MINOR: u32 = 2;
/// The longest tag of a COMPOUND that is decoded. Clients send at most some tens of bytes.
pub const TAG_LIMIT: usize = 1024;
/// The most operations of one COMPOUND. A longer one is answered NFS4ERR_RESOURCE (4.0) or
/// NFS4ERR_TOO_MANY_OPS.
pub const OPERATIONS_LIMIT: u32 = 128;

enumeration! {
    /// nfs_opnum4 of the minor versions 0 to 2, RFC 7531, RFC 5662, RFC 7863 and RFC 8276. [`CompoundOperation`] does not decode those on layouts,
    /// and of minor version 2 COPY_NOTIFY and WRITE_SAME.
    pub struct OperationNumber;
    ACCESS = 3,
    CLOSE = 4,
    COMMIT = 5,
    CREATE = 6,
    DELEGPURGE = 7,
    DELEGRETURN = 8,
    GETATTR = 9,
    GETFH = 10,
    LINK = 11,
    LOCK = 12,
    LOCKT = 13,
    LOCKU = 14,
    LOOKUP = 15,
    LOOKUPP = 16,
    NVERIFY = 17,
    OPEN = 18,
    OPENATTR = 19,
    OPEN_CONFIRM = 20,
    OPEN_DOWNGRADE = 21,
    PUTFH = 22,
    PUTPUBFH = 23,
    PUTROOTFH = 24,
    READ = 25,
    READDIR = 26,
    READLINK = 27,
    REMOVE = 28,
    RENAME = 29,
    RENEW = 30,
    RESTOREFH = 31,
    SAVEFH = 32,
    SECINFO = 33,
    SETATTR = 34,
    SETCLIENTID = 35,
    SETCLIENTID_CONFIRM = 36,
    VERIFY = 37,
    WRITE = 38,
    RELEASE_LOCKOWNER = 39,
    BACKCHANNEL_CTL = 40,
    BIND_CONN_TO_SESSION = 41,
    EXCHANGE_ID = 42,
    CREATE_SESSION = 43,
    DESTROY_SESSION = 44,
    FREE_STATEID = 45,
    GET_DIR_DELEGATION = 46,
    GETDEVICEINFO = 47,
    GETDEVICELIST = 48,
    LAYOUTCOMMIT = 49,
    LAYOUTGET = 50,
    LAYOUTRETURN = 51,
    SECINFO_NO_NAME = 52,
    SEQUENCE = 53,
    SET_SSV = 54,
    TEST_STATEID = 55,
    WANT_DELEGATION = 56,
    DESTROY_CLIENTID = 57,
    RECLAIM_COMPLETE = 58,
    ALLOCATE = 59,
    COPY = 60,
    COPY_NOTIFY = 61,
    DEALLOCATE = 62,
    IO_ADVISE = 63,
    LAYOUTERROR = 64,
    LAYOUTSTATS = 65,
    OFFLOAD_CANCEL = 66,
    OFFLOAD_STATUS = 67,
    READ_PLUS = 68,
    SEEK = 69,
    WRITE_SAME = 70,
    CLONE = 71,
    GETXATTR = 72,
    SETXATTR = 73,
    LISTXATTRS = 74,
    REMOVEXATTR = 75,
    ILLEGAL = 10044,
}

impl OperationNumber {
    /// Whether a minor version has this operation.
    pub fn is_of(self, minor: u32) -> bool {
        let last = match minor {
            0 => Self::RELEASE_LOCKOWNER,
            1 => Self::RECLAIM_COMPLETE,
            _ => Self::REMOVEXATTR,
        };
        (Self::ACCESS.0..=last.0).contains(&self.0)
    }
}

/// The text that a client gives a COMPOUND; the reply repeats it, RFC 7530 15.2.
pub type Tag<'a> = Opaque<'a, TAG_LIMIT>;

record! {
    /// COMPOUND4args without its operations, RFC 7530 15.2.
    pub struct Head<'a> {
        pub tag: Tag<'a>,
        pub minor: u32,
        /// How many operations the client announces. No memory is allocated by it.
        pub operations: u32,
    }

    /// COMPOUND4res without the results of its operations.
    pub struct ReplyHead<'a> {
        pub status: Status,
        pub tag: Tag<'a>,
        /// How many operations were executed, the failed one included.
        pub results: u32,
    }
}

impl Head<'_> {
    /// The status that refuses the whole call, so that no operation is executed: RFC 7530 15.2.4,
    /// RFC 8881 16.2.3.
    pub fn refusal(&self) -> Option<Status> {
        if self.minor > NEWEST_MINOR {
            return Some(Status::MINOR_VERS_MISMATCH);
        }
        if self.operations <= OPERATIONS_LIMIT {
            return None;
        }
        Some(if self.minor == 0 { Status::RESOURCE } else { Status::TOO_MANY_OPS })
    }
}
