//! `prefix#id.ext`: a name made unique by the id of its file.
//!
//! The id is six to eight upper-case hexadecimal digits, without zeros beyond six digits. The extension is kept when it
//! is at most six bytes with its dot, too few to hold a `#` and six digits itself, so that a mangled name is read in one way.

const DIGITS: usize = 6;
const LONGEST_EXTENSION: usize = 6;

/// The id in a mangled name, of any byte encoding that keeps ASCII. A stored name may look like this by chance: views
/// mangle such a name too, so what a view shows mangled always carries the file's own id.
pub fn parse_mangled(view: &[u8]) -> Option<u32> {
    let dot = view.iter().rposition(|b| *b == b'.').filter(|at| view.len() - at <= LONGEST_EXTENSION);
    id_at_end(view).or_else(|| id_at_end(&view[..dot?]))
}

fn id_at_end(stem: &[u8]) -> Option<u32> {
    let digits = &stem[stem.iter().rposition(|b| *b == b'#')? + 1..];
    let well_formed = digits.iter().all(|b| matches!(b, b'0'..=b'9' | b'A'..=b'F'))
        && (digits.len() == DIGITS || (digits.len() > DIGITS && digits.len() <= 8 && digits[0] != b'0'));
    let text = std::str::from_utf8(digits).ok().filter(|_| well_formed)?;
    u32::from_str_radix(text, 16).ok()
}

/// What follows the prefix.
pub(super) fn tail(id: u32, extension: &str) -> String {
    format!("#{id:0DIGITS$X}{extension}")
}

/// Stem and extension with its dot; no extension when it would be too long to keep, or when there is no stem.
pub(super) fn split(name: &str) -> (&str, &str) {
    match name.rfind('.') {
        Some(at) if at > 0 && name.len() - at <= LONGEST_EXTENSION => name.split_at(at),
        _ => (name, ""),
    }
}

/// The longest beginning within `limit` bytes that ends between two characters, and not before a mark on the last.
pub(super) fn cut(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let whole = |at: &usize| {
        let next = text[*at..].chars().next();
        !next.is_some_and(unicode_normalization::char::is_combining_mark)
    };
    let at = (0..=limit).rev().filter(|at| text.is_char_boundary(*at)).find(whole);
    &text[..at.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_form_is_a_mangled_name() {
        assert_eq!(parse_mangled(b"a#00001F"), Some(0x1F));
        assert_eq!(parse_mangled(b"a#b#00001F.html"), Some(0x1F));
        assert_eq!(parse_mangled(b"a#00001F."), Some(0x1F)); // an extension of nothing but its dot
        assert_eq!(parse_mangled(b"#FFFFFFFF.txt"), Some(u32::MAX));
        for plain in [
            &b"a#1F"[..],
            b"a#00001f",
            b"a#000001F",
            b"a#00001F.longer",
            b"C#",
            b"00001F",
            b"a#00001FFFF",
            b"a#00001F.a.b",
        ] {
            assert_eq!(parse_mangled(plain), None, "{}", plain.escape_ascii());
        }
    }
}
