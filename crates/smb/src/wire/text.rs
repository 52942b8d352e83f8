//! UTF-16LE text. Names are kept as units: a name on NTFS need not be valid UTF-16.

use wire::{Malformed, Reader, Writer};

/// The next `len` bytes as units; an odd length is malformed.
pub fn units(r: &mut Reader<'_>, len: usize) -> Result<Vec<u16>, Malformed> {
    from_bytes(r.take(len)?)
}

/// `bytes` as units; an odd length is malformed.
pub fn from_bytes(bytes: &[u8]) -> Result<Vec<u16>, Malformed> {
    match bytes.len().is_multiple_of(2) {
        true => Ok(whole_units(bytes)),
        false => Err(Malformed("half a UTF-16 unit")),
    }
}

/// `bytes` as units, without half a unit at the end.
pub fn whole_units(bytes: &[u8]) -> Vec<u16> {
    bytes.as_chunks().0.iter().map(|unit| u16::from_le_bytes(*unit)).collect()
}

/// A length u32 in bytes, then the units.
pub fn counted(r: &mut Reader<'_>) -> Result<Vec<u16>, Malformed> {
    let len = r.u32_le()?;
    units(r, len as usize)
}

/// Writes the units.
pub fn put(w: &mut Writer, units: &[u16]) {
    for unit in units {
        w.u16_le(*unit);
    }
}

/// Writes a length u32 in bytes, then the units.
pub fn put_counted(w: &mut Writer, units: &[u16]) {
    w.u32_le(byte_len(units));
    put(w, units);
}

/// How many bytes the units take, at most u32::MAX. Longer text cannot be sent anyway.
pub fn byte_len(units: &[u16]) -> u32 {
    u32::try_from(units.len() * 2).unwrap_or(u32::MAX)
}

/// The units of a text.
pub fn of(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_little_endian_and_come_in_pairs_of_bytes() {
        assert_eq!(from_bytes(b"a\0\x0d\xf0"), Ok(vec![0x61, 0xF00D]));
        assert!(from_bytes(b"a\0b").is_err());
    }

    #[test]
    fn a_length_past_the_end_is_malformed() {
        assert_eq!(counted(&mut Reader::new(b"\x04\0\0\0a\0b\0")), Ok(of("ab")));
        assert!(counted(&mut Reader::new(b"\xfe\xff\xff\xffa\0b\0")).is_err());
    }

    #[test]
    fn an_unpaired_surrogate_stays() {
        let mut w = Writer::new();
        put_counted(&mut w, &[0xD800, 0x61]);
        assert_eq!(w.as_bytes(), b"\x04\0\0\0\x00\xd8a\0");
    }
}
