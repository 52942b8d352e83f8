//! The ranks of the locks of the tree.

lock::ranks! {
    Band::Tree, from 0;

    /// The names that files with Mac metadata were moved away from.
    VacatedNames,
    /// The names that are being changed together with their sidecars.
    BusyNames,
    /// The volumes with subscriptions to changes.
    WatchedVolumes,
    /// Whether the thread that receives local changes runs.
    Listening,
    /// Held while a thread empties the host's queue of changes: one thread at a time.
    Hearing,
}

lock::ranks! {
    Band::Tree, from 16;

    /// A file that was written without an open.
    StatelessWrites,
    /// The folders of a volume that the host watches.
    WatchedTree,
    /// The server's own changes that the host has not reported back yet.
    OwnChanges,
    /// Changes that were received and not delivered yet.
    HeardChanges,
    /// The kept listings of a volume.
    KeptListings,
    /// The listing of one folder.
    FolderListing,
    /// The look-ups of listings, for predictions.
    ListingGhost,
    /// Folders whose listings are too large to keep.
    RefusedListings,
    /// The folders whose listings are being built.
    ListingsBeingRead,
    /// The changes of a folder while its listing is built.
    ListingEvents,
    /// The known details of one entry of a listing.
    EntryDetails: UnrecordedHolder,
    /// The changed entries of a listing.
    ListingChanges,
    /// The resource fork of an open, from its first use on.
    OpenFork,
    /// The places of the open files.
    OpenPlaces,
    /// The place of one open file.
    OpenPlace,
    /// The result of the last search for a file by its id.
    SearchedPlaces,
    /// The places where files were last seen.
    SeenPlaces,
    /// The files that clients have locked.
    InhibitedFiles,
    /// Change times that clients have set.
    ChangeTimes,
    /// A band of a backup is copied into its journal.
    KeepingBands,
    /// The bands of backups that are not in a journal yet.
    JournalledBands,
    /// The entries of a folder, or the data of a file, arrive from another server.
    Arriving,
    /// Sidecars that moved with their files.
    MovedSidecars,
    /// Sidecars that clients saw and that are not on the disk.
    SeenSidecars,
    /// Whether a volume has a store of streams.
    StreamStore,
    /// The files that have streams in the store.
    StoredFiles,
    /// The roots of all shared folders.
    SiteHomes,
    /// Mounts whose notes and keys were read.
    LearnedMounts,
    /// The folders above a share's folder that have a store of streams.
    StoresAbove,
    /// The key that seals stored ACLs.
    AclKey,
    /// The stored ACLs that were read.
    KnownAcls,
    /// The roles of a share.
    TeamRoles,
    /// New files that wait for their modes.
    AwaitedModes,
    /// What proposes results of searches.
    VolumeFinder,
}

lock::ranks! {
    Band::Tree, from 80;

    /// How many files each client has open.
    OpenBudget,
}

lock::ranks! {
    Band::Index, from 8;

    /// One batch of the index is written at a time.
    IndexWriting,
    /// The tenants of the index, for all volumes.
    IndexTenants,
}

lock::ranks! {
    Band::Store, from 0;

    /// The open database of the index, which is opened again after the disk was full.
    IndexDatabase,
    /// What wakes the writer of the index.
    IndexAlarm,
    /// The time of the last search for a file by its key.
    LostSearched,
    /// The trees that are attached to a share.
    AttachedTrees,
    /// The long names of entries in watched folders.
    HeardNames,
    /// The watches of folders in snapshots.
    SnapshotWatches,
    /// The file systems that are mounted inside a share.
    HostMounts,
    /// The numbers of the file systems inside a share.
    HostFileSystems,
    /// The devices that the numbers of file systems belong to.
    HostDevices,
    /// The open files of the host.
    HostFiles,
    /// Their keys by their numbers.
    HostFileNumbers,
    /// The tables of open files of all volumes.
    HostFileTables,
    /// The descriptors of files' data that can be closed.
    HostFileData,
    /// The descriptors of one file.
    HostFile,
    /// Whether a file of the host has an ACL.
    HostFileAcl,
    /// The files that are guarded against local processes.
    HostGuards,
    /// The files that count for quotas and are in use.
    FileCharges,
    /// What one file counts with.
    FileCharge,
    /// The quotas that count for the files of a folder.
    MeterQuotas,
    /// The files that a recount has found, and those that changed since it began.
    QuotaRecount,
    /// The places where files without handles were last seen.
    LostSeen,
    /// The places where listings found files without handles.
    LostFound,
    /// How many subscriptions use each watch of the host.
    WatchUsers,
    /// A tree in memory.
    MemoryTree,
    /// Where the folders of a disk image are.
    ImagePlaces,
    /// The watched folders of a disk image.
    ImageWatches,
    /// The bands of a disk image that were read.
    ImageBands,
}

lock::ranks! {
    Band::Copies, from 16;

    /// What has arrived from an old server, what failed, and the files that are arriving.
    ArrivalTallies,
}
