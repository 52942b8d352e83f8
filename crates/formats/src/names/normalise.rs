//! The composed and decomposed forms of names, and the decomposition of HFS+.

use std::borrow::Cow;

use unicode_normalization::char::{canonical_combining_class, decompose_canonical};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick, is_nfd_quick};

/// Whether the composed and the decomposed form of a name differ, or the name is in neither form. Of names in
/// ASCII and in most scripts without accents there is one form only.
pub(super) fn has_canonical_forms(name: &[u8]) -> bool {
    !name.is_ascii() && name.utf8_chunks().any(|chunk| !(is_nfc(chunk.valid()) && is_nfd(chunk.valid())))
}

/// The canonical composition (NFC) and decomposition (NFD) of a name, one of which may be the name itself.
pub(super) fn canonical_forms(name: &[u8]) -> [Vec<u8>; 2] {
    [each_text(name, |text, out| out.extend(text.nfc())), each_text(name, |text, out| out.extend(text.nfd()))]
}

/// The canonical composition. Bytes that are not UTF-8 stay, and part the text around them. Composed names, and so
/// all of ASCII, are not copied.
pub fn to_nfc(bytes: &[u8]) -> Cow<'_, [u8]> {
    if bytes.is_ascii() || std::str::from_utf8(bytes).is_ok_and(is_nfc) {
        return Cow::Borrowed(bytes);
    }
    Cow::Owned(each_text(bytes, |text, out| out.extend(text.nfc())))
}

/// The decomposition of HFS+, which AFP's UTF-8 names have: canonical, by the tables of Unicode 3.2, without U+2000–U+2FFF,
/// U+F900–U+FAFF, and everything beyond the basic plane (HFS+ looked at UTF-16 units).
pub fn to_hfs_nfd(bytes: &[u8]) -> Cow<'_, [u8]> {
    match bytes.is_ascii() {
        true => Cow::Borrowed(bytes),
        false => Cow::Owned(each_text(bytes, decompose)),
    }
}

/// Whether the text is composed, without allocation unless that needs a close look.
pub(super) fn is_nfc(text: &str) -> bool {
    match is_nfc_quick(text.chars()) {
        IsNormalized::Yes => true,
        IsNormalized::No => false,
        IsNormalized::Maybe => unicode_normalization::is_nfc(text),
    }
}

/// Whether the text is decomposed.
fn is_nfd(text: &str) -> bool {
    match is_nfd_quick(text.chars()) {
        IsNormalized::Yes => true,
        IsNormalized::No => false,
        IsNormalized::Maybe => unicode_normalization::is_nfd(text),
    }
}

/// Applies `change` to each run of text, and keeps the bytes between.
pub(super) fn each_text(bytes: &[u8], change: impl Fn(&str, &mut String)) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 2);
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.clear();
        change(chunk.valid(), &mut text);
        out.extend_from_slice(text.as_bytes());
        out.extend_from_slice(chunk.invalid());
    }
    out
}

pub(super) fn decompose(text: &str, out: &mut String) {
    let mut marks: Vec<(u8, char)> = Vec::new();
    let mut take = |c: char| match canonical_combining_class(c) {
        0 => {
            flush(&mut marks, out);
            out.push(c);
        }
        class => marks.push((class, c)),
    };
    for c in text.chars() {
        match hfs_decomposes(c) {
            true => decompose_canonical(c, &mut take),
            false => take(c),
        }
    }
    flush(&mut marks, out);
}

/// Canonical ordering: marks after one base sort by class, equal classes keep their order.
fn flush(marks: &mut Vec<(u8, char)>, out: &mut String) {
    marks.sort_by_key(|(class, _)| *class);
    out.extend(marks.drain(..).map(|(_, c)| c));
}

/// Balinese (U+1B00–U+1B7F) is the one block of the basic plane whose decompositions came after Unicode 3.2.
fn hfs_decomposes(c: char) -> bool {
    !matches!(c as u32, 0x1B00..=0x1B7F | 0x2000..=0x2FFF | 0xF900..=0xFAFF | 0x1_0000..)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::test_names::{bytes, text};
    use super::*;

    #[test]
    fn names_of_the_corpus_have_two_forms() {
        // MANIFEST.md of the shared corpus, "Hostile and unusual names": NFD names committed from Macs.
        for (nfd, nfc) in [
            ("sen\u{303}or-bufo.png", "se\u{f1}or-bufo.png"),
            ("umlauts-o\u{308}a\u{308}s\u{30c}.zip", "umlauts-\u{f6}\u{e4}\u{161}.zip"),
        ] {
            assert_eq!(to_nfc(nfd.as_bytes()), nfc.as_bytes());
            assert_eq!(to_hfs_nfd(nfc.as_bytes()), nfd.as_bytes());
        }
    }

    #[test]
    fn hangul_decomposes_to_its_letters() {
        assert_eq!(to_hfs_nfd("각".as_bytes()), "\u{1100}\u{1161}\u{11a8}".as_bytes());
    }

    #[test]
    fn what_hfs_left_alone_is_left_alone() {
        // TN1150, and Unicode 3.2 for Balinese; U+1D15E is a pair of units.
        for kept in ["\u{212b}", "\u{2260}", "\u{2adc}", "\u{f900}", "\u{2f800}", "\u{1d15e}", "\u{1b06}"] {
            assert_eq!(to_hfs_nfd(kept.as_bytes()), kept.as_bytes());
        }
    }

    #[test]
    fn marks_are_put_in_canonical_order() {
        // U+0323 has class 220, U+0307 class 230: the lower one comes first.
        assert_eq!(to_hfs_nfd("s\u{307}\u{323}".as_bytes()), "s\u{323}\u{307}".as_bytes());
        assert_eq!(to_nfc("s\u{307}\u{323}".as_bytes()), "\u{1e69}".as_bytes());
    }

    #[test]
    fn bytes_that_are_no_text_stay() {
        assert_eq!(to_nfc(b"\xffe\xcc\x81\xfe"), &b"\xff\xc3\xa9\xfe"[..]);
        assert_eq!(to_hfs_nfd(b"\xff\xc3\xa9\xfe"), &b"\xffe\xcc\x81\xfe"[..]);
    }

    #[test]
    fn plain_names_are_not_copied() {
        assert!(matches!(to_nfc(b"Read me.txt"), Cow::Borrowed(_)));
        assert!(matches!(to_hfs_nfd(b"Read me.txt"), Cow::Borrowed(_)));
        assert!(matches!(to_nfc("Übung".as_bytes()), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn composing_undoes_the_decomposition(name in prop_oneof![bytes(), text()]) {
            let stored = to_nfc(&name).into_owned();
            let shown = to_hfs_nfd(&stored);
            prop_assert_eq!(&to_nfc(&shown), &stored);
            prop_assert_eq!(&to_nfc(&stored), &stored);
        }
    }
}
