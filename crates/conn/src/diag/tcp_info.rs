//! What Linux tells of a TCP connection, `struct tcp_info` of linux/tcp.h. Each version of Linux adds fields at the end.

/// Bytes that every version has.
const LEAST: usize = 104;

/// The part of it that says where time goes. Counts are those since the connection began, and wrap. Fields that an older kernel
/// does not have are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpInfo {
    /// How often the oldest data were sent again, without any acknowledgement since.
    pub retransmits: u8,
    /// How often the time until the next attempt was doubled.
    pub backoff: u8,
    /// The longest segment that this end sends, in bytes of data.
    pub send_segment: u32,
    /// Segments on their way.
    pub unacknowledged: u32,
    /// Milliseconds since data were sent last.
    pub since_sent_ms: u32,
    /// Milliseconds since data arrived last.
    pub since_received_ms: u32,
    /// Milliseconds since an acknowledgement arrived last.
    pub since_acknowledged_ms: u32,
    /// The size of packets that the path is taken to carry.
    pub path_mtu: u32,
    /// The smoothed round trip in microseconds, with the time until the other end acknowledges.
    pub round_trip_us: u32,
    /// How much it varies, in microseconds.
    pub variation_us: u32,
    /// Segments that may be on their way.
    pub window_segments: u32,
    /// Segments that were sent again.
    pub retransmitted: u32,
    /// Bytes that wait to be sent for the first time.
    pub not_sent: u32,
    /// The shortest round trip in microseconds.
    pub least_round_trip_us: u32,
    /// Segments with data that arrived.
    pub data_segments_in: u32,
    /// Segments with data that were sent, with those that were sent again.
    pub data_segments_out: u32,
    /// Bytes per second, as the last acknowledgements show them.
    pub delivery_rate: u64,
    /// Microseconds in which data waited or were on their way.
    pub busy_us: u64,
    /// Those of them in which the other end's receive window was full.
    pub window_limited_us: u64,
    /// Packets that arrived before earlier ones: these were lost or overtaken.
    pub out_of_order: u32,
    /// The other end's receive window in bytes, as it was told last.
    pub receive_window: u32,
}

impl TcpInfo {
    /// Reads it. `None`: it is shorter than any version has it.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < LEAST {
            return None;
        }
        let u32_at = |at: usize| {
            bytes.get(at..at + 4).and_then(|part| part.try_into().ok()).map_or(0, u32::from_ne_bytes)
        };
        let u64_at = |at: usize| {
            bytes.get(at..at + 8).and_then(|part| part.try_into().ok()).map_or(0, u64::from_ne_bytes)
        };
        Some(Self {
            retransmits: bytes[2],
            backoff: bytes[4],
            send_segment: u32_at(16),
            unacknowledged: u32_at(24),
            since_sent_ms: u32_at(44),
            since_received_ms: u32_at(52),
            since_acknowledged_ms: u32_at(56),
            path_mtu: u32_at(60),
            round_trip_us: u32_at(68),
            variation_us: u32_at(72),
            window_segments: u32_at(80),
            retransmitted: u32_at(100),
            not_sent: u32_at(144),
            least_round_trip_us: u32_at(148),
            data_segments_in: u32_at(152),
            data_segments_out: u32_at(156),
            delivery_rate: u64_at(160),
            busy_us: u64_at(168),
            window_limited_us: u64_at(176),
            out_of_order: u32_at(224),
            receive_window: u32_at(228),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_an_older_kernel_does_not_have_are_zero() {
        assert_eq!(TcpInfo::decode(&[0xFF; LEAST - 1]), None);
        let old = TcpInfo::decode(&[0xFF; LEAST]).unwrap();
        assert_eq!((old.retransmitted, old.not_sent, old.busy_us), (u32::MAX, 0, 0));
        let new = TcpInfo::decode(&[0xFF; 280]).unwrap();
        assert_eq!((new.busy_us, new.receive_window), (u64::MAX, u32::MAX));
    }
}
