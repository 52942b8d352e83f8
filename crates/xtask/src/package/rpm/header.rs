//! A header of RPM: an index of tags, and a store with their values.

use std::collections::BTreeMap;

/// A value, by its type in the index.
#[derive(Debug, Clone)]
pub enum RpmValue {
    /// 16-bit numbers (3).
    Shorts(Vec<u16>),
    /// 32-bit numbers (4).
    Numbers(Vec<u32>),
    /// One text (6).
    Text(String),
    /// Bytes (7).
    Bytes(Vec<u8>),
    /// Texts (8).
    Texts(Vec<String>),
    /// One text in the language C (9).
    Translated(String),
}

impl RpmValue {
    /// Its type, its alignment in the store, and how many elements it has.
    fn kind(&self) -> (u32, usize, usize) {
        match self {
            Self::Shorts(all) => (3, 2, all.len()),
            Self::Numbers(all) => (4, 4, all.len()),
            Self::Text(_) => (6, 1, 1),
            Self::Bytes(all) => (7, 1, all.len()),
            Self::Texts(all) => (8, 1, all.len()),
            Self::Translated(_) => (9, 1, 1),
        }
    }

    fn append_to(&self, store: &mut Vec<u8>) {
        let mut text = |text: &String| {
            store.extend_from_slice(text.as_bytes());
            store.push(0);
        };
        match self {
            Self::Text(one) | Self::Translated(one) => text(one),
            Self::Texts(all) => all.iter().for_each(text),
            Self::Shorts(all) => all.iter().for_each(|one| store.extend(one.to_be_bytes())),
            Self::Numbers(all) => all.iter().for_each(|one| store.extend(one.to_be_bytes())),
            Self::Bytes(all) => store.extend_from_slice(all),
        }
    }
}

/// The values by their tags.
#[derive(Debug, Default)]
pub struct RpmHeader(BTreeMap<u32, RpmValue>);

impl RpmHeader {
    pub fn put(&mut self, tag: u32, value: RpmValue) {
        self.0.insert(tag, value);
    }

    /// The header as it is written, as one region that is never changed: `region` is the tag of that.
    pub fn bytes(&self, region: u32) -> Vec<u8> {
        const BYTES: u32 = 7;
        let entry = |fields: [u32; 4]| fields.into_iter().flat_map(u32::to_be_bytes).collect::<Vec<u8>>();
        let (mut index, mut store) = (Vec::new(), Vec::new());
        for (tag, value) in &self.0 {
            let (kind, alignment, count) = value.kind();
            store.resize(store.len().next_multiple_of(alignment), 0);
            index.extend(entry([*tag, kind, store.len() as u32, count as u32]));
            value.append_to(&mut store);
        }
        let entries = self.0.len() as u32 + 1;
        let first = entry([region, BYTES, store.len() as u32, 16]);
        store.extend(entry([region, BYTES, (entries * 16).wrapping_neg(), 16]));
        let head = [0x8ead_e801, 0, entries, store.len() as u32];
        [entry(head), first, index, store].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_an_index_in_the_order_of_the_tags_and_aligned_values() {
        let mut header = RpmHeader::default();
        header.put(1009, RpmValue::Numbers(vec![7]));
        header.put(1000, RpmValue::Text("ab".into()));
        let bytes = header.bytes(63);
        let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!((word(0), word(8), word(12)), (0x8ead_e801, 3, 24));
        assert_eq!([word(16), word(20), word(24), word(28)], [63, 7, 8, 16]);
        assert_eq!([word(32), word(36), word(40), word(44)], [1000, 6, 0, 1]);
        assert_eq!([word(48), word(52), word(56), word(60)], [1009, 4, 4, 1]);
        assert_eq!(&bytes[64..72], b"ab\0\0\0\0\0\x07");
        assert_eq!(word(80) as i32, -48, "the region has all three entries");
    }
}
