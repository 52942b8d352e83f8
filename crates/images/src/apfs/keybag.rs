//! Keybags: where wrapped keys are ("Encryption", media_keybag_t).

use wire::{Malformed, Reader};

use super::blocks::{Blocks, damaged};
use super::object::{Decoded, HEADER_LEN, Header};
use super::superblock::BlockRun;
use super::xts::Xts;
use crate::{Error, Result};

/// How many blocks a keybag may have. One holds the keys of 25 volumes or people.
const MOST_BLOCKS: u64 = 16;
/// The types of the objects: `keys` and `recs`.
pub(super) const OF_CONTAINER: u32 = 0x6b65_7973;
pub(super) const OF_VOLUME: u32 = 0x7265_6373;

/// "Keybag Entry Types".
pub(super) mod tag {
    pub(in super::super) const VOLUME_KEY: u16 = 2;
    pub(in super::super) const UNLOCK_RECORDS: u16 = 3;
}

/// An entry (keybag_entry_t).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) uuid: [u8; 16],
    pub(super) tag: u16,
    pub(super) data: Vec<u8>,
}

/// Reads a keybag. Its key is the UUID of the container or of the volume that has it.
pub(super) fn read(blocks: &Blocks, at: BlockRun, kind: u32, uuid: &[u8; 16]) -> Result<Vec<Entry>> {
    let structure = if kind == OF_CONTAINER { "keybag of the container" } else { "keybag of a volume" };
    if at.count == 0 || at.count > MOST_BLOCKS {
        return Err(damaged(structure, blocks.place(at.first), format!("it has {} blocks", at.count)));
    }
    let mut bytes = blocks.read(at.first, at.count as usize, structure)?;
    // A Mac with a T2 chip leaves it unencrypted.
    if Header::decode(&mut Reader::new(&bytes)).is_ok_and(|header| header.kind != kind) {
        let xts = Xts::new(uuid, uuid).ok_or_else(|| Error::NotSupported("this keybag".into()))?;
        xts.decrypt(&mut bytes, Xts::units(at.first, blocks.size));
    }
    let object = blocks.verified(bytes, at.first, structure)?;
    if object.header.kind != kind {
        return Err(damaged(structure, blocks.place(at.first), "another object is in its place"));
    }
    entries(&object.bytes).map_err(|malformed| damaged(structure, blocks.place(at.first), malformed.0))
}

/// The entries of a keybag (kb_locker_t); each begins at a multiple of 16.
fn entries(bytes: &[u8]) -> Decoded<Vec<Entry>> {
    let mut r = Reader::new(bytes);
    r.skip(HEADER_LEN)?;
    let (version, count) = (r.u16_le()?, r.u16_le()?);
    r.skip(4 + 8)?; // bytes of the keybag, padding
    if version != 2 {
        return Err(Malformed("its version is not 2"));
    }
    let mut all = Vec::new();
    for _ in 0..count {
        let (uuid, tag, length) = (r.array()?, r.u16_le()?, usize::from(r.u16_le()?));
        r.skip(4)?;
        let data = r.take(length)?.to_vec();
        r.skip((r.position().next_multiple_of(16) - r.position()).min(r.remaining()))?;
        all.push(Entry { uuid, tag, data });
    }
    Ok(all)
}
