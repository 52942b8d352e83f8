//! Header and data digests: CRC32C, RFC 7143 13.1.

/// The digest of these bytes in the order on the connection: least significant byte first. The
/// padding of a PDU is included.
#[must_use]
pub fn crc32c(bytes: &[u8]) -> [u8; 4] {
    crc32c::crc32c(bytes).to_le_bytes()
}

/// The digest of bytes in two places.
#[must_use]
pub fn crc32c_of_two(first: &[u8], second: &[u8]) -> [u8; 4] {
    crc32c::crc32c_append(crc32c::crc32c(first), second).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digests_are_those_of_rfc_7143_appendix_a_4() {
        assert_eq!(crc32c(&[0; 32]), [0xaa, 0x36, 0x91, 0x8a]);
        assert_eq!(crc32c(&[0xff; 32]), [0x43, 0xab, 0xa8, 0x62]);
        let ascending: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&ascending), [0x4e, 0x79, 0xdd, 0x46]);
        assert_eq!(crc32c_of_two(&ascending[..5], &ascending[5..]), crc32c(&ascending));
    }
}
