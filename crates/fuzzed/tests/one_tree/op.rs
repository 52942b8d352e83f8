//! The operations that clients do, and the outcomes that they may have.

use std::collections::BTreeSet;

/// A client. There are two of each protocol, on two machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Who {
    SmbA,
    SmbB,
    AfpA,
    AfpB,
    Nfs3A,
    Nfs3B,
    Nfs4A,
    Nfs4B,
}

pub use Who::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Smb,
    Afp,
    Nfs3,
    Nfs4,
}

impl Who {
    pub const ALL: [Self; 8] = [SmbA, SmbB, AfpA, AfpB, Nfs3A, Nfs3B, Nfs4A, Nfs4B];

    /// The first client of the same protocol.
    pub fn first(self) -> Self {
        match self.protocol() {
            Protocol::Smb => SmbA,
            Protocol::Afp => AfpA,
            Protocol::Nfs3 => Nfs3A,
            Protocol::Nfs4 => Nfs4A,
        }
    }

    /// The machine of the client: 0 or 1. If there are several servers, each machine uses another one.
    pub fn machine(self) -> usize {
        usize::from(matches!(self, SmbB | AfpB | Nfs3B | Nfs4B))
    }

    pub fn protocol(self) -> Protocol {
        match self {
            SmbA | SmbB => Protocol::Smb,
            AfpA | AfpB => Protocol::Afp,
            Nfs3A | Nfs3B => Protocol::Nfs3,
            Nfs4A | Nfs4B => Protocol::Nfs4,
        }
    }
}

/// A path from the root of the share, at most two names.
pub type Place = &'static str;
/// What a client keeps open, over all clients.
pub type Slot = usize;

/// A hundred characters of three bytes each: more than the host can hold.
macro_rules! long {
    () => {
        concat!(ten!(), ten!(), ten!(), ten!(), ten!(), ten!(), ten!(), ten!(), ten!(), ten!())
    };
}
macro_rules! ten {
    () => {
        "漢字漢字漢字漢字漢字"
    };
}

/// Where files and folders may be.
pub const PLACES: [Place; 12] = [
    "a",
    "b",
    "c",
    long!(),
    "a/a",
    concat!("a/", long!()),
    "b/a",
    "b/b",
    "c/a",
    "c/b",
    concat!(long!(), "/a"),
    concat!(long!(), "/", long!()),
];
/// Where symbolic links may be: operations on files do not use this name.
pub const LINK: Place = "l";
/// Names of attributes. To AFP the first two are extended attributes, to SMB named streams. The last one is an extended
/// attribute to SMB and NFSv4.2.
pub const XATTRS: [&str; 3] = ["com.example.one", "two", "three"];
/// The last of them.
pub const EA: usize = 2;
pub const SLOTS: usize = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fork {
    Data,
    Resource,
}

pub use Fork::*;

/// Access or deny modes. Only SMB denies removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Modes {
    pub r: bool,
    pub w: bool,
    pub d: bool,
}

/// A byte range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At(pub u64, pub u64);

/// The bits of AFP that forbid operations on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LockBits {
    pub write: bool,
    pub rename: bool,
    pub delete: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Makes an empty file at a free name.
    Make(Who, Place),
    MakeFolder(Who, Place),
    /// Opens a fork. NFSv3 has no opens: it looks up the handle.
    Open {
        who: Who,
        at: Place,
        fork: Fork,
        access: Modes,
        deny: Modes,
        slot: Slot,
    },
    Read(Slot, At),
    /// Writes this byte.
    Write(Slot, At, u8),
    Truncate(Slot, u64),
    /// Locks a range, or fails at once.
    Lock {
        slot: Slot,
        range: At,
        exclusive: bool,
    },
    Unlock(Slot, At),
    Close(Slot),
    /// Moves a file or folder. `replace`: also over an existing file (NFS always replaces, AFP never).
    Rename {
        who: Who,
        from: Place,
        to: Place,
        replace: bool,
    },
    Remove(Who, Place),
    RemoveFolder(Who, Place),
    /// The names in a folder, "" for the root.
    List(Who, Place),
    Link {
        who: Who,
        at: Place,
        new: Place,
    },
    Symlink(Who),
    ReadLink(Who),
    /// Finder info: type and creator of these eight letters.
    SetInfo(Who, Place, u8),
    GetInfo(Who, Place),
    SetXattr {
        who: Who,
        at: Place,
        name: usize,
        length: usize,
        byte: u8,
    },
    GetXattr {
        who: Who,
        at: Place,
        name: usize,
    },
    RemoveXattr {
        who: Who,
        at: Place,
        name: usize,
    },
    /// The times of the last change, in seconds since 1970.
    SetDate(Who, Place, u32),
    SetReadOnly(Who, Place, bool),
    SetLocked(Who, Place, LockBits),
    Stat(Who, Place),
    /// The client's connection is lost; it comes back with nothing open.
    Lose(Who),
    /// FPExchangeFiles.
    Exchange {
        who: Who,
        one: Place,
        other: Place,
    },
    /// A copy that the server makes: AFP copies all of a file, the others its data.
    Copy {
        who: Who,
        from: Place,
        to: Place,
    },
}

/// The facts that a client learns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    Nothing,
    Bytes(Vec<u8>),
    Names(BTreeSet<String>),
    Stat(Stat),
}

/// What all protocols say of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    pub folder: bool,
    /// 0 for folders.
    pub size: u64,
    /// The time of the last change, if a client has set it and it stays.
    pub date: Option<u32>,
    /// Whether it is shown as read-only; of files.
    pub read_only: Option<bool>,
}

/// Why an operation is refused, in words that no protocol owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    NotFound,
    Exists,
    NotEmpty,
    IsFolder,
    NotFolder,
    /// A deny mode of another open.
    Shared,
    /// The file is open, and this protocol does not remove or replace such files.
    InUse,
    /// A byte range of another.
    Locked,
    /// The client's own range.
    OwnRange,
    /// The range is not locked by this client.
    NotLocked,
    /// Read-only, or locked by a Mac.
    Inhibited,
    /// The open does not include this access.
    NoAccess,
    /// It goes with its last close.
    Going,
    /// The file of a handle is gone.
    Stale,
    NoAttribute,
    /// The same file.
    Same,
    Unsupported,
}

/// What the model states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelAnswer {
    Done(Data),
    /// Refused for one of these reasons: specifications seldom say which one comes first.
    Refused(Vec<Class>),
    /// The operation does not apply: neither side does it.
    Skipped,
}

/// What a server answered: `Err` is the number of its status.
pub type ServerAnswer = Result<Data, i64>;

impl Op {
    /// The client that does it; `of` tells the client of a slot.
    pub fn client(&self, of: impl Fn(Slot) -> Who) -> Who {
        match *self {
            Self::Make(who, _)
            | Self::MakeFolder(who, _)
            | Self::Open { who, .. }
            | Self::Rename { who, .. }
            | Self::Remove(who, _)
            | Self::RemoveFolder(who, _)
            | Self::List(who, _)
            | Self::Link { who, .. }
            | Self::Symlink(who)
            | Self::ReadLink(who)
            | Self::SetInfo(who, ..)
            | Self::GetInfo(who, _)
            | Self::SetXattr { who, .. }
            | Self::GetXattr { who, .. }
            | Self::RemoveXattr { who, .. }
            | Self::SetDate(who, ..)
            | Self::SetReadOnly(who, ..)
            | Self::SetLocked(who, ..)
            | Self::Stat(who, _)
            | Self::Lose(who)
            | Self::Exchange { who, .. }
            | Self::Copy { who, .. } => who,
            Self::Read(slot, _)
            | Self::Write(slot, ..)
            | Self::Truncate(slot, _)
            | Self::Lock { slot, .. }
            | Self::Unlock(slot, _)
            | Self::Close(slot) => of(slot),
        }
    }
}
