//! The view of names for old Macs: at most 31 bytes of MacRoman, with the id of the file where that does not
//! suffice.

use encoding_rs::MACINTOSH;
use unicode_normalization::UnicodeNormalization;

use super::mangle::{self, parse_mangled};
use super::name::{NameError, check};
use super::{normalise, octets, plain_form};

/// Bytes in the short name of a file or folder.
pub const FILE_LIMIT: usize = 31;
/// Bytes in the short name of a volume.
pub const VOLUME_LIMIT: usize = 27;

/// The name for old Macs: MacRoman, at most `limit` bytes, with `/` where the disk has `:`.
///
/// A composed name that fits is shown as itself. Any other is `prefix#id.ext`, where `id` is the file's own (see
/// [`parse_mangled`]), and so is a stored name that looks like that by chance: as long as no two files have one id, no
/// two names of a folder are shown alike. Another folder's or a former file's id in what a client sends finds nothing.
pub fn short_view(stored: &[u8], id: u32, limit: usize) -> Vec<u8> {
    let plain = plain_form(stored);
    match exact(&plain).filter(|short| short.len() <= limit && parse_mangled(short).is_none()) {
        Some(short) => short,
        None => mangled(&plain, id, limit),
    }
}

/// The stored bytes of a short name that is not mangled: ask [`parse_mangled`] first.
pub fn from_short_view(short: &[u8]) -> Result<Vec<u8>, NameError> {
    if short.contains(&b':') {
        return Err(NameError::Forbidden);
    }
    let stored = decode_mac_roman(short).replace('/', ":").into_bytes();
    check(&stored)?;
    Ok(stored)
}

/// MacRoman as text: 0xF0 is U+F8FF (the logo), 0xDB the euro sign, as since Mac OS 8.5.
pub fn decode_mac_roman(bytes: &[u8]) -> String {
    MACINTOSH.decode_without_bom_handling(bytes).0.into_owned()
}

/// Text in MacRoman, composed. A character that it does not have becomes `_`.
pub fn encode_mac_roman(text: &str) -> Vec<u8> {
    let text: String = text.nfc().map(in_mac_roman).collect();
    MACINTOSH.encode(&text).0.into_owned()
}

/// The name in MacRoman, if that gives back the very same bytes.
fn exact(stored: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(stored).ok().filter(|text| normalise::is_nfc(text))?;
    let (short, _, unmappable) = MACINTOSH.encode(text);
    (!unmappable).then(|| short.iter().map(|b| if *b == b':' { b'/' } else { *b }).collect())
}

fn mangled(stored: &[u8], id: u32, limit: usize) -> Vec<u8> {
    let text =
        octets::to_text(stored, |_| false).replace(':', "/").nfc().map(in_mac_roman).collect::<String>();
    // One character is one byte in MacRoman, but not in UTF-8: cut what is encoded.
    let (stem, extension) = mangle::split(&text);
    let tail = MACINTOSH.encode(&mangle::tail(id, extension)).0.into_owned();
    let mut short = MACINTOSH.encode(stem).0.into_owned();
    short.truncate(limit.saturating_sub(tail.len()));
    short.extend(tail);
    short
}

fn in_mac_roman(c: char) -> char {
    let (_, _, unmappable) = MACINTOSH.encode(c.encode_utf8(&mut [0; 4]));
    if unmappable { '_' } else { c }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::collection::hash_set;
    use proptest::prelude::*;

    use super::super::test_names::any_name;
    use super::*;

    fn short(name: &str) -> Vec<u8> {
        short_view(name.as_bytes(), 0x1F, FILE_LIMIT)
    }

    #[test]
    fn a_name_that_fits_is_shown_as_itself() {
        assert_eq!(short("SimThyr \u{192}.sea"), b"SimThyr \xc4.sea"); // Apple ROMAN.TXT: 0xC4 is U+0192
        assert_eq!(short("\u{20ac} \u{f8ff} \u{3c0}"), b"\xdb \xf0 \xb9");
        assert_eq!(short("12:30"), b"12/30");
        assert_eq!(short(&"x".repeat(31)), [b'x'; 31]);
    }

    #[test]
    fn a_name_that_does_not_fit_is_mangled() {
        assert_eq!(short(&"x".repeat(32)), [&[b'x'; 24][..], b"#00001F"].concat());
        assert_eq!(short("A rather long name of a picture.jpeg"), b"A rather long name #00001F.jpeg");
        assert_eq!(short("日本語.txt"), b"___#00001F.txt");
        assert_eq!(short("currency \u{a4}"), b"currency _#00001F"); // the euro took its place
        assert_eq!(short_view(&[b'v'; 28], 2, VOLUME_LIMIT), [&[b'v'; 20][..], b"#000002"].concat());
    }

    #[test]
    fn private_code_points_of_samba_are_the_characters_that_a_mac_had() {
        assert_eq!(short("Icon\u{f00d}"), b"Icon\r");
        assert_eq!(short("\u{e9}t\u{e9}\u{f025}"), b"\x8et\x8e?");
    }

    #[test]
    fn a_name_that_looks_mangled_is_mangled() {
        assert_eq!(short("a#0000FF.txt"), b"a#0000FF#00001F.txt");
        assert_eq!(short("e\u{301}"), b"\x8e#00001F"); // its composed twin may be there
    }

    #[test]
    fn every_mac_roman_name_is_a_stored_name_and_back() {
        for byte in (1..=255_u8).filter(|b| !matches!(b, b':' | b'.')) {
            let stored = from_short_view(&[byte]).unwrap();
            assert_eq!(short_view(&stored, 0, FILE_LIMIT), [byte]);
        }
        assert_eq!(from_short_view(b"a:b"), Err(NameError::Forbidden));
        assert_eq!(from_short_view(b"a\0"), Err(NameError::Forbidden));
    }

    proptest! {
        #[test]
        fn a_short_name_leads_back(name in any_name(), id: u32, limit in VOLUME_LIMIT..=FILE_LIMIT) {
            let short = short_view(&name, id, limit);
            prop_assert!(short.len() <= limit && !short.contains(&b':'));
            match parse_mangled(&short) {
                Some(parsed) => prop_assert_eq!(parsed, id),
                None => prop_assert_eq!(from_short_view(&short), Ok(plain_form(&name).into_owned())),
            }
        }

        #[test]
        fn no_two_names_of_a_folder_are_shown_alike(names in hash_set(any_name(), 2..40)) {
            let names: HashSet<_> = names.iter().map(|name| plain_form(name)).collect();
            let count = names.len();
            let shown: HashSet<_> = names.iter().zip(8..).map(|(name, id)| short_view(name, id, FILE_LIMIT)).collect();
            prop_assert_eq!(shown.len(), count);
        }
    }
}
