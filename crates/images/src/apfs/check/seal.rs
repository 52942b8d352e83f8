//! The seal of a sealed volume: the hash of its catalogue's root ("Sealed Volumes", integrity_meta_phys_t). Hashes of the other
//! nodes are in the nodes above them.

use aws_lc_rs::digest::{SHA256, digest};
use wire::Reader;

use super::super::object::{Decoded, HEADER_LEN};
use super::super::volume::Volume;
use super::Check;
use crate::Result;

/// The flag of a volume that was changed after it had been sealed (APFS_SEAL_BROKEN).
const BROKEN: u32 = 1;
/// The only kind of hash that volumes are known to have (APFS_HASH_SHA256).
const IS_SHA256: u32 = 1;

impl Check<'_, '_> {
    /// Compares the hash of the catalogue's root.
    pub(super) fn seal(&mut self, volume: &Volume) -> Result<()> {
        let (xid, what) = (self.container.xid(), "seal of a volume");
        let object = volume.map.object(volume.superblock.integrity, xid, None, what);
        let Some((object, _)) = self.told(object)? else { return Ok(()) };
        match hash(&object.bytes) {
            Err(malformed) => self.problem(what, object.block, malformed.0),
            Ok(Some(stored)) if stored != digest(&SHA256, volume.catalogue.root.bytes()).as_ref() => {
                self.problem(what, object.block, "the hash of the catalogue's root is another one");
            }
            Ok(_) => {}
        }
        Ok(())
    }
}

/// The hash, if the seal is whole and of the kind that is known.
fn hash(bytes: &[u8]) -> Decoded<Option<&[u8]>> {
    let mut r = Reader::new(bytes);
    r.skip(HEADER_LEN + 4)?; // version
    let (flags, kind, place) = (r.u32_le()?, r.u32_le()?, r.u32_le()?);
    if flags & BROKEN != 0 || kind != IS_SHA256 {
        return Ok(None);
    }
    let mut r = Reader::new(bytes);
    r.skip(place as usize)?;
    r.take(32).map(Some)
}
