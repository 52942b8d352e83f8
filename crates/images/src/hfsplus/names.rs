//! Names: UTF-16, decomposed, with `/` where POSIX has `:`.

use std::cmp::Ordering;

use unicode_normalization::char::{canonical_combining_class, decompose_canonical};

use super::folding::folded;

/// The longest name of a file, in UTF-16 units.
pub(super) const MAX_NAME: usize = 255;
/// What stands for a zero in POSIX names, which end at one.
const ZERO: char = '\u{2400}';

/// The units of a name as it is stored.
pub(super) fn units(bytes: &[u8]) -> impl Iterator<Item = u16> + '_ {
    bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_be_bytes(*unit))
}

/// Compares stored names unit by unit, as HFSX does if it is case-sensitive.
pub(super) fn compare_binary(one: &[u8], other: &[u8]) -> Ordering {
    units(one).cmp(units(other))
}

/// Compares stored names without regard to case: TN1150, `FastUnicodeCompare`.
pub(super) fn compare_folded(one: &[u8], other: &[u8]) -> Ordering {
    units(one).filter_map(folded).cmp(units(other).filter_map(folded))
}

/// The name for POSIX. What is no UTF-16 becomes U+FFFD.
pub(super) fn to_posix(stored: &[u8]) -> String {
    let chars = char::decode_utf16(units(stored)).map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER));
    let posix = |char| match char {
        '/' => ':',
        '\0' => ZERO,
        char => char,
    };
    chars.map(posix).collect()
}

/// The stored form of a POSIX name as it is.
pub(super) fn from_posix(name: &str) -> Vec<u8> {
    encoded(name.chars().map(stored_char))
}

/// The stored form of a POSIX name, decomposed as HFS+ does.
pub(super) fn decomposed(name: &str) -> Vec<u8> {
    let mut chars = Vec::new();
    for char in name.chars().map(stored_char) {
        match is_kept(char) {
            true => chars.push(char),
            false => decompose_canonical(char, |part| chars.push(part)),
        }
    }
    // Marks of one character are in the order of their classes.
    let mut from = 0;
    while from < chars.len() {
        let marks = chars[from..].iter().take_while(|char| canonical_combining_class(**char) != 0).count();
        chars[from..from + marks].sort_by_key(|char| canonical_combining_class(*char));
        from += marks.max(1);
    }
    encoded(chars.into_iter())
}

fn stored_char(char: char) -> char {
    match char {
        ':' => '/',
        ZERO => '\0',
        char => char,
    }
}

fn encoded(chars: impl Iterator<Item = char>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for char in chars {
        for unit in char.encode_utf16(&mut [0; 2]) {
            bytes.extend_from_slice(&unit.to_be_bytes());
        }
    }
    bytes
}

/// Characters that HFS+ does not decompose: TN1150, "Unicode Subtleties".
fn is_kept(char: char) -> bool {
    matches!(u32::from(char), 0x2000..=0x2FFF | 0xF900..=0xFAFF | 0x2_F800..=0x2_FAFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(name: &str) -> Vec<u8> {
        encoded(name.chars())
    }

    #[test]
    fn names_are_decomposed_except_where_the_note_says() {
        assert_eq!(decomposed("Größe"), stored("Gro\u{308}ße"));
        assert_eq!(decomposed("q\u{307}\u{323}"), stored("q\u{323}\u{307}"));
        assert_eq!(decomposed("\u{2126}\u{F900}"), stored("\u{2126}\u{F900}"));
        assert_eq!(decomposed("가"), stored("\u{1100}\u{1161}"));
    }

    #[test]
    fn colons_and_slashes_change_places() {
        assert_eq!(to_posix(&stored("1/2: a")), "1:2: a");
        assert_eq!(from_posix("1:2"), stored("1/2"));
        assert_eq!(to_posix(&stored("\0\0a")), "\u{2400}\u{2400}a");
    }

    #[test]
    fn comparisons_fold_and_pass_over_marks() {
        let compare = |one, other| compare_folded(&stored(one), &stored(other));
        assert_eq!(compare("ReadMe", "README"), Ordering::Equal);
        assert_eq!(compare("a\u{200D}b", "AB"), Ordering::Equal);
        assert_eq!(compare("a", "ab"), Ordering::Less);
        assert_eq!(compare("\0", "z"), Ordering::Greater);
        assert_eq!(compare_binary(&stored("a"), &stored("B")), Ordering::Greater);
    }
}
