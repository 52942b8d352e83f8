//! The status of a SCSI command, SAM-5 5.3.1.

wire::number! {
    /// The status of a command, SAM-5 5.3.1.
    pub Status: u8 ["Status({})"] {
        GOOD = 0x00,
        CHECK_CONDITION = 0x02,
        CONDITION_MET = 0x04,
        BUSY = 0x08,
        RESERVATION_CONFLICT = 0x18,
        TASK_SET_FULL = 0x28,
        ACA_ACTIVE = 0x30,
        TASK_ABORTED = 0x40,
    }
}
