//! The keys of the three B-trees, and their orders: TN1150, "Catalog File Keys", "Extents Overflow File", "Attributes File".

use std::cmp::Ordering;

use wire::Malformed;

use super::names::{compare_binary, compare_folded};

/// The order of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The folder, then the name.
    Catalogue {
        /// Whether names that differ in case are different.
        case_sensitive: bool,
    },
    /// The file, then the fork, then the first block.
    Extents,
    /// The file, then the name, then the first block.
    Attributes,
}

impl Order {
    /// Compares two keys, without their lengths.
    pub(super) fn compare(self, one: &[u8], other: &[u8]) -> Result<Ordering, Malformed> {
        Ok(match self {
            Self::Catalogue { case_sensitive } => {
                let (one, other) = (CatalogueKey::decode(one)?, CatalogueKey::decode(other)?);
                let names = if case_sensitive { compare_binary } else { compare_folded };
                one.parent.cmp(&other.parent).then_with(|| names(one.name, other.name))
            }
            Self::Extents => {
                let (one, other) = (ExtentsKey::decode(one)?, ExtentsKey::decode(other)?);
                one.place().cmp(&other.place())
            }
            Self::Attributes => {
                let (one, other) = (AttributesKey::decode(one)?, AttributesKey::decode(other)?);
                let names = || compare_binary(one.name, other.name);
                one.file.cmp(&other.file).then_with(names).then(one.block.cmp(&other.block))
            }
        })
    }
}

/// A key of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CatalogueKey<'a> {
    /// The folder; in a thread record, the file or folder itself.
    pub(super) parent: u32,
    /// Empty in a thread record.
    pub(super) name: &'a [u8],
}

impl<'a> CatalogueKey<'a> {
    pub(super) fn decode(key: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = wire::Reader::new(key);
        let (parent, length) = (r.u32_be()?, usize::from(r.u16_be()?));
        Ok(Self { parent, name: r.take(2 * length)? })
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut key = self.parent.to_be_bytes().to_vec();
        key.extend_from_slice(&((self.name.len() / 2) as u16).to_be_bytes());
        key.extend_from_slice(self.name);
        key
    }
}

/// A key of the extents overflow file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExtentsKey {
    pub(super) fork: u8,
    pub(super) file: u32,
    /// The first block of the fork that the record has.
    pub(super) block: u32,
}

impl ExtentsKey {
    pub(super) fn decode(key: &[u8]) -> Result<Self, Malformed> {
        let mut r = wire::Reader::new(key);
        let fork = r.u8()?;
        r.skip(1)?;
        Ok(Self { fork, file: r.u32_be()?, block: r.u32_be()? })
    }

    pub(super) fn encode(self) -> Vec<u8> {
        [&[self.fork, 0][..], &self.file.to_be_bytes(), &self.block.to_be_bytes()].concat()
    }

    fn place(self) -> (u32, u8, u32) {
        (self.file, self.fork, self.block)
    }
}

/// A key of the attributes file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AttributesKey<'a> {
    pub(super) file: u32,
    /// The first block of the value that the record has; 0 but for further extents.
    pub(super) block: u32,
    pub(super) name: &'a [u8],
}

impl<'a> AttributesKey<'a> {
    pub(super) fn decode(key: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = wire::Reader::new(key);
        r.skip(2)?;
        let (file, block, length) = (r.u32_be()?, r.u32_be()?, usize::from(r.u16_be()?));
        Ok(Self { file, block, name: r.take(2 * length)? })
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let length = (self.name.len() / 2) as u16;
        let numbers =
            [&[0, 0][..], &self.file.to_be_bytes(), &self.block.to_be_bytes(), &length.to_be_bytes()];
        [&numbers.concat(), self.name].concat()
    }
}
