//! APFS, read-only: the container, its volumes and their snapshots, encrypted ones with their passphrase, and a check.
//!
//! Sections are those of Apple's "Apple File System Reference" (2020-06-22). Everything that has a checksum is verified
//! when it is read, so damage becomes an error here and not a wrong file.
//!
//! ```text
//! Container ─► Superblock of the newest checkpoint ─► ObjectMap ─► VolumeSuperblock ─► ObjectMap ─► catalogue (Tree)
//! ```

mod blocks;
mod btree;
mod check;
mod checkpoint;
mod container;
mod cursor;
mod files;
mod keybag;
mod names;
mod object;
mod object_map;
mod records;
mod streams;
mod superblock;
mod unlock;
mod volume;
mod volume_superblock;
mod xts;

use std::sync::Arc;

use crate::{Passphrase, ReadAt, Result, Snapshot};

pub use check::check;
pub use container::Container;
pub use volume::{SnapshotRecord, Volume};

/// Whether the bytes begin with an APFS container. [`volumes`] also opens a container whose first block is damaged.
#[must_use]
pub fn is_container(source: &dyn ReadAt) -> bool {
    superblock::read(source, 0).is_some()
}

/// The checksum of an object of APFS: what its first eight bytes should be. For tests that change objects.
#[must_use]
pub fn checksum(object: &[u8]) -> u64 {
    object::fletcher64(object)
}

/// The volumes of a container, those first that came first. A volume that cannot be opened is in the list all the same.
///
/// # Errors
///
/// [`crate::Error::Damaged`], [`crate::Error::NotSupported`] if the container as a whole cannot be read.
pub fn volumes(source: &Arc<dyn ReadAt>, passphrase: Option<&Passphrase>) -> Result<Vec<crate::Volume>> {
    let container = Container::open(Arc::clone(source))?;
    let opened = (0..container.volume_count()).map(|index| listed(&container, index, passphrase));
    Ok(opened.collect())
}

fn listed(container: &Container, index: usize, passphrase: Option<&Passphrase>) -> crate::Volume {
    let name = container.volume_name(index);
    let unknown = |error| crate::Volume {
        name: name.clone().unwrap_or_default(),
        format: "APFS".into(),
        files: Err(error),
        snapshots: Vec::new(),
    };
    let volume = match container.volume(index, passphrase) {
        Ok(volume) => Arc::new(volume),
        Err(error) => return unknown(error),
    };
    let records = match volume.snapshots() {
        Ok(records) => records,
        Err(error) => return unknown(error),
    };
    let snapshots = records.into_iter().map(|record| snapshot(&volume, record)).collect();
    crate::Volume {
        name: crate::tree::FileSystem::name(&*volume),
        format: crate::tree::FileSystem::format(&*volume),
        files: Ok(volume),
        snapshots,
    }
}

fn snapshot(volume: &Arc<Volume>, record: SnapshotRecord) -> Snapshot {
    let volume = Arc::clone(volume);
    let (name, taken) = (record.name.clone(), record.taken);
    Snapshot { name, taken, open: Arc::new(move || Ok(Arc::new(volume.at_snapshot(&record)?))) }
}
