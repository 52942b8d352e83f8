//! The records of a log, all of 64 bytes, big-endian. docs/on-disk-format.md has the layout.

use vfs::{HostKey, LastingKey};
use wire::{Malformed, Reader, Writer};

use super::super::CatalogId;

/// Bytes of a record, and of what a log begins with.
pub(super) const LENGTH: usize = 64;
/// What a log begins with. The name of its server follows, for people.
const BEGIN: &[u8; 16] = b"fourfold ids 1\0\0";
/// The number of the file system is that of the cluster, not one that is the same on all hosts by itself.
const OF_CLUSTER: u8 = 1;

/// Where a file is, for all servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SharedFileKey {
    pub(super) file: LastingKey,
    /// The number of the file system is that of the cluster.
    pub(super) of_cluster: bool,
}

/// A file has an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IdRecord {
    pub(super) id: CatalogId,
    /// 0: on first sight. Else it has got the id of another file, and this counts up with each such change in the cluster.
    pub(super) turn: u32,
    pub(super) named: SharedFileKey,
}

impl IdRecord {
    pub(super) fn encode(&self, w: &mut Writer) {
        let start = w.len();
        let LastingKey { file_system, key } = self.named.file;
        w.u32_be(self.id.0);
        w.u32_be(self.turn);
        w.u64_be(file_system);
        w.u8(key.as_bytes().len() as u8); // at most HostKey::MAX
        w.u8(if self.named.of_cluster { OF_CLUSTER } else { 0 });
        w.zeros(2);
        w.put(key.padded());
        let sum = sum(&w.as_bytes()[start..]);
        w.patch_u16_be(start + SUM_AT, sum);
    }

    /// `None`: it was not written as a whole, or by a later version.
    pub(super) fn decode(bytes: &[u8; LENGTH]) -> Option<Self> {
        let mut without = *bytes;
        without[SUM_AT..SUM_AT + 2].fill(0);
        let (record, written) = Self::parse(bytes).ok()?;
        (written == sum(&without)).then_some(record)
    }

    fn parse(bytes: &[u8; LENGTH]) -> Result<(Self, u16), Malformed> {
        let mut r = Reader::new(bytes);
        let (id, turn, file_system) = (CatalogId(r.u32_be()?), r.u32_be()?, r.u64_be()?);
        let (length, flags, sum) = (r.u8()?, r.u8()?, r.u16_be()?);
        let key = r.rest().get(..length.into()).and_then(HostKey::new).ok_or(Malformed("key"))?;
        if id < CatalogId::FIRST || flags & !OF_CLUSTER != 0 {
            return Err(Malformed("id or flags"));
        }
        let named = SharedFileKey { file: LastingKey { file_system, key }, of_cluster: flags == OF_CLUSTER };
        Ok((Self { id, turn, named }, sum))
    }
}

const SUM_AT: usize = 18;

/// The bytes, each times its place, in 16 bits: for records of which only a part, or nothing, is on the disk.
fn sum(bytes: &[u8]) -> u16 {
    let places = (1_u32..).zip(bytes);
    places.fold(1, |sum, (place, byte)| (sum + place * u32::from(*byte)) % 65_521) as u16
}

/// The beginning of the log of a server.
pub(super) fn beginning(server: &str) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    bytes[..BEGIN.len()].copy_from_slice(BEGIN);
    bytes[BEGIN.len()..].iter_mut().zip(server.bytes()).for_each(|(to, from)| *to = from);
    bytes
}

/// Whether a log begins so.
pub(super) fn is_beginning(bytes: &[u8]) -> bool {
    bytes.starts_with(BEGIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(key: &[u8]) -> IdRecord {
        let file = LastingKey { file_system: 0x1122_3344_5566_7788, key: HostKey::new(key).unwrap() };
        IdRecord { id: CatalogId(4096), turn: 7, named: SharedFileKey { file, of_cluster: true } }
    }

    fn bytes(record: &IdRecord) -> [u8; LENGTH] {
        let mut w = Writer::new();
        record.encode(&mut w);
        w.into_bytes().try_into().unwrap()
    }

    #[test]
    fn a_record_has_the_layout_of_the_page() {
        let bytes = bytes(&record(b"handle"));
        assert_eq!(
            bytes[..18],
            [0, 0, 16, 0, 0, 0, 0, 7, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 6, 1]
        );
        assert_eq!((&bytes[20..26], bytes[26..].iter().all(|byte| *byte == 0)), (&b"handle"[..], true));
        assert_eq!(IdRecord::decode(&bytes), Some(record(b"handle")));
        let longest = record(&[0xff; HostKey::MAX]);
        assert_eq!(IdRecord::decode(&self::bytes(&longest)), Some(longest));
    }

    #[test]
    fn what_was_not_written_as_a_whole_is_no_record() {
        assert_eq!(IdRecord::decode(&[0; LENGTH]), None);
        assert_eq!(IdRecord::decode(&[0xff; LENGTH]), None);
        assert_eq!(IdRecord::decode(&beginning("gate1")), None);
        let whole = bytes(&record(&[9; HostKey::MAX]));
        for at in 0..LENGTH {
            let mut cut = whole;
            cut[at..].fill(0);
            assert_eq!(IdRecord::decode(&cut), None, "only {at} bytes");
            let mut changed = whole;
            changed[at] ^= 0x40;
            assert_eq!(IdRecord::decode(&changed), None, "byte {at}");
        }
    }

    #[test]
    fn a_log_says_whose_it_is() {
        let begins = beginning("gate1");
        assert!(is_beginning(&begins) && begins[16..22] == *b"gate1\0");
        assert!(is_beginning(&beginning(&"x".repeat(300))) && !is_beginning(b"fourfold ids 2\0\0"));
    }
}
