//! The parameters that a login negotiates, and the limits that the server offers.

use std::ops::RangeInclusive;

/// The most data in one PDU that the server accepts.
pub(crate) const OUR_MAX_DATA: u32 = 1024 * 1024;
/// The most data of one sequence of PDUs.
pub(crate) const MAX_BURST: u32 = (1 << 24) - 1;
/// The most unsolicited data of a command.
pub(crate) const MAX_FIRST_BURST: u32 = 256 * 1024;
/// The most outstanding R2Ts of one command.
pub(crate) const MAX_R2T: u16 = 16;
/// The most connections of one session.
pub(crate) const MAX_CONNECTIONS: u16 = 8;
/// The range that RFC 7143 13.12 to 13.14 allow for lengths.
pub(crate) const LENGTHS: RangeInclusive<u64> = 512..=(1 << 24) - 1;

/// When a task that is aborted together with others counts as ended, RFC 7143 13.23.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskReporting {
    /// As in RFC 3720.
    Rfc3720,
}

/// The negotiated parameters, RFC 7143 section 13. A key that was not negotiated has its default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parameters {
    /// HeaderDigest is CRC32C. Belongs to the connection, like the next three.
    pub(crate) header_digest: bool,
    /// DataDigest is CRC32C.
    pub(crate) data_digest: bool,
    /// The initiator's MaxRecvDataSegmentLength: the most data in a PDU that the server sends.
    pub(crate) their_max_data: u32,
    /// The server's, if it was declared: the most data in a PDU that the server accepts.
    pub(crate) our_max_data: u32,
    /// MaxConnections. Belongs to the session, like everything below.
    pub(crate) max_connections: u16,
    /// InitialR2T.
    pub(crate) initial_r2t: bool,
    /// ImmediateData.
    pub(crate) immediate_data: bool,
    /// MaxBurstLength.
    pub(crate) max_burst: u32,
    /// FirstBurstLength, never more than `max_burst`.
    pub(crate) first_burst: u32,
    /// DefaultTime2Wait.
    pub(crate) time2wait_s: u16,
    /// DefaultTime2Retain.
    pub(crate) time2retain_s: u16,
    /// MaxOutstandingR2T.
    pub(crate) max_r2t: u16,
    /// DataPDUInOrder.
    pub(crate) pdu_in_order: bool,
    /// DataSequenceInOrder.
    pub(crate) sequence_in_order: bool,
    /// ErrorRecoveryLevel.
    pub(crate) error_recovery_level: u8,
    /// TaskReporting.
    pub(crate) task_reporting: TaskReporting,
    /// iSCSIProtocolLevel, RFC 7144 7.1.1.
    pub(crate) protocol_level: u8,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            header_digest: false,
            data_digest: false,
            their_max_data: 8192,
            our_max_data: 8192,
            max_connections: 1,
            initial_r2t: true,
            immediate_data: true,
            max_burst: 262_144,
            first_burst: 65_536,
            time2wait_s: 2,
            time2retain_s: 20,
            max_r2t: 1,
            pdu_in_order: true,
            sequence_in_order: true,
            error_recovery_level: 0,
            task_reporting: TaskReporting::Rfc3720,
            protocol_level: 1,
        }
    }
}
