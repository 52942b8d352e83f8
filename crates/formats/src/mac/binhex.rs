//! BinHex 4.0, RFC 1741: both forks as text of 64 characters, run-length encoded, each part with a checksum.

use wire::{Malformed, Reader, Writer};

use super::bits::FinderFlags;
use super::crc::crc16;
use super::finder_info::FinderInfo;

/// The 64 characters, by value.
const ALPHABET: &[u8; 64] = b"!\"#$%&'()*+,-012345689@ABCDEFGHIJKLMNPQRSTUVXYZ[`abcdefhijklmpqr";
/// The value of each character, [`NO_VALUE`] for those that have none.
const VALUES: [u8; 256] = {
    let mut values = [NO_VALUE; 256];
    let mut value = 0;
    while value < ALPHABET.len() {
        values[ALPHABET[value] as usize] = value as u8;
        value += 1;
    }
    values
};
const NO_VALUE: u8 = 0xFF;
const BANNER: &[u8] = b"(This file must be converted with BinHex";
const FULL_BANNER: &[u8] = b"(This file must be converted with BinHex 4.0)";
const MARK: u8 = 0x90;
const LINE: usize = 64;
/// Type, creator, flags, two lengths.
const FIXED_LEN: usize = 18;

/// A file that came as BinHex.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "obvious")]
pub struct BinHex {
    /// In the Mac's encoding, 1 to 63 bytes.
    pub name: Vec<u8>,
    /// Type, creator and flags; the rest is zero.
    pub finder_info: FinderInfo,
    pub data: Vec<u8>,
    pub resource: Vec<u8>,
}

impl BinHex {
    /// Decodes a text. Runs let a short text stand for a long file, so the caller says how long both forks together may
    /// be.
    pub fn decode(text: &[u8], limit: usize) -> Result<Self, Malformed> {
        let mut bytes = TextDecoder::new(body(text)?);
        let name_len = usize::from(bytes.next().ok_or(CUT)?);
        if !(1..=63).contains(&name_len) {
            return Err(Malformed("name of a forbidden length"));
        }
        let header = bytes.checked(name_len + 1 + FIXED_LEN, Some(name_len as u8))?;
        let mut r = Reader::new(&header);
        let name = r.take(name_len)?.to_vec();
        r.skip(1)?; // version
        let mut finder_info = FinderInfo::NONE;
        finder_info.set_type(r.array()?, r.array()?);
        finder_info.set_flags(FinderFlags(r.u16_be()?));
        let (data_len, resource_len) = (r.u32_be()? as usize, r.u32_be()? as usize);
        if data_len.saturating_add(resource_len) > limit {
            return Err(Malformed("forks longer than allowed"));
        }
        let data = bytes.checked(data_len, None)?;
        Ok(Self { name, finder_info, data, resource: bytes.checked(resource_len, None)? })
    }

    /// Encodes the file; `None` when its name is empty or too long, or a fork has 4 GiB or more.
    pub fn encode(&self) -> Option<Vec<u8>> {
        let name_len = u8::try_from(self.name.len()).ok().filter(|len| (1..=63).contains(len))?;
        let mut w = Writer::new();
        w.u8(name_len);
        w.put(&self.name);
        w.u8(0); // version
        w.put(&self.finder_info.as_bytes()[..10]);
        w.u32_be(u32::try_from(self.data.len()).ok()?);
        w.u32_be(u32::try_from(self.resource.len()).ok()?);
        w.u16_be(crc16(w.as_bytes()));
        for fork in [&self.data, &self.resource] {
            w.put(fork);
            w.u16_be(crc16(fork));
        }
        Some(print(&pack_runs(w.as_bytes())))
    }
}

const CUT: Malformed = Malformed("BinHex text that ends too early");

/// What stands between the two colons.
fn body(text: &[u8]) -> Result<&[u8], Malformed> {
    let banner = text.windows(BANNER.len()).position(|window| window == BANNER);
    let text = &text[banner.ok_or(Malformed("not BinHex"))?..];
    // The banner's line ends, then a line begins with a colon.
    let line = text.iter().position(|byte| matches!(byte, b'\r' | b'\n')).ok_or(CUT)?;
    let colon = text[line..].iter().position(|&byte| byte == b':').ok_or(CUT)?;
    let body = &text[line + colon + 1..];
    Ok(&body[..body.iter().position(|&byte| byte == b':').unwrap_or(body.len())])
}

/// The bytes a text stands for, one at a time. Ends at the first character that has no place in the text.
struct TextDecoder<'a> {
    text: std::slice::Iter<'a, u8>,
    /// Bits read and not given yet, and how many.
    bits: u32,
    count: u32,
    last: u8,
    repeat: u8,
}

impl<'a> TextDecoder<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self { text: text.iter(), bits: 0, count: 0, last: 0, repeat: 0 }
    }

    fn packed(&mut self) -> Option<u8> {
        while self.count < 8 {
            let character = *self.text.find(|byte| !byte.is_ascii_whitespace())?;
            let value = Some(VALUES[usize::from(character)]).filter(|&value| value != NO_VALUE)?;
            self.bits = self.bits << 6 | u32::from(value);
            self.count += 6;
        }
        self.count -= 8;
        Some((self.bits >> self.count) as u8)
    }

    /// `len` bytes and their checksum, which also covers `before`.
    fn checked(&mut self, len: usize, before: Option<u8>) -> Result<Vec<u8>, Malformed> {
        let mut covered: Vec<u8> = before.into_iter().collect();
        let wanted = covered.len() + len;
        covered.extend(self.take(len));
        if covered.len() < wanted {
            return Err(CUT);
        }
        let crc = [self.next().ok_or(CUT)?, self.next().ok_or(CUT)?];
        if u16::from_be_bytes(crc) != crc16(&covered) {
            return Err(Malformed("checksum of a BinHex part"));
        }
        Ok(covered.split_off(usize::from(before.is_some())))
    }
}

impl Iterator for TextDecoder<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        loop {
            if self.repeat > 0 {
                self.repeat -= 1;
                return Some(self.last);
            }
            let byte = self.packed()?;
            if byte != MARK {
                self.last = byte;
                return Some(byte);
            }
            match self.packed()? {
                0 => {
                    self.last = MARK; // the mark itself
                    return Some(MARK);
                }
                count => self.repeat = count - 1, // the first of the run came before the mark
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, None) // a run may make it far longer than the text
    }
}

/// Writes runs of four and more as byte, mark, count; the mark as mark, zero.
fn pack_runs(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(bytes.len());
    for run in bytes.chunk_by(|a, b| a == b).flat_map(|run| run.chunks(255)) {
        if run[0] == MARK {
            run.iter().for_each(|_| packed.extend_from_slice(&[MARK, 0]));
        } else if run.len() > 3 {
            packed.extend_from_slice(&[run[0], MARK, run.len() as u8]);
        } else {
            packed.extend_from_slice(run);
        }
    }
    packed
}

/// Writes banner, colons and lines.
fn print(packed: &[u8]) -> Vec<u8> {
    let mut text = [FULL_BANNER, b"\n\n:"].concat();
    let mut column = 1;
    let mut put = |text: &mut Vec<u8>, byte| {
        if column == LINE {
            text.push(b'\n');
            column = 0;
        }
        text.push(byte);
        column += 1;
    };
    for three in packed.chunks(3) {
        let bits =
            three.iter().fold(0_u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - three.len()));
        for sextet in 0..=three.len() {
            put(&mut text, ALPHABET[(bits >> (18 - 6 * sextet)) as usize & 63]);
        }
    }
    put(&mut text, b':');
    text.push(b'\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> BinHex {
        let mut finder_info = FinderInfo::NONE;
        finder_info.set_type(*b"TEXT", *b"????");
        let data = [&[0x90; 3][..], &[b'a'; 600], b"bbb", &[0x90, 0]].concat();
        BinHex { name: b"file.txt".to_vec(), finder_info, data, resource: vec![1, 2] }
    }

    #[test]
    fn runs_and_marks_go_both_ways() {
        let text = sample().encode().unwrap();
        assert!(text.len() < 200 && text.split(|&byte| byte == b'\n').all(|line| line.len() <= 64));
        assert_eq!(BinHex::decode(&text, 1000), Ok(sample()));
    }

    #[test]
    fn marks_mean_what_rfc_1741_says() {
        let unpack = |packed: &[u8]| TextDecoder::new(body(&print(packed)).unwrap()).collect::<Vec<u8>>();
        // The examples of RFC 1741 appendix A, as far as whole groups of characters carry them.
        assert_eq!(unpack(&[0x00, 0x11, 0x22, 0x33, 0x44, 0x55]), [0x00, 0x11, 0x22, 0x33, 0x44, 0x55]);
        assert_eq!(unpack(&[0x11, 0x22, 0x90, 0x04, 0x33, 0x44]), [0x11, 0x22, 0x22, 0x22, 0x22, 0x33, 0x44]);
        assert_eq!(unpack(&[0x11, 0x22, 0x90, 0x00, 0x33, 0x44]), [0x11, 0x22, 0x90, 0x33, 0x44]);
        assert_eq!(unpack(&[0x2B, 0x90, 0x00, 0x90, 0x05, 0x00]), [0x2B, 0x90, 0x90, 0x90, 0x90, 0x90, 0x00]);
        assert_eq!(unpack(&[0x11, 0x90, 0x01, 0x90, 0x01, 0x22]), [0x11, 0x22]);
    }

    #[test]
    fn a_limit_keeps_runs_from_filling_memory() {
        assert_eq!(
            BinHex::decode(&sample().encode().unwrap(), 609),
            Err(Malformed("forks longer than allowed"))
        );
        assert!(BinHex::decode(&sample().encode().unwrap(), 610).is_ok());
    }

    #[test]
    fn one_wrong_character_breaks_a_checksum() {
        let text = sample().encode().unwrap();
        let at = FULL_BANNER.len() + 20;
        let mut changed = text.clone();
        changed[at] = if text[at] == b'!' { b'"' } else { b'!' };
        assert_eq!(BinHex::decode(&changed, 1000), Err(Malformed("checksum of a BinHex part")));
        assert!(BinHex::decode(&text[..text.len() / 2], 1000).is_err());
        assert!(BinHex::decode(b":#'CTE'8ZG(Kd!:", 1000).is_err());
    }
}
