//! How an operation of a backend is done.

/// What to make.
#[derive(Debug, Clone, Copy)]
pub enum NewKind<'a> {
    /// An empty regular file. An existing file of that name is an error.
    File,
    /// A folder.
    Folder,
    /// A symbolic link to this target.
    Link(&'a [u8]),
    /// A FIFO.
    Fifo,
    /// A socket.
    Socket,
    /// A character device: major, minor.
    CharDevice(u32, u32),
    /// A block device: major, minor.
    BlockDevice(u32, u32),
}

/// What a rename does with a file that has the new name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenameMode {
    /// Replaces it, as POSIX does.
    Replace,
    /// Fails with `Exists`.
    Keep,
    /// The two change places; both keep their identity.
    Exchange,
}

/// Whether a call may wait for a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// It may.
    Allowed,
    /// It answers `WouldBlock` instead.
    Never,
}

/// When a range of a file's data is read next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextRead {
    /// Soon: the host reads it from the disk now.
    Soon,
    /// Not soon: it may leave the memory of the host, unless it is to be written.
    Never,
}

/// What must be on the disk when a write returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stability {
    /// Nothing.
    Unstable,
    /// The data and what is needed to read it back.
    Data,
    /// The data and all metadata.
    File,
}

/// What to do about an extended attribute that exists or does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XattrMode {
    /// Make or replace.
    Set,
    /// Fail with `Exists`.
    Create,
    /// Fail with `NoSuchAttribute`.
    Replace,
}
