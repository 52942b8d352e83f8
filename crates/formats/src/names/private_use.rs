//! The view of names for Windows: characters that it forbids are private-use code points, by the map of Services
//! for Macintosh.

use std::borrow::Cow;

use super::name::{NameError, check};
use super::octets;

/// The name as UTF-16 in which everything Windows forbids is a private-use code point, by the map of Services for
/// Macintosh that macOS uses too (protocol facts 1.1). SMB shows this view.
///
/// * 0x01–0x1F and `"*:<>?\|` become U+F001–U+F027, a last space U+F028, a last dot U+F029.
/// * Where the disk has these code points itself, as Samba stores them, they stay: see [`plain_form`].
/// * Stored code points of that window that are not read so (U+F000, and U+F028 and U+F029 before the end) are shown by
///   their bytes, like bytes that are no UTF-8 (see [`octets`]). Others, as U+F03A, stay.
/// * A stored surrogate (WTF-8, three bytes) is that unpaired unit again; only a low one right after an unpaired high one,
///   which would make a pair, is shown by its bytes.
pub fn windows_view(stored: &[u8]) -> Vec<u16> {
    let stored = &*without_escapes(stored);
    let mut units = Vec::with_capacity(stored.len());
    let (mut rest, end) = without_private_end(stored);
    while let Some((at, unit)) = first_surrogate(rest) {
        push_run(&mut units, &rest[..at]);
        match is_low(unit) && units.last().is_some_and(|last| is_high(*last)) {
            true => push_run(&mut units, &rest[at..at + 3]),
            false => units.push(unit),
        }
        rest = &rest[at + 3..];
    }
    push_run(&mut units, rest);
    match (end, units.last_mut()) {
        (Some(end), _) => units.push(end),
        (None, Some(last @ (0x20 | 0x2E))) => *last = if *last == 0x20 { 0xF028 } else { 0xF029 },
        _ => {}
    }
    units
}

/// A name without the private code point for a space or dot at its end, and that code point.
fn without_private_end(stored: &[u8]) -> (&[u8], Option<u16>) {
    match stored {
        [PRIVATE_0, PRIVATE_1, DOT_END] | [b'.', PRIVATE_0, PRIVATE_1, DOT_END] => (stored, None),
        [before @ .., PRIVATE_0, PRIVATE_1, SPACE_END] => (before, Some(0xF028)),
        [before @ .., PRIVATE_0, PRIVATE_1, DOT_END] => (before, Some(0xF029)),
        _ => (stored, None),
    }
}

/// The two bytes with which U+F000–U+F03F begin in UTF-8. 0xEF begins no other sequence.
const PRIVATE_0: u8 = 0xEF;
const PRIVATE_1: u8 = 0x80;
/// The third byte of U+F028 and U+F029.
const SPACE_END: u8 = 0xA8;
const DOT_END: u8 = 0xA9;

/// The name with the characters for which stored private code points of Services for Macintosh stand. Samba stores
/// them (`fruit:encoding = private`), as did Services for Macintosh. U+F028 and U+F029 count at the end only, and not where `.`
/// or `..` would come out.
///
/// Netatalk 2 stores the slash of a Mac's name as `:2f`; Netatalk 3, Samba and this server as a colon, for which it counts.
pub fn plain_form(stored: &[u8]) -> Cow<'_, [u8]> {
    match without_escapes(stored) {
        Cow::Borrowed(stored) => without_private(stored),
        Cow::Owned(stored) => Cow::Owned(without_private(&stored).into_owned()),
    }
}

/// Netatalk 2's escape of a slash.
const ESCAPED_SLASH: &[u8] = b":2f";

/// The name with colons for Netatalk 2's escapes of slashes. What follows a colon is no escape again, also if the colon is stored
/// as a private code point.
fn without_escapes(stored: &[u8]) -> Cow<'_, [u8]> {
    let is_escape = |bytes: &[u8]| bytes.ends_with(&ESCAPED_SLASH[1..]);
    let colon = |at: &[u8]| match at {
        [b':', ..] => Some(1),
        _ => (character(at) == Some(b':')).then_some(3),
    };
    let has_escape = |at: usize| {
        let rest = &stored[at..];
        colon(rest).is_some_and(|len| rest.get(len..len + 2).is_some_and(is_escape))
    };
    if !stored.windows(2).any(is_escape) || !(0..stored.len()).any(has_escape) {
        return Cow::Borrowed(stored);
    }
    let (mut plain, mut rest) = (Vec::with_capacity(stored.len()), stored);
    while let Some(first) = rest.first() {
        let len = colon(rest);
        let (kept, after) = rest.split_at(len.unwrap_or(1));
        plain.extend_from_slice(if len.is_some() { kept } else { std::slice::from_ref(first) });
        rest = after;
        while len.is_some() && rest.get(..2).is_some_and(is_escape) {
            rest = &rest[2..];
        }
    }
    Cow::Owned(plain)
}

fn without_private(stored: &[u8]) -> Cow<'_, [u8]> {
    if !has_private_points(stored) {
        return Cow::Borrowed(stored);
    }
    let (mut rest, end) = without_private_end(stored);
    let mut plain = Vec::with_capacity(stored.len());
    while let [first, after @ ..] = rest {
        (rest, _) = match (rest, character(rest)) {
            ([_, _, _, after @ ..], Some(c)) => (after, plain.push(c)),
            _ => (after, plain.push(*first)),
        };
    }
    plain.extend(end.map(|end| if end == 0xF028 { b' ' } else { b'.' }));
    Cow::Owned(plain)
}

/// What the private code point U+F001–U+F027 stands for with which this begins.
fn character(bytes: &[u8]) -> Option<u8> {
    match bytes {
        [PRIVATE_0, PRIVATE_1, third @ 0x81..=0x9F, ..] => Some(third & 0x1F),
        [PRIVATE_0, PRIVATE_1, third @ 0xA0..=0xA7, ..] => Some(SFM[usize::from(third & 7)] as u8),
        _ => None,
    }
}

/// Whether the [`plain_form`] of a name is another one.
pub(super) fn has_private(name: &[u8]) -> bool {
    has_private_points(name) || matches!(without_escapes(name), Cow::Owned(_))
}

fn has_private_points(name: &[u8]) -> bool {
    let within = || name.windows(3).any(|bytes| character(bytes).is_some());
    name.contains(&PRIVATE_0) && (within() || without_private_end(name).1.is_some())
}

/// Whether a name in its plain form has others with private code points.
pub(super) fn has_private_forms(plain: &[u8]) -> bool {
    matches!(plain.last(), Some(b' ' | b'.')) || plain.iter().any(|byte| is_forbidden(*byte))
}

/// How other servers store a name: with a private code point for each character that Windows forbids and for a space or
/// dot at the end (Samba by default), and with one at the end only (with `fruit:encoding = native`); Netatalk 2 with an
/// escape for a colon. These may be the name itself.
pub(super) fn private_forms(plain: &[u8]) -> [Vec<u8>; 3] {
    let (before, end) = match plain {
        [before @ .., b' '] => (before, "\u{f028}"),
        [before @ .., b'.'] => (before, "\u{f029}"),
        _ => (plain, ""),
    };
    let [private, native] =
        [Map::Sfm.encode(before), Cow::Borrowed(before)].map(|before| [&*before, end.as_bytes()].concat());
    let parts: Vec<&[u8]> = plain.split(|byte| *byte == b':').collect();
    [private, native, parts.join(ESCAPED_SLASH)]
}

/// A name as Samba stores it by default: see [`plain_form`]. Characters that are kept stay as they are.
pub(super) fn private_form(plain: Vec<u8>, is_kept: impl Fn(u8) -> bool) -> Vec<u8> {
    if !has_private_forms(&plain) {
        return plain;
    }
    let mut stored = Vec::with_capacity(plain.len() + 8);
    for (at, byte) in plain.iter().enumerate() {
        let is_last = at + 1 == plain.len();
        let private = match byte {
            _ if is_kept(*byte) => None,
            b' ' if is_last => Some('\u{f028}'),
            b'.' if is_last => Some('\u{f029}'),
            _ => Map::Sfm.private(char::from(*byte)),
        };
        match private {
            Some(c) => stored.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            None => stored.push(*byte),
        }
    }
    stored
}

/// The private code point of a character in the map of Services for Macintosh.
pub(super) fn sfm(c: char) -> Option<char> {
    Map::Sfm.private(c)
}

/// Whether Windows forbids the character in names.
fn is_forbidden(byte: u8) -> bool {
    matches!(byte, 1..=0x1F) || SFM.contains(&char::from(byte))
}

/// The stored bytes of a name in the private-use view. They may be too long for the host, see
/// [`long`](super::long), and are in the normal form that the client gave.
///
/// A character Windows forbids is forbidden here too, as is U+F000, which stands for NUL. A last space or dot as
/// such is taken, and shown mapped from then on; so is U+F028 or U+F029 before the end.
/// Unpaired surrogates, which NTFS allows, are stored as WTF-8.
pub fn from_windows_view(units: &[u16]) -> Result<Vec<u8>, NameError> {
    let mut stored = Vec::with_capacity(units.len() * 3 / 2);
    for unit in char::decode_utf16(units.iter().copied()) {
        match unit {
            Ok('\u{f000}') => return Err(NameError::Forbidden),
            Ok(c) if c == '/' || Map::Sfm.private(c).is_some() => return Err(NameError::Forbidden),
            Ok(c) => octets::push(&mut stored, Map::Sfm.plain(c).unwrap_or(c)),
            Err(unpaired) => push_surrogate(&mut stored, unpaired.unpaired_surrogate()),
        }
    }
    check(&stored)?;
    Ok(stored)
}

fn push_run(units: &mut Vec<u16>, run: &[u8]) {
    let mut unit = [0; 2];
    for c in octets::to_text(run, |c| matches!(c, '\u{f000}' | '\u{f028}' | '\u{f029}')).chars() {
        let c = Map::Sfm.private(c).unwrap_or(c);
        units.extend_from_slice(c.encode_utf16(&mut unit));
    }
}

/// Where the first surrogate in WTF-8 stands, and its unit. 0xED begins no other sequence that goes on above 0x9F.
fn first_surrogate(bytes: &[u8]) -> Option<(usize, u16)> {
    let is_surrogate =
        |w: &[u8]| w[0] == 0xED && (0xA0..=0xBF).contains(&w[1]) && (0x80..=0xBF).contains(&w[2]);
    let at = bytes.windows(3).position(is_surrogate)?;
    let (middle, last) = (u16::from(bytes[at + 1]), u16::from(bytes[at + 2]));
    Some((at, 0xD000 | (middle & 0x3F) << 6 | last & 0x3F))
}

fn push_surrogate(bytes: &mut Vec<u8>, unit: u16) {
    let six_bits = |shift: u16| 0x80 | (unit >> shift & 0x3F) as u8;
    bytes.extend_from_slice(&[0xED, six_bits(6), six_bits(0)]);
}

fn is_high(unit: u16) -> bool {
    unit & 0xFC00 == 0xD800
}

fn is_low(unit: u16) -> bool {
    unit & 0xFC00 == 0xDC00
}

/// The two private-use maps found on disks. They disagree at U+F022, so a tree is read by one or the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Map {
    /// Services for Macintosh, macOS, and Samba where it keeps private code points on disk.
    Sfm,
    /// Services for UNIX, Interix, Linux `mapchars`: 0xF000 + the character.
    Sfu,
}

const SFM: [char; 8] = ['"', '*', ':', '<', '>', '?', '\\', '|'];

impl Map {
    /// What a forbidden character is shown as, wherever it stands.
    fn private(self, c: char) -> Option<char> {
        let code = match (c as u32, self) {
            (n @ 1..=0x1F, _) => n,
            (n, Self::Sfu) => SFM.contains(&c).then_some(n)?,
            (_, Self::Sfm) => 0x20 + SFM.iter().position(|known| *known == c)? as u32,
        };
        char::from_u32(0xF000 + code)
    }

    /// What a private code point stands for.
    fn plain(self, c: char) -> Option<char> {
        let code = (c as u32).checked_sub(0xF000)?;
        match (code, self) {
            (1..=0x1F, _) => char::from_u32(code),
            (0x20..=0x27, Self::Sfm) => Some(SFM[code as usize - 0x20]),
            (0x28, Self::Sfm) => Some(' '),
            (0x29, Self::Sfm) => Some('.'),
            (_, Self::Sfu) => char::from_u32(code).filter(|c| SFM.contains(c)),
            _ => None,
        }
    }

    /// For importers: a name another server stored with private code points, as it would be stored here.
    pub fn decode(self, stored: &[u8]) -> Cow<'_, [u8]> {
        match stored.is_ascii() {
            true => Cow::Borrowed(stored),
            false => Cow::Owned(super::normalise::each_text(stored, |text, out| {
                out.extend(text.chars().map(|c| self.plain(c).unwrap_or(c)));
            })),
        }
    }

    /// The opposite: a name with private code points for the characters that Windows forbids.
    pub fn encode(self, plain: &[u8]) -> Cow<'_, [u8]> {
        let forbidden = |byte: &u8| self.private(char::from(*byte)).is_some();
        match plain.iter().any(forbidden) {
            false => Cow::Borrowed(plain),
            true => Cow::Owned(super::normalise::each_text(plain, |text, out| {
                out.extend(text.chars().map(|c| self.private(c).unwrap_or(c)));
            })),
        }
    }

    /// Whether this map makes the code point.
    pub(super) fn made(self, c: char) -> bool {
        self.plain(c).is_some()
    }
}

/// Which map the names of a tree were stored with; `None` when no name has such a code point. Give it the whole tree:
/// one name cannot tell. Any code point that only the Services for UNIX map makes decides for that.
pub fn detect_map<'a>(names: impl IntoIterator<Item = &'a [u8]>) -> Option<Map> {
    let mut found = None;
    for c in names.into_iter().flat_map(|name| name.utf8_chunks()).flat_map(|chunk| chunk.valid().chars()) {
        if Map::Sfu.made(c) && !Map::Sfm.made(c) {
            return Some(Map::Sfu);
        }
        if Map::Sfm.made(c) {
            found = Some(Map::Sfm);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    #[test]
    fn netatalks_escaped_slash_is_a_colon() {
        // Netatalk 2's names of a Mac's file `in/out`, in which HFS's colon is a slash.
        for stored in ["in:2fout", "in:out", "in\u{f022}out", "in\u{f022}2fout", "in:2f2fout"] {
            assert_eq!(&*plain_form(stored.as_bytes()), b"in:out", "{stored}");
            let shown: Vec<u16> = "in\u{f022}out".encode_utf16().collect();
            assert_eq!(windows_view(stored.as_bytes()), shown, "{stored}");
        }
        for stored in ["in:2eout", "2f", "a2f", "in:2 f", "in:"] {
            assert_eq!(&*plain_form(stored.as_bytes()), stored.as_bytes());
        }
        assert!(private_forms(b"in:out:b").contains(&b"in:2fout:2fb".to_vec()));
    }

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::test_names::any_name;
    use super::*;

    fn units(text: &str) -> Vec<u16> {
        text.encode_utf16().collect()
    }

    /// Protocol facts 1.1, row by row.
    #[test]
    fn the_map_of_services_for_macintosh() {
        for code in 1..=0x1F_u8 {
            assert_eq!(windows_view(&[b'a', code, b'b']), [0x61, 0xF000 | u16::from(code), 0x62]);
        }
        for (plain, private) in [
            (b'"', 0xF020),
            (b'*', 0xF021),
            (b':', 0xF022),
            (b'<', 0xF023),
            (b'>', 0xF024),
            (b'?', 0xF025),
            (b'\\', 0xF026),
            (b'|', 0xF027),
        ] {
            assert_eq!(windows_view(&[plain]), [private]);
            assert_eq!(from_windows_view(&[private]), Ok(vec![plain]));
            assert_eq!(from_windows_view(&[u16::from(plain)]), Err(NameError::Forbidden));
        }
    }

    #[test]
    fn space_and_dot_are_mapped_only_when_last() {
        assert_eq!(windows_view(b" a . "), units(" a .\u{f028}"));
        assert_eq!(windows_view(b"..a.."), units("..a.\u{f029}"));
        assert_eq!(from_windows_view(&units("a ")), Ok(b"a ".to_vec()));
        assert_eq!(from_windows_view(&units("a\u{f028}b\u{f029}")), Ok(b"a b.".to_vec()));
    }

    #[test]
    fn names_of_the_corpus() {
        assert_eq!(windows_view(b"Icon\r"), units("Icon\u{f00d}"));
        assert_eq!(windows_view(b"space_chef "), units("space_chef\u{f028}"));
        assert_eq!(
            windows_view(b"Fallout: Vaults & Deathclaws PNP"),
            units("Fallout\u{f022} Vaults & Deathclaws PNP")
        );
        assert_eq!(windows_view(b"face:off\\name"), units("face\u{f022}off\u{f026}name"));
    }

    #[test]
    fn what_cannot_be_stored_is_refused() {
        for (view, fact) in [
            ("a/b", NameError::Forbidden),
            ("a\0", NameError::Forbidden),
            ("\u{f000}", NameError::Forbidden),
            ("a\r", NameError::Forbidden),
            ("\u{f029}", NameError::Dots),
            (".\u{f029}", NameError::Dots),
            ("", NameError::Empty),
        ] {
            assert_eq!(from_windows_view(&units(view)), Err(fact), "{view:?}");
        }
    }

    /// How Samba shows what it has stored: vfs_fruit(8), fruit:encoding.
    #[test]
    fn stored_private_code_points_are_shown_as_they_are() {
        for shown in ["a\u{f022}b", "Icon\u{f00d}", "etc\u{f029}", "a \u{f028}", "\u{f03a}"] {
            assert_eq!(windows_view(shown.as_bytes()), units(shown));
        }
        assert_eq!(&*plain_form("\u{f020}a\u{f022}b\u{f029}".as_bytes()), b"\"a:b.");
        let forms = ["a\u{f022}b\u{f029}", "a:b\u{f029}", "a:2fb."];
        assert_eq!(private_forms(b"a:b."), forms.map(Vec::from));
    }

    #[test]
    fn other_stored_code_points_of_the_window_are_shown_by_their_bytes() {
        let dots = [("\u{f028}a", 0xA8), ("\u{f029}", 0xA9), ("\u{f000}", 0x80)];
        for (name, last) in dots {
            assert_eq!(windows_view(name.as_bytes())[..3], [0xEFEF, 0xEF80, 0xEF00 + last], "{name:?}");
            assert_eq!(&*plain_form(name.as_bytes()), name.as_bytes());
        }
        assert_eq!(&*plain_form(".\u{f029}".as_bytes()), ".\u{f029}".as_bytes());
    }

    #[test]
    fn unpaired_surrogates_are_stored_as_wtf_8() {
        assert_eq!(from_windows_view(&[0xD83D]), Ok(b"\xed\xa0\xbd".to_vec()));
        assert_eq!(from_windows_view(&[0xD83D, 0xDE00]), Ok("😀".into()));
        assert_eq!(windows_view(b"\xed\xa0\xbd\xed\xb8\x80"), [0xD83D, 0xEFED, 0xEFB8, 0xEF80]);
    }

    #[test]
    fn one_foreign_code_point_decides_the_map() {
        let detect = |names: &[&str]| detect_map(names.iter().map(|name| name.as_bytes()));
        assert_eq!(detect(&["a", "\u{f000}", "\u{f8ff}"]), None);
        assert_eq!(detect(&["a\u{f022}", "b\u{f00d}"]), Some(Map::Sfm));
        // rmcrackan/Libation issue 1256
        let book = "Yeager\u{f03a} An Autobiography [0593213564].m4b";
        assert_eq!(detect(&["a\u{f022}", book]), Some(Map::Sfu));
        assert_eq!(&*Map::Sfu.decode(book.as_bytes()), b"Yeager: An Autobiography [0593213564].m4b");
        assert_eq!(&*Map::Sfu.decode("\u{f022}".as_bytes()), b"\"");
        assert_eq!(&*Map::Sfm.decode("\u{f022}".as_bytes()), b":");
    }

    proptest! {
        #[test]
        fn the_view_and_back_is_the_stored_name(name in any_name()) {
            let view = windows_view(&name);
            prop_assert_eq!(from_windows_view(&view), Ok(plain_form(&name).into_owned()));
            let illegal = |u: &u16| *u < 0x20 || b"\"*:<>?\\|/".iter().any(|b| *u == u16::from(*b));
            prop_assert!(!view.iter().any(illegal) && !matches!(view.last(), Some(0x20 | 0x2E)));
        }

        #[test]
        fn what_a_client_made_is_found_by_the_same_view_name(view in vec(any::<u16>(), 1..80)) {
            if let Ok(stored) = from_windows_view(&view) {
                prop_assert_eq!(from_windows_view(&windows_view(&stored)), Ok(stored));
            }
        }

        #[test]
        fn a_name_and_its_private_forms_have_one_view(name in any_name()) {
            let plain = plain_form(&name);
            prop_assert_eq!(has_private(&name), *plain != *name);
            prop_assert_eq!(plain_form(&plain), &*plain);
            prop_assert_eq!(windows_view(&plain), windows_view(&name));
            for form in private_forms(&plain) {
                prop_assert_eq!(plain_form(&form), &*plain);
            }
            prop_assert_eq!(private_form(plain.to_vec(), |_| false), private_forms(&plain)[0].clone());
            prop_assert_eq!(private_form(plain.to_vec(), |_| true), &*plain);
        }
    }
}
