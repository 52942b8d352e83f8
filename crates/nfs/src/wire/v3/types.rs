//! Types that several procedures share, RFC 1813 2.5, 2.6 and 3.3.

use wire::{Malformed, Reader, Writer};

use crate::wire::xdr::{Decode, Encode, Opaque, enumeration, record};

/// The longest file handle, NFS3_FHSIZE of RFC 1813 2.4.
pub const FILE_HANDLE_LIMIT: usize = 64;
/// The longest name that is decoded. It is far above the limit of any server, so that a long name
/// is answered NFS3ERR_NAMETOOLONG and not GARBAGE_ARGS.
pub const NAME_LIMIT: usize = 0x1_0000;
/// The longest path in a symbolic link that is decoded; see [`NAME_LIMIT`].
pub const PATH_LIMIT: usize = 0x1_0000;
/// The most data of one READ or WRITE that is decoded.
pub const DATA_LIMIT: usize = 0x100_0000;

/// nfs_fh3: the server's name of the object, opaque to clients.
pub type FileHandle<'a> = Opaque<'a, FILE_HANDLE_LIMIT>;
/// filename3: any bytes, which the server checks.
pub type Name<'a> = Opaque<'a, NAME_LIMIT>;
/// nfspath3: any bytes.
pub type Path<'a> = Opaque<'a, PATH_LIMIT>;
/// The data of READ and WRITE.
pub type Data<'a> = Opaque<'a, DATA_LIMIT>;
/// cookieverf3, createverf3 and writeverf3: eight bytes with a meaning only for their maker.
pub type Verifier = [u8; 8];
/// post_op_attr: the attributes after the operation, if they are available.
pub type PostOpAttr = Option<Fattr3>;

enumeration! {
    /// nfsstat3, RFC 1813 2.6.
    pub struct Status;
    OK = 0,
    PERM = 1,
    NOENT = 2,
    IO = 5,
    NXIO = 6,
    ACCES = 13,
    EXIST = 17,
    XDEV = 18,
    NODEV = 19,
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
    REMOTE = 71,
    BADHANDLE = 10001,
    NOT_SYNC = 10002,
    BAD_COOKIE = 10003,
    NOTSUPP = 10004,
    TOOSMALL = 10005,
    SERVERFAULT = 10006,
    BADTYPE = 10007,
    JUKEBOX = 10008,
}

enumeration! {
    /// ftype3, RFC 1813 2.6.
    pub struct FileType;
    REG = 1,
    DIR = 2,
    BLK = 3,
    CHR = 4,
    LNK = 5,
    SOCK = 6,
    FIFO = 7,
}

record! {
    /// specdata3: the major and minor device number.
    #[derive(Default)]
    pub struct SpecData {
        pub major: u32,
        pub minor: u32,
    }

    /// nfstime3: since 1970-01-01 00:00 UTC.
    #[derive(Default, PartialOrd, Ord)]
    pub struct NfsTime {
        pub seconds: u32,
        pub nanoseconds: u32,
    }
}

/// fattr3, the attributes of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fattr3 {
    pub file_type: FileType,
    pub mode: u32,
    pub nlink: u32,
    pub uid: u32,
    pub gid: u32,
    pub size: u64,
    pub used: u64,
    pub rdev: SpecData,
    pub fsid: u64,
    pub fileid: u64,
    pub atime: NfsTime,
    pub mtime: NfsTime,
    pub ctime: NfsTime,
}

impl Fattr3 {
    /// How many bytes it takes.
    pub const SIZE: usize = 84;

    /// The part that a later [`Wcc`] has as the state before.
    pub fn wcc(&self) -> WccAttr {
        WccAttr { size: self.size, mtime: self.mtime, ctime: self.ctime }
    }
}

impl Decode<'_> for Fattr3 {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            file_type: FileType::decode(r)?,
            mode: r.u32_be()?,
            nlink: r.u32_be()?,
            uid: r.u32_be()?,
            gid: r.u32_be()?,
            size: r.u64_be()?,
            used: r.u64_be()?,
            rdev: SpecData::decode(r)?,
            fsid: r.u64_be()?,
            fileid: r.u64_be()?,
            atime: NfsTime::decode(r)?,
            mtime: NfsTime::decode(r)?,
            ctime: NfsTime::decode(r)?,
        })
    }
}

impl Encode for Fattr3 {
    /// In one piece: nearly every reply has at least one, and READDIRPLUS has hundreds.
    fn encode(&self, w: &mut Writer) {
        let wide = |value: u64| [(value >> 32) as u32, value as u32];
        let (size, used, fsid, fileid) =
            (wide(self.size), wide(self.used), wide(self.fsid), wide(self.fileid));
        #[rustfmt::skip]
        let words: [u32; Self::SIZE / 4] = [
            self.file_type.0, self.mode, self.nlink, self.uid, self.gid,
            size[0], size[1], used[0], used[1], self.rdev.major, self.rdev.minor,
            fsid[0], fsid[1], fileid[0], fileid[1],
            self.atime.seconds, self.atime.nanoseconds,
            self.mtime.seconds, self.mtime.nanoseconds,
            self.ctime.seconds, self.ctime.nanoseconds,
        ];
        w.put(words.map(u32::to_be_bytes).as_flattened());
    }
}

record! {
    /// wcc_attr: the attributes that a client compares to check its cache.
    pub struct WccAttr {
        pub size: u64,
        pub mtime: NfsTime,
        pub ctime: NfsTime,
    }

    /// wcc_data, weak cache consistency: the object before and after the operation.
    #[derive(Default)]
    pub struct Wcc {
        pub before: Option<WccAttr>,
        pub after: PostOpAttr,
    }
}

/// How SETATTR and its like set a time: set_atime and set_mtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SetTime {
    #[default]
    DontChange,
    ToServerTime,
    ToClientTime(NfsTime),
}

impl Decode<'_> for SetTime {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        match r.u32_be()? {
            0 => Ok(Self::DontChange),
            1 => Ok(Self::ToServerTime),
            2 => NfsTime::decode(r).map(Self::ToClientTime),
            _ => Err(Malformed("unknown time_how")),
        }
    }
}

impl Encode for SetTime {
    fn encode(&self, w: &mut Writer) {
        match self {
            Self::DontChange => w.u32_be(0),
            Self::ToServerTime => w.u32_be(1),
            Self::ToClientTime(time) => {
                w.u32_be(2);
                time.encode(w);
            }
        }
    }
}

record! {
    /// sattr3: the attributes to set. `None` means no change.
    #[derive(Default)]
    pub struct Sattr3 {
        pub mode: Option<u32>,
        pub uid: Option<u32>,
        pub gid: Option<u32>,
        pub size: Option<u64>,
        pub atime: SetTime,
        pub mtime: SetTime,
    }

    /// diropargs3: a name in a directory.
    pub struct DirOpArgs<'a> {
        pub dir: FileHandle<'a>,
        pub name: Name<'a>,
    }
}

/// A failed procedure: the status, and the attributes `B` that the specification requires in that
/// procedure's failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fail<B> {
    pub status: Status,
    pub body: B,
}

impl<B> Fail<B> {
    /// `status` with the attributes that go with it.
    pub fn new(status: Status, body: B) -> Self {
        debug_assert_ne!(status, Status::OK, "a failure says why");
        Self { status, body }
    }
}

/// A failure without attributes.
impl<B: Default> From<Status> for Fail<B> {
    fn from(status: Status) -> Self {
        Self::new(status, B::default())
    }
}

impl<'a, T: Decode<'a>, B: Decode<'a>> Decode<'a> for Result<T, Fail<B>> {
    fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        Ok(match Status::decode(r)? {
            Status::OK => Ok(T::decode(r)?),
            status => Err(Fail { status, body: B::decode(r)? }),
        })
    }
}

/// The results of a procedure. They begin with their status.
pub trait Results: Encode {
    /// The status.
    fn status(&self) -> Status;
}

impl<T: Encode, B: Encode> Results for Result<T, Fail<B>> {
    fn status(&self) -> Status {
        self.as_ref().map_or_else(Results::status, |_| Status::OK)
    }
}

impl<B: Encode> Results for Fail<B> {
    fn status(&self) -> Status {
        self.status
    }
}

impl<T: Encode, B: Encode> Encode for Result<T, Fail<B>> {
    fn encode(&self, w: &mut Writer) {
        match self {
            Ok(done) => {
                Status::OK.encode(w);
                done.encode(w);
            }
            Err(fail) => fail.encode(w),
        }
    }
}

impl<B: Encode> Encode for Fail<B> {
    fn encode(&self, w: &mut Writer) {
        self.status.encode(w);
        self.body.encode(w);
    }
}
