//! The checksum of MacBinary and BinHex.

/// CRC-16 with polynomial 0x1021, start 0, high bit first (CCITT as XMODEM uses it).
pub(super) fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, &byte| {
        (0..8).fold(
            crc ^ u16::from(byte) << 8,
            |crc, _| if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 },
        )
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_check_value() {
        assert_eq!(super::crc16(b"123456789"), 0x31C3);
    }
}
