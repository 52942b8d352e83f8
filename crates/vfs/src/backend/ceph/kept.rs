//! Files that are held between requests, and their open data with them.

use std::collections::HashMap;
use std::sync::Arc;

use lock::Mutex;

use super::object::CephObject;
use crate::HostKey;
use crate::ranks;

/// The most files of one volume. Each takes some 4 KiB in the client library.
const MOST: usize = 4096;

/// Objects by key.
#[derive(Default)]
pub(super) struct ObjectTable {
    files: Mutex<HashMap<HostKey, Entry>, ranks::HostFiles>,
}

struct Entry {
    object: Arc<CephObject>,
    /// Used since the last sweep.
    is_used: bool,
}

impl ObjectTable {
    pub(super) fn find(&self, key: &HostKey) -> Option<Arc<CephObject>> {
        let mut files = self.files.lock();
        let entry = files.get_mut(key)?;
        entry.is_used = true;
        Some(entry.object.clone())
    }

    /// The kept object of this key, or the new one from `make`, which is then kept, if there is room.
    pub(super) fn keep(&self, key: HostKey, make: impl FnOnce() -> CephObject) -> Arc<CephObject> {
        if let Some(object) = self.find(&key) {
            return object;
        }
        let object = Arc::new(make());
        let mut files = self.files.lock();
        let gone = if files.len() >= MOST { Self::sweep(&mut files) } else { Vec::new() };
        let kept = match files.len() < MOST {
            true => {
                let new = || Entry { object: object.clone(), is_used: true };
                files.entry(key).or_insert_with(new).object.clone()
            }
            false => object,
        };
        drop(files);
        drop(gone); // closes without the lock
        kept
    }

    pub(super) fn forget(&self, key: &HostKey) {
        let gone = self.files.lock().remove(key);
        drop(gone); // closes without the lock
    }

    pub(super) fn forget_idle(&self) {
        let gone = Self::sweep(&mut self.files.lock());
        drop(gone);
    }

    /// Takes away what was not used since the last time. What a client has open stays.
    fn sweep(files: &mut HashMap<HostKey, Entry>) -> Vec<Arc<CephObject>> {
        let is_idle =
            |entry: &mut Entry| !std::mem::take(&mut entry.is_used) && Arc::strong_count(&entry.object) == 1;
        files.extract_if(|_, entry| is_idle(entry)).map(|(_, entry)| entry.object).collect()
    }

    pub(super) fn clear(&self) {
        let all = std::mem::take(&mut *self.files.lock());
        drop(all);
    }
}
