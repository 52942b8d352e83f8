//! The numbers of file systems: each server has its own number for a mounted file system, and the
//! cluster has one number for all of them.

use std::collections::HashMap;

use coherence::events::ChangeKind;
use coherence::state::ChangeNotice;
use formats::FileId;
use lock::RwLock;

use crate::ranks;

/// The file systems that are shared.
#[derive(Default)]
pub struct Trees {
    known: RwLock<TreeNumbers, ranks::ClusterTrees>,
}

#[derive(Default)]
struct TreeNumbers {
    /// The number of this server, and that of the cluster.
    out: HashMap<u32, u32>,
    back: HashMap<u32, u32>,
}

impl Trees {
    /// The file system with this number here has that number in the cluster.
    pub fn add(&self, here: u32, there: u32) {
        let mut known = self.known.write();
        known.out.insert(here, there);
        known.back.insert(there, here);
    }

    /// The number in the cluster of a file system here.
    pub fn number(&self, here: u32) -> Option<u32> {
        self.known.read().out.get(&here).copied()
    }

    /// A file with its number in the cluster.
    pub(crate) fn out(&self, file: FileId) -> Option<FileId> {
        self.known.read().out.get(&file.device).map(|device| FileId::new(*device, file.inode))
    }

    /// A file with its number here.
    pub(crate) fn back(&self, file: FileId) -> Option<FileId> {
        self.known.read().back.get(&file.device).map(|device| FileId::new(*device, file.inode))
    }

    pub(crate) fn told_out(&self, told: ChangeNotice) -> Option<ChangeNotice> {
        map_told(told, |file| self.out(file))
    }

    pub(crate) fn told_back(&self, told: ChangeNotice) -> Option<ChangeNotice> {
        map_told(told, |file| self.back(file))
    }
}

fn map_told(mut told: ChangeNotice, map: impl Fn(FileId) -> Option<FileId>) -> Option<ChangeNotice> {
    told.change.folder = map(told.change.folder)?;
    told.change.file = told.change.file.and_then(&map);
    if let ChangeKind::Renamed { old_folder, .. } = &mut told.change.what {
        *old_folder = map(*old_folder)?;
    }
    Some(told)
}
