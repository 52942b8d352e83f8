//! A container: its newest checkpoint, and the volumes in it ("Container").

use std::sync::Arc;

use wire::Reader;

use super::blocks::{Blocks, damaged};
use super::checkpoint::{self, Checkpoint};
use super::object::kind;
use super::object_map::ObjectMap;
use super::superblock;
use super::unlock::{self, RoundsLeft};
use super::volume::Volume;
use super::volume_superblock::{Encryption, VolumeSuperblock};
use crate::{Error, Passphrase, ReadAt, Result};

/// A container of volumes.
#[derive(Clone)]
pub struct Container {
    pub(super) blocks: Arc<Blocks>,
    pub(super) checkpoint: Arc<Checkpoint>,
    /// Why newer checkpoints than this one cannot be used.
    pub(super) skipped: Vec<Error>,
    pub(super) map: Arc<ObjectMap>,
    pub(super) rounds_left: Arc<RoundsLeft>,
}

impl Container {
    /// Opens the newest checkpoint that is whole.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`], [`Error::NotSupported`]; what the source says.
    pub fn open(source: Arc<dyn ReadAt>) -> Result<Self> {
        let first = superblock::read(&*source, 0).or_else(|| superblock::search(&*source));
        let first = first.ok_or_else(|| damaged("container superblock", 0, "there is none"))?;
        first.require_supported()?;
        let size = first.block_size as usize;
        let count = first.block_count.min(source.length() / size as u64);
        let blocks = Arc::new(Blocks::new(source, size, count));
        let (checkpoint, skipped) = checkpoint::newest(&blocks, &first)?;
        checkpoint.superblock.require_supported()?;
        let map = Arc::new(ObjectMap::open(&blocks, checkpoint.superblock.object_map)?);
        Ok(Self { blocks, checkpoint: Arc::new(checkpoint), skipped, map, rounds_left: Arc::default() })
    }

    /// How many volumes there are.
    #[must_use]
    pub fn volume_count(&self) -> usize {
        self.checkpoint.superblock.volumes.len()
    }

    /// The name of a volume, also of an encrypted one.
    pub fn volume_name(&self, index: usize) -> Result<String> {
        Ok(self.volume_superblock(index)?.0.name)
    }

    /// Opens a volume.
    ///
    /// # Errors
    ///
    /// [`Error::Passphrase`] if the volume is encrypted, and the passphrase is missing or wrong; [`Error::NotFound`] if
    /// there is no such volume; [`Error::Damaged`], [`Error::NotSupported`].
    pub fn volume(&self, index: usize, passphrase: Option<&Passphrase>) -> Result<Volume> {
        let (superblock, block) = self.volume_superblock(index)?;
        let key = match superblock.encryption() {
            Encryption::None => None,
            Encryption::OneKey => Some(unlock::volume_key(self, &superblock.uuid, passphrase)?),
            Encryption::KeyPerFile => {
                return Err(Error::NotSupported(
                    "an APFS volume with keys that only its Mac's hardware has".into(),
                ));
            }
        };
        Volume::open(self.clone(), superblock, block, key.map(Arc::new))
    }

    /// The superblock of a volume, and the block that it is in.
    pub(super) fn volume_superblock(&self, index: usize) -> Result<(VolumeSuperblock, u64)> {
        let oid = *self.checkpoint.superblock.volumes.get(index).ok_or(Error::NotFound)?;
        let what = format!("superblock of volume {}", index + 1);
        let (object, _) = self.map.object(oid, self.xid(), None, &what)?;
        let place = self.blocks.place(object.block);
        if object.header.object_type() != kind::VOLUME || object.header.oid != oid {
            return Err(damaged(what, place, "another object is in its place"));
        }
        let superblock = VolumeSuperblock::decode(&object.bytes);
        let superblock = superblock.map_err(|malformed| damaged(what, place, malformed.0))?;
        if superblock.unknown_features() != 0 {
            let features = superblock.unknown_features();
            return Err(Error::NotSupported(format!("an APFS volume with the features {features:#x}")));
        }
        Ok((superblock, object.block))
    }

    /// The transaction of the checkpoint.
    pub(super) fn xid(&self) -> u64 {
        self.checkpoint.superblock.header.xid
    }

    /// How many blocks are free, by the space manager; 0 if that cannot be read.
    pub(super) fn free_blocks(&self) -> u64 {
        let mapping = self.checkpoint.mapping(self.checkpoint.superblock.space_manager);
        let bytes = mapping.and_then(|mapping| self.blocks.read(mapping.block, 1, "space manager").ok());
        let free = |bytes: &[u8]| {
            let mut r = Reader::new(bytes);
            r.skip(48 + 24).ok()?; // to the free blocks of the first device
            r.u64_le().ok()
        };
        bytes.and_then(|bytes| free(&bytes)).unwrap_or(0)
    }
}
