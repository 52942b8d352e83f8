//! The ranks of the locks of NFS.

lock::ranks! {
    Band::Sessions, from 128;

    /// Held during a change of the monitored hosts: one change runs at a time.
    NsmChanging,
    /// The hosts that are notified of a restart.
    NsmFormer,
    /// The hosts that have reclaimed their locks.
    NsmGrace,
    /// The stored table of monitored hosts.
    NsmTable,
    /// The monitored hosts.
    NsmHosts,
    /// Held while a client of NFSv4.1 creates a session: the order of its CREATE_SESSION.
    Nfs4Creation,
    /// The clients of NFSv4.
    Nfs4Clients,
    /// The sessions of NFSv4.1.
    Nfs4Sessions,
    /// The last request of a slot of a session.
    Nfs4Slot,
    /// The connections that use a session.
    Nfs4Connections,
    /// The program of a client that the server calls.
    Nfs4Callback,
    /// The connections over which the server may call clients.
    Nfs4BackConnections,
    /// The delegations of all clients of NFSv4.
    Nfs4Delegations,
    /// The notices of delegations that are recalled, until a task reads them; and the clients that wait for delegations.
    Nfs4Notices,
    /// The owners, opens and locks of a client of NFSv4.
    Nfs4Owned,
    /// The clients of NFSv4 that may reclaim what they held before a restart.
    Nfs4Former,
    /// An open of NFSv4, until it is closed.
    Nfs4Open,
    /// The clients that use NLM locks.
    NlmHosts,
    /// The locks that clients wait for.
    NlmBlocked,
    /// The share reservations of NLM.
    NlmShares,
    /// The files on which NLM clients have locks or shares.
    NlmFiles,
    /// The clients of NFS by their addresses.
    NfsClients,
    /// Replies to calls that must not be executed twice.
    NfsReplies,
    /// The places where handles were last seen.
    NfsPlaces,
    /// The exports.
    NfsExports,
    /// What takes the Kerberos tickets of clients of NFS.
    NfsTickets,
    /// The security contexts of clients of NFS.
    NfsContexts,
    /// The sequence numbers and the keys of one security context.
    NfsContext,
    /// How users and groups are named to clients of NFSv4.
    NfsNaming,
    /// The certificate that is offered to clients of NFS.
    NfsTls,
    /// The names of users and groups that the name service has told.
    NfsNames,
    /// The mounts of each client.
    Mounts,
    /// The hosts that the log has named as refused.
    UnnamedHosts,
}
