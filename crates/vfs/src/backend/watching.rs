//! Watched folders, and what is heard of them.

/// A folder being watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WatchId(pub i32);

/// When a change of data in a watched folder is told. The host works for each write that it tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataNotice {
    /// At each write: [`Heard::Data`].
    EachWrite,
    /// When a program closes a file that it had open for writing: [`Heard::Closed`].
    AtClose,
}

/// An event of a watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchEvent {
    /// Something happened to the entry of this name.
    Entry {
        /// The watched folder.
        watch: WatchId,
        /// The entry's stored name.
        name: Box<[u8]>,
        /// What happened.
        what: Heard,
        /// Whether the entry is a folder.
        of_folder: bool,
    },
    /// The folder itself changed, was moved or was removed.
    Folder(WatchId),
    /// The watch is over, as its folder is gone or the watch has no user any more.
    Over(WatchId),
    /// Events were lost: anything may have changed.
    Missed,
}

/// What happened to an entry of a watched folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// It came.
    Created,
    /// It went.
    Removed,
    /// It moved away; the same number says where to, if that is watched too.
    MovedFrom(u32),
    /// It moved here; the same number says where from, if that is watched too.
    MovedTo(u32),
    /// Its data changed.
    Data,
    /// It was closed by a program that had it open for writing.
    Closed,
    /// Its attributes changed, extended ones included.
    Attributes,
}

impl Heard {
    /// Whether the folder has other names now.
    pub fn is_about_names(self) -> bool {
        !matches!(self, Self::Data | Self::Closed | Self::Attributes)
    }
}
