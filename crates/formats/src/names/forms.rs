//! The forms of one name: composed and decomposed, with the characters that Windows forbids as such and with the private code
//! points that other servers store for them. Two entries of a folder whose names are forms of each other are one file to clients.

use std::borrow::Cow;

use super::normalise::{canonical_forms, has_canonical_forms, to_nfc};
use super::private_use::{has_private, has_private_forms, plain_form, private_forms};

/// Whether a name has other forms. Names in ASCII without a character that Windows forbids, and names in most scripts
/// without accents, have none.
pub fn has_other_forms(name: &[u8]) -> bool {
    has_private_forms(name) || !name.is_ascii() && (has_private(name) || has_canonical_forms(name))
}

/// The other forms of a name as servers store them: composed (NFC), decomposed (NFD), each with private code points and without.
pub fn other_forms(name: &[u8]) -> impl Iterator<Item = Vec<u8>> + use<> {
    let mut forms = Vec::new();
    if has_other_forms(name) {
        let plain = plain_form(name);
        let canonical = has_canonical_forms(&plain).then(|| canonical_forms(&plain));
        let without: Vec<Vec<u8>> =
            [plain.into_owned()].into_iter().chain(canonical.into_iter().flatten()).collect();
        let with = without.iter().filter(|form| has_private_forms(form)).flat_map(|form| private_forms(form));
        let with: Vec<Vec<u8>> = with.collect();
        for form in without.into_iter().chain(with) {
            if form != name && !forms.contains(&form) {
                forms.push(form);
            }
        }
    }
    forms.into_iter()
}

/// Whether a name may be stored in a form that is not one of [`other_forms`], with some of its letters composed.
pub fn has_mixed_forms(name: &[u8]) -> bool {
    !name.is_ascii() && has_canonical_forms(&plain_form(name))
}

/// The one form that all forms of a name share: composed, without private code points.
pub fn one_form(name: &[u8]) -> Cow<'_, [u8]> {
    match plain_form(name) {
        Cow::Borrowed(plain) => to_nfc(plain),
        Cow::Owned(plain) => Cow::Owned(to_nfc(&plain).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::test_names::any_name;
    use super::super::{Folding, folds_alike, to_hfs_nfd};
    use super::*;

    fn forms(name: &str) -> Vec<String> {
        other_forms(name.as_bytes()).map(|form| String::from_utf8(form).unwrap()).collect()
    }

    #[test]
    fn names_of_the_corpus_have_two_forms() {
        // MANIFEST.md of the shared corpus, "Hostile and unusual names": NFD names committed from Macs.
        for (nfd, nfc) in [
            ("sen\u{303}or-bufo.png", "se\u{f1}or-bufo.png"),
            ("umlauts-o\u{308}a\u{308}s\u{30c}.zip", "umlauts-\u{f6}\u{e4}\u{161}.zip"),
        ] {
            assert_eq!((forms(nfd), forms(nfc)), (vec![nfc.into()], vec![nfd.into()]));
        }
    }

    #[test]
    fn a_name_in_neither_form_has_two_others_and_most_names_have_none() {
        assert_eq!(forms("\u{e9}e\u{301}"), ["\u{e9}\u{e9}", "e\u{301}e\u{301}"]);
        for one in [&b"notes.txt"[..], "日本.txt".as_bytes(), "мир".as_bytes(), "straße".as_bytes(), b"\xff"]
        {
            assert!(!has_other_forms(one) && other_forms(one).next().is_none(), "{}", one.escape_ascii());
        }
        assert!(has_other_forms(b"\xff\xc3\xa9"), "text between bytes that are not text");
    }

    /// vfs_fruit(8), fruit:encoding: private, and native, which maps no space or dot at the end.
    #[test]
    fn what_windows_forbids_may_be_stored_as_samba_does() {
        assert_eq!(forms("a:b"), ["a\u{f022}b", "a:2fb"]);
        assert_eq!(forms("a\u{f022}b"), ["a:b", "a:2fb"]);
        assert_eq!(forms("a:2fb"), ["a:b", "a\u{f022}b"]);
        assert_eq!(forms("Icon\r"), ["Icon\u{f00d}"]);
        assert_eq!(forms("a:b."), ["a\u{f022}b\u{f029}", "a:b\u{f029}", "a:2fb."]);
        assert_eq!(forms("a\u{f028}"), ["a "]);
        assert_eq!(forms("\u{e9}?"), ["e\u{301}?", "\u{e9}\u{f025}", "e\u{301}\u{f025}"]);
    }

    proptest! {
        #[test]
        fn every_form_is_the_same_name(name in any_name()) {
            let form_only = Folding { case_sensitive: true, ..Folding::default() };
            prop_assert_eq!(has_other_forms(&name), other_forms(&name).next().is_some());
            for form in other_forms(&name) {
                prop_assert!(folds_alike(&name, &form, form_only) && folds_alike(&name, &form, Folding::default()));
                prop_assert_eq!(one_form(&form), one_form(&name));
            }
            let decomposed = to_hfs_nfd(&name);
            prop_assert_eq!(one_form(&decomposed), one_form(&name));
        }
    }
}
