//! The ranks of the locks of what clients hold, and of notices.

lock::ranks! {
    Band::Tree, from 8;

    /// The subscriptions to changes.
    EventListeners,
}

lock::ranks! {
    Band::Tree, from 64;

    /// Clients that are not connected.
    AbsentClients,
    /// The files whose state another server has.
    AskedStates,
    /// The opens, ranges and leases of files.
    StateFiles,
    /// The stream of an open.
    OpenStream,
    /// How much each client holds.
    StateLedger,
}

lock::ranks! {
    Band::Index, from 0;

    /// The changes that one subscriber is still to receive.
    EventQueue,
}

lock::ranks! {
    Band::Notes, from 32;

    /// What was noted of an operation.
    OperationNotes,
}
