//! The ranks of the locks of indexes.

lock::ranks! {
    Band::Index, from 64;

    /// The folders of a share by the identities that events have.
    IndexedFolders,
    /// The journal of changes that an index has not looked at.
    ChangeJournal,
    /// Changes that an index has not looked at.
    PendingChanges,
    /// The open files of an index.
    OpenedIndex,
    /// The open files of an index of snapshots.
    OpenedPast,
    /// The segments of an index, and what is not in one yet.
    IndexedEntries,
    /// How far an index has come.
    IndexProgress,
    /// What wakes the thread that keeps an index.
    IndexKeeper,
}
