//! Binary property lists ("bplist00"), as far as Macs keep them in small attributes of files: one
//! string, or an array of strings. The format is that of CoreFoundation's CFBinaryPList.c: objects,
//! then the table of their offsets, then 32 bytes that say where the table is.

/// Bytes of the longest list that is read, and of the text in one.
pub const MAX_LEN: usize = 64 << 10;
/// The most strings of an array.
pub const MAX_STRINGS: usize = 1024;

const MAGIC: &[u8] = b"bplist00";
const TRAILER_LEN: usize = 32;
const INTEGER: u8 = 0x10;
const ASCII: u8 = 0x50;
const UTF16: u8 = 0x60;
const ARRAY: u8 = 0xA0;
/// In the low half of a marker: the count follows as an integer.
const COUNT_FOLLOWS: usize = 15;

/// The string that a list consists of; `None` for anything else.
pub fn read_text(bytes: &[u8]) -> Option<String> {
    let list = ObjectList::parse(bytes)?;
    list.text(list.top)
}

/// The strings of the array that a list consists of; `None` for anything else.
pub fn read_texts(bytes: &[u8]) -> Option<Vec<String>> {
    let list = ObjectList::parse(bytes)?;
    let (kind, count, refs) = list.object(list.top)?;
    if kind != ARRAY || count > MAX_STRINGS {
        return None;
    }
    let refs = refs.get(..count.checked_mul(list.ref_size)?)?;
    let (mut texts, mut room) = (Vec::new(), MAX_LEN);
    for one in refs.chunks_exact(list.ref_size) {
        let text = list.text(number(one)?)?;
        room = room.checked_sub(text.len())?; // one object may be in the array many times
        texts.push(text);
    }
    Some(texts)
}

/// Whether this is a whole list of any kind.
pub fn is_list(bytes: &[u8]) -> bool {
    ObjectList::parse(bytes).is_some_and(|list| list.object(list.top).is_some())
}

/// A list of one string.
pub fn write_text(text: &str) -> Vec<u8> {
    let mut writing = Writing::default();
    writing.text(text);
    writing.finish(1)
}

/// A list of an array of strings. At most [`MAX_STRINGS`] are written.
pub fn write_texts(texts: &[String]) -> Vec<u8> {
    let texts = &texts[..texts.len().min(MAX_STRINGS)];
    let ref_size = if texts.len() < 256 { 1 } else { 2 };
    let mut writing = Writing::default();
    writing.begin(ARRAY, texts.len());
    for at in 1..=texts.len() as u16 {
        writing.bytes.extend_from_slice(&at.to_be_bytes()[2 - ref_size..]);
    }
    texts.iter().for_each(|text| writing.text(text));
    writing.finish(ref_size)
}

/// A list whose table of offsets lies within it.
struct ObjectList<'a> {
    /// Everything before the table.
    objects: &'a [u8],
    table: &'a [u8],
    offset_size: usize,
    ref_size: usize,
    top: u64,
}

impl<'a> ObjectList<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        if bytes.len() > MAX_LEN || !bytes.starts_with(MAGIC) {
            return None;
        }
        let (body, trailer) = bytes.split_last_chunk::<TRAILER_LEN>()?;
        let word = |at: usize| number(&trailer[at..at + 8]);
        let (offset_size, ref_size) = (usize::from(trailer[6]), usize::from(trailer[7]));
        let (count, top, table_at) = (word(8)?, word(16)?, usize::try_from(word(24)?).ok()?);
        if !(1..=8).contains(&offset_size) || !(1..=8).contains(&ref_size) {
            return None;
        }
        let table_len = usize::try_from(count).ok()?.checked_mul(offset_size)?;
        let table = body.get(table_at..table_at.checked_add(table_len)?)?;
        Some(Self { objects: &body[..table_at], table, offset_size, ref_size, top })
    }

    /// The kind of an object, its count, and the bytes from its contents on.
    fn object(&self, at: u64) -> Option<(u8, usize, &'a [u8])> {
        let row = usize::try_from(at).ok()?.checked_mul(self.offset_size)?;
        let offset = number(self.table.get(row..row.checked_add(self.offset_size)?)?)?;
        let (&marker, mut rest) = self.objects.get(usize::try_from(offset).ok()?..)?.split_first()?;
        let mut count = usize::from(marker & 0x0F);
        if count == COUNT_FOLLOWS {
            let (&integer, more) = rest.split_first()?;
            if integer & 0xF0 != INTEGER || integer & 0x0F > 3 {
                return None;
            }
            let (bytes, more) = more.split_at_checked(1 << (integer & 0x0F))?;
            (count, rest) = (usize::try_from(number(bytes)?).ok()?, more);
        }
        Some((marker & 0xF0, count, rest))
    }

    fn text(&self, at: u64) -> Option<String> {
        match self.object(at)? {
            (ASCII, count, rest) => {
                let text = rest.get(..count).filter(|text| text.is_ascii())?;
                Some(String::from_utf8_lossy(text).into_owned())
            }
            (UTF16, count, rest) => {
                let text = rest.get(..count.checked_mul(2)?)?;
                let units: Vec<u16> =
                    text.chunks_exact(2).map(|unit| u16::from_be_bytes([unit[0], unit[1]])).collect();
                String::from_utf16(&units).ok()
            }
            _ => None,
        }
    }
}

/// A big-endian number of up to 8 bytes.
fn number(bytes: &[u8]) -> Option<u64> {
    (bytes.len() <= 8).then(|| bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[derive(Default)]
struct Writing {
    /// What comes after the magic.
    bytes: Vec<u8>,
    offsets: Vec<usize>,
}

impl Writing {
    /// Begins an object.
    fn begin(&mut self, kind: u8, count: usize) {
        self.offsets.push(MAGIC.len() + self.bytes.len());
        if count < COUNT_FOLLOWS {
            self.bytes.push(kind | count as u8);
            return;
        }
        self.bytes.extend([kind | COUNT_FOLLOWS as u8, INTEGER | 2]);
        self.bytes.extend_from_slice(&(count as u32).to_be_bytes());
    }

    fn text(&mut self, text: &str) {
        if text.is_ascii() {
            self.begin(ASCII, text.len());
            self.bytes.extend_from_slice(text.as_bytes());
        } else {
            self.begin(UTF16, text.encode_utf16().count());
            self.bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes));
        }
    }

    /// The whole list, whose top is its first object.
    fn finish(self, ref_size: usize) -> Vec<u8> {
        let table_at = MAGIC.len() + self.bytes.len();
        let offset_size = match table_at {
            0..=0xFF => 1,
            0x100..=0xFFFF => 2,
            _ => 4,
        };
        let mut list = [MAGIC, &self.bytes].concat();
        for offset in &self.offsets {
            list.extend_from_slice(&(*offset as u32).to_be_bytes()[4 - offset_size..]);
        }
        list.extend([0; 6]);
        list.extend([offset_size as u8, ref_size as u8]);
        for word in [self.offsets.len(), 0, table_at] {
            list.extend_from_slice(&(word as u64).to_be_bytes());
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What macOS stores for the one tag "Red", as `xattr -px` shows it.
    const RED: &[u8] = b"bplist00\xA1\x01\x55Red\n6\x08\x0A\0\0\0\0\0\0\x01\x01\
        \0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10";

    fn texts(all: &[&str]) -> Vec<String> {
        all.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn the_tag_red_is_what_macos_writes() {
        assert_eq!(read_texts(RED), Some(texts(&["Red\n6"])));
        assert_eq!(write_texts(&texts(&["Red\n6"])), RED);
    }

    #[test]
    fn a_string_is_ascii_or_utf_16() {
        // CFBinaryPList.c: 0101 nnnn ASCII, 0110 nnnn UTF-16 big-endian, nnnn = 1111 if an integer follows.
        let word = write_text("Größe");
        assert_eq!(word[8..19], *b"\x65\0G\0r\0\xF6\0\xDF\0e");
        assert_eq!(write_text(&"x".repeat(15))[8..16], *b"\x5F\x12\0\0\0\x0Fxx");
        for text in ["", "twelve bytes", "日本語", "🗂 folder", &"long ".repeat(1000)] {
            assert_eq!(read_text(&write_text(text)).as_deref(), Some(text));
        }
    }

    #[test]
    fn arrays_of_any_length_come_back() {
        for count in [0, 1, 14, 15, 16, 255, 256, MAX_STRINGS] {
            let all: Vec<String> = (0..count).map(|n| format!("tag {n}\n{}", n % 8)).collect();
            assert_eq!(read_texts(&write_texts(&all)), Some(all));
        }
    }

    #[test]
    fn damage_and_other_lists_are_none() {
        assert_eq!(read_text(RED), None);
        assert_eq!(read_texts(&write_text("a")), None);
        assert_eq!(read_texts(b"<?xml version=\"1.0\"?>"), None);
        for at in 0..RED.len() {
            let mut bent = RED.to_vec();
            bent[at] ^= 0xFF;
            let _ = (read_texts(&bent), read_text(&bent), read_texts(&RED[..at]));
        }
        let mut outside = RED.to_vec();
        outside[16] = 0xFF; // the offset of the array
        assert_eq!(read_texts(&outside), None);
    }

    #[test]
    fn one_long_string_many_times_is_refused() {
        let long = "x".repeat(60_000);
        let mut list = write_texts(&vec![long; 2]);
        assert_eq!(read_texts(&list), None, "longer than what is read");
        // The second and third reference point to the first string.
        list = write_texts(&["x".repeat(40_000), String::new()]);
        let refs = list.iter().position(|byte| *byte == 0xA2).unwrap() + 1;
        list[refs + 1] = 1;
        assert_eq!(read_texts(&list), None);
    }
}
