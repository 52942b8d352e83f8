//! Which names are one on a volume: case and normalisation.

use std::borrow::Borrow;

use unicode_normalization::UnicodeNormalization;

use super::fold_table::fold;
use super::normalise::{each_text, to_nfc};
use super::private_use::plain_form;

/// Which differences between names count on a volume. The default ignores case and normalisation, as a Mac does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Folding {
    /// `A` is not `a`.
    pub case_sensitive: bool,
    /// Composed `é` is not `e` with an accent.
    pub normalisation_sensitive: bool,
}

/// What names are looked up by: two names are the same to a volume when their keys are equal.
///
/// The key is the name without private code points for characters that Windows forbids, composed, folded character by character
/// (simple, 1:1 folding: `ß` is not `SS`, `ẞ` is `ß`), and composed again. Folding the composed form, not its parts, keeps `İ`
/// apart from `i̇`. Bytes that are not UTF-8 stay.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FoldedKey(Box<[u8]>);

impl FoldedKey {
    /// The key of a name.
    pub fn new(name: &[u8], folding: Folding) -> Self {
        match folding.normalisation_sensitive {
            true => Self::of_text(name, folding),
            false => Self::of_text(&plain_form(name), folding),
        }
    }

    /// The key of a text that may be a part of a name.
    fn of_text(name: &[u8], folding: Folding) -> Self {
        if name.is_ascii() || (folding.case_sensitive && folding.normalisation_sensitive) {
            let mut key: Box<[u8]> = name.into();
            if !folding.case_sensitive {
                key.make_ascii_lowercase();
            }
            return Self(key);
        }
        let key = match (folding.case_sensitive, folding.normalisation_sensitive) {
            (true, _) => to_nfc(name).into_owned(),
            (false, true) => each_text(name, |text, out| out.extend(text.chars().map(fold))),
            (false, false) => each_text(name, |text, out| out.extend(text.nfc().map(fold).nfc())),
        };
        Self(key.into_boxed_slice())
    }

    /// The bytes of the key: for hashing and ordering only, they are no name.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Borrow<[u8]> for FoldedKey {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

/// Whether two names are the same to a volume. Plain names are compared without allocation.
pub fn folds_alike(a: &[u8], b: &[u8], folding: Folding) -> bool {
    if a == b {
        return true;
    }
    // A colon may be Netatalk 2's escape of a slash.
    match a.is_ascii() && b.is_ascii() && !a.contains(&b':') {
        true => !folding.case_sensitive && a.eq_ignore_ascii_case(b),
        false => FoldedKey::new(a, folding) == FoldedKey::new(b, folding),
    }
}

/// A text as UTF-16 in the form in which texts are compared, as [`FoldedKey`] does. For patterns,
/// whose parts are not names. Unpaired surrogates stay.
pub fn folded_units(units: &[u16], folding: Folding) -> Vec<u16> {
    let mut folded = Vec::with_capacity(units.len());
    let mut text = String::new();
    for c in char::decode_utf16(units.iter().copied()) {
        match c {
            Ok(c) => text.push(c),
            Err(unpaired) => {
                push_folded(&mut folded, &text, folding);
                text.clear();
                folded.push(unpaired.unpaired_surrogate());
            }
        }
    }
    push_folded(&mut folded, &text, folding);
    folded
}

fn push_folded(units: &mut Vec<u16>, text: &str, folding: Folding) {
    let key = FoldedKey::of_text(text.as_bytes(), folding);
    units.extend(String::from_utf8_lossy(key.as_bytes()).encode_utf16());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::test_names::any_name;
    use super::super::to_hfs_nfd;
    use super::*;

    const MAC: Folding = Folding { case_sensitive: false, normalisation_sensitive: false };
    const UNIX: Folding = Folding { case_sensitive: true, normalisation_sensitive: true };

    fn alike(a: &str, b: &str) -> bool {
        folds_alike(a.as_bytes(), b.as_bytes(), MAC)
    }

    #[test]
    fn folding_is_simple_one_to_one() {
        assert!(alike("README", "readme") && alike("ÉTÉ", "été") && alike("Σίσυφος", "ΣΊΣΥΦΟΣ"));
        assert!(alike("\u{212a}elvin", "kelvin") && alike("STRAẞE", "straße") && alike("Ꭰ", "ꭰ"));
        assert!(!alike("straße", "strasse") && !alike("ﬁ", "fi"));
        assert!(!alike("İ", "i") && !alike("ı", "i") && !alike("İ", "i\u{307}") && !alike("ᾳ", "αι"));
    }

    #[test]
    fn case_folds_whether_composed_or_not() {
        assert!(alike("E\u{301}", "é") && alike("J\u{30c}", "ǰ") && alike("ᾼ", "α\u{345}"));
        assert!(
            alike("A\u{300}\u{345}", "a\u{345}\u{300}")
                && alike("Α\u{300}\u{345}", "ᾲ")
                && alike("I\u{307}", "İ")
        );
    }

    #[test]
    fn a_volume_may_tell_case_or_normalisation_apart() {
        let case = Folding { case_sensitive: true, ..MAC };
        let form = Folding { normalisation_sensitive: true, ..MAC };
        let (nfc, nfd, upper) = ("é".as_bytes(), "e\u{301}".as_bytes(), "É".as_bytes());
        assert!(
            folds_alike(nfc, nfd, case) && !folds_alike(nfc, upper, case) && !folds_alike(b"a", b"A", case)
        );
        assert!(
            !folds_alike(nfc, nfd, form) && folds_alike(nfc, upper, form) && folds_alike(b"a", b"A", form)
        );
        assert!(
            !folds_alike(nfc, nfd, UNIX) && !folds_alike(nfc, upper, UNIX) && folds_alike(nfc, nfc, UNIX)
        );
    }

    #[test]
    fn bytes_that_are_no_text_count() {
        assert!(folds_alike(b"A\xff", b"a\xff", MAC));
        assert!(!folds_alike(b"a\xff", b"a\xfe", MAC) && !folds_alike(b"\xe9", "é".as_bytes(), MAC));
    }

    #[test]
    fn units_fold_as_names_do() {
        let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
        assert_eq!(folded_units(&units("E\u{301}T\u{c9}"), MAC), units("\u{e9}t\u{e9}"));
        assert_eq!(folded_units(&units("E\u{301}"), UNIX), units("E\u{301}"));
        assert_eq!(folded_units(&[0x41, 0xD800, 0x42], MAC), [0x61, 0xD800, 0x62]);
    }

    proptest! {
        #[test]
        fn a_name_folds_with_its_forms(name in any_name()) {
            prop_assert!(folds_alike(&name, &to_nfc(&name), MAC));
            prop_assert!(folds_alike(&name, &to_hfs_nfd(&name), MAC));
            let key = FoldedKey::new(&name, MAC);
            prop_assert_eq!(&FoldedKey::new(key.as_bytes(), MAC), &key);
        }

        #[test]
        fn alike_is_what_equal_keys_say(a in any_name(), b in any_name(), c: bool, n: bool) {
            let folding = Folding { case_sensitive: c, normalisation_sensitive: n };
            prop_assert_eq!(folds_alike(&a, &b, folding), FoldedKey::new(&a, folding) == FoldedKey::new(&b, folding));
        }
    }
}
