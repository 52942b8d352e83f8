//! The 60 bytes of the stream `AFP_AfpInfo`, as Services for Macintosh, macOS and Samba keep them: Finder info and backup
//! time, big-endian.

use wire::{Malformed, Reader, Writer};

use super::finder_info::FinderInfo;
use super::time;
use crate::Time;

/// The size of the stream, whenever it is there.
pub const LEN: usize = 60;

const SIGNATURE: [u8; 4] = *b"AFP\0";
/// Where the Finder info is.
const FINDER_INFO: usize = 16;
const VERSION: u32 = 0x0000_0100;
/// "No backup time" in the wrong byte order, which one code path of Apple's client writes.
const UNSET_SWAPPED: i32 = 0x80;

/// What the stream says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "obvious")]
pub struct InfoStream {
    pub backup: Option<Time>,
    pub finder_info: FinderInfo,
    pub prodos: [u8; 6],
}

impl InfoStream {
    /// Reads the stream; what follows the 60 bytes does not count.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        if r.array()? != SIGNATURE || r.u32_be()? != VERSION {
            return Err(Malformed("signature or version"));
        }
        r.skip(4)?; // reserved
        let backup = r.i32_be()?;
        let backup = if backup == UNSET_SWAPPED { None } else { time::from_2000(backup) };
        let (finder_info, prodos) = (FinderInfo::new(r.array()?), r.array()?);
        r.skip(6)?; // reserved
        Ok(Self { backup, finder_info, prodos })
    }

    /// The Finder info that a client means by writing these bytes at this place: the first 60 bytes count wherever they
    /// are said to go, and fewer are the beginning of the stream, behind which all is zero. `None` when they do not reach
    /// so far. What does not begin as the stream does is refused. So macOS's own server has it.
    pub fn written(offset: u64, data: &[u8]) -> Result<Option<FinderInfo>, Malformed> {
        if !data.starts_with(&SIGNATURE[..3]) || (offset != 0 && data.len() < LEN) {
            return Err(Malformed("not the beginning of the stream"));
        }
        let Some(given) = data.get(FINDER_INFO..).filter(|given| !given.is_empty()) else { return Ok(None) };
        Ok(Some(FinderInfo::from_prefix(given)))
    }

    /// The backup time that a client means by writing these bytes. Zero and "none" are what clients write that know of no
    /// backup: then the time stays.
    pub fn written_backup(data: &[u8]) -> Option<Time> {
        const ZERO: Option<Time> = Some(Time { secs: 946_684_800, nanos: 0 });
        Self::parse(data.get(..LEN)?).ok()?.backup.filter(|backup| Some(*backup) != ZERO)
    }

    /// Writes the stream.
    pub fn build(&self) -> Vec<u8> {
        let mut w = Writer::onto(Vec::with_capacity(LEN));
        w.put(&SIGNATURE);
        w.u32_be(VERSION);
        w.zeros(4);
        w.i32_be(time::to_2000(self.backup));
        w.put(self.finder_info.as_bytes());
        w.put(&self.prodos);
        w.zeros(6);
        w.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixty_bytes_with_the_finder_info_at_sixteen() {
        let mut info = FinderInfo::NONE;
        info.set_type(*b"TEXT", *b"ttxt");
        let stream = InfoStream { backup: None, finder_info: info, prodos: [1; 6] };
        let bytes = stream.build();
        assert_eq!(bytes.len(), 60);
        assert_eq!(bytes[..24], *b"AFP\0\0\0\x01\0\0\0\0\0\x80\0\0\0TEXTttxt");
        assert_eq!(InfoStream::parse(&bytes), Ok(stream));
    }

    #[test]
    fn unset_is_unset_in_either_byte_order() {
        let mut bytes = InfoStream::default().build();
        bytes[12..16].copy_from_slice(&[0, 0, 0, 0x80]);
        assert_eq!(InfoStream::parse(&bytes).unwrap().backup, None);
        bytes[12..16].copy_from_slice(&[0, 0, 0, 0x81]);
        assert!(InfoStream::parse(&bytes).unwrap().backup.is_some());
    }

    #[test]
    fn a_write_of_the_whole_stream_may_say_when_the_file_was_backed_up() {
        let at = |secs| InfoStream { backup: Some(Time { secs, nanos: 0 }), ..InfoStream::default() }.build();
        assert_eq!(InfoStream::written_backup(&at(1_000_000_000)).map(|time| time.secs), Some(1_000_000_000));
        assert_eq!(InfoStream::written_backup(&at(946_684_800)), None);
        assert_eq!(InfoStream::written_backup(&InfoStream::default().build()), None);
        assert_eq!(InfoStream::written_backup(&at(1_000_000_000)[..59]), None);
    }

    #[test]
    fn a_write_is_the_whole_stream_or_its_beginning() {
        // smbtorture's vfs.fruit "writing_afpinfo", which was made with macOS's server.
        let mut info = FinderInfo::NONE;
        info.set_type(*b"FOO ", *b"BAR ");
        let mut bytes = InfoStream { finder_info: info, ..InfoStream::default() }.build();
        bytes.extend([0; 940]);
        for (offset, len) in [(0, 1), (0, 2), (1, 3), (1, 59), (60, 59)] {
            assert!(InfoStream::written(offset, &bytes[..len]).is_err(), "{len} bytes at {offset}");
        }
        assert_eq!(InfoStream::written(0, &bytes[..3]), Ok(None));
        assert_eq!(InfoStream::written(0, &bytes[..16]), Ok(None));
        let mut begun = FinderInfo::NONE;
        begun.set_type(*b"FOO ", [0; 4]);
        assert_eq!(InfoStream::written(0, &bytes[..20]), Ok(Some(begun)));
        for (offset, len) in [(0, 60), (0, 1000), (1, 60), (10_000, 1000)] {
            assert_eq!(InfoStream::written(offset, &bytes[..len]), Ok(Some(info)));
        }
        assert!(InfoStream::written(0, &[0; 60]).is_err());
    }

    #[test]
    fn a_wrong_signature_or_too_few_bytes_is_refused() {
        let bytes = InfoStream::default().build();
        assert!(InfoStream::parse(&bytes[..59]).is_err());
        assert!(InfoStream::parse(&[0; 60]).is_err());
    }
}
