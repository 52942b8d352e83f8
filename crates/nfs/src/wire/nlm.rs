//! NLM version 4, the lock manager of NFSv3: RFC 1813 Appendix II and X/Open XNFS, "Network Lock Manager".
//!
//! Versions 1 to 3 serve NFSv2 with ranges of 32 bits and are not supported. Every locking
//! procedure exists twice: as a call with a reply, and as a pair of messages (`_MSG`, `_RES`) with
//! empty replies and the same cookie. The arguments and results are the same in both forms.

use wire::{Malformed, Reader, Writer};

use super::xdr::{Decode, Encode, Opaque, enumeration, record};

/// The program's number.
pub const PROGRAM: u32 = 100_021;
/// The version spoken here.
pub const VERSION: u32 = 4;
/// LM_MAXSTRLEN, the longest name of a host.
pub const NAME_LIMIT: usize = 1024;
/// MAXNETOBJ_SZ, the longest cookie, handle and owner.
pub const NETOBJ_LIMIT: usize = 1024;

/// The name of a host.
pub type Name<'a> = Opaque<'a, NAME_LIMIT>;
/// netobj: a cookie, a file handle, or the owner of a lock.
pub type NetObj<'a> = Opaque<'a, NETOBJ_LIMIT>;

enumeration! {
    /// The procedures, RFC 1813 6.2 and XNFS. The server calls GRANTED and GRANTED_MSG at the
    /// client.
    pub struct Procedure;
    NULL = 0,
    TEST = 1,
    LOCK = 2,
    CANCEL = 3,
    UNLOCK = 4,
    GRANTED = 5,
    TEST_MSG = 6,
    LOCK_MSG = 7,
    CANCEL_MSG = 8,
    UNLOCK_MSG = 9,
    GRANTED_MSG = 10,
    TEST_RES = 11,
    LOCK_RES = 12,
    CANCEL_RES = 13,
    UNLOCK_RES = 14,
    GRANTED_RES = 15,
    SHARE = 20,
    UNSHARE = 21,
    NM_LOCK = 22,
    FREE_ALL = 23,
}

enumeration! {
    /// nlm4_stats, RFC 1813 6.2.
    pub struct NlmStat;
    GRANTED = 0,
    DENIED = 1,
    DENIED_NOLOCKS = 2,
    BLOCKED = 3,
    DENIED_GRACE_PERIOD = 4,
    DEADLCK = 5,
    ROFS = 6,
    STALE_FH = 7,
    FBIG = 8,
    FAILED = 9,
}

record! {
    /// nlm4_lock: the range of a file that an owner at a host locks. A length of 0 reaches to the end of the file,
    /// wherever that will be.
    pub struct NlmLock<'a> {
        pub caller_name: Name<'a>,
        pub handle: NetObj<'a>,
        pub owner: NetObj<'a>,
        pub svid: i32,
        pub offset: u64,
        pub len: u64,
    }

    /// nlm4_holder: the owner of the conflicting lock.
    pub struct Holder<'a> {
        pub exclusive: bool,
        pub svid: i32,
        pub owner: NetObj<'a>,
        pub offset: u64,
        pub len: u64,
    }

    /// nlm4_testargs, of TEST. GRANTED has it for the lock that the client waited for.
    pub struct TestRequest<'a> {
        pub cookie: NetObj<'a>,
        pub exclusive: bool,
        pub lock: NlmLock<'a>,
    }

    /// nlm4_lockargs, of LOCK and NM_LOCK (the non-monitored lock of clients without NSM).
    pub struct LockRequest<'a> {
        pub cookie: NetObj<'a>,
        /// The client waits for the lock: the answer is BLOCKED, and GRANTED follows when the lock
        /// is free.
        pub block: bool,
        pub exclusive: bool,
        pub lock: NlmLock<'a>,
        /// The client held it before this server restarted.
        pub reclaim: bool,
        /// The client's NSM state.
        pub state: i32,
    }

    /// nlm4_cancargs, of CANCEL.
    pub struct CancelRequest<'a> {
        pub cookie: NetObj<'a>,
        pub block: bool,
        pub exclusive: bool,
        pub lock: NlmLock<'a>,
    }

    /// nlm4_unlockargs, of UNLOCK.
    pub struct UnlockRequest<'a> {
        pub cookie: NetObj<'a>,
        pub lock: NlmLock<'a>,
    }

    /// nlm4_res: the answer to LOCK, CANCEL, UNLOCK, GRANTED and NM_LOCK.
    pub struct Res<'a> {
        pub cookie: NetObj<'a>,
        pub stat: NlmStat,
    }
}

/// nlm4_testrply. Only DENIED has the owner of the conflicting lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestReply<'a> {
    Denied(Holder<'a>),
    /// Any status but DENIED.
    Other(NlmStat),
}

impl<'a> Decode<'a> for TestReply<'a> {
    fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        match NlmStat::decode(r)? {
            NlmStat::DENIED => Holder::decode(r).map(Self::Denied),
            other => Ok(Self::Other(other)),
        }
    }
}

impl Encode for TestReply<'_> {
    fn encode(&self, w: &mut Writer) {
        match self {
            Self::Denied(holder) => {
                NlmStat::DENIED.encode(w);
                holder.encode(w);
            }
            Self::Other(stat) => {
                debug_assert_ne!(*stat, NlmStat::DENIED, "a denial names the holder");
                stat.encode(w);
            }
        }
    }
}

record! {
    /// nlm4_testres: the answer to TEST.
    pub struct TestRes<'a> {
        pub cookie: NetObj<'a>,
        pub reply: TestReply<'a>,
    }
}

enumeration! {
    /// fsh4_mode: the access that a share denies to others.
    pub struct ShareMode;
    DENY_NONE = 0,
    DENY_READ = 1,
    DENY_WRITE = 2,
    DENY_READ_WRITE = 3,
}

enumeration! {
    /// fsh4_access: the access that a share asks for.
    pub struct ShareAccess;
    NONE = 0,
    READ = 1,
    WRITE = 2,
    READ_WRITE = 3,
}

record! {
    /// nlm4_share: a share reservation of a file, as DOS clients make them.
    pub struct Share<'a> {
        pub caller_name: Name<'a>,
        pub handle: NetObj<'a>,
        pub owner: NetObj<'a>,
        pub mode: ShareMode,
        pub access: ShareAccess,
    }

    /// nlm4_shareargs, of SHARE and UNSHARE.
    pub struct ShareRequest<'a> {
        pub cookie: NetObj<'a>,
        pub share: Share<'a>,
        pub reclaim: bool,
    }

    /// nlm4_shareres: the answer to SHARE and UNSHARE.
    pub struct ShareRes<'a> {
        pub cookie: NetObj<'a>,
        pub stat: NlmStat,
        pub sequence: i32,
    }

    /// nlm4_notify, of FREE_ALL: a client without NSM has restarted and holds nothing any more.
    pub struct FreeAllRequest<'a> {
        pub name: Name<'a>,
        pub state: i32,
    }
}

#[cfg(test)]
mod tests;
