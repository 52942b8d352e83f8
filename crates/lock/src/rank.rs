//! The ranks of all locks, in the order in which a thread takes them.
mod declare;
mod place;
pub use self::place::{Rank, Row};
use crate::holder::{Known, Unknown};
declare::ranks! {
    /// What this server of a cluster has, asks for and hands over. Clients that are not connected may give way under it.
    ClusterNode Known,
    /// The connections to the other servers of a cluster.
    ClusterWays Known,
    /// Held while the console changes a setting: the changes that can be taken back.
    SettingChanges Known,
    /// Held while a webhook is made or removed.
    Webhooks Known,
    /// Held during a reload of the settings: one reload runs at a time.
    Reloading Known,
    /// The volumes of the shared folders.
    SharedVolumes Known,
    /// The accounts without a home that the log has named.
    HomelessAccounts Known,
    /// The sums of the quotas that the servers of a cluster count together.
    ClusterSums Known,
    /// The quotas of the shares.
    ShareQuotas Known,
    /// When the files of a share were counted.
    QuotaCounted Known,
    /// The snapshots of a share that are attached to its tree.
    ShownSnapshots Known,
    /// The logical units of the shares' LUNs.
    LunUnits Known,
    /// The settings in force.
    CurrentSettings Known,
    /// The last looks at the host's memory.
    MemoryLooks Known,
    /// The task that announces services.
    BonjourSpeaker Known,
    /// The task that announces the server to Windows.
    WsdSpeaker Known,
    /// How often each client of WS-Discovery was answered.
    WsdClients Known,
    /// The watchdogs of all protocols.
    Watchdogs Known,
    /// The connections that the watchdog watches.
    BusyConnections Known,
    /// Connections that became busy since the watchdog's last check.
    ArrivedConnections Known,
    /// The reading side of a connection while its reader answers a message.
    ReadingSide Known,
    /// The connections of a protocol.
    Peers Known,
    /// The hosts that the log has named because of the version that they speak.
    RefusedVersions Known,
    /// The state of a connection: fresh, logged in, over.
    AfpStage Known,
    /// A login that is not finished.
    AfpLogin Known,
    /// The volumes with sessions that are notified of changes.
    AfpWatched Known,
    /// The sessions of AFP.
    AfpSessions Known,
    /// What a disconnected client holds until another client needs it.
    AfpAbsences Known,
    /// The current connection of a session.
    AfpConnection Known,
    /// The volumes that a session has open.
    AfpVolumes Known,
    /// The forks that a session has open.
    AfpForks Known,
    /// The searches that a session can continue.
    AfpSearches Known,
    /// The positions at which a session's listings continue.
    AfpBookmarks Known,
    /// Replies that are repeated after a reconnection.
    AfpReplies Known,
    /// The time of a client's last message.
    AfpPulse Known,
    /// The identifier that a client gives to its session.
    AfpName Known,
    /// When a session was last notified of changes, and when it made one.
    AfpNotices Known,
    /// The time of the last change in a share that clients made.
    AfpIdsChanged Known,
    /// The folders above a folder, remembered for a short time.
    AfpReach Known,
    /// The server's message to its users.
    AfpMessage Known,
    /// The settings of AFP.
    AfpConfig Known,
    /// Held while ids are given that the servers of a cluster share: one thread at a time waits for the others.
    CatalogSharing Known,
    /// What is known of the ids that the servers of a cluster share.
    CatalogShared Known,
    /// The logins of a connection that are not finished.
    SmbSetups Known,
    /// Held during one login, which ends earlier sessions and binds channels.
    SmbSetup Known,
    /// The messages of a pipe. Held while it answers a call, for which it may ask for sessions, shares and opens.
    SmbPipe Known,
    /// The clients that are told of the loss of servers, and what they have not heard yet.
    SmbWitness Known,
    /// The sessions of SMB.
    SmbSessions Known,
    /// The clients of SMB by their GUIDs.
    SmbClients Known,
    /// The breaks that a client is still to receive. Held until they are in the queue of a connection.
    SmbNotices Known,
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
    /// Opens that a client can request again (replay).
    SmbReplays Known,
    /// Durable opens whose connections are lost, and those that are being taken over from a lost server.
    SmbDurable Known,
    /// The shares that a session is connected to.
    SmbTrees Known,
    /// The opens of a session.
    SmbOpens Known,
    /// The changes that an open folder's client is notified of.
    SmbWatch Known,
    /// The position at which the listing of an open continues.
    SmbScan Known,
    /// The caches of a client by their keys.
    SmbCaches Known,
    /// The caching rights of one key, and the opens that have them.
    SmbCache Known,
    /// The interim response of a request.
    SmbTicket Known,
    /// The count of a request in the channel sequence of its open.
    SmbCounted Known,
    /// The channel sequence of an open.
    SmbSequence Known,
    /// The lock sequences of an open.
    SmbLockSequences Known,
    /// The path of an open.
    SmbOpenPath Known,
    /// The change time that an open keeps unchanged.
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
    /// Held during a change of the monitored hosts: one change runs at a time.
    NsmChanging Known,
    /// The hosts that are notified of a restart.
    NsmFormer Known,
    /// The hosts that have reclaimed their locks.
    NsmGrace Known,
    /// The stored table of monitored hosts.
    NsmTable Known,
    /// The monitored hosts.
    NsmHosts Known,
    /// Held while a client of NFSv4.1 creates a session: the order of its CREATE_SESSION.
    Nfs4Creation Known,
    /// The clients of NFSv4.
    Nfs4Clients Known,
    /// The sessions of NFSv4.1.
    Nfs4Sessions Known,
    /// The last request of a slot of a session.
    Nfs4Slot Known,
    /// The connections that use a session.
    Nfs4Connections Known,
    /// The program of a client that the server calls.
    Nfs4Callback Known,
    /// The connections over which the server may call clients.
    Nfs4BackConnections Known,
    /// The delegations of all clients of NFSv4.
    Nfs4Delegations Known,
    /// The notices of delegations that are recalled, until a task reads them; and the clients that wait for delegations.
    Nfs4Notices Known,
    /// The owners, opens and locks of a client of NFSv4.
    Nfs4Owned Known,
    /// The clients of NFSv4 that may reclaim what they held before a restart.
    Nfs4Former Known,
    /// An open of NFSv4, until it is closed.
    Nfs4Open Known,
    /// The clients that use NLM locks.
    NlmHosts Known,
    /// The locks that clients wait for.
    NlmBlocked Known,
    /// The share reservations of NLM.
    NlmShares Known,
    /// The files on which NLM clients have locks or shares.
    NlmFiles Known,
    /// The clients of NFS by their addresses.
    NfsClients Known,
    /// Replies to calls that must not be executed twice.
    NfsReplies Known,
    /// The places where handles were last seen.
    NfsPlaces Known,
    /// The exports.
    NfsExports Known,
    /// What takes the Kerberos tickets of clients of NFS.
    NfsTickets Known,
    /// The security contexts of clients of NFS.
    NfsContexts Known,
    /// The sequence numbers and the keys of one security context.
    NfsContext Known,
    /// How users and groups are named to clients of NFSv4.
    NfsNaming Known,
    /// The certificate that is offered to clients of NFS.
    NfsTls Known,
    /// The names of users and groups that the name service has told.
    NfsNames Known,
    /// The mounts of each client.
    Mounts Known,
    /// Held while a connection joins a session: one connection joins at a time.
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
    /// The state of one task: its data, and what it waits for.
    IscsiTask Known,
    /// Text exchanges that are not finished.
    IscsiTexts Known,
    /// The units that an initiator has seen.
    IscsiSeenUnits Known,
    /// How much data a connection has solicited.
    IscsiSolicited Known,
    /// Held during a change of reservations: one change runs at a time.
    ReservationsChanging Known,
    /// The reservations of a unit.
    Reservations Known,
    /// The sessions that use a unit.
    UnitHolders Known,
    /// The unit attentions that initiators are still to receive.
    UnitAttentions Known,
    /// Initiators that are to learn of a failed flush.
    SyncFailures Known,
    /// The mode pages of a unit.
    ModePages Known,
    /// The results of copies.
    ExtendedCopies Known,
    /// The share policy and the LUNs of a target.
    TargetOffer Known,
    /// The settings of a target.
    TargetConfig Known,
    /// The settings of iSCSI.
    IscsiConfig Known,
    /// The users of the domain, or of the host, that are known.
    DomainKnown Known,
    /// The ids that were given to domains.
    DomainIds Known,
    /// The login record of a session, for the log.
    LoginRecords Known,
    /// Failed logins, by address and name.
    LoginAttempts Known,
    /// How many lines about logins were logged.
    LoginLines Known,
    /// The lines of a log that is kept in memory.
    KeptLines Known,
    /// The names that files with Mac metadata were moved away from.
    VacatedNames Known,
    /// The names that are being changed together with their sidecars.
    BusyNames Known,
    /// The volumes with subscriptions to changes.
    WatchedVolumes Known,
    /// Whether the thread that receives local changes runs.
    Listening Known,
    /// Held while a thread empties the host's queue of changes: one thread at a time.
    Hearing Known,
    /// The subscriptions to changes.
    EventListeners Known,
    /// The folders of a volume that the host watches.
    WatchedTree Known,
    /// The server's own changes that the host has not reported back yet.
    OwnChanges Known,
    /// Changes that were received and not delivered yet.
    HeardChanges Known,
    /// The kept listings of a volume.
    KeptListings Known,
    /// The listing of one folder.
    FolderListing Known,
    /// The look-ups of listings, for predictions.
    ListingGhost Known,
    /// Folders whose listings are too large to keep.
    RefusedListings Known,
    /// The folders whose listings are being built.
    ListingsBeingRead Known,
    /// The changes of a folder while its listing is built.
    ListingEvents Known,
    /// The known details of one entry of a listing.
    EntryDetails Unknown,
    /// The changed entries of a listing.
    ListingChanges Known,
    /// The resource fork of an open, from its first use on.
    OpenFork Known,
    /// The places of the open files.
    OpenPlaces Known,
    /// The place of one open file.
    OpenPlace Known,
    /// The result of the last search for a file by its id.
    SearchedPlaces Known,
    /// The places where files were last seen.
    SeenPlaces Known,
    /// The files that clients have locked.
    InhibitedFiles Known,
    /// Change times that clients have set.
    ChangeTimes Known,
    /// The entries of a folder, or the data of a file, arrive from another server.
    Arriving Known,
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
    /// The folders above a share's folder that have a store of streams.
    StoresAbove Known,
    /// The key that seals stored ACLs.
    AclKey Known,
    /// The stored ACLs that were read.
    KnownAcls Known,
    /// Clients that are not connected.
    AbsentClients Known,
    /// The files whose state another server has.
    AskedStates Known,
    /// The opens, ranges and leases of files.
    StateFiles Known,
    /// The stream of an open.
    OpenStream Known,
    /// How much each client holds.
    StateLedger Known,
    /// How many files each client has open.
    OpenBudget Known,
    /// The numbers of file systems in a cluster.
    ClusterTrees Known,
    /// What the state of files wants of other servers.
    ClusterPort Known,
    /// The changes that one subscriber is still to receive.
    EventQueue Known,
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
    /// The open database of the index, which is opened again after the disk was full.
    IndexDatabase Known,
    /// What wakes the writer of the index.
    IndexAlarm Known,
    /// The time of the last search for a file by its key.
    LostSearched Known,
    /// The trees that are attached to a share.
    AttachedTrees Known,
    /// The long names of entries in watched folders.
    HeardNames Known,
    /// The watches of folders in snapshots.
    SnapshotWatches Known,
    /// The file systems that are mounted inside a share.
    HostMounts Known,
    /// The numbers of the file systems inside a share.
    HostFileSystems Known,
    /// The devices that the numbers of file systems belong to.
    HostDevices Known,
    /// The open files of the host.
    HostFiles Known,
    /// The tables of open files of all volumes.
    HostFileTables Known,
    /// The descriptors of files' data that can be closed.
    HostFileData Known,
    /// The descriptors of one file.
    HostFile Known,
    /// Whether a file of the host has an ACL.
    HostFileAcl Known,
    /// The files that are guarded against local processes.
    HostGuards Known,
    /// The files that count for quotas and are in use.
    FileCharges Known,
    /// What one file counts with.
    FileCharge Known,
    /// The quotas that count for the files of a folder.
    MeterQuotas Known,
    /// The files that a recount has found, and those that changed since it began.
    QuotaRecount Known,
    /// The places where files without handles were last seen.
    LostSeen Known,
    /// The places where listings found files without handles.
    LostFound Known,
    /// How many subscriptions use each watch of the host.
    WatchUsers Known,
    /// A tree in memory.
    MemoryTree Known,
    /// The file systems of Ceph that are mounted.
    CephMounts Known,
    // Sending: below everything that can send a reply.
    /// The replies that wait for a client.
    Outbox Known,
    /// The requests that wait for memory.
    MemoryQueue Known,
    /// The memory allowances of clients.
    MemoryClients Known,
    /// The files whose access blocks a thread.
    StuckSubjects Known,
    /// Reply buffers that can be used again.
    FreeReplies Known,
    /// Receive buffers that can be used again.
    FreeBuffers Known,
    /// The poll that delays a loop.
    LoopDelay Known,
    /// The task that waits for a socket.
    LoopWaker Known,
    /// The sockets of a loop.
    LoopSockets Known,
    /// The tasks of a loop that are ready to run.
    LoopQueue Known,
    /// The future of a task, while no thread polls it.
    LoopTask Known,
    /// The files that wait for a worker of a migration.
    MigrationJobs Known,
    /// What the workers of a migration note together: the report, the journal, the rate. And what arrives from an old server.
    Migration Known,
    /// A session of a mount, during a call to the server.
    MountSession Known,
    /// The files and folders that programs have open in a mount.
    MountFiles Known,
    /// The numbers that the kernel has for paths in a mount.
    MountNodes Known,
    /// The tokens of the API.
    ApiTokens Known,
    /// The sessions of the console.
    ApiLogins Known,
    /// The jobs that were started by the API.
    ApiJobs Known,
    /// The listeners to changes.
    ApiListeners Known,
    /// The slowest operations that the API has told.
    ApiSlowest Known,
    /// The backups of Macs, as they were measured for the metrics.
    MeasuredBackups Known,
    /// Why a webhook sends nothing.
    WebhookError Known,
    /// How much space the shares have used.
    SpaceSamples Known,
    /// The throughput of the last day.
    ThroughputHistory Known,
    /// The links of the namespace, their places, and the health of their targets.
    Namespace Known,
    /// What was noted of an operation.
    OperationNotes Known,
    /// The thread that writes the audit log.
    AuditThread Known,
    /// The shares that are audited.
    AuditRules Known,
    /// The slowest operations.
    SlowOperations Known,
    /// The alerts that are raised.
    RaisedAlerts Known,
    /// The addresses of the API's connections.
    ApiConnections Known,
    /// The threads that count operations.
    CountingThreads Known,
    /// The operations that a thread has counted.
    CountedOperations Known,
    /// The names of hosts that client rules ask for.
    HostNames Known,
    /// The newest lines of the log, which is written while others may be held.
    KeptLog Known,
}
