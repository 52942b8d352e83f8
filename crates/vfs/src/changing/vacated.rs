//! Names that clients have moved files with Mac metadata away from: a file that gets one of them soon after may be a new version
//! (`safe_save.rs`).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lock::Mutex;

use crate::backend::Node;
use crate::names::one_form;
use crate::ranks;
use crate::{FileId, HostKey};

/// How long a name is remembered that a client has moved a file away from: as long as Windows does.
const REMEMBERED: Duration = Duration::from_secs(15);
/// How many such names are remembered.
const MOST_NAMES: usize = 256;

/// Names that files with Mac metadata were moved away from a short time ago.
#[derive(Default)]
pub(crate) struct VacatedNameTable {
    count: AtomicUsize,
    names: Mutex<VecDeque<VacatedName>, ranks::VacatedNames>,
}

/// A name, and the file that had it.
pub(super) struct VacatedName {
    pub(super) folder: FileId,
    /// In the form that all its forms share.
    pub(super) name: Box<[u8]>,
    pub(super) file: HostKey,
    /// Where the file went to.
    pub(super) now: (Node, Box<[u8]>),
    pub(super) when: Instant,
}

impl VacatedNameTable {
    /// Whether no name is remembered.
    pub(super) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    pub(super) fn remember(&self, left: VacatedName) {
        let mut names = self.names.lock();
        names.retain(|known| known.when.elapsed() < REMEMBERED && !known.is_at(left.folder, &left.name));
        names.truncate(MOST_NAMES - 1);
        names.push_front(left);
        self.count.store(names.len(), Ordering::Release);
    }

    /// The file that had this name, which is then forgotten.
    pub(super) fn take(&self, folder: FileId, name: &[u8]) -> Option<VacatedName> {
        if self.is_empty() {
            return None;
        }
        let (mut names, name) = (self.names.lock(), one_form(name));
        names.retain(|known| known.when.elapsed() < REMEMBERED);
        let index = names.iter().position(|known| known.is_at(folder, &name));
        let left = index.and_then(|index| names.remove(index));
        self.count.store(names.len(), Ordering::Release);
        left
    }
}

impl VacatedName {
    fn is_at(&self, folder: FileId, name: &[u8]) -> bool {
        self.folder == folder && *self.name == *name
    }
}
