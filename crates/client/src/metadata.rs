//! Metadata of Macs, DOS and Unix, as the protocols write and read it.

pub mod acl;

use vfs::acl::Entry;

use crate::Result;
use crate::session::{OpenIntent, Session};

/// The stream in which Macs keep tags.
pub const TAGS: &str = "com.apple.metadata:_kMDItemUserTags";
/// The stream in which Macs keep the comment.
pub const COMMENT: &str = "com.apple.metadata:kMDItemFinderComment";

/// What of a file is written or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aspect<'a> {
    /// 32 bytes of Finder info.
    FinderInfo,
    /// The resource fork.
    Fork,
    /// The Finder comment.
    Comment,
    /// A named stream, which is an extended attribute of Macs.
    Attribute(&'a str),
    /// An extended attribute of OS/2 and Windows.
    Ea(&'a str),
    /// When it was made.
    Created,
    /// When its data were last changed.
    Modified,
    /// When it was last read.
    Accessed,
    /// When it was last backed up.
    Backup,
    /// It is not shown.
    Hidden,
    /// It belongs to the system.
    System,
    /// It has changed since the last backup.
    Archive,
    /// The file is read-only for all users: Windows' read-only, a Mac's lock, a mode without rights to write.
    ReadOnly,
    /// A Mac's lock against renaming.
    RenameLock,
    /// A Mac's lock against removing.
    DeleteLock,
    /// The permissions of Unix, 12 bits.
    Mode,
    /// The number of its user.
    Owner,
    /// The number of its group.
    Group,
    /// The entries of the access control list.
    Acl,
    /// The entries that a new file has from its folder. Writing it gives them to the folder, and makes the file.
    Inherited,
    /// The target of a symbolic link.
    Target,
    /// The number of names.
    Links,
    /// Less space than the length.
    Sparse,
    /// The file is found by its name.
    Name,
}

/// A value of one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetadataValue {
    /// Any bytes.
    Bytes(Vec<u8>),
    /// Text.
    Text(String),
    /// Seconds since 1970, and nanoseconds.
    Time(i64, u32),
    /// A number.
    Number(u64),
    /// Yes or no.
    Flag(bool),
    /// Entries of an access control list, in their order.
    Acl(Vec<Entry>),
}

/// What a protocol says of an aspect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AspectState {
    /// This value.
    Value(MetadataValue),
    /// The file has none.
    Missing,
    /// The protocol has no way to tell.
    Impossible,
}

impl std::fmt::Display for MetadataValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const SHOWN: usize = 16;
        match self {
            Self::Bytes(bytes) => {
                let shown = &bytes[..bytes.len().min(SHOWN)];
                shown.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                if bytes.len() > SHOWN { write!(f, "… ({} bytes)", bytes.len()) } else { Ok(()) }
            }
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Time(secs, nanos) => match jiff::Timestamp::new(*secs, *nanos as i32) {
                Ok(time) => write!(f, "{time}"),
                Err(_) => write!(f, "{secs}.{nanos:09}"),
            },
            Self::Number(number) => write!(f, "{number}"),
            Self::Flag(flag) => f.write_str(if *flag { "yes" } else { "no" }),
            Self::Acl(entries) => f.write_str(&acl::text(entries)),
        }
    }
}

/// A client that writes and reads metadata.
///
/// # Errors
/// All calls: those of [`crate::Error`].
pub trait Peer: Session {
    /// Sets it. `false`: the protocol has no way to.
    fn put(&mut self, path: &str, aspect: Aspect<'_>, value: &MetadataValue) -> Result<bool>;

    /// Reads it.
    fn get(&mut self, path: &str, aspect: Aspect<'_>) -> Result<AspectState>;

    /// The path by which the protocol names a file that was made by this name.
    fn named(&self, path: &str) -> String {
        path.to_owned()
    }

    /// Makes an empty file.
    fn make_file(&mut self, path: &str) -> Result<()> {
        let file = self.open(path, OpenIntent::Create)?;
        self.close(file)
    }

    /// Removes what stays of a file on a server that does not know that it belongs to the file.
    fn sweep(&mut self, _path: &str) {}
}

/// The other name of a file with two.
#[must_use]
pub fn second_name(path: &str) -> String {
    format!("{path}-2")
}
