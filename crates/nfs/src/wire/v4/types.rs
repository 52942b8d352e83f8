//! Types that several operations share, RFC 7531.

use std::ops::Deref;

use wire::{Malformed, Reader, Writer};

use crate::wire::xdr::{Decode, Encode, Opaque, Words, enumeration, record};

/// The longest file handle, NFS4_FHSIZE.
pub const FILE_HANDLE_LIMIT: usize = 128;
/// The longest name that is decoded. A long name is answered NFS4ERR_NAMETOOLONG and not BADXDR.
pub const NAME_LIMIT: usize = 0x1_0000;
/// The most data of one WRITE that is decoded.
pub const DATA_LIMIT: usize = 0x100_0000;
/// The most bytes of the values of attributes that are decoded; ACLs are the longest.
pub const VALUES_LIMIT: usize = 0x1_0000;
/// The longest text of a symbolic link that is decoded; see [`NAME_LIMIT`].
pub const LINK_TEXT_LIMIT: usize = 0x1_0000;
/// The longest name of a client or of an owner of opens or locks, NFS4_OPAQUE_LIMIT.
pub const OWNER_LIMIT: usize = 1024;
/// The longest name of a transport (`tcp6`) and the longest universal address. RFC 5665 needs less.
pub const ADDRESS_LIMIT: usize = 128;
/// OPEN4_SHARE_ACCESS_READ and OPEN4_SHARE_DENY_READ.
pub const SHARE_READ: u32 = 1;
/// OPEN4_SHARE_ACCESS_WRITE and OPEN4_SHARE_DENY_WRITE.
pub const SHARE_WRITE: u32 = 2;
/// The most words of a set of attributes that are kept. The minor versions up to 2 use three.
pub const BITMAP_LIMIT: usize = 8;
/// The most words of a set of attributes that are decoded.
const SENT_BITMAP_LIMIT: usize = 256;

/// nfs_fh4.
pub type FileHandle<'a> = Opaque<'a, FILE_HANDLE_LIMIT>;
/// component4: any bytes, which the server checks.
pub type Name<'a> = Opaque<'a, NAME_LIMIT>;
/// The value of an extended attribute.
pub type XattrValue<'a> = Opaque<'a, VALUES_LIMIT>;
/// The data of WRITE.
pub type Data<'a> = Opaque<'a, DATA_LIMIT>;
/// linktext4: any bytes.
pub type LinkText<'a> = Opaque<'a, LINK_TEXT_LIMIT>;
/// A client's own name of itself or of one of its owners.
pub type OwnerName<'a> = Opaque<'a, OWNER_LIMIT>;
/// netid of clientaddr4.
pub type NetId<'a> = Opaque<'a, ADDRESS_LIMIT>;
/// uaddr of clientaddr4.
pub type UniversalAddress<'a> = Opaque<'a, ADDRESS_LIMIT>;
/// verifier4.
pub type Verifier = [u8; 8];

enumeration! {
    /// nfsstat4 of the minor versions 0 to 2, RFC 7530 13.1, RFC 8881 15.1, RFC 7862 11.1 and
    /// RFC 8276 8.4.
    pub struct Status;
    OK = 0,
    PERM = 1,
    NOENT = 2,
    IO = 5,
    NXIO = 6,
    ACCESS = 13,
    EXIST = 17,
    XDEV = 18,
    NOTDIR = 20,
    ISDIR = 21,
    INVAL = 22,
    FBIG = 27,
    NOSPC = 28,
    ROFS = 30,
    MLINK = 31,
    NAMETOOLONG = 63,
    NOTEMPTY = 66,
    DQUOT = 69,
    STALE = 70,
    BADHANDLE = 10001,
    BAD_COOKIE = 10003,
    NOTSUPP = 10004,
    TOOSMALL = 10005,
    SERVERFAULT = 10006,
    BADTYPE = 10007,
    DELAY = 10008,
    SAME = 10009,
    DENIED = 10010,
    EXPIRED = 10011,
    LOCKED = 10012,
    GRACE = 10013,
    FHEXPIRED = 10014,
    SHARE_DENIED = 10015,
    WRONGSEC = 10016,
    CLID_INUSE = 10017,
    RESOURCE = 10018,
    MOVED = 10019,
    NOFILEHANDLE = 10020,
    MINOR_VERS_MISMATCH = 10021,
    STALE_CLIENTID = 10022,
    STALE_STATEID = 10023,
    OLD_STATEID = 10024,
    BAD_STATEID = 10025,
    BAD_SEQID = 10026,
    NOT_SAME = 10027,
    LOCK_RANGE = 10028,
    SYMLINK = 10029,
    RESTOREFH = 10030,
    LEASE_MOVED = 10031,
    ATTRNOTSUPP = 10032,
    NO_GRACE = 10033,
    RECLAIM_BAD = 10034,
    RECLAIM_CONFLICT = 10035,
    BADXDR = 10036,
    LOCKS_HELD = 10037,
    OPENMODE = 10038,
    BADOWNER = 10039,
    BADCHAR = 10040,
    BADNAME = 10041,
    BAD_RANGE = 10042,
    LOCK_NOTSUPP = 10043,
    OP_ILLEGAL = 10044,
    DEADLOCK = 10045,
    FILE_OPEN = 10046,
    ADMIN_REVOKED = 10047,
    CB_PATH_DOWN = 10048,
    BADIOMODE = 10049,
    BADLAYOUT = 10050,
    BAD_SESSION_DIGEST = 10051,
    BADSESSION = 10052,
    BADSLOT = 10053,
    COMPLETE_ALREADY = 10054,
    CONN_NOT_BOUND_TO_SESSION = 10055,
    DELEG_ALREADY_WANTED = 10056,
    BACK_CHAN_BUSY = 10057,
    LAYOUTTRYLATER = 10058,
    LAYOUTUNAVAILABLE = 10059,
    NOMATCHING_LAYOUT = 10060,
    RECALLCONFLICT = 10061,
    UNKNOWN_LAYOUTTYPE = 10062,
    SEQ_MISORDERED = 10063,
    SEQUENCE_POS = 10064,
    REQ_TOO_BIG = 10065,
    REP_TOO_BIG = 10066,
    REP_TOO_BIG_TO_CACHE = 10067,
    RETRY_UNCACHED_REP = 10068,
    UNSAFE_COMPOUND = 10069,
    TOO_MANY_OPS = 10070,
    OP_NOT_IN_SESSION = 10071,
    HASH_ALG_UNSUPP = 10072,
    CLIENTID_BUSY = 10074,
    PNFS_IO_HOLE = 10075,
    SEQ_FALSE_RETRY = 10076,
    BAD_HIGH_SLOT = 10077,
    DEADSESSION = 10078,
    ENCR_ALG_UNSUPP = 10079,
    PNFS_NO_LAYOUT = 10080,
    NOT_ONLY_OP = 10081,
    WRONG_CRED = 10082,
    WRONG_TYPE = 10083,
    DIRDELEG_UNAVAIL = 10084,
    REJECT_DELEG = 10085,
    RETURNCONFLICT = 10086,
    DELEG_REVOKED = 10087,
    PARTNER_NOTSUPP = 10088,
    PARTNER_NO_AUTH = 10089,
    UNION_NOTSUPP = 10090,
    OFFLOAD_DENIED = 10091,
    WRONG_LFS = 10092,
    BADLABEL = 10093,
    OFFLOAD_NO_REQS = 10094,
    NOXATTR = 10095,
    XATTR2BIG = 10096,
}

enumeration! {
    /// nfs_ftype4.
    pub struct FileType;
    REG = 1,
    DIR = 2,
    BLK = 3,
    CHR = 4,
    LNK = 5,
    SOCK = 6,
    FIFO = 7,
    ATTRDIR = 8,
    NAMEDATTR = 9,
}

enumeration! {
    /// nfs_lock_type4. The kinds with a W are of clients that wait and ask again.
    pub struct LockType;
    READ = 1,
    WRITE = 2,
    READW = 3,
    WRITEW = 4,
}

enumeration! {
    /// open_delegation_type4.
    pub struct DelegationType;
    NONE = 0,
    READ = 1,
    WRITE = 2,
    /// None, with the reason. From minor version 1.
    NONE_EXT = 3,
}

enumeration! {
    /// stable_how4.
    pub struct StableHow;
    UNSTABLE = 0,
    DATA_SYNC = 1,
    FILE_SYNC = 2,
}

record! {
    /// stateid4: the server's name of an open, a lock or a delegation.
    pub struct StateId {
        pub sequence: u32,
        pub other: [u8; 12],
    }

    /// open_owner4 and lock_owner4: one process of a client, or a part of it.
    pub struct OwnerArgument<'a> {
        pub client: u64,
        pub name: OwnerName<'a>,
    }

    /// nfstime4: since 1970-01-01 00:00 UTC, negative before.
    #[derive(Default)]
    pub struct NfsTime {
        pub seconds: i64,
        pub nanoseconds: u32,
    }

    /// change_info4: the change attribute of a folder around an operation.
    pub struct ChangeInfo {
        /// Nothing else changed the folder between the two.
        pub atomic: bool,
        pub before: u64,
        pub after: u64,
    }

    /// fattr4: attributes, and their values in the order of the bits.
    pub struct Fattr<'a> {
        pub which: Bitmap,
        pub values: Opaque<'a, VALUES_LIMIT>,
    }
}

/// bitmap4: the number of an attribute is 32 times the word and the bit in it. The last number stands for all that are too
/// large for it: no version has any of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Bitmap(pub(super) Words<BITMAP_LIMIT>);

impl Bitmap {
    /// The first words of `words`.
    pub fn new(words: &[u32]) -> Self {
        Self(Words::new(words))
    }
}

impl Deref for Bitmap {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.0
    }
}

impl Decode<'_> for Bitmap {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let count = r.u32_be()? as usize;
        if count > SENT_BITMAP_LIMIT {
            return Err(Malformed("a bitmap longer than its limit"));
        }
        let mut words = [0; BITMAP_LIMIT];
        for at in 0..count {
            let word = r.u32_be()?;
            match words.get_mut(at) {
                Some(known) => *known = word,
                None if word != 0 => words[BITMAP_LIMIT - 1] |= 1 << 31,
                None => {}
            }
        }
        let used = if count > BITMAP_LIMIT { BITMAP_LIMIT } else { count };
        Ok(Self(Words::new(&words[..used])))
    }
}

impl Encode for Bitmap {
    fn encode(&self, w: &mut Writer) {
        self.0.encode(w);
    }
}

impl StateId {
    /// The anonymous one: no open, RFC 7530 9.1.4.3.
    pub const ANONYMOUS: Self = Self { sequence: 0, other: [0; 12] };
    /// READ that passes over locks, RFC 7530 9.1.4.3.
    pub const BYPASS: Self = Self { sequence: u32::MAX, other: [0xff; 12] };
    /// The one that an operation before in the same COMPOUND has returned or was given, RFC 8881 8.2.3. From minor version 1.
    pub const CURRENT: Self = Self { sequence: 1, other: [0; 12] };
    /// The one that is never valid, which CLOSE returns: RFC 8881 8.2.3. From minor version 1.
    pub const INVALID: Self = Self { sequence: u32::MAX, other: [0; 12] };

    /// Whether it can name no open or lock, whatever its sequence number: RFC 7530 9.1.4.3.
    pub fn is_special(&self) -> bool {
        self.other == Self::ANONYMOUS.other || self.other == Self::BYPASS.other
    }
}
