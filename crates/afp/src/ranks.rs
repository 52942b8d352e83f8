//! The ranks of the locks of AFP.

lock::ranks! {
    Band::Sessions, from 0;

    /// The state of a connection: fresh, logged in, over.
    AfpStage,
    /// A login that is not finished.
    AfpLogin,
    /// The volumes with sessions that are notified of changes.
    AfpWatched,
    /// The sessions of AFP.
    AfpSessions,
    /// What a disconnected client holds until another client needs it.
    AfpAbsences,
    /// The current connection of a session.
    AfpConnection,
    /// The volumes that a session has open.
    AfpVolumes,
    /// The forks that a session has open.
    AfpForks,
    /// The searches that a session can continue.
    AfpSearches,
    /// The volumes that a session searches.
    AfpSpotlight,
    /// The positions at which a session's listings continue.
    AfpBookmarks,
    /// Replies that are repeated after a reconnection.
    AfpReplies,
    /// The time of a client's last message.
    AfpPulse,
    /// The identifier that a client gives to its session.
    AfpName,
    /// When a session was last notified of changes, and when it made one.
    AfpNotices,
    /// The time of the last change in a share that clients made.
    AfpIdsChanged,
    /// The folders above a folder, remembered for a short time.
    AfpReach,
    /// The server's message to its users.
    AfpMessage,
    /// The settings of AFP.
    AfpConfig,
    /// Held while ids are given that the servers of a cluster share: one thread at a time waits for the others.
    CatalogSharing,
    /// What is known of the ids that the servers of a cluster share.
    CatalogShared,
}

lock::ranks! {
    Band::Tenants, from 0;

    /// Catalogue ids by file.
    CatalogIds,
    /// Files by catalogue id.
    CatalogKeys,
    /// The next catalogue id.
    CatalogNumbers,
    /// The places of files with catalogue ids.
    CatalogPlaces,
    /// Icons and applications of a volume.
    DesktopRows,
}
