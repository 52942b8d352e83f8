//! The ranks of all locks, in the order in which a thread takes them.
mod declare;
mod place;
pub use self::place::{Rank, Row};
use crate::holder::{RecordedHolder, UnrecordedHolder};
declare::ranks! {
    /// What this server of a cluster has, asks for and hands over. Clients that are not connected may give way under it.
    ClusterNode RecordedHolder,
    /// The connections to the other servers of a cluster.
    ClusterWays RecordedHolder,
    /// Held while the console changes a setting: the changes that can be taken back.
    SettingChanges RecordedHolder,
    /// Held while a webhook is made or removed.
    Webhooks RecordedHolder,
    /// Held during a reload of the settings: one reload runs at a time.
    Reloading RecordedHolder,
    /// The volumes of the shared folders.
    SharedVolumes RecordedHolder,
    /// The accounts without a home that the log has named.
    HomelessAccounts RecordedHolder,
    /// The sums of the quotas that the servers of a cluster count together.
    ClusterSums RecordedHolder,
    /// The quotas of the shares.
    ShareQuotas RecordedHolder,
    /// When the files of a share were counted.
    QuotaCounted RecordedHolder,
    /// The snapshots of a share that are attached to its tree.
    ShownSnapshots RecordedHolder,
    /// The logical units of the shares' LUNs.
    LunUnits RecordedHolder,
    /// The settings in force.
    CurrentSettings RecordedHolder,
    /// The last looks at the host's memory.
    MemoryLooks RecordedHolder,
    /// The task that announces services.
    BonjourSpeaker RecordedHolder,
    /// The task that announces the server to Windows.
    WsdSpeaker RecordedHolder,
    /// How often each client of WS-Discovery was answered.
    WsdClients RecordedHolder,
    /// The watchdogs of all protocols.
    Watchdogs RecordedHolder,
    /// The connections that the watchdog watches.
    BusyConnections RecordedHolder,
    /// Connections that became busy since the watchdog's last check.
    ArrivedConnections RecordedHolder,
    /// The reading side of a connection while its reader answers a message.
    ReadingSide RecordedHolder,
    /// The connections of a protocol.
    Peers RecordedHolder,
    /// The hosts that the log has named because of the version that they speak.
    RefusedVersions RecordedHolder,
    /// The state of a connection: fresh, logged in, over.
    AfpStage RecordedHolder,
    /// A login that is not finished.
    AfpLogin RecordedHolder,
    /// The volumes with sessions that are notified of changes.
    AfpWatched RecordedHolder,
    /// The sessions of AFP.
    AfpSessions RecordedHolder,
    /// What a disconnected client holds until another client needs it.
    AfpAbsences RecordedHolder,
    /// The current connection of a session.
    AfpConnection RecordedHolder,
    /// The volumes that a session has open.
    AfpVolumes RecordedHolder,
    /// The forks that a session has open.
    AfpForks RecordedHolder,
    /// The searches that a session can continue.
    AfpSearches RecordedHolder,
    /// The positions at which a session's listings continue.
    AfpBookmarks RecordedHolder,
    /// Replies that are repeated after a reconnection.
    AfpReplies RecordedHolder,
    /// The time of a client's last message.
    AfpPulse RecordedHolder,
    /// The identifier that a client gives to its session.
    AfpName RecordedHolder,
    /// When a session was last notified of changes, and when it made one.
    AfpNotices RecordedHolder,
    /// The time of the last change in a share that clients made.
    AfpIdsChanged RecordedHolder,
    /// The folders above a folder, remembered for a short time.
    AfpReach RecordedHolder,
    /// The server's message to its users.
    AfpMessage RecordedHolder,
    /// The settings of AFP.
    AfpConfig RecordedHolder,
    /// Held while ids are given that the servers of a cluster share: one thread at a time waits for the others.
    CatalogSharing RecordedHolder,
    /// What is known of the ids that the servers of a cluster share.
    CatalogShared RecordedHolder,
    /// The logins of a connection that are not finished.
    SmbSetups RecordedHolder,
    /// Held during one login, which ends earlier sessions and binds channels.
    SmbSetup RecordedHolder,
    /// The messages of a pipe. Held while it answers a call, for which it may ask for sessions, shares and opens.
    SmbPipe RecordedHolder,
    /// The clients that are told of the loss of servers, and what they have not heard yet.
    SmbWitness RecordedHolder,
    /// The sessions of SMB.
    SmbSessions RecordedHolder,
    /// The clients of SMB by their GUIDs.
    SmbClients RecordedHolder,
    /// The breaks that a client is still to receive. Held until they are in the queue of a connection.
    SmbNotices RecordedHolder,
    /// The sessions of one client.
    SmbClientSessions RecordedHolder,
    /// The sessions that a connection carries.
    SmbChannels RecordedHolder,
    /// The connections that carry a session.
    SmbSessionChannels RecordedHolder,
    /// Sessions of a connection that have ended.
    SmbEndedChannels RecordedHolder,
    /// The opens of application instances.
    SmbAppInstances RecordedHolder,
    /// Opens that a client can request again (replay).
    SmbReplays RecordedHolder,
    /// Durable opens whose connections are lost, and those that are being taken over from a lost server.
    SmbDurable RecordedHolder,
    /// The shares that a session is connected to.
    SmbTrees RecordedHolder,
    /// The opens of a session.
    SmbOpens RecordedHolder,
    /// The changes that an open folder's client is notified of.
    SmbWatch RecordedHolder,
    /// The position at which the listing of an open continues.
    SmbScan RecordedHolder,
    /// The caches of a client by their keys.
    SmbCaches RecordedHolder,
    /// The caching rights of one key, and the opens that have them.
    SmbCache RecordedHolder,
    /// The interim response of a request.
    SmbTicket RecordedHolder,
    /// The count of a request in the channel sequence of its open.
    SmbCounted RecordedHolder,
    /// The channel sequence of an open.
    SmbSequence RecordedHolder,
    /// The lock sequences of an open.
    SmbLockSequences RecordedHolder,
    /// The path of an open.
    SmbOpenPath RecordedHolder,
    /// The change time that an open keeps unchanged.
    SmbOpenChanged RecordedHolder,
    /// The short names of a folder.
    SmbShortNames RecordedHolder,
    /// The requests that can be cancelled.
    SmbRequests RecordedHolder,
    /// When a session expires.
    SmbExpiry RecordedHolder,
    /// The user of a session.
    SmbUser RecordedHolder,
    /// The settings of SMB.
    SmbConfig RecordedHolder,
    /// The responses to one compound request.
    SmbOutput RecordedHolder,
    /// The message ids that a client may use.
    SmbWindow RecordedHolder,
    /// The preauthentication hash of a connection or login.
    SmbPreauth RecordedHolder,
    /// Held during a change of the monitored hosts: one change runs at a time.
    NsmChanging RecordedHolder,
    /// The hosts that are notified of a restart.
    NsmFormer RecordedHolder,
    /// The hosts that have reclaimed their locks.
    NsmGrace RecordedHolder,
    /// The stored table of monitored hosts.
    NsmTable RecordedHolder,
    /// The monitored hosts.
    NsmHosts RecordedHolder,
    /// Held while a client of NFSv4.1 creates a session: the order of its CREATE_SESSION.
    Nfs4Creation RecordedHolder,
    /// The clients of NFSv4.
    Nfs4Clients RecordedHolder,
    /// The sessions of NFSv4.1.
    Nfs4Sessions RecordedHolder,
    /// The last request of a slot of a session.
    Nfs4Slot RecordedHolder,
    /// The connections that use a session.
    Nfs4Connections RecordedHolder,
    /// The program of a client that the server calls.
    Nfs4Callback RecordedHolder,
    /// The connections over which the server may call clients.
    Nfs4BackConnections RecordedHolder,
    /// The delegations of all clients of NFSv4.
    Nfs4Delegations RecordedHolder,
    /// The notices of delegations that are recalled, until a task reads them; and the clients that wait for delegations.
    Nfs4Notices RecordedHolder,
    /// The owners, opens and locks of a client of NFSv4.
    Nfs4Owned RecordedHolder,
    /// The clients of NFSv4 that may reclaim what they held before a restart.
    Nfs4Former RecordedHolder,
    /// An open of NFSv4, until it is closed.
    Nfs4Open RecordedHolder,
    /// The clients that use NLM locks.
    NlmHosts RecordedHolder,
    /// The locks that clients wait for.
    NlmBlocked RecordedHolder,
    /// The share reservations of NLM.
    NlmShares RecordedHolder,
    /// The files on which NLM clients have locks or shares.
    NlmFiles RecordedHolder,
    /// The clients of NFS by their addresses.
    NfsClients RecordedHolder,
    /// Replies to calls that must not be executed twice.
    NfsReplies RecordedHolder,
    /// The places where handles were last seen.
    NfsPlaces RecordedHolder,
    /// The exports.
    NfsExports RecordedHolder,
    /// What takes the Kerberos tickets of clients of NFS.
    NfsTickets RecordedHolder,
    /// The security contexts of clients of NFS.
    NfsContexts RecordedHolder,
    /// The sequence numbers and the keys of one security context.
    NfsContext RecordedHolder,
    /// How users and groups are named to clients of NFSv4.
    NfsNaming RecordedHolder,
    /// The certificate that is offered to clients of NFS.
    NfsTls RecordedHolder,
    /// The names of users and groups that the name service has told.
    NfsNames RecordedHolder,
    /// The mounts of each client.
    Mounts RecordedHolder,
    /// Held while a connection joins a session: one connection joins at a time.
    IscsiBeginning RecordedHolder,
    /// A login that is not finished.
    IscsiLogin RecordedHolder,
    /// The sessions of iSCSI.
    IscsiSessions RecordedHolder,
    /// The connections of a session.
    IscsiConnections RecordedHolder,
    /// The next status number of a connection.
    IscsiStatSn RecordedHolder,
    /// The commands of a session in their order.
    IscsiWindow RecordedHolder,
    /// The tasks of a connection.
    IscsiTasks RecordedHolder,
    /// The state of one task: its data, and what it waits for.
    IscsiTask RecordedHolder,
    /// Text exchanges that are not finished.
    IscsiTexts RecordedHolder,
    /// The units that an initiator has seen.
    IscsiSeenUnits RecordedHolder,
    /// How much data a connection has solicited.
    IscsiSolicited RecordedHolder,
    /// Held during a change of reservations: one change runs at a time.
    ReservationsChanging RecordedHolder,
    /// The reservations of a unit.
    Reservations RecordedHolder,
    /// The sessions that use a unit.
    UnitHolders RecordedHolder,
    /// The unit attentions that initiators are still to receive.
    UnitAttentions RecordedHolder,
    /// Initiators that are to learn of a failed flush.
    SyncFailures RecordedHolder,
    /// The mode pages of a unit.
    ModePages RecordedHolder,
    /// The results of copies.
    ExtendedCopies RecordedHolder,
    /// The share policy and the LUNs of a target.
    TargetOffer RecordedHolder,
    /// The settings of a target.
    TargetConfig RecordedHolder,
    /// The settings of iSCSI.
    IscsiConfig RecordedHolder,
    /// The users of the domain, or of the host, that are known.
    DomainKnown RecordedHolder,
    /// The ids that were given to domains.
    DomainIds RecordedHolder,
    /// The login record of a session, for the log.
    LoginRecords RecordedHolder,
    /// Failed logins, by address and name.
    LoginAttempts RecordedHolder,
    /// How many lines about logins were logged.
    LoginLines RecordedHolder,
    /// The lines of a log that is kept in memory.
    KeptLines RecordedHolder,
    /// The names that files with Mac metadata were moved away from.
    VacatedNames RecordedHolder,
    /// The names that are being changed together with their sidecars.
    BusyNames RecordedHolder,
    /// The volumes with subscriptions to changes.
    WatchedVolumes RecordedHolder,
    /// Whether the thread that receives local changes runs.
    Listening RecordedHolder,
    /// Held while a thread empties the host's queue of changes: one thread at a time.
    Hearing RecordedHolder,
    /// The subscriptions to changes.
    EventListeners RecordedHolder,
    /// The folders of a volume that the host watches.
    WatchedTree RecordedHolder,
    /// The server's own changes that the host has not reported back yet.
    OwnChanges RecordedHolder,
    /// Changes that were received and not delivered yet.
    HeardChanges RecordedHolder,
    /// The kept listings of a volume.
    KeptListings RecordedHolder,
    /// The listing of one folder.
    FolderListing RecordedHolder,
    /// The look-ups of listings, for predictions.
    ListingGhost RecordedHolder,
    /// Folders whose listings are too large to keep.
    RefusedListings RecordedHolder,
    /// The folders whose listings are being built.
    ListingsBeingRead RecordedHolder,
    /// The changes of a folder while its listing is built.
    ListingEvents RecordedHolder,
    /// The known details of one entry of a listing.
    EntryDetails UnrecordedHolder,
    /// The changed entries of a listing.
    ListingChanges RecordedHolder,
    /// The resource fork of an open, from its first use on.
    OpenFork RecordedHolder,
    /// The places of the open files.
    OpenPlaces RecordedHolder,
    /// The place of one open file.
    OpenPlace RecordedHolder,
    /// The result of the last search for a file by its id.
    SearchedPlaces RecordedHolder,
    /// The places where files were last seen.
    SeenPlaces RecordedHolder,
    /// The files that clients have locked.
    InhibitedFiles RecordedHolder,
    /// Change times that clients have set.
    ChangeTimes RecordedHolder,
    /// The entries of a folder, or the data of a file, arrive from another server.
    Arriving RecordedHolder,
    /// Sidecars that moved with their files.
    MovedSidecars RecordedHolder,
    /// Sidecars that clients saw and that are not on the disk.
    SeenSidecars RecordedHolder,
    /// Whether a volume has a store of streams.
    StreamStore RecordedHolder,
    /// The files that have streams in the store.
    StoredFiles RecordedHolder,
    /// The roots of all shared folders.
    SiteHomes RecordedHolder,
    /// Mounts whose notes and keys were read.
    LearnedMounts RecordedHolder,
    /// The folders above a share's folder that have a store of streams.
    StoresAbove RecordedHolder,
    /// The key that seals stored ACLs.
    AclKey RecordedHolder,
    /// The stored ACLs that were read.
    KnownAcls RecordedHolder,
    /// Clients that are not connected.
    AbsentClients RecordedHolder,
    /// The files whose state another server has.
    AskedStates RecordedHolder,
    /// The opens, ranges and leases of files.
    StateFiles RecordedHolder,
    /// The stream of an open.
    OpenStream RecordedHolder,
    /// How much each client holds.
    StateLedger RecordedHolder,
    /// How many files each client has open.
    OpenBudget RecordedHolder,
    /// The numbers of file systems in a cluster.
    ClusterTrees RecordedHolder,
    /// What the state of files wants of other servers.
    ClusterPort RecordedHolder,
    /// The changes that one subscriber is still to receive.
    EventQueue RecordedHolder,
    /// One batch of the index is written at a time.
    IndexWriting RecordedHolder,
    /// The tenants of the index, for all volumes.
    IndexTenants RecordedHolder,
    /// Catalogue ids by file.
    CatalogIds RecordedHolder,
    /// Files by catalogue id.
    CatalogKeys RecordedHolder,
    /// The next catalogue id.
    CatalogNumbers RecordedHolder,
    /// The places of files with catalogue ids.
    CatalogPlaces RecordedHolder,
    /// Icons and applications of a volume.
    DesktopRows RecordedHolder,
    /// The open database of the index, which is opened again after the disk was full.
    IndexDatabase RecordedHolder,
    /// What wakes the writer of the index.
    IndexAlarm RecordedHolder,
    /// The time of the last search for a file by its key.
    LostSearched RecordedHolder,
    /// The trees that are attached to a share.
    AttachedTrees RecordedHolder,
    /// The long names of entries in watched folders.
    HeardNames RecordedHolder,
    /// The watches of folders in snapshots.
    SnapshotWatches RecordedHolder,
    /// The file systems that are mounted inside a share.
    HostMounts RecordedHolder,
    /// The numbers of the file systems inside a share.
    HostFileSystems RecordedHolder,
    /// The devices that the numbers of file systems belong to.
    HostDevices RecordedHolder,
    /// The open files of the host.
    HostFiles RecordedHolder,
    /// The tables of open files of all volumes.
    HostFileTables RecordedHolder,
    /// The descriptors of files' data that can be closed.
    HostFileData RecordedHolder,
    /// The descriptors of one file.
    HostFile RecordedHolder,
    /// Whether a file of the host has an ACL.
    HostFileAcl RecordedHolder,
    /// The files that are guarded against local processes.
    HostGuards RecordedHolder,
    /// The files that count for quotas and are in use.
    FileCharges RecordedHolder,
    /// What one file counts with.
    FileCharge RecordedHolder,
    /// The quotas that count for the files of a folder.
    MeterQuotas RecordedHolder,
    /// The files that a recount has found, and those that changed since it began.
    QuotaRecount RecordedHolder,
    /// The places where files without handles were last seen.
    LostSeen RecordedHolder,
    /// The places where listings found files without handles.
    LostFound RecordedHolder,
    /// How many subscriptions use each watch of the host.
    WatchUsers RecordedHolder,
    /// A tree in memory.
    MemoryTree RecordedHolder,
    /// The file systems of Ceph that are mounted.
    CephMounts RecordedHolder,
    // Sending: below everything that can send a reply.
    /// The replies that wait for a client.
    Outbox RecordedHolder,
    /// The requests that wait for memory.
    MemoryQueue RecordedHolder,
    /// The memory allowances of clients.
    MemoryClients RecordedHolder,
    /// The files whose access blocks a thread.
    StuckSubjects RecordedHolder,
    /// Reply buffers that can be used again.
    FreeReplies RecordedHolder,
    /// Receive buffers that can be used again.
    FreeBuffers RecordedHolder,
    /// The poll that delays a loop.
    LoopDelay RecordedHolder,
    /// The task that waits for a socket.
    LoopWaker RecordedHolder,
    /// The sockets of a loop.
    LoopSockets RecordedHolder,
    /// The tasks of a loop that are ready to run.
    LoopQueue RecordedHolder,
    /// The future of a task, while no thread polls it.
    LoopTask RecordedHolder,
    /// The files that wait for a worker of a migration.
    MigrationJobs RecordedHolder,
    /// What the workers of a migration note together: the report, the journal, the rate. And what arrives from an old server.
    Migration RecordedHolder,
    /// A session of a mount, during a call to the server.
    MountSession RecordedHolder,
    /// The files and folders that programs have open in a mount.
    MountFiles RecordedHolder,
    /// The numbers that the kernel has for paths in a mount.
    MountNodes RecordedHolder,
    /// The tokens of the API.
    ApiTokens RecordedHolder,
    /// The sessions of the console.
    ApiLogins RecordedHolder,
    /// The jobs that were started by the API.
    ApiJobs RecordedHolder,
    /// The listeners to changes.
    ApiListeners RecordedHolder,
    /// The slowest operations that the API has told.
    ApiSlowest RecordedHolder,
    /// The backups of Macs, as they were measured for the metrics.
    MeasuredBackups RecordedHolder,
    /// Why a webhook sends nothing.
    WebhookError RecordedHolder,
    /// How much space the shares have used.
    SpaceSamples RecordedHolder,
    /// The throughput of the last day.
    ThroughputHistory RecordedHolder,
    /// The links of the namespace, their places, and the health of their targets.
    Namespace RecordedHolder,
    /// What was noted of an operation.
    OperationNotes RecordedHolder,
    /// The thread that writes the audit log.
    AuditThread RecordedHolder,
    /// The shares that are audited.
    AuditRules RecordedHolder,
    /// The slowest operations.
    SlowOperations RecordedHolder,
    /// The alerts that are raised.
    RaisedAlerts RecordedHolder,
    /// The addresses of the API's connections.
    ApiConnections RecordedHolder,
    /// The threads that count operations.
    CountingThreads RecordedHolder,
    /// The operations that a thread has counted.
    CountedOperations RecordedHolder,
    /// The names of hosts that client rules ask for.
    HostNames RecordedHolder,
    /// The newest lines of the log, which is written while others may be held.
    KeptLog RecordedHolder,
}
