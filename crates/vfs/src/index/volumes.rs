//! The identity that each share keeps for ever.

use std::collections::HashSet;

use redb::ReadableTable;

use super::IndexError;
use super::store::{DatabaseStore, VOLUMES};

/// The longest share name, in bytes.
pub const VOLUME_NAME_MAX: usize = 1024;

/// A volume's identity: random, made when its share name is first seen, kept for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VolumeIdentity {
    /// For uses that have room for 16 bytes.
    pub id: [u8; 16],
    /// For uses that have room for four bytes only: unique in this index and never 0. The first
    /// four bytes of `id`, big endian.
    pub tag: VolumeTag,
}

/// A volume's short name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VolumeTag(pub u32);

impl VolumeIdentity {
    fn new(id: [u8; 16]) -> Self {
        Self { id, tag: tag_of(&id) }
    }
}

/// The volumes of these share names, in their order. Those that are new are made in one transaction; all are on the disk on return.
pub(super) fn volumes(
    store: &DatabaseStore,
    names: &[&str],
    random: fn() -> [u8; 16],
) -> Result<Vec<VolumeIdentity>, IndexError> {
    if names.iter().any(|name| name.len() > VOLUME_NAME_MAX) {
        return Err(IndexError::TooLong);
    }
    let known = store.read(|transaction| {
        let volumes = transaction.open_table(VOLUMES)?;
        let known = |name: &&str| Ok(volumes.get(*name)?.map(|id| VolumeIdentity::new(id.value())));
        names.iter().map(known).collect::<Result<Option<Vec<_>>, redb::Error>>()
    })?;
    if let Some(volumes) = known {
        return Ok(volumes);
    }
    store.write(|transaction| {
        let mut volumes = transaction.open_table(VOLUMES)?;
        let mut taken = HashSet::from([VolumeTag(0)]);
        for row in volumes.iter()? {
            taken.insert(tag_of(&row?.1.value()));
        }
        let mut all = Vec::with_capacity(names.len());
        for name in names {
            let known = volumes.get(*name)?.map(|id| VolumeIdentity::new(id.value())); // another thread may have been first
            let volume = known.unwrap_or_else(|| VolumeIdentity::new(with_free_tag(&taken, random())));
            if taken.insert(volume.tag) {
                volumes.insert(*name, volume.id)?;
            }
            all.push(volume);
        }
        Ok(all)
    })
}

/// The id, its first four bytes counted up until no volume has them.
fn with_free_tag(taken: &HashSet<VolumeTag>, mut id: [u8; 16]) -> [u8; 16] {
    while taken.contains(&tag_of(&id)) {
        let next = tag_of(&id).0.wrapping_add(1).to_be_bytes();
        id[..4].copy_from_slice(&next);
    }
    id
}

fn tag_of(id: &[u8; 16]) -> VolumeTag {
    VolumeTag(u32::from_be_bytes([id[0], id[1], id[2], id[3]]))
}
