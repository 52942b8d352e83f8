//! A tree connection: a share as one session has it.

use std::sync::Arc;

use auth::Grant;
use vfs::Volume;
use vfs::names::{Folding, Hiding};

use crate::server::config::{Share, ShareKind};
use crate::wire::Status;

/// A session's connection to a share.
pub(in crate::server) struct Tree {
    /// Its number, of its session.
    pub(in crate::server) id: u32,
    /// Its share.
    pub(in crate::server) share: Arc<Share>,
    /// Whether its user may only read. Otherwise its maximal access is `FILE_ALL_ACCESS`.
    pub(in crate::server) read_only: bool,
    /// Names that its listings hide.
    pub(in crate::server) hiding: Arc<Hiding>,
    /// Requests must be encrypted.
    pub(in crate::server) require_encryption: bool,
}

impl Tree {
    pub(in crate::server) fn new(id: u32, share: Arc<Share>, grant: Grant) -> Self {
        let (read_only, require_encryption) = (grant == Grant::ReadOnly, share.options.require_encryption);
        let hiding = {
            let options = &share.options;
            Arc::new(Hiding::new(&options.hide, &options.show, options.case_sensitive))
        };
        Self { id, share, read_only, hiding, require_encryption }
    }

    /// How names are compared.
    pub(in crate::server) fn folding(&self) -> Folding {
        self.share.folding()
    }

    /// The same for an open. With the POSIX extensions names that differ in case are different names.
    pub(in crate::server) fn folding_of(&self, is_posix: bool) -> Folding {
        let folding = self.folding();
        Folding { case_sensitive: folding.case_sensitive || is_posix, ..folding }
    }

    /// The volume. An error for `IPC$`.
    pub(in crate::server) fn volume(&self) -> Result<&Arc<Volume>, Status> {
        match &self.share.kind {
            ShareKind::Disk { volume, .. } => Ok(volume),
            ShareKind::Pipes => Err(Status::INVALID_DEVICE_REQUEST),
        }
    }

    /// The path of an open file from the share's folder, with a backslash in front of each name.
    pub(in crate::server) fn path_of(&self, open: &vfs::Open) -> Result<Vec<u16>, Status> {
        let Some((folder, name)) = open.place() else { return Ok(vec![u16::from(b'\\')]) };
        let path = self.volume()?.path_of(&folder)?;
        let mut units = Vec::new();
        for name in path.iter().map(|name| &name[..]).chain([&name[..]]) {
            units.push(u16::from(b'\\'));
            units.extend(self.share.shown(name));
        }
        Ok(units)
    }
}
