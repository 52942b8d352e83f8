//! The extension macOS makes to the Finder info entry of an AppleDouble file: extended attributes, as laid out by
//! `copyfile(3)` and the kernel (`bsd/vfs/vfs_xattr.c`). Offsets in it are from the first byte of the file.

use std::ops::Range;

use wire::{Malformed, Reader, Writer};

use super::apple_double::HEAD_LIMIT;
use super::finder_info::FinderInfo;
use super::problem::Problem;

/// How many attributes are read; macOS itself stops at [`MAX_WRITTEN`].
pub const MAX_READ: usize = 1024;
/// How many attributes are written: macOS refuses a file with more.
pub const MAX_WRITTEN: usize = 256;
/// The longest name, in bytes, without its NUL.
pub const MAX_NAME: usize = 127;
/// The most that is written of values: it is held in memory to present a file to a client.
pub const MAX_VALUES: usize = 16 << 20;

const MAGIC: [u8; 4] = *b"ATTR";
/// The attribute header begins after the Finder info and two bytes of padding.
const HEADER_AT: usize = FinderInfo::LEN + 2;
const HEADER_LEN: usize = 36;
/// Offset, length, flags and name length.
const FIXED_LEN: usize = 11;

/// One attribute of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attr<'a> {
    /// Without the NUL. By convention UTF-8.
    pub name: &'a [u8],
    /// Always zero so far.
    pub flags: u16,
    /// Where the value begins in the file.
    pub offset: u32,
    /// The length of the value.
    pub length: u32,
    /// The value, when it lies in the head.
    pub value: Option<&'a [u8]>,
}

/// Reads the attributes behind the 32 bytes of Finder info. `area` is the range of the Finder info entry in the file,
/// `head` the file's beginning. A damaged list gives what comes before the damage.
pub fn read<'a>(head: &'a [u8], area: Range<u64>, problems: &mut Vec<Problem>) -> Vec<Attr<'a>> {
    let mut attrs = Vec::new();
    let head_area = &head[..head.len().min(HEAD_LIMIT).min(area.end as usize)];
    let Some(mut r) = header_reader(head_area, area.start as usize) else { return attrs };
    let Ok(count) = read_header(&mut r) else { return attrs };
    let count_read = usize::from(count).min(MAX_READ);
    let mut room = area.end - area.start; // All values together cannot be longer than what holds them.
    for number in 0..count_read {
        match read_one(&mut r, head, &area, room) {
            Ok(attr) => {
                room -= u64::from(attr.length);
                attrs.push(attr);
            }
            Err(Malformed(why)) => {
                problems.push(Problem::Attribute(number, why));
                return attrs;
            }
        }
    }
    if count_read < usize::from(count) {
        problems.push(Problem::Attribute(count_read, "more attributes than are ever read"));
    }
    attrs
}

fn header_reader(head: &[u8], area_start: usize) -> Option<Reader<'_>> {
    let mut r = Reader::new(head);
    r.skip(area_start.checked_add(HEADER_AT)?).ok()?;
    Some(r)
}

/// Gives the number of attributes. The sizes in the header say nothing the attributes do not say themselves.
fn read_header(r: &mut Reader<'_>) -> Result<u16, Malformed> {
    if r.array()? != MAGIC {
        return Err(Malformed("no attributes"));
    }
    r.skip(4 + 12 + 12 + 2)?; // debug tag; total size, data start, data length; reserved; flags
    r.u16_be()
}

fn read_one<'a>(
    r: &mut Reader<'a>,
    head: &'a [u8],
    area: &Range<u64>,
    room: u64,
) -> Result<Attr<'a>, Malformed> {
    r.skip(r.position().next_multiple_of(4) - r.position())?;
    let (offset, length, flags) = (r.u32_be()?, r.u32_be()?, r.u16_be()?);
    let name_len = usize::from(r.u8()?);
    let Some((0, name)) = r.take(name_len)?.split_last() else {
        return Err(Malformed("name without an end"));
    };
    if name.is_empty() || name.len() > MAX_NAME || name.contains(&0) {
        return Err(Malformed("name of a forbidden form"));
    }
    if length == 0 {
        // macOS gives a value without bytes no place: its offset may be anything.
        return Ok(Attr { name, flags, offset, length, value: Some(&[]) });
    }
    let end = u64::from(offset) + u64::from(length);
    if u64::from(length) > room || u64::from(offset) < area.start || end > area.end {
        return Err(Malformed("value outside the attribute area"));
    }
    let value = head.get(offset as usize..end as usize);
    Ok(Attr { name, flags, offset, length, value })
}

/// What an attribute to write is called, and its value.
pub type NewAttr<'a> = (&'a [u8], &'a [u8]);

/// Splits off the attributes that the format has no place for, each with a problem that says why.
pub fn writable<'a>(
    attrs: &[NewAttr<'a>],
    area_start: usize,
    problems: &mut Vec<Problem>,
) -> Vec<NewAttr<'a>> {
    let mut rows_end = area_start + HEADER_AT + HEADER_LEN;
    let mut values = 0_usize;
    let mut fitting = Vec::with_capacity(attrs.len().min(MAX_WRITTEN));
    for (number, &(name, value)) in attrs.iter().enumerate() {
        let row = (FIXED_LEN + name.len() + 1).next_multiple_of(4);
        let refused = if name.is_empty() || name.len() > MAX_NAME || name.contains(&0) {
            "name of a forbidden form"
        } else if fitting.len() == MAX_WRITTEN || rows_end + row > HEAD_LIMIT {
            "too many attributes"
        } else if value.len() > MAX_VALUES - values {
            "too large"
        } else {
            rows_end += row;
            values += value.len();
            fitting.push((name, value));
            continue;
        };
        problems.push(Problem::Attribute(number, refused));
    }
    fitting
}

/// Appends padding, header, rows and values of attributes that [`writable`] let pass. `w` ends with the 32 bytes of
/// Finder info.
pub fn write(w: &mut Writer, attrs: &[NewAttr<'_>]) {
    w.zeros(HEADER_AT - FinderInfo::LEN);
    let rows_start = w.len() + HEADER_LEN;
    let rows: usize = attrs.iter().map(|(name, _)| (FIXED_LEN + name.len() + 1).next_multiple_of(4)).sum();
    let data_start = rows_start + rows;
    let data_length: usize = attrs.iter().map(|(_, value)| value.len()).sum();
    w.put(&MAGIC);
    w.u32_be(0); // debug tag
    w.u32_be(size(data_start + data_length));
    w.u32_be(size(data_start));
    w.u32_be(size(data_length));
    w.zeros(12 + 2); // reserved, flags
    w.u16_be(u16::try_from(attrs.len()).expect("at most MAX_WRITTEN"));
    let mut at = data_start;
    for (name, value) in attrs {
        w.u32_be(if value.is_empty() { 0 } else { size(at) }); // as macOS does
        w.u32_be(size(value.len()));
        w.u16_be(0); // flags
        w.u8(u8::try_from(name.len() + 1).expect("at most MAX_NAME"));
        w.put(name);
        w.u8(0);
        w.zeros(w.len().next_multiple_of(4) - w.len());
        at += value.len();
    }
    attrs.iter().for_each(|(_, value)| w.put(value));
}

fn size(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("HEAD_LIMIT and MAX_VALUES are less")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the layout in `vfs_xattr.c`: the Finder info entry at 50, header at 84, one row at 120, its value at 136.
    fn by_hand(value_at: u32, value_len: u32) -> Vec<u8> {
        let mut file = vec![0; 84];
        file.extend_from_slice(b"ATTR\0\0\0\x01\0\0\0\x8C\0\0\0\x88\0\0\0\x04");
        file.extend_from_slice(&[0; 14]);
        file.extend_from_slice(&[0, 1]);
        file.extend_from_slice(&value_at.to_be_bytes());
        file.extend_from_slice(&value_len.to_be_bytes());
        file.extend_from_slice(b"\0\0\x02a\0\0\0\0blue");
        file
    }

    #[test]
    fn reads_a_name_and_its_value() {
        let file = by_hand(136, 4);
        let mut problems = Vec::new();
        let attrs = read(&file, 50..140, &mut problems);
        assert_eq!(attrs, [Attr { name: b"a", flags: 0, offset: 136, length: 4, value: Some(b"blue") }]);
        assert_eq!(problems, []);
    }

    #[test]
    fn writes_what_macos_would_but_for_the_debug_tag() {
        let mut w = Writer::onto(vec![0; 82]);
        write(&mut w, &[(b"a", b"blue")]);
        let mut expected = by_hand(136, 4);
        expected[91] = 0; // debug tag
        assert_eq!(w.into_bytes(), expected);
    }

    #[test]
    fn a_value_outside_its_area_ends_the_list() {
        assert_eq!(
            read(&by_hand(0, 0), 50..140, &mut Vec::new())[0].value,
            Some(&b""[..]),
            "no bytes, no place"
        );
        for (at, len) in [(0, 4), (136, 5), (u32::MAX, 1), (136, u32::MAX)] {
            let mut problems = Vec::new();
            assert_eq!(read(&by_hand(at, len), 50..140, &mut problems), []);
            assert_eq!(problems, [Problem::Attribute(0, "value outside the attribute area")]);
        }
    }

    #[test]
    fn a_value_beyond_the_head_is_a_place_only() {
        let file = by_hand(136, 4);
        let attrs = read(&file[..136], 50..140, &mut Vec::new());
        assert_eq!((attrs[0].offset, attrs[0].length, attrs[0].value), (136, 4, None));
    }

    #[test]
    fn no_magic_is_no_attributes() {
        let mut file = by_hand(136, 4);
        file[84] = b'B';
        assert_eq!(read(&file, 50..140, &mut Vec::new()), []);
        assert_eq!(read(&file[..90], 50..140, &mut Vec::new()), []);
    }

    #[test]
    fn what_the_format_cannot_hold_is_named() {
        let long = [b'n'; MAX_NAME + 1];
        let short: Vec<[u8; 3]> = (0..300).map(|n: u16| [1, n as u8 | 1, (n >> 7) as u8 + 1]).collect();
        let mut attrs: Vec<NewAttr<'_>> = vec![(&long, b""), (b"", b""), (b"a\0b", b"")];
        attrs.extend(short.iter().map(|name| (&name[..], &b""[..])));
        let mut problems = Vec::new();
        let fitting = writable(&attrs, 50, &mut problems);
        assert_eq!(fitting.len(), MAX_WRITTEN);
        assert_eq!(problems[2], Problem::Attribute(2, "name of a forbidden form"));
        assert_eq!(problems[3], Problem::Attribute(3 + MAX_WRITTEN, "too many attributes"));
    }
}
