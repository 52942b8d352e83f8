//! MacBinary I, II and III: a 128-byte header, then data fork, resource fork and comment, each padded to 128 bytes.

use std::ops::Range;

use wire::{Malformed, Reader, Writer};

use super::crc::crc16;
use super::finder_info::FinderInfo;
use super::time;
use crate::Time;

/// The size of the header, and what everything is padded to.
pub const BLOCK: usize = 128;
/// The longest name.
pub const MAX_NAME: usize = 63;

const CRC_AT: usize = 124;
const SIGNATURE: &[u8] = b"mBIN";
const VERSION_2: u8 = 129;
const VERSION_3: u8 = 130;

/// Which MacBinary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variant {
    /// No checksum: told by a few zero bytes and lengths that fit.
    One,
    /// With checksum.
    Two,
    /// With checksum and signature.
    Three,
}

/// The header of a MacBinary file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the specification's names")]
pub struct MacBinary {
    pub variant: Variant,
    /// In the Mac's encoding, 1 to 63 bytes.
    pub name: Vec<u8>,
    /// Type, creator, flags, place, script and extended flags; the rest is zero.
    pub finder_info: FinderInfo,
    /// The Finder's "Locked".
    pub protected: bool,
    pub data_len: u32,
    pub resource_len: u32,
    /// In the local time of the Mac that wrote it.
    pub created: Option<Time>,
    pub modified: Option<Time>,
    pub comment_len: u16,
    /// A second header between this one and the data fork; no program uses it.
    pub secondary_len: u16,
}

impl MacBinary {
    /// Reads the header: the first 128 bytes of a file of `total` bytes.
    pub fn parse(head: &[u8], total: u64) -> Result<Self, Malformed> {
        let header: &[u8; BLOCK] = head.first_chunk().ok_or(Malformed("shorter than a MacBinary header"))?;
        let variant = recognize(header)?;
        let this = Self::read(header, variant)?;
        // The padding after the last fork is often left out.
        let last = if this.resource_len == 0 { this.data_range() } else { this.resource_range() };
        if last.end > total {
            return Err(Malformed("MacBinary forks longer than the file"));
        }
        Ok(this)
    }

    fn read(header: &[u8; BLOCK], variant: Variant) -> Result<Self, Malformed> {
        let mut info = [0; FinderInfo::LEN];
        info[..9].copy_from_slice(&header[65..74]); // type, creator, upper half of the flags
        info[10..16].copy_from_slice(&header[75..81]); // place, folder
        if variant >= Variant::Two {
            info[9] = header[101]; // lower half of the flags
        }
        if variant == Variant::Three {
            info[24..26].copy_from_slice(&header[106..108]); // script, extended flags
        }
        let mut r = Reader::new(&header[83..101]);
        let (data_len, resource_len) = (r.u32_be()?, r.u32_be()?);
        let (created, modified) = (time::from_1904(r.u32_be()?), time::from_1904(r.u32_be()?));
        let comment_len = r.u16_be()?;
        let secondary_len = u16::from_be_bytes([header[120], header[121]]);
        Ok(Self {
            variant,
            name: header[2..2 + usize::from(header[1])].to_vec(),
            finder_info: FinderInfo::new(info),
            protected: header[81] & 1 != 0,
            data_len,
            resource_len,
            created,
            modified,
            comment_len,
            secondary_len: if variant == Variant::One { 0 } else { secondary_len },
        })
    }

    /// Where the data fork is.
    pub fn data_range(&self) -> Range<u64> {
        let start = BLOCK as u64 + padded(u32::from(self.secondary_len));
        start..start + u64::from(self.data_len)
    }

    /// Where the resource fork is.
    pub fn resource_range(&self) -> Range<u64> {
        let start = self.data_range().start + padded(self.data_len);
        start..start + u64::from(self.resource_len)
    }

    /// Where the comment is; few wrote one.
    pub fn comment_range(&self) -> Range<u64> {
        let start = self.resource_range().start + padded(self.resource_len);
        start..start + u64::from(self.comment_len)
    }

    /// Writes a MacBinary III header, whatever the variant, without a second one.
    ///
    /// # Errors
    /// When the name is empty or too long.
    pub fn build(&self) -> Result<Vec<u8>, Malformed> {
        if self.name.is_empty() || self.name.len() > MAX_NAME {
            return Err(Malformed("name of a forbidden length"));
        }
        let info = self.finder_info.as_bytes();
        let mut w = Writer::onto(Vec::with_capacity(BLOCK));
        w.u8(0); // old version
        w.u8(self.name.len() as u8);
        w.put(&self.name);
        w.zeros(65 - w.len());
        w.put(&info[..9]);
        w.u8(0);
        w.put(&info[10..16]);
        w.u8(u8::from(self.protected));
        w.u8(0);
        w.u32_be(self.data_len);
        w.u32_be(self.resource_len);
        w.u32_be(time::to_1904(self.created));
        w.u32_be(time::to_1904(self.modified));
        w.u16_be(self.comment_len);
        w.u8(info[9]);
        w.put(SIGNATURE);
        w.put(&info[24..26]);
        w.zeros(122 - w.len());
        w.u8(VERSION_3);
        w.u8(VERSION_2); // a reader of version two can read this
        let crc = crc16(w.as_bytes());
        w.u16_be(crc);
        w.zeros(2);
        Ok(w.into_bytes())
    }
}

/// How many zero bytes follow something of this length.
pub fn padding(len: u32) -> usize {
    (padded(len) - u64::from(len)) as usize
}

fn padded(len: u32) -> u64 {
    u64::from(len).next_multiple_of(BLOCK as u64)
}

fn recognize(header: &[u8; BLOCK]) -> Result<Variant, Malformed> {
    let name_len = usize::from(header[1]);
    if header[0] != 0 || header[74] != 0 || !(1..=MAX_NAME).contains(&name_len) {
        return Err(Malformed("not MacBinary"));
    }
    let crc = u16::from_be_bytes([header[CRC_AT], header[CRC_AT + 1]]);
    if crc == crc16(&header[..CRC_AT]) {
        let signed = header[102..].starts_with(SIGNATURE);
        return Ok(if signed { Variant::Three } else { Variant::Two });
    }
    if header[122] >= VERSION_2 {
        return Err(Malformed("checksum of a MacBinary header"));
    }
    // Version one says so little that much else looks like it: what it leaves unused must be zero, and it has a fork.
    let forks = header[83..91].iter().any(|&byte| byte != 0);
    if header[82] != 0
        || !forks
        || header[2..2 + name_len].contains(&0)
        || header[101..126].iter().any(|&b| b != 0)
    {
        return Err(Malformed("not MacBinary"));
    }
    Ok(Variant::One)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> MacBinary {
        let mut info = [0; 32];
        info[..14].copy_from_slice(b"TEXTttxt\x01\x40\0\x01\0\x02");
        info[24..26].copy_from_slice(&[0x80, 1]);
        MacBinary {
            variant: Variant::Three,
            name: b"notes".to_vec(),
            finder_info: FinderInfo::new(info),
            protected: true,
            data_len: 129,
            resource_len: 286,
            created: Some(Time { secs: 0, nanos: 0 }),
            modified: None,
            comment_len: 0,
            secondary_len: 0,
        }
    }

    #[test]
    fn the_header_is_laid_out_as_in_the_macbinary_three_standard() {
        let header = sample().build().unwrap();
        assert_eq!(header.len(), 128);
        assert_eq!(header[..7], *b"\0\x05notes");
        assert_eq!(header[65..83], *b"TEXTttxt\x01\0\0\x01\0\x02\0\0\x01\0");
        assert_eq!(header[83..95], [0, 0, 0, 129, 0, 0, 1, 0x1E, 0x7C, 0x25, 0xB0, 0x80]);
        assert_eq!(header[101..108], *b"\x40mBIN\x80\x01");
        assert_eq!(header[122..124], [130, 129]);
        assert_eq!(MacBinary::parse(&header, 128 + 256 + 286), Ok(sample()));
    }

    #[test]
    fn forks_lie_on_blocks_and_must_be_there() {
        let header = sample().build().unwrap();
        assert_eq!((sample().data_range(), sample().resource_range()), (128..257, 384..670));
        assert!(MacBinary::parse(&header, 669).is_err());
        assert_eq!((padding(0), padding(1), padding(128)), (0, 127, 0));
    }

    #[test]
    fn a_changed_header_is_refused() {
        let mut header = sample().build().unwrap();
        header[83] ^= 1;
        assert_eq!(MacBinary::parse(&header, u64::MAX), Err(Malformed("checksum of a MacBinary header")));
    }

    #[test]
    fn zeros_and_text_are_not_macbinary() {
        assert!(MacBinary::parse(&[0; 128], 128).is_err());
        assert!(MacBinary::parse(&[b'a'; 128], 128).is_err());
        assert!(MacBinary::parse(&[0; 127], 127).is_err());
    }
}
