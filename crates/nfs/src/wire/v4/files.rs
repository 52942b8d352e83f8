//! The operations on handles, names, attributes and data, RFC 7530 16.

use super::clients::*;
use super::locks::*;
use super::opens::*;
use super::ranges::*;
use super::sessions::*;
use super::types::*;
use super::xattrs::*;
use super::*;

record! {
    /// COMMIT4args, 16.3.
    pub struct Commit {
        pub offset: u64,
        pub count: u32,
    }

    /// READ4args, 16.23.
    pub struct Read {
        pub state: StateId,
        pub offset: u64,
        pub count: u32,
    }

    /// READDIR4args, 16.24.
    pub struct ReadDir {
        pub cookie: u64,
        pub verifier: Verifier,
        pub dir_count: u32,
        pub max_count: u32,
        pub wanted: Bitmap,
    }

    /// RENAME4args, 16.27: from the saved handle to the current one.
    pub struct Rename<'a> {
        pub from: Name<'a>,
        pub to: Name<'a>,
    }

    /// SETATTR4args, 16.32.
    pub struct SetAttr<'a> {
        pub state: StateId,
        pub attributes: Fattr<'a>,
    }

    /// WRITE4args, 16.36.
    pub struct Write<'a> {
        pub state: StateId,
        pub offset: u64,
        pub stable: StableHow,
        pub data: Data<'a>,
    }
}

/// Declares [`CompoundOperation`] and its codec from the numbers and the types of the arguments.
macro_rules! operations {
    ($($name:ident = $number:ident: $type:ty,)*) => {
        /// nfs_argop4: an operation and its arguments.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum CompoundOperation<'a> {
            $($name($type),)*
            /// An operation that is not decoded. The end of its arguments is unknown, so it is
            /// the last one that is read.
            Other(OperationNumber),
        }

        impl<'a> CompoundOperation<'a> {
            /// Reads the arguments that follow the number of an operation.
            pub fn of(number: OperationNumber, r: &mut Reader<'a>) -> Result<Self, Malformed> {
                Ok(match number {
                    $(OperationNumber::$number => Self::$name(Decode::decode(r)?),)*
                    other => Self::Other(other),
                })
            }
        }

        impl<'a> Decode<'a> for CompoundOperation<'a> {
            fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
                let number = OperationNumber::decode(r)?;
                Self::of(number, r)
            }
        }

        impl Encode for CompoundOperation<'_> {
            fn encode(&self, w: &mut Writer) {
                match self {
                    $(Self::$name(arguments) => {
                        OperationNumber::$number.encode(w);
                        arguments.encode(w);
                    })*
                    Self::Other(number) => number.encode(w),
                }
            }
        }
    };
}

operations! {
    Access = ACCESS: u32,
    Close = CLOSE: Close,
    Commit = COMMIT: Commit,
    Create = CREATE: Create<'a>,
    PurgeDelegations = DELEGPURGE: u64,
    ReturnDelegation = DELEGRETURN: StateId,
    GetAttr = GETATTR: Bitmap,
    GetHandle = GETFH: (),
    Link = LINK: Name<'a>,
    Lock = LOCK: Lock<'a>,
    LockTest = LOCKT: LockTest<'a>,
    Unlock = LOCKU: Unlock,
    LookUp = LOOKUP: Name<'a>,
    LookUpParent = LOOKUPP: (),
    DiffersFrom = NVERIFY: Fattr<'a>,
    Open = OPEN: OpenArgs<'a>,
    OpenAttributes = OPENATTR: bool,
    OpenConfirm = OPEN_CONFIRM: OpenConfirm,
    OpenDowngrade = OPEN_DOWNGRADE: OpenDowngrade,
    PutHandle = PUTFH: FileHandle<'a>,
    PutPublic = PUTPUBFH: (),
    PutRoot = PUTROOTFH: (),
    Read = READ: Read,
    ReadDir = READDIR: ReadDir,
    ReadLink = READLINK: (),
    Remove = REMOVE: Name<'a>,
    Rename = RENAME: Rename<'a>,
    Renew = RENEW: u64,
    Restore = RESTOREFH: (),
    Save = SAVEFH: (),
    SecInfo = SECINFO: Name<'a>,
    SetAttr = SETATTR: SetAttr<'a>,
    SetClientId = SETCLIENTID: SetClientId<'a>,
    SetClientIdConfirm = SETCLIENTID_CONFIRM: SetClientIdConfirm,
    Verify = VERIFY: Fattr<'a>,
    Write = WRITE: Write<'a>,
    ReleaseLockOwner = RELEASE_LOCKOWNER: OwnerArgument<'a>,
    BackChannel = BACKCHANNEL_CTL: BackChannel,
    BindConnection = BIND_CONN_TO_SESSION: BindConnection,
    ExchangeId = EXCHANGE_ID: ExchangeId<'a>,
    CreateSession = CREATE_SESSION: CreateSession,
    DestroySession = DESTROY_SESSION: SessionId,
    FreeStateId = FREE_STATEID: StateId,
    DirectoryDelegation = GET_DIR_DELEGATION: DirectoryDelegation,
    SecInfoNoName = SECINFO_NO_NAME: u32,
    Sequence = SEQUENCE: Sequence,
    SetSsv = SET_SSV: SetSsv<'a>,
    TestStateIds = TEST_STATEID: StateIds<'a>,
    WantDelegation = WANT_DELEGATION: WantDelegation,
    DestroyClientId = DESTROY_CLIENTID: u64,
    ReclaimComplete = RECLAIM_COMPLETE: bool,
    Allocate = ALLOCATE: FileRange,
    Copy = COPY: CopyRange,
    Deallocate = DEALLOCATE: FileRange,
    Advise = IO_ADVISE: Advise,
    CancelOffload = OFFLOAD_CANCEL: StateId,
    OffloadStatus = OFFLOAD_STATUS: StateId,
    ReadPlus = READ_PLUS: Read,
    Seek = SEEK: Seek,
    Clone = CLONE: CloneRange,
    GetXattr = GETXATTR: Name<'a>,
    SetXattr = SETXATTR: SetXattr<'a>,
    ListXattrs = LISTXATTRS: ListXattrs,
    RemoveXattr = REMOVEXATTR: Name<'a>,
}
