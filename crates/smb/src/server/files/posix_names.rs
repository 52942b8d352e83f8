//! The names of entries for opens with the SMB3 POSIX extensions: they may have all characters but the separators.

use vfs::names::{from_windows_view, windows_view};

use crate::wire::Status;

const BACKSLASH: u16 = b'\\' as u16;
/// The private code point of a backslash, which separates names on the wire.
const PRIVATE_BACKSLASH: u16 = 0xF026;
/// What Windows forbids in names, in the order of the private code points from U+F020 on.
const FORBIDDEN: [u16; 8] = [0x22, 0x2A, 0x3A, 0x3C, 0x3E, 0x3F, BACKSLASH, 0x7C];
const FIRST_FORBIDDEN: u16 = 0xF020;

/// A stored name as such an open is told it: as it is, but for a backslash.
pub(in crate::server) fn shown_name(stored: &[u8]) -> Vec<u16> {
    let mut units = windows_view(stored);
    for unit in &mut units {
        *unit = match *unit {
            0xF001..=0xF01F => *unit & 0x1F,
            0xF028 => b' '.into(),
            0xF029 => b'.'.into(),
            PRIVATE_BACKSLASH => PRIVATE_BACKSLASH,
            FIRST_FORBIDDEN..=0xF027 => FORBIDDEN[usize::from(*unit - FIRST_FORBIDDEN)],
            unit => unit,
        };
    }
    units
}

/// The stored form of a name that such an open gives. Private code points count as the characters that they stand for, too: Linux
/// sends them unless it is told not to (`nomapposix`).
pub(in crate::server) fn stored_name(units: &[u16]) -> Result<Vec<u8>, Status> {
    let private = |unit: &u16| match *unit {
        0x01..=0x1F => 0xF000 | unit,
        unit => FORBIDDEN.iter().position(|is| *is == unit).map_or(unit, |at| FIRST_FORBIDDEN + at as u16),
    };
    let units: Vec<u16> = units.iter().map(private).collect();
    from_windows_view(&units).map_err(|_| Status::OBJECT_NAME_INVALID)
}

/// A link's target for such an open: with slashes.
pub(in crate::server) fn shown_target(target: &[u8]) -> Vec<u16> {
    let components: Vec<Vec<u16>> = target.split(|byte| *byte == b'/').map(shown_name).collect();
    components.join(&u16::from(b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(text: &str) -> Vec<u16> {
        text.encode_utf16().collect()
    }

    #[test]
    fn names_are_told_and_taken_as_they_are() {
        for name in ["a:b", "q?*\"<>|", "ends.", "blank ", "\u{1}", "größe", "con", "a\u{1F600}"] {
            assert_eq!(shown_name(name.as_bytes()), units(name), "{name:?}");
            assert_eq!(stored_name(&units(name)), Ok(name.into()), "{name:?}");
        }
        assert_eq!(stored_name(&units("a/b")), Err(Status::OBJECT_NAME_INVALID));
        assert_eq!(stored_name(&units("a\0")), Err(Status::OBJECT_NAME_INVALID));
    }

    #[test]
    fn a_backslash_in_a_name_stays_a_private_code_point() {
        assert_eq!(shown_name(b"a\\b"), units("a\u{f026}b"));
        assert_eq!(stored_name(&units("a\u{f026}b\u{f022}")), Ok(b"a\\b:".to_vec()));
    }

    #[test]
    fn targets_of_links_have_slashes() {
        assert_eq!(shown_target(b"../a:/b."), units("../a:/b."));
        assert_eq!(shown_target(b"/etc"), units("/etc"));
    }
}
