//! The ranks of the locks of what is reserved for streams.

lock::ranks! {
    Band::Notes, from 112;

    /// The reservations of streams.
    StreamReservations,
    /// The streams of one reservation.
    ReservedStreams,
    /// What is known of the speed of others beside reserved streams.
    OthersPace,
    /// The files that others read from one end to the other.
    ColdScans,
    /// What others have written that is not on the disk yet.
    WriteBacklog,
}
