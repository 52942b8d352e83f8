//! A light look at a resource fork, Inside Macintosh: More Macintosh Toolbox 1-121: enough to tell a whole one from a
//! cut one, and from the placeholder macOS writes when it has none. Forks are opaque to everything else here.

use wire::Reader;

/// Offsets and lengths of data and map.
const HEADER_LEN: usize = 16;
/// A map with no type in it.
const MIN_MAP: u64 = 28;

/// The length of the placeholder fork.
pub const BLANK_LEN: usize = 286;
const BLANK_TEXT: &[u8] = b"This resource fork intentionally left blank   ";
/// Data at 0x100, map at 0x100, no data, 0x1E bytes of map.
const BLANK_HEADER: [u8; HEADER_LEN] = [0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0x1E];

/// What a fork looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// No bytes.
    Empty,
    /// macOS's placeholder; it means "none".
    Blank,
    /// Header, data and map agree with the length.
    Whole,
    /// The header says the fork is longer than it is.
    Truncated,
    /// Some other content. Legal: the fork is a stream like any other.
    Foreign,
}

/// Looks at a fork: its first bytes (16 suffice; [`BLANK_LEN`] to know a placeholder) and its length.
pub fn look(head: &[u8], total: u64) -> Shape {
    if total == 0 {
        return Shape::Empty;
    }
    if total == BLANK_LEN as u64 && is_blank(head) {
        return Shape::Blank;
    }
    let mut r = Reader::new(head);
    let (Ok(data), Ok(map), Ok(data_len), Ok(map_len)) = (r.u32_be(), r.u32_be(), r.u32_be(), r.u32_be())
    else {
        return Shape::Foreign;
    };
    let [data, map, data_len, map_len] = [data, map, data_len, map_len].map(u64::from);
    if data < HEADER_LEN as u64 || map < data + data_len || map_len < MIN_MAP {
        return Shape::Foreign;
    }
    if map + map_len > total { Shape::Truncated } else { Shape::Whole }
}

/// The length of a whole fork, as its header says it; `None` if it has none.
pub fn whole_len(fork: &[u8]) -> Option<u64> {
    let mut r = Reader::new(fork);
    let [data, map, data_len, map_len] =
        [r.u32_be(), r.u32_be(), r.u32_be(), r.u32_be()].map(|n| n.ok().map(u64::from));
    let (data_end, map_end) = (data? + data_len?, map? + map_len?);
    let whole = data_end.max(map_end);
    (look(fork, whole) == Shape::Whole).then_some(whole)
}

/// Whether a whole fork and a zero byte follow each other, as Samba stores streams.
pub fn is_terminated(value: &[u8]) -> bool {
    value.last() == Some(&0) && whole_len(value) == Some(value.len() as u64 - 1)
}

/// Whether these are the bytes of the placeholder "This resource fork intentionally left blank".
pub fn is_blank(fork: &[u8]) -> bool {
    fork.len() == BLANK_LEN && fork == blank()
}

/// The placeholder fork: header, text, zeros to 256, an empty map that repeats the header.
pub fn blank() -> [u8; BLANK_LEN] {
    let mut fork = [0; BLANK_LEN];
    fork[..HEADER_LEN].copy_from_slice(&BLANK_HEADER);
    fork[HEADER_LEN..HEADER_LEN + BLANK_TEXT.len()].copy_from_slice(BLANK_TEXT);
    fork[256..256 + HEADER_LEN].copy_from_slice(&BLANK_HEADER);
    // The map's offsets to its type list and name list, and "no types": a count of -1.
    fork[280..].copy_from_slice(&[0, 0x1C, 0, 0x1E, 0xFF, 0xFF]);
    fork
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_placeholder_is_told_from_an_empty_map_without_its_text() {
        assert_eq!(look(&blank(), 286), Shape::Blank);
        let mut no_text = blank();
        no_text[16..62].fill(0);
        assert_eq!(look(&no_text, 286), Shape::Whole);
    }

    #[test]
    fn a_cut_fork_is_told_from_a_whole_and_a_foreign_one() {
        let header = [0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 50];
        assert_eq!(look(&header, 0x232), Shape::Whole);
        assert_eq!(look(&header, 0x231), Shape::Truncated);
        assert_eq!(look(b"Some text, not resources", 24), Shape::Foreign);
        assert_eq!(look(b"short", 5), Shape::Foreign);
        assert_eq!(look(b"", 0), Shape::Empty);
        assert_eq!(look(&[0xFF; 16], u64::MAX), Shape::Foreign);
    }
}
