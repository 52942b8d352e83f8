//! The ranks of the locks of SMB.

lock::ranks! {
    Band::Sessions, from 64;

    /// The logins of a connection that are not finished.
    SmbSetups,
    /// Held during one login, which ends earlier sessions and binds channels.
    SmbSetup,
    /// The messages of a pipe. Held while it answers a call, for which it may ask for sessions, shares and opens.
    SmbPipe,
    /// The clients that are told of the loss of servers, and what they have not heard yet.
    SmbWitness,
    /// The sessions of SMB.
    SmbSessions,
    /// The clients of SMB by their GUIDs.
    SmbClients,
    /// The breaks that a client is still to receive. Held until they are in the queue of a connection.
    SmbNotices,
    /// The sessions of one client.
    SmbClientSessions,
    /// The sessions that a connection carries.
    SmbChannels,
    /// The connections that carry a session.
    SmbSessionChannels,
    /// Sessions of a connection that have ended.
    SmbEndedChannels,
    /// The opens of application instances.
    SmbAppInstances,
    /// Opens that a client can request again (replay).
    SmbReplays,
    /// Durable opens whose connections are lost, and those that are being taken over from a lost server.
    SmbDurable,
    /// The shares that a session is connected to.
    SmbTrees,
    /// The opens of a session.
    SmbOpens,
    /// The changes that an open folder's client is notified of.
    SmbWatch,
    /// The position at which the listing of an open continues.
    SmbScan,
    /// The caches of a client by their keys.
    SmbCaches,
    /// The caching rights of one key, and the opens that have them.
    SmbCache,
    /// The interim response of a request.
    SmbTicket,
    /// The count of a request in the channel sequence of its open.
    SmbCounted,
    /// The channel sequence of an open.
    SmbSequence,
    /// The lock sequences of an open.
    SmbLockSequences,
    /// The path of an open.
    SmbOpenPath,
    /// The change time that an open keeps unchanged.
    SmbOpenChanged,
    /// The short names of a folder.
    SmbShortNames,
    /// The requests that can be cancelled.
    SmbRequests,
    /// When a session expires.
    SmbExpiry,
    /// The user of a session.
    SmbUser,
    /// The settings of SMB.
    SmbConfig,
    /// The responses to one compound request.
    SmbOutput,
    /// The message ids that a client may use.
    SmbWindow,
    /// The preauthentication hash of a connection or login.
    SmbPreauth,
}
