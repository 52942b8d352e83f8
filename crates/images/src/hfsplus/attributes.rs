//! Extended attributes: TN1150, "Attributes File"; the record of small values as macOS has it since 10.4 (`hfs_format.h`).

use std::sync::Arc;

use super::btree::Tree;
use super::fork::{Disk, EXTENTS, Extent, ForkData};
use super::keys::AttributesKey;
use super::names;
use crate::{Error, Result, decode};

/// The types of records.
pub(super) const INLINE: u32 = 0x10;
pub(super) const FORK: u32 = 0x20;
pub(super) const EXTENSION: u32 = 0x30;
/// The largest value that is read, in bytes.
const MAX_VALUE: u64 = 16 << 20;
/// The most names of a file that are listed.
const MAX_NAMES: usize = 4096;

/// The attributes of a volume.
pub(super) struct Attributes {
    pub(super) tree: Arc<Tree>,
    disk: Arc<Disk>,
}

/// A record.
pub(super) enum AttributeRecord<'a> {
    Inline(&'a [u8]),
    Fork(ForkData),
    /// Further extents of a fork.
    Extension([Extent; EXTENTS]),
}

impl<'a> AttributeRecord<'a> {
    pub(super) fn decode(record: &'a [u8]) -> std::result::Result<Self, wire::Malformed> {
        let mut r = wire::Reader::new(record);
        match r.u32_be()? {
            INLINE => {
                r.skip(8)?; // reserved
                let length = r.u32_be()? as usize;
                Ok(Self::Inline(r.take(length)?))
            }
            FORK => {
                r.skip(4)?;
                Ok(Self::Fork(ForkData::decode(&mut r)?))
            }
            EXTENSION => {
                r.skip(4)?;
                Ok(Self::Extension(Extent::decode_all(&mut r)?))
            }
            _ => Err(wire::Malformed("a record has a type that is not known")),
        }
    }
}

impl Attributes {
    pub(super) fn new(tree: Arc<Tree>, disk: Arc<Disk>) -> Self {
        Self { tree, disk }
    }

    /// The names of a file's attributes.
    pub(super) fn names(&self, file: u32) -> Result<Vec<String>> {
        let mut all = Vec::new();
        let from = AttributesKey { file, block: 0, name: &[] }.encode();
        let Some(mut cursor) = self.tree.search(&from)? else { return Ok(all) };
        while cursor.settle()? && all.len() < MAX_NAMES {
            let (key, _) = cursor.record()?;
            let key = decode("attribute key", cursor.place(), key, |r| AttributesKey::decode(r.rest()))?;
            if key.file != file {
                break;
            }
            if key.block == 0 {
                all.push(String::from_utf16_lossy(&names::units(key.name).collect::<Vec<u16>>()));
            }
            cursor.advance();
        }
        Ok(all)
    }

    /// The value of an attribute with this stored name.
    pub(super) fn value(&self, file: u32, name: &[u8]) -> Result<Option<Vec<u8>>> {
        let key = AttributesKey { file, block: 0, name }.encode();
        let Some(cursor) = self.tree.get(&key)? else { return Ok(None) };
        let place = cursor.place();
        let (_, record) = cursor.record()?;
        match decode("attribute record", place, record, |r| AttributeRecord::decode(r.rest()))? {
            AttributeRecord::Inline(value) => Ok(Some(value.to_vec())),
            AttributeRecord::Fork(fork) if fork.size > MAX_VALUE => {
                Err(Error::NotSupported(format!("an attribute of {} bytes", fork.size)))
            }
            AttributeRecord::Fork(fork) => self.in_blocks(file, name, &fork, place).map(Some),
            AttributeRecord::Extension(_) => {
                Err(Error::damaged("attribute record", place, "it has extents, but no beginning"))
            }
        }
    }

    /// A value in blocks of the volume. Its further extents are in the attributes file, too.
    fn in_blocks(&self, file: u32, name: &[u8], fork: &ForkData, place: u64) -> Result<Vec<u8>> {
        let mut value = vec![0; fork.size as usize];
        let (mut filled, mut block, mut extents) = (0, 0u32, fork.extents);
        loop {
            for extent in extents.iter().filter(|extent| extent.count > 0) {
                let end = extent.start.checked_add(extent.count);
                if end.is_none_or(|end| end > self.disk.blocks) {
                    return Err(Error::damaged(
                        "attribute record",
                        place,
                        "an extent ends beyond the volume",
                    ));
                }
                let bytes = u64::from(extent.count) * self.disk.block;
                let count = (value.len() - filled).min(usize::try_from(bytes).unwrap_or(usize::MAX));
                let start = u64::from(extent.start) * self.disk.block;
                self.disk.bytes.read_at(start, &mut value[filled..filled + count])?;
                filled += count;
                block = block.saturating_add(extent.count);
            }
            if filled == value.len() {
                return Ok(value);
            }
            let missing = || Error::damaged("attribute record", place, "its extents are too short");
            let next = self.tree.get(&AttributesKey { file, block, name }.encode())?;
            let next = next.filter(|_| block > 0).ok_or_else(missing)?;
            let (_, record) = next.record()?;
            let record =
                decode("attribute record", next.place(), record, |r| AttributeRecord::decode(r.rest()))?;
            match record {
                AttributeRecord::Extension(further) if further[0].count > 0 => extents = further,
                _ => return Err(missing()),
            }
        }
    }
}
