//! Samba's `catia` table: characters of stored names that clients of Windows see as others.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::forms::other_forms;
use super::private_use::{plain_form, private_form, sfm};

/// How clients of Windows see some characters of names: the table of Samba's module catia. The characters on the disk
/// stay what they are.
///
/// It changes names in the private-use view ([`windows_view`](super::windows_view)), and only these. A stored character that is shown
/// for another one is shown by its bytes (see [`octets`](super::octets)), so no name is lost.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Characters {
    /// The unit of the view for each unit of a client.
    from_client: BTreeMap<u16, u16>,
    to_client: BTreeMap<u16, u16>,
}

/// Characters that are stored as themselves where others that Windows forbids are stored as private code points: a bit for each of
/// ASCII.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeptCharacters(u128);

impl KeptCharacters {
    /// How Samba stores a name by default (`fruit:encoding = private`) beside its table: what clients send for a character of the
    /// table is that character on the disk.
    pub fn private_form(self, plain: Vec<u8>) -> Vec<u8> {
        private_form(plain, |byte| byte < 0x80 && self.0 >> byte & 1 == 1)
    }

    /// The [`other_forms`] of a name, and those in which Samba stores it beside its table: some of the characters that Windows forbids
    /// as themselves, and the others as private code points.
    pub fn other_forms(self, name: &[u8]) -> impl Iterator<Item = Vec<u8>> + use<> {
        let mut forms: Vec<Vec<u8>> = other_forms(name).collect();
        if self != Self::default() {
            let is_plain = |form: &&[u8]| matches!(plain_form(form), Cow::Borrowed(_));
            let all = forms.iter().map(|form| &**form).chain([name]).filter(is_plain);
            let stored: Vec<Vec<u8>> = all.map(|plain| self.private_form(plain.to_vec())).collect();
            for form in stored {
                if form != name && !forms.contains(&form) {
                    forms.push(form);
                }
            }
        }
        forms.into_iter()
    }
}

/// What shows a last space in the private-use view.
const SPACE_END: u16 = 0xF028;
const SPACE: u16 = 0x20;
/// The most pairs that a table has.
const MOST_PAIRS: usize = 1024;

impl Characters {
    /// Reads `0x22:0xa8,0x3a:0xf7`: characters on the disk, and what clients see. `None` if it is not of this form, or if one
    /// character occurs twice on the same side, one for clients is ASCII, or there are more than 1024. A slash, which no name on the disk has, is left out.
    pub fn parse(text: &str) -> Option<Self> {
        let mut all = Self::default();
        for (number, pair) in text.split([',', ' ']).filter(|pair| !pair.is_empty()).enumerate() {
            if number == MOST_PAIRS {
                return None;
            }
            let (disk, client) = pair.split_once(':')?;
            let (disk, client) = (code(disk)?, code(client)?);
            let is_known = all.from_client.insert(client, view(disk)).is_some();
            // A stored character is told from one that is shown for another by its bytes, which ASCII has no place for.
            let is_ascii = client < 0x80;
            if is_known || is_ascii || all.to_client.insert(view(disk), client).is_some() {
                return None;
            }
        }
        all.from_client.retain(|_, disk| *disk != SLASH);
        all.to_client.remove(&SLASH);
        Some(all)
    }

    /// Whether clients see all characters as they are without it.
    pub fn is_empty(&self) -> bool {
        self.to_client.is_empty()
    }

    /// The characters on the disk in this table.
    pub fn kept(&self) -> KeptCharacters {
        let is_kept = |byte: &u8| self.to_client.contains_key(&view(u16::from(*byte)));
        KeptCharacters((0..0x80).filter(is_kept).fold(0, |set, byte| set | 1 << byte))
    }

    /// A name in the private-use view, as clients see it.
    pub fn shown(&self, view: Vec<u16>) -> Vec<u16> {
        if self.is_empty() {
            return view;
        }
        let mut shown = Vec::with_capacity(view.len());
        for (at, unit) in view.iter().enumerate() {
            let is_end = at + 1 == view.len() && *unit == SPACE_END;
            match self.to_client.get(if is_end { &SPACE } else { unit }) {
                Some(client) => shown.push(*client),
                None if self.from_client.contains_key(unit) => {
                    let c = char::from_u32(u32::from(*unit)).unwrap_or(char::REPLACEMENT_CHARACTER);
                    let bytes = c.encode_utf8(&mut [0; 4]).as_bytes().to_vec();
                    shown.extend(bytes.iter().map(|byte| super::octets::shown(*byte) as u16));
                }
                None => shown.push(*unit),
            }
        }
        shown
    }

    /// A name of a client, or a path of them, in the private-use view.
    pub fn read<'a>(&self, sent: &'a [u16]) -> Cow<'a, [u16]> {
        match self.is_empty() {
            true => Cow::Borrowed(sent),
            false => sent.iter().map(|unit| self.from_client.get(unit).copied().unwrap_or(*unit)).collect(),
        }
    }
}

const SLASH: u16 = b'/' as u16;

/// A number of a character that is one UTF-16 unit by itself.
fn code(text: &str) -> Option<u16> {
    let text = text.trim();
    let code = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u16::from_str_radix(digits, 16).ok()?,
        None => text.parse().ok()?,
    };
    (code != 0 && char::from_u32(u32::from(code)).is_some()).then_some(code)
}

/// The unit that shows a stored character in the private-use view.
fn view(disk: u16) -> u16 {
    char::from_u32(u32::from(disk)).and_then(sfm).map_or(disk, |private| private as u16)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::test_names::any_name;
    use super::super::{from_windows_view, plain_form, windows_view};
    use super::*;

    /// The example of the manual, vfs_catia(8).
    const EXAMPLE: &str =
        "0x22:0xa8,0x2a:0xa4,0x2f:0xf8,0x3a:0xf7,0x3c:0xab,0x3e:0xbb,0x3f:0xbf,0x5c:0xff,0x7c:0xa6,0x20:0xb1";

    fn shown(name: &str) -> String {
        String::from_utf16(&Characters::parse(EXAMPLE).unwrap().shown(windows_view(name.as_bytes()))).unwrap()
    }

    #[test]
    fn characters_are_shown_as_the_table_says() {
        assert_eq!(shown("a\"b*c:d<e>f?g\\h|i"), "a¨b¤c÷d«e»f¿gÿh¦i");
        assert_eq!(shown("two words "), "two±words±");
        assert_eq!(shown("a\u{f022}b"), "a÷b", "as another server stores it");
        assert_eq!(shown("plain.txt"), "plain.txt");
        assert_eq!(shown("ø"), "ø", "a slash is in no name");
    }

    #[test]
    fn what_stands_for_another_character_is_shown_by_its_bytes() {
        assert_eq!(shown("÷"), "\u{efc3}\u{efb7}");
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let wrong = [
            "0x22",
            "0x22:",
            "x:y",
            "0x22:0xa8,0x22:0xa9",
            "0x22:0xa8,0x2a:0xa8",
            "0x0:0xa8",
            "0x3a:0xd800",
            "0x3a:0x5c",
        ];
        for text in wrong {
            assert_eq!(Characters::parse(text), None, "{text}");
        }
        assert!(Characters::parse("").unwrap().is_empty());
        let many = |pairs: u32| {
            (0..pairs).map(|n| format!("{}:{}", 0x4000 + n, 0x5000 + n)).collect::<Vec<_>>().join(",")
        };
        assert!(Characters::parse(&many(1024)).is_some() && Characters::parse(&many(1025)).is_none());
    }

    /// What smbd 4.17 stores with `vfs objects = catia fruit streams_xattr`: `interop layouts` compares it.
    #[test]
    fn what_the_table_names_is_stored_as_itself() {
        let table = Characters::parse("0x3a:0xf7,0x22:0xf020").unwrap();
        let stored = |name: &str| String::from_utf8(table.kept().private_form(name.into())).unwrap();
        assert_eq!(stored("a:b\"c"), "a:b\"c");
        assert_eq!(stored("a:b?c."), "a:b\u{f025}c\u{f029}");
        assert_eq!(
            String::from_utf8(KeptCharacters::default().private_form(b"a:b ".to_vec())).unwrap(),
            "a\u{f022}b\u{f028}"
        );
        let spaces = Characters::parse("0x20:0xb1").unwrap();
        assert_eq!(spaces.kept().private_form(b"a b ".to_vec()), b"a b ");
    }

    #[test]
    fn a_name_has_one_more_form_beside_a_table() {
        let table = Characters::parse("0x3a:0xf7").unwrap().kept();
        let forms = |kept: KeptCharacters, name: &str| -> Vec<String> {
            kept.other_forms(name.as_bytes()).map(|form| String::from_utf8(form).unwrap()).collect()
        };
        assert_eq!(forms(table, "a:b?"), ["a\u{f022}b\u{f025}", "a:2fb?", "a:b\u{f025}"]);
        assert_eq!(forms(table, "a\u{f022}b\u{f025}"), ["a:b?", "a:2fb?", "a:b\u{f025}"]);
        assert_eq!(forms(table, "a:b\u{f025}"), ["a:b?", "a\u{f022}b\u{f025}", "a:2fb?"]);
        assert_eq!(forms(table, "plain"), [""; 0]);
        for name in ["a:b?", "a:b", "\u{e9}:?"] {
            let usual = other_forms(name.as_bytes()).map(|form| String::from_utf8(form).unwrap());
            assert_eq!(forms(KeptCharacters::default(), name), usual.collect::<Vec<_>>(), "{name}");
        }
    }

    #[test]
    fn a_table_of_private_code_points_shows_these() {
        // That of Windows' Services for UNIX, as Cygwin and others have it: U+F000 and the character.
        let table = Characters::parse("0x22:0xf022,0x3a:0xf03a").unwrap();
        let shown = |name: &str| String::from_utf16(&table.shown(windows_view(name.as_bytes()))).unwrap();
        assert_eq!(shown("a\"b:c"), "a\u{f022}b\u{f03a}c");
        let read: Vec<u16> = "a\u{f022}b\u{f03a}c".encode_utf16().collect();
        assert_eq!(from_windows_view(&table.read(&read)), Ok(b"a\"b:c".to_vec()));
    }

    proptest! {
        #[test]
        fn what_is_shown_leads_back(name in any_name()) {
            let table = Characters::parse(EXAMPLE).unwrap();
            let back = from_windows_view(&table.read(&table.shown(windows_view(&name))));
            prop_assert_eq!(back, Ok(plain_form(&name).into_owned()));
        }
    }
}
