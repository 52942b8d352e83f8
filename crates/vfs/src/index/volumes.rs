//! The identity that each share keeps for ever.

use redb::{ReadableTable, Table};

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

/// The volume of this share name, on the disk on return.
pub(super) fn volume(
    store: &DatabaseStore,
    name: &str,
    random: fn() -> [u8; 16],
) -> Result<VolumeIdentity, IndexError> {
    if name.len() > VOLUME_NAME_MAX {
        return Err(IndexError::TooLong);
    }
    let known = store.read(|transaction| {
        let row = transaction.open_table(VOLUMES)?.get(name)?;
        Ok(row.map(|id| VolumeIdentity::new(id.value())))
    })?;
    if let Some(volume) = known {
        return Ok(volume);
    }
    store.write(|transaction| {
        let mut volumes = transaction.open_table(VOLUMES)?;
        if let Some(id) = volumes.get(name)? {
            return Ok(VolumeIdentity::new(id.value())); // another thread was first
        }
        let volume = VolumeIdentity::new(with_free_tag(&volumes, random())?);
        volumes.insert(name, volume.id)?;
        Ok(volume)
    })
}

/// The id, its first four bytes counted up until no volume has them.
fn with_free_tag(volumes: &Table<'_, &str, [u8; 16]>, mut id: [u8; 16]) -> Result<[u8; 16], redb::Error> {
    let mut taken = vec![VolumeTag(0)];
    for row in volumes.iter()? {
        taken.push(tag_of(&row?.1.value()));
    }
    while taken.contains(&tag_of(&id)) {
        let next = tag_of(&id).0.wrapping_add(1).to_be_bytes();
        id[..4].copy_from_slice(&next);
    }
    Ok(id)
}

fn tag_of(id: &[u8; 16]) -> VolumeTag {
    VolumeTag(u32::from_be_bytes([id[0], id[1], id[2], id[3]]))
}
