//! The ranks of the locks of iSCSI.

lock::ranks! {
    Band::Sessions, from 192;

    /// Held while a connection joins a session: one connection joins at a time.
    IscsiBeginning,
    /// A login that is not finished.
    IscsiLogin,
    /// The sessions of iSCSI.
    IscsiSessions,
    /// The connections of a session.
    IscsiConnections,
    /// The next status number of a connection.
    IscsiStatSn,
    /// The commands of a session in their order.
    IscsiWindow,
    /// The tasks of a connection.
    IscsiTasks,
    /// The state of one task: its data, and what it waits for.
    IscsiTask,
    /// Text exchanges that are not finished.
    IscsiTexts,
    /// The units that an initiator has seen.
    IscsiSeenUnits,
    /// How much data a connection has solicited.
    IscsiSolicited,
    /// Held during a change of reservations: one change runs at a time.
    ReservationsChanging,
    /// The reservations of a unit.
    Reservations,
    /// The sessions that use a unit.
    UnitHolders,
    /// The unit attentions that initiators are still to receive.
    UnitAttentions,
    /// Initiators that are to learn of a failed flush.
    SyncFailures,
    /// The mode pages of a unit.
    ModePages,
    /// The results of copies.
    ExtendedCopies,
    /// The share policy and the LUNs of a target.
    TargetOffer,
    /// The settings of a target.
    TargetConfig,
    /// The settings of iSCSI.
    IscsiConfig,
}
