//! The keys of files, by which forks, streams and sidecars in the server's own layout name their file
//! (docs/on-disk-format.md). A copy of a file has another key.

use std::path::{Path, PathBuf};

use vfs::backend::Backend;
use vfs::backend::host::{Host, HostOptions, KeptFiles};
use vfs::{Caller, HostKey};
use wire::hex;

use crate::failure::{Failure, Result, shown};

/// The server's own folder with forks and streams.
pub(crate) const STORE: &[u8] = vfs::streams::STORE;
/// On a sidecar: the key of its file.
pub(crate) const OWNER: &[u8] = b"user.fourfold.owner";
/// On a file: the place of its sidecar, if that is not beside it.
pub(crate) const MOVING: &[u8] = b"user.fourfold.moving";
/// On a file: the key of the sidecar that a client wrote as a file.
pub(crate) const SIDECAR: &[u8] = b"user.fourfold.sidecar";

/// The beginning of the attributes by which XFS shows its ACLs a second time.
pub(crate) const ACL_OF_XFS: &[u8] = b"trusted.SGI_ACL_";

/// The keys of the files of one tree.
pub(crate) struct TreeKeys {
    host: Host,
    path: PathBuf,
}

impl TreeKeys {
    /// Of a live tree, or of a snapshot of one.
    pub(crate) fn open(path: &Path, live: Option<&Path>) -> Result<Self> {
        let failed = |why| Failure::Key { path: path.to_owned(), why };
        let snapshot_of = match live {
            None => None,
            Some(live) => Some(Self::open(live, None)?.root()?),
        };
        let options = HostOptions {
            open_files: KeptFiles::new(16),
            cross_mounts: false,
            snapshot_of,
            ..HostOptions::default()
        };
        Ok(Self { host: Host::open(path, &options).map_err(failed)?, path: path.to_owned() })
    }

    fn root(&self) -> Result<HostKey> {
        let failed = |why| Failure::Key { path: self.path.clone(), why };
        Ok(self.host.root().map_err(failed)?.object.key())
    }

    /// The identity of the tree, which stays over renames and restarts.
    pub(crate) fn identity(&self) -> Result<Vec<u8>> {
        let failed = |why| Failure::Key { path: self.path.clone(), why };
        Ok(self.host.lasting_key(&self.root()?).map_err(failed)?.to_bytes())
    }

    /// The key of a file.
    pub(crate) fn key(&self, path: &[u8]) -> Result<Vec<u8>> {
        let failed = |why| Failure::Key { path: self.path.join(shown(path)), why };
        let root = self.host.root().map_err(failed)?.object;
        if path.is_empty() {
            return Ok(root.key().as_bytes().to_vec());
        }
        let names: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
        let found = root.lookup_path(&Caller::root(), &names).map_err(failed)?;
        Ok(found.object.key().as_bytes().to_vec())
    }

    /// The path of the folder with the forks of a file.
    pub(crate) fn fork_folder(&self, path: &[u8]) -> Result<Vec<u8>> {
        Ok([STORE, b"/", hex::encode(&self.key(path)?).as_bytes()].concat())
    }

    /// The inode number of the file with a key; `None`: there is no such file.
    pub(crate) fn inode(&self, key: &[u8]) -> Option<u64> {
        let found = self.host.by_key(&HostKey::new(key)?).ok()?;
        Some(found.object.id().inode)
    }
}
