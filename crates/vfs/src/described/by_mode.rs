//! Files that are read-only by their mode: no class of users has the right to write. Clients of SMB
//! and AFP are shown such a file as read-only and locked, if the volume says so
//! (`read-only-by-mode`). Nothing of this is stored: the read-only attribute and a Mac's lock are in
//! the metadata, and the mode is the host's.

use crate::acl::{STORED_ACL, StoredAcl};
use crate::mac::{DosAttributes, FileBits, Metadata};
use crate::{Attributes, Kind, Result};

/// The rights of all classes of users to write.
pub(crate) const WRITE_BITS: u32 = 0o222;

/// Whether the mode of a file has no right to write. A stored ACL that applies comes before the mode.
pub(crate) fn locks(
    attributes: &Attributes,
    read: &dyn Fn(&[u8]) -> Result<Vec<u8>>,
    names: &[Vec<u8>],
) -> bool {
    let by_acl = || {
        names.iter().any(|name| name == STORED_ACL)
            && read(STORED_ACL).is_ok_and(|value| StoredAcl::would_apply(&value, attributes))
    };
    attributes.kind == Kind::File && attributes.mode & WRITE_BITS == 0 && !by_acl()
}

/// The DOS attributes that clients are shown: a file that something else locks is read-only.
pub(crate) fn shown_dos(dos: DosAttributes, is_locked: bool) -> DosAttributes {
    if is_locked { dos | DosAttributes::READONLY } else { dos }
}

/// What a client has made of the metadata that it was shown, for a file that its mode locks.
pub(super) struct MetadataUpdate {
    /// What to store.
    pub(super) metadata: Metadata,
    /// The file becomes writable: its mode has to change.
    pub(super) unlocks: bool,
}

/// Takes out of `after` what only the mode said: `before` is what is stored.
pub(super) fn without_mode(before: &Metadata, mut after: Metadata) -> MetadataUpdate {
    let unlocks = !after.is_readonly();
    if !unlocks && !before.is_readonly() {
        after.dos.set(DosAttributes::READONLY, false);
        after.bits = after.bits.difference(FileBits::LOCKED) | (before.bits & FileBits::LOCKED);
    }
    MetadataUpdate { metadata: after, unlocks }
}
