//! The names that are the server's own in every share. No client sees or reaches them, over any protocol.

use super::{Folding, folds_alike};
use crate::mac::layout::SIDECAR_PREFIX;
use crate::{Error, Result};

/// One of the server's own folders at a share's root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnFolder {
    name: &'static [u8],
    /// What the server cannot do without it.
    pub missing: &'static str,
}

impl OwnFolder {
    /// Files that are served block by block.
    pub const LUNS: Self = Self { name: b".fourfold-luns", missing: "disks" };
    /// The snapshots of the share that engines without a place of their own keep.
    pub const SNAPSHOTS: Self = Self { name: b".fourfold-snapshots", missing: "snapshots" };
    /// What scrubs have taken away, and what may be the only copy of something.
    pub const LOST: Self = Self { name: b".fourfold-lost", missing: "repairs by `fourfold scrub`" };
    /// The ids of files that several servers of the tree share.
    pub const IDS: Self =
        Self { name: b".fourfold-ids", missing: "ids of files that are the same at all servers" };
    /// What backups of Macs were like before their sessions.
    pub const JOURNAL: Self =
        Self { name: b".fourfold-journal", missing: "the way back for backups of Macs" };
    /// The store of `streams`.
    pub const STORE: Self =
        Self { name: STORE, missing: "access control lists, and streams too large for the file system" };

    /// Its name in the share's folder.
    #[must_use]
    pub const fn name(self) -> &'static [u8] {
        self.name
    }
}

/// The folder at the root of a share or mount that has streams; never shown to clients. In it is a folder for each file that needs
/// one, named by the file's [`HostKey`](crate::HostKey) in hexadecimal.
pub const STORE: &[u8] = b".fourfold-streams";

/// Earlier versions kept a server's state in the current folder by default, and may have left it there.
const STATE: &[u8] = b".fourfold";

/// Names begin so that files have until they are finished.
pub const UNFINISHED: &[u8] = b".fourfold-new-";

/// Whether a name is reserved for the server itself, anywhere in a share. So is the name of such a folder in
/// other case, which a file system without case takes for the same, and the name of its sidecar.
#[must_use]
pub fn is_own_name(name: &[u8]) -> bool {
    let name = name.strip_prefix(SIDECAR_PREFIX).unwrap_or(name);
    // All reserved names begin so. This is checked for each name of each request.
    let [b'.', b'f' | b'F', ..] = name else { return false };
    if name.get(..UNFINISHED.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(UNFINISHED)) {
        return true;
    }
    let folders =
        [OwnFolder::LUNS, OwnFolder::SNAPSHOTS, OwnFolder::LOST, OwnFolder::IDS, OwnFolder::JOURNAL];
    let folders = folders.iter().map(|folder| folder.name);
    folders.chain([STORE, STATE]).any(|own| folds_alike(name, own, Folding::default()))
}

/// Fails for a name that is reserved for the server itself.
pub fn refuse_own(name: &[u8]) -> Result<()> {
    if is_own_name(name) { Err(Error::AccessDenied) } else { Ok(()) }
}
