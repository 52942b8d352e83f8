//! The view of names for Macs since OS X: decomposed UTF-8, with `/` where the disk has `:`.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

use super::mangle;
use super::name::{NameError, check};
use super::{normalise, octets, plain_form};

/// The name as a Mac sees it: decomposed UTF-8, with `/` where the disk has `:` (and so never a `:`), and without the private
/// code points that other servers store for characters that Windows forbids ([`plain_form`]). AFP 3 shows this view.
///
/// Composed names ([`to_nfc`](super::to_nfc)) come back from this view exactly. A name in another form is
/// shown as its composed form would be, and comes back as that: look-up by folded key finds it when it is
/// alone in its folder. When both are there, one is shown by [`tagged_mac_view`].
pub fn mac_view(stored: &[u8]) -> Cow<'_, str> {
    let plain = plain_form(stored);
    let as_stored = matches!(plain, Cow::Borrowed(_)).then_some(stored);
    if let Some(plain) =
        as_stored.and_then(|stored| std::str::from_utf8(stored).ok()).filter(|text| text.is_ascii())
    {
        return match plain.contains(':') {
            true => Cow::Owned(plain.replace(':', "/")),
            false => Cow::Borrowed(plain),
        };
    }
    let text = octets::to_text(&plain, |_| false).replace(':', "/");
    let mut view = String::with_capacity(text.len() * 3 / 2);
    normalise::decompose(&text, &mut view);
    Cow::Owned(view)
}

/// The stored bytes, composed, of a name in the Mac view. They may be too long for the host, see
/// [`long`](super::long). A `:`, a NUL and what is no UTF-8 are forbidden.
pub fn from_mac_view(view: &[u8]) -> Result<Vec<u8>, NameError> {
    let text = std::str::from_utf8(view).map_err(|_| NameError::Forbidden)?;
    if text.contains(':') {
        return Err(NameError::Forbidden);
    }
    let text = text.replace('/', ":");
    let stored = match text.is_ascii() {
        true => text.into_bytes(),
        false => octets::to_bytes(&text.nfc().collect::<String>()),
    };
    check(&stored)?;
    Ok(stored)
}

/// The Mac view of a name if another name of the folder has the same view: `prefix#id.ext`, in at
/// most `limit` bytes. [`parse_mangled`](super::parse_mangled) gives the id back. It can be used
/// wherever two names look alike.
pub fn tagged_mac_view(stored: &[u8], id: u32, limit: usize) -> String {
    let view = mac_view(stored);
    let (stem, extension) = mangle::split(&view);
    let tail = mangle::tail(id, extension);
    let prefix = mangle::cut(stem, limit.saturating_sub(tail.len()));
    format!("{prefix}{tail}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::test_names::any_name;
    use super::super::{Folding, folds_alike, one_form, parse_mangled};
    use super::*;

    #[test]
    fn slash_and_colon_change_places() {
        assert_eq!(mac_view(b"12:30 notes"), "12/30 notes");
        assert_eq!(from_mac_view(b"12/30 notes"), Ok(b"12:30 notes".to_vec()));
        assert_eq!(from_mac_view(b"12:30"), Err(NameError::Forbidden));
    }

    #[test]
    fn what_cannot_be_stored_is_refused() {
        assert_eq!(from_mac_view(b"a\0b"), Err(NameError::Forbidden));
        assert_eq!(from_mac_view(b"\xff"), Err(NameError::Forbidden));
        assert_eq!(from_mac_view(b""), Err(NameError::Empty));
        assert_eq!(from_mac_view(b".."), Err(NameError::Dots));
    }

    #[test]
    fn names_are_shown_decomposed_and_stored_composed() {
        assert_eq!(mac_view("se\u{f1}or".as_bytes()), "sen\u{303}or");
        assert_eq!(from_mac_view("sen\u{303}or".as_bytes()), Ok("se\u{f1}or".into()));
        assert_eq!(mac_view("SimThyr \u{192}".as_bytes()), "SimThyr \u{192}");
        assert_eq!(mac_view(b"Icon\r"), "Icon\r");
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_private_code_points() {
        assert_eq!(mac_view(b"caf\xe9"), "caf\u{efe9}");
        assert_eq!(from_mac_view("caf\u{efe9}".as_bytes()), Ok(b"caf\xe9".to_vec()));
    }

    #[test]
    fn private_code_points_of_samba_are_the_characters_that_a_mac_had() {
        assert_eq!(mac_view("a\u{f022}b\u{f025}".as_bytes()), "a/b?");
        assert_eq!(mac_view("Icon\u{f00d}".as_bytes()), "Icon\r");
        assert_eq!(mac_view("etc\u{f029}".as_bytes()), "etc.");
    }

    #[test]
    fn plain_names_are_not_copied() {
        assert!(matches!(mac_view(b"Read me.txt"), Cow::Borrowed("Read me.txt")));
    }

    #[test]
    fn a_twin_is_tagged_with_its_id() {
        assert_eq!(
            tagged_mac_view("e\u{301}t\u{e9}.txt".as_bytes(), 0x1F, 765),
            "e\u{301}te\u{301}#00001F.txt"
        );
        assert_eq!(tagged_mac_view("e\u{301}t\u{e9}.txt".as_bytes(), 0x1F, 16), "e\u{301}t#00001F.txt"); // no bare e
    }

    proptest! {
        #[test]
        fn the_view_and_back_is_the_stored_name(name in any_name()) {
            let stored = one_form(&name).into_owned();
            let view = mac_view(&stored).into_owned();
            prop_assert!(!view.contains(':'));
            prop_assert_eq!(from_mac_view(view.as_bytes()), Ok(stored));
        }

        #[test]
        fn a_name_in_another_form_leads_to_its_twin(name in any_name()) {
            let back = from_mac_view(mac_view(&name).as_bytes()).unwrap();
            let form_only = Folding { case_sensitive: true, ..Folding::default() };
            prop_assert!(folds_alike(&back, &name, form_only));
        }

        #[test]
        fn a_tag_is_read_back(name in any_name(), id: u32, limit in 31..800_usize) {
            let tagged = tagged_mac_view(&name, id, limit);
            prop_assert_eq!(parse_mangled(tagged.as_bytes()), Some(id));
            prop_assert!(tagged.len() <= limit);
        }
    }
}
