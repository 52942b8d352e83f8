//! Bytes that a view cannot hold as text, shown as U+EF80–U+EFFF.
//!
//! Stored byte `b` (0x80–0xFF) becomes the code point 0xEF00 + `b`, and every U+EF80–U+EFFF of a view becomes that
//! byte again. So that this can be undone, a stored code point that means something else in a view is not shown as
//! itself: its UTF-8 bytes are shown so, one by one. These *reserved* code points are U+EF80–U+EFFF in every view,
//! and the window U+F000–U+F029 in the private-use view as well. The window is the one MirOS and others use for
//! octets that are not text; fonts, Apple and Microsoft leave it alone.
//!
//! A byte below 0x80 is never escaped, so no escape can smuggle in a slash, a NUL or a dot.

const BASE: u32 = 0xEF00;

/// Whether the code point stands for a byte in every view.
pub fn is_octet(c: char) -> bool {
    octet(c).is_some()
}

/// The byte that a code point of a view stands for.
pub fn octet(c: char) -> Option<u8> {
    match c as u32 {
        n @ 0xEF80..=0xEFFF => u8::try_from(n - BASE).ok(),
        _ => None,
    }
}

/// The code point that shows a byte above 0x7F. Bytes below are shown as themselves.
pub fn shown(byte: u8) -> char {
    match byte {
        0..0x80 => char::from(byte),
        _ => char::from_u32(BASE + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

/// A stored name, or a path of them, as text for people and scripts: itself where it is text, else byte by byte.
/// [`from_text_view`] gives the same bytes back.
pub fn text_view(stored: &[u8]) -> String {
    to_text(stored, |_| false)
}

/// The stored bytes of a [`text_view`].
pub fn from_text_view(view: &str) -> Vec<u8> {
    to_bytes(view)
}

/// The bytes as text in which everything that is not text, or that `reserved` claims, is shown byte by byte.
pub(super) fn to_text(bytes: &[u8], reserved: impl Fn(char) -> bool) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match is_octet(c) || reserved(c) {
                true => text.extend(c.encode_utf8(&mut [0; 4]).bytes().map(shown)),
                false => text.push(c),
            }
        }
        text.extend(chunk.invalid().iter().copied().map(shown));
    }
    text
}

/// The bytes that [`to_text`] was given.
pub(super) fn to_bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        push(&mut bytes, c);
    }
    bytes
}

/// Appends what one code point of a view stands for.
pub(super) fn push(bytes: &mut Vec<u8>, c: char) {
    match octet(c) {
        Some(byte) => bytes.push(byte),
        None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_that_is_not_text_is_one_private_code_point() {
        assert_eq!(to_text(b"caf\xe9", |_| false), "caf\u{EFE9}");
        assert_eq!(to_bytes("caf\u{EFE9}"), b"caf\xe9");
    }

    #[test]
    fn a_text_view_is_the_name_itself_and_gives_all_bytes_back() {
        assert_eq!(text_view("a:b*?/Üb\u{f029}".as_bytes()), "a:b*?/Üb\u{f029}");
        for stored in [&b"caf\xe9"[..], "\u{EF80}".as_bytes(), b"\xff/\xfe", b""] {
            assert_eq!(from_text_view(&text_view(stored)), stored);
        }
    }

    #[test]
    fn a_stored_escape_is_shown_by_its_own_bytes() {
        assert_eq!(to_text("\u{EF80}".as_bytes(), |_| false), "\u{EFEE}\u{EFBE}\u{EF80}");
        assert_eq!(to_bytes("\u{EFEE}\u{EFBE}\u{EF80}"), "\u{EF80}".as_bytes());
    }
}
