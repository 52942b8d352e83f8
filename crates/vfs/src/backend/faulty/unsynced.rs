//! The writes that a power cut would lose.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::backend::{Object, Stability};
use crate::{Attributes, Caller, HostKey, Result, SetAttributes, SetTime};

/// Where, and what.
type Write = (u64, Vec<u8>);

/// Writes that are not on the disk, by file, in the order they came.
#[derive(Default)]
pub(super) struct UnsyncedWrites {
    files: Mutex<HashMap<HostKey, Vec<Write>>>,
}

impl UnsyncedWrites {
    pub(super) fn lose(&self) {
        self.files.lock().clear();
    }

    pub(super) fn keys(&self) -> Vec<HostKey> {
        self.files.lock().keys().copied().collect()
    }

    pub(super) fn has(&self, key: &HostKey) -> bool {
        self.files.lock().contains_key(key)
    }

    pub(super) fn write(&self, key: HostKey, offset: u64, data: &[u8]) {
        if !data.is_empty() {
            self.files.lock().entry(key).or_default().push((offset, data.to_vec()));
        }
    }

    /// Forgets what lies beyond the new end of a file.
    pub(super) fn truncate(&self, key: &HostKey, size: u64) {
        if let Some(writes) = self.files.lock().get_mut(key) {
            writes.retain(|(offset, _)| *offset < size);
            for (offset, data) in writes {
                data.truncate(usize::try_from(size - *offset).unwrap_or(usize::MAX));
            }
        }
    }

    /// Makes attributes those of the file with its unsynced writes.
    pub(super) fn cover(&self, key: &HostKey, attributes: &mut Attributes) {
        attributes.size = attributes.size.max(self.end(key));
    }

    fn end(&self, key: &HostKey) -> u64 {
        let files = self.files.lock();
        let writes = files.get(key).map(Vec::as_slice).unwrap_or_default();
        writes.iter().map(|(offset, data)| offset + data.len() as u64).max().unwrap_or(0)
    }

    /// Lays the unsynced bytes over `into[from..]`, which are those at `offset` on the disk, cut at its end there.
    pub(super) fn read(&self, key: &HostKey, offset: u64, length: usize, from: usize, into: &mut Vec<u8>) {
        let wanted = self.end(key).saturating_sub(offset).min(length as u64) as usize;
        if into.len() - from < wanted {
            into.resize(from + wanted, 0);
        }
        let end = offset + (into.len() - from) as u64;
        let files = self.files.lock();
        for (at, data) in files.get(key).into_iter().flatten() {
            let (start, stop) = ((*at).max(offset), (at + data.len() as u64).min(end));
            if start < stop {
                let place = from + (start - offset) as usize..from + (stop - offset) as usize;
                into[place].copy_from_slice(&data[(start - at) as usize..(stop - at) as usize]);
            }
        }
    }

    /// The first unsynced byte at or after `offset`.
    pub(super) fn first_data(&self, key: &HostKey, offset: u64) -> Option<u64> {
        let files = self.files.lock();
        let behind = files.get(key)?.iter().filter(|(at, data)| at + data.len() as u64 > offset);
        behind.map(|(at, _)| (*at).max(offset)).min()
    }

    /// Puts a file's writes on the disk. What fails stays. The time of change is that of the writes, or was set after them.
    pub(super) fn flush(&self, object: &dyn Object) -> Result<()> {
        let Some(writes) = self.files.lock().get(&object.key()).cloned() else { return Ok(()) };
        let modified = SetTime::To(object.attributes()?.modified);
        for (offset, data) in &writes {
            object.write_at(&Caller::root(), *offset, data, Stability::Unstable)?;
        }
        object.set_attributes(&Caller::root(), &SetAttributes { modified, ..SetAttributes::default() })?;
        self.files.lock().remove(&object.key());
        Ok(())
    }
}
