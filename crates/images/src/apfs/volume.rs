//! A volume, or a snapshot of it: its trees ("Volumes", "Snapshot Metadata").

use std::sync::Arc;

use formats::Time;

use super::blocks::damaged;
use super::container::Container;
use super::cursor::{Placement, Tree};
use super::names::Comparison;
use super::object::kind;
use super::object_map::ObjectMap;
use super::records::{self, Key, SnapshotValue};
use super::volume_superblock::VolumeSuperblock;
use super::xts::Xts;
use crate::cache::Cache;
use crate::decmpfs::Compressed;
use crate::{Error, Result};

/// How many snapshots a volume may have. macOS makes at most some hundreds.
const MOST_SNAPSHOTS: usize = 1 << 16;

/// How many compressed files keep their chunks in memory.
const COMPRESSED_FILES: usize = 8;

/// A volume of a container as it is in the newest checkpoint, or was at a snapshot.
#[derive(Clone)]
pub struct Volume {
    pub(super) container: Container,
    pub(super) superblock: VolumeSuperblock,
    /// The block that the superblock is in.
    pub(super) block: u64,
    pub(super) key: Option<Arc<Xts>>,
    /// That of the volume, also in a snapshot.
    pub(super) map: Arc<ObjectMap>,
    pub(super) catalogue: Tree,
    /// The extents of files of a sealed volume. Else they are in the catalogue.
    pub(super) file_extents: Option<Tree>,
    pub(super) comparison: Comparison,
    /// Files that were decompressed lately, by their inode numbers.
    pub(super) compressed: Arc<Cache<u64, Arc<Compressed>>>,
}

/// A snapshot of a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotRecord {
    /// Its name, such as `com.apple.TimeMachine.2024-02-01-093000.backup`.
    pub name: String,
    /// When it was taken.
    pub taken: Time,
    pub(super) xid: u64,
    pub(super) superblock: u64,
    pub(super) extents: u64,
}

impl Volume {
    pub(super) fn open(
        container: Container,
        superblock: VolumeSuperblock,
        block: u64,
        key: Option<Arc<Xts>>,
    ) -> Result<Self> {
        let map = Arc::new(ObjectMap::open(&container.blocks, superblock.object_map)?);
        let xid = container.xid();
        Self::with_map(container, superblock, block, key, map, xid)
    }

    fn with_map(
        container: Container,
        superblock: VolumeSuperblock,
        block: u64,
        key: Option<Arc<Xts>>,
        map: Arc<ObjectMap>,
        xid: u64,
    ) -> Result<Self> {
        let blocks = &container.blocks;
        let placement = Placement::Virtual { map: Arc::clone(&map), xid, key: key.clone() };
        let root = superblock.catalogue;
        let catalogue = Tree::open(Arc::clone(blocks), "catalogue", kind::CATALOGUE, placement, root)?;
        let file_extents = (superblock.is_sealed()).then(|| {
            let root = superblock.file_extents;
            Tree::open(
                Arc::clone(blocks),
                "tree of file extents",
                kind::FILE_EXTENTS,
                Placement::Physical,
                root,
            )
        });
        let (file_extents, comparison) = (file_extents.transpose()?, superblock.comparison());
        let compressed = Arc::new(Cache::new(COMPRESSED_FILES));
        Ok(Self { container, superblock, block, key, map, catalogue, file_extents, comparison, compressed })
    }

    /// The snapshots, the oldest first.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`].
    pub fn snapshots(&self) -> Result<Vec<SnapshotRecord>> {
        let mut all = Vec::new();
        if self.superblock.snapshots == 0 {
            return Ok(all);
        }
        let tree = self.snapshot_tree()?;
        let mut cursor = tree.seek(&|_| Ok(std::cmp::Ordering::Greater))?;
        while let Some((key, value)) = cursor.entry()? {
            let key = Key::decode(key, Comparison::Exact).map_err(|malformed| cursor.damaged(malformed.0))?;
            if key.kind == records::kind::SNAPSHOT {
                let value = SnapshotValue::decode(value).map_err(|malformed| cursor.damaged(malformed.0))?;
                let taken = time(value.created);
                let (superblock, extents) = (value.superblock, value.extents);
                all.push(SnapshotRecord { name: value.name, taken, xid: key.oid, superblock, extents });
            }
            if all.len() > MOST_SNAPSHOTS {
                return Err(cursor.damaged("there are too many snapshots"));
            }
            cursor.advance()?;
        }
        Ok(all)
    }

    pub(super) fn snapshot_tree(&self) -> Result<Tree> {
        let blocks = Arc::clone(&self.container.blocks);
        Tree::open(
            blocks,
            "tree of snapshots",
            kind::SNAPSHOTS,
            Placement::Physical,
            self.superblock.snapshots,
        )
    }

    /// The volume as it was at a snapshot.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`], [`Error::NotSupported`].
    pub fn at_snapshot(&self, snapshot: &SnapshotRecord) -> Result<Self> {
        let what = format!("superblock of snapshot {}", snapshot.name);
        let blocks = &self.container.blocks;
        let object = blocks.physical(snapshot.superblock, kind::VOLUME, &what)?;
        let superblock = VolumeSuperblock::decode(&object.bytes)
            .map_err(|malformed| damaged(what, blocks.place(object.block), malformed.0))?;
        if superblock.unknown_features() != 0 {
            return Err(Error::NotSupported("this snapshot of an APFS volume".into()));
        }
        let (container, map) = (self.container.clone(), Arc::clone(&self.map));
        Self::with_map(container, superblock, object.block, self.key.clone(), map, snapshot.xid)
    }
}

/// A time of APFS: nanoseconds since 1970, before it if negative.
pub(super) fn time(nanoseconds: u64) -> Time {
    const SECOND: i64 = 1_000_000_000;
    let nanoseconds = nanoseconds.cast_signed();
    Time { secs: nanoseconds.div_euclid(SECOND), nanos: nanoseconds.rem_euclid(SECOND) as u32 }
}
