//! The ranks of all locks, in the order in which a thread takes them.

use crate::holder::{Holder, Known, Unknown};

/// The place of a lock in the order. Each rank is a type, so that a lock needs no memory for it.
pub trait Rank {
    /// The index in [`TABLE`].
    const NUMBER: usize;
    /// What people call it.
    const NAME: &'static str;
    /// Whether the lock remembers which thread has it.
    type Holder: Holder;
}

/// One rank.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The name of its type.
    pub name: &'static str,
    /// What it protects.
    pub doc: &'static str,
}

/// Makes the ranks and their table, in this order.
macro_rules! ranks {
    ($($(#[doc = $doc:literal])+ $name:ident $holder:ident,)+) => {
        #[allow(clippy::upper_case_acronyms, reason = "numbers of the ranks")]
        enum Number { $($name),+ }

        $(
            $(#[doc = $doc])+
            pub struct $name;

            impl Rank for $name {
                const NUMBER: usize = Number::$name as usize;
                const NAME: &'static str = stringify!($name);
                type Holder = $holder;
            }
        )+

        /// All ranks. While a thread holds one lock, it waits for locks further down only.
        pub const TABLE: &[Row] = &[$(Row { name: stringify!($name), doc: concat!($($doc),+) }),+];
    };
}

ranks! {
    // The program.
    /// One reload of the settings at a time.
    Reloading Known,
    /// The volumes of the shared folders.
    SharedVolumes Known,
    /// The units of the shares' LUNs.
    LunUnits Known,
    /// The settings that count now.
    CurrentSettings Known,
    /// The task that announces services.
    BonjourSpeaker Known,
    /// The task that announces the server to Windows.
    WsdSpeaker Known,
    /// How often each client of WS-Discovery was answered.
    WsdClients Known,
    // Connections: what watches them.
    /// The watchdogs of all protocols.
    Watchdogs Known,
    /// The connections that the watchdog looks at.
    BusyConnections Known,
    /// Connections that became busy since its last look.
    ArrivedConnections Known,
    /// The reading side of a connection while its reader answers a message.
    ReadingSide Known,
    /// The connections of a protocol.
    Peers Known,
    // AFP.
    /// How far a connection's client has come: fresh, logged in, over.
    AfpStage Known,
    /// A login that is not finished.
    AfpLogin Known,
    /// The volumes whose changes clients are told of.
    AfpWatched Known,
    /// The sessions of AFP.
    AfpSessions Known,
    /// What an absent client holds for others to take.
    AfpAbsences Known,
    /// The connection that a session has now.
    AfpConnection Known,
    /// The volumes that a session has open.
    AfpVolumes Known,
    /// The forks that a session has open.
    AfpForks Known,
    /// The searches that a session can go on with.
    AfpSearches Known,
    /// Where listings go on.
    AfpBookmarks Known,
    /// Answers that are given again after a reconnection.
    AfpReplies Known,
    /// When a session was last heard of.
    AfpPulse Known,
    /// What a client calls itself.
    AfpName Known,
    /// What a session has to be told.
    AfpNotices Known,
    /// When ids were last changed.
    AfpIdsChanged Known,
    /// How folders were last reached.
    AfpReach Known,
    /// The message of the server to its users.
    AfpMessage Known,
    /// The settings of AFP.
    AfpConfig Known,
    // SMB.
    /// The logins of a connection that are not finished.
    SmbSetups Known,
    /// One login: it ends earlier sessions and binds channels.
    SmbSetup Known,
    /// The sessions of SMB.
    SmbSessions Known,
    /// The clients of SMB by their GUIDs.
    SmbClients Known,
    /// The sessions of one client.
    SmbClientSessions Known,
    /// The sessions that a connection carries.
    SmbChannels Known,
    /// The connections that carry a session.
    SmbSessionChannels Known,
    /// Sessions of a connection that have ended.
    SmbEndedChannels Known,
    /// The opens of application instances.
    SmbAppInstances Known,
    /// Opens that can be asked for again.
    SmbReplays Known,
    /// Opens whose connections are lost.
    SmbDurable Known,
    /// The shares that a session is connected to.
    SmbTrees Known,
    /// The opens of a session.
    SmbOpens Known,
    /// What a folder's open is told of.
    SmbWatch Known,
    /// Where the listing of an open goes on.
    SmbScan Known,
    /// The caches of a client by their keys.
    SmbCaches Known,
    /// What one cache is granted, and by which opens.
    SmbCache Known,
    /// What the tree tells a client.
    SmbNotices Known,
    /// A pipe's messages.
    SmbPipe Known,
    /// The interim response of a request.
    SmbTicket Known,
    /// Where a request is counted in its channel sequence.
    SmbCounted Known,
    /// The channel sequence of an open.
    SmbSequence Known,
    /// The lock sequences of an open.
    SmbLockSequences Known,
    /// The path of an open.
    SmbOpenPath Known,
    /// The change time that an open keeps.
    SmbOpenChanged Known,
    /// The short names of a folder.
    SmbShortNames Known,
    /// The requests that can be cancelled.
    SmbRequests Known,
    /// When a session expires.
    SmbExpiry Known,
    /// The user of a session.
    SmbUser Known,
    /// The settings of SMB.
    SmbConfig Known,
    /// The responses to one compound request.
    SmbOutput Known,
    /// The message ids that a client may use.
    SmbWindow Known,
    /// The preauthentication hash of a connection or login.
    SmbPreauth Known,
    // NFS.
    /// One change of the monitored hosts at a time.
    NsmChanging Known,
    /// The hosts that are told of a restart.
    NsmFormer Known,
    /// Which hosts have reclaimed their locks.
    NsmGrace Known,
    /// The monitored hosts as they are stored.
    NsmTable Known,
    /// The monitored hosts.
    NsmHosts Known,
    /// The clients that lock.
    NlmHosts Known,
    /// The locks that clients wait for.
    NlmBlocked Known,
    /// The share reservations of NLM.
    NlmShares Known,
    /// The files that NLM clients hold something of.
    NlmFiles Known,
    /// The clients of NFS by their addresses.
    NfsClients Known,
    /// Answers to calls that must not be done twice.
    NfsReplies Known,
    /// Where handles were last seen.
    NfsPlaces Known,
    /// What is exported.
    NfsExports Known,
    /// Who has mounted what.
    Mounts Known,
    // iSCSI.
    /// One connection of a session begins at a time.
    IscsiBeginning Known,
    /// A login that is not finished.
    IscsiLogin Known,
    /// The sessions of iSCSI.
    IscsiSessions Known,
    /// The connections of a session.
    IscsiConnections Known,
    /// The next status number of a connection.
    IscsiStatSn Known,
    /// The commands of a session in their order.
    IscsiWindow Known,
    /// The tasks of a connection.
    IscsiTasks Known,
    /// What one task has and waits for.
    IscsiTask Known,
    /// Text exchanges that are not finished.
    IscsiTexts Known,
    /// The units that an initiator has seen.
    IscsiSeenUnits Known,
    /// How much data is asked for.
    IscsiSolicited Known,
    /// One change of reservations at a time.
    ReservationsChanging Known,
    /// The reservations of a unit.
    Reservations Known,
    /// Who uses a unit.
    UnitHolders Known,
    /// What initiators are told about a unit.
    UnitAttentions Known,
    /// Initiators that are told of a failed flush.
    SyncFailures Known,
    /// The mode pages of a unit.
    ModePages Known,
    /// The results of copies.
    ExtendedCopies Known,
    /// What a target shows.
    TargetOffer Known,
    /// The settings of a target.
    TargetConfig Known,
    /// The settings of iSCSI.
    IscsiConfig Known,
    // Accounts.
    /// The record of a session in the log.
    LoginRecords Known,
    /// Failed logins, by address and name.
    LoginAttempts Known,
    /// How many lines about logins were written.
    LoginLines Known,
    /// The lines of a log that is kept in memory.
    KeptLines Known,
    // The tree: what a client's operation holds while it asks for more.
    /// The names that are being changed with their sidecars.
    BusyNames Known,
    /// The volumes that clients are told of changes of.
    WatchedVolumes Known,
    /// Whether the thread that hears of local changes runs.
    Listening Known,
    /// One thread empties the host's queue of changes at a time.
    Hearing Known,
    /// The subscriptions to changes.
    EventListeners Known,
    /// The folders whose changes clients are told of.
    WatchedTree Known,
    /// Changes of our own whose echo is to come.
    OwnChanges Known,
    /// Changes that were heard and not told yet.
    HeardChanges Known,
    /// The kept listings of a volume.
    KeptListings Known,
    /// The listing of one folder.
    FolderListing Known,
    /// Folders that are too large to be kept.
    RefusedListings Known,
    /// The folders that are being read to be kept.
    ListingsBeingRead Known,
    /// What was heard of a folder while it was being read.
    ListingEvents Known,
    /// What is known of one entry of a listing.
    EntryDetails Unknown,
    /// The entries of a listing that changed.
    ListingChanges Known,
    /// The resource fork of an open, once it is used.
    OpenFork Known,
    /// The places of the open files.
    OpenPlaces Known,
    /// Where one open file lies.
    OpenPlace Known,
    /// The last search for a file by its id.
    SearchedPlaces Known,
    /// Where files were last seen.
    SeenPlaces Known,
    /// The files that clients have locked.
    InhibitedFiles Known,
    /// Change times that clients have set.
    ChangeTimes Known,
    /// Sidecars that moved with their files.
    MovedSidecars Known,
    /// Sidecars that clients saw and that are not on the disk.
    SeenSidecars Known,
    /// Whether a volume has a store of streams.
    StreamStore Known,
    /// The files that have streams in the store.
    StoredFiles Known,
    /// The roots of all shared folders.
    SiteHomes Known,
    /// Mounts whose notes and keys were read.
    LearnedMounts Known,
    /// The key that seals stored ACLs.
    AclKey Known,
    /// The stored ACLs that were read.
    KnownAcls Known,
    // Opens, ranges and leases.
    /// Clients that are away.
    AbsentClients Known,
    /// The opens, ranges and leases of files.
    StateFiles Known,
    /// The stream of an open.
    OpenStream Known,
    /// How much each client holds.
    StateLedger Known,
    // Change events.
    /// The changes that one subscriber is to be told.
    EventQueue Known,
    // The index.
    /// One batch of the index is written at a time.
    IndexWriting Known,
    /// The tenants of the index, for all volumes.
    IndexTenants Known,
    /// Catalogue ids by file.
    CatalogIds Known,
    /// Files by catalogue id.
    CatalogKeys Known,
    /// The next catalogue id.
    CatalogNumbers Known,
    /// The places of files with catalogue ids.
    CatalogPlaces Known,
    /// Icons and applications of a volume.
    DesktopRows Known,
    /// What wakes the writer of the index.
    IndexAlarm Known,
    // Backends.
    /// The last search for a file by its key.
    LostSearched Known,
    /// The file systems that are mounted inside a share.
    HostMounts Known,
    /// The numbers of the file systems inside a share.
    HostFileSystems Known,
    /// The open files of the host.
    HostFiles Known,
    /// The descriptors of one file.
    HostFile Known,
    /// Whether a file of the host has an ACL.
    HostFileAcl Known,
    /// Where files without handles were last seen.
    LostSeen Known,
    /// Where files without handles were found, noted while a folder is listed.
    LostFound Known,
    /// How many use each watch of the host.
    WatchUsers Known,
    /// A tree in memory.
    MemoryTree Known,
    // Sending: below everything that may answer.
    /// The replies that wait for a client.
    Outbox Known,
    /// The requests that wait for memory.
    MemoryQueue Known,
    /// The clients that may make the server hold memory.
    MemoryClients Known,
    /// The files that threads are stuck with.
    StuckSubjects Known,
    /// Reply buffers that can be used again.
    FreeReplies Known,
    /// Receive buffers that can be used again.
    FreeBuffers Known,
}
