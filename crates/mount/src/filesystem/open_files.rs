//! Requests about open files.

use client::{DataTransfer, Error, OpenFileId, OpenIntent};
use fuser::{Errno, FileHandle};

use super::forks::open as open_by;
use super::{Answer, Tree};
use crate::answers::errno;

impl Tree {
    /// Does something with an open file that may be done twice. A file of a session that was lost is opened again by its name.
    pub(super) fn with_file<T>(
        &self,
        handle: FileHandle,
        mut act: impl FnMut(&mut dyn client::tree::Tree, OpenFileId) -> client::Result<T>,
    ) -> Answer<T> {
        let open = self.files.lock().get(handle.0).ok_or(Errno::EBADF)?;
        let done = self.sessions.on(open.slot, 2, |lent| {
            let known = self.files.lock().get(handle.0).map(|file| file.open);
            let file = match known {
                Some((generation, file)) if generation == lent.generation => file,
                _ => {
                    let path = self.nodes.lock().path(open.node);
                    let path = path.ok_or_else(|| Error::Missing("a file that was removed".into()))?;
                    let how = if open.how == OpenIntent::Create { OpenIntent::Write } else { open.how };
                    let file = open_by(lent.tree, &path, how)?;
                    self.files.lock().opened(handle.0, (lent.generation, file));
                    file
                }
            };
            act(lent.tree, file)
        });
        done.map_err(|error| errno(&error))
    }

    pub(super) fn written(&self, handle: FileHandle, offset: u64, data: &[u8]) -> Answer<u32> {
        let fork = self.files.lock().fork_of(handle.0);
        match fork {
            Some(node) if self.files.lock().write_fork(node, offset, data) => {}
            Some(_) => return Err(Errno::EFBIG),
            None => self.with_file(handle, |tree, file| write_all(tree, file, offset, data))?,
        }
        u32::try_from(data.len()).map_err(|_| Errno::EINVAL)
    }

    pub(super) fn read_at(&self, handle: FileHandle, offset: u64, size: u32) -> Answer<Vec<u8>> {
        if let Some(bytes) = self.read_in_memory(handle, offset, size) {
            return Ok(bytes);
        }
        self.with_file(handle, |tree, file| {
            let mut all = Vec::new();
            while all.len() < size as usize {
                let piece = tree.read(file, offset + all.len() as u64, size as usize - all.len())?;
                match all.is_empty() {
                    _ if piece.is_empty() => break,
                    true => all = piece,
                    false => all.extend(piece),
                }
            }
            Ok(all)
        })
    }

    fn read_in_memory(&self, handle: FileHandle, offset: u64, size: u32) -> Option<Vec<u8>> {
        let files = self.files.lock();
        let bytes = files.fork(files.fork_of(handle.0)?)?;
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let to = from.saturating_add(size as usize).min(bytes.len());
        Some(bytes[from..to].to_vec())
    }

    /// Closes a file. The handle counts as open until the server has closed it: a server of AFP removes no file that is open.
    pub(super) fn released(&self, handle: FileHandle) {
        let Some(file) = self.files.lock().get(handle.0) else {
            if let Err(error) = self.saved(handle) {
                let why = std::io::Error::from_raw_os_error(error.code());
                tracing::warn!("a resource fork could not be written: {why}");
            }
            return self.files.lock().take(handle.0);
        };
        let closed = self.sessions.on(file.slot, 1, |lent| {
            match self.files.lock().get(handle.0).map(|file| file.open) {
                Some((generation, open)) if generation == lent.generation => lent.tree.close(open),
                _ => Ok(()), // it was closed with its session
            }
        });
        if let Err(error) = closed {
            tracing::warn!("a file could not be closed: {error}");
        }
        let hidden = {
            let mut files = self.files.lock();
            files.take(handle.0);
            files.unhide(file.node)
        };
        if let Some(path) = hidden {
            self.remove_hidden(&path);
        }
    }
}

/// Writes all bytes, as many transfers in flight as the protocol allows.
fn write_all(
    tree: &mut dyn client::tree::Tree,
    file: OpenFileId,
    offset: u64,
    data: &[u8],
) -> client::Result<()> {
    let largest = tree.largest();
    let (mut in_flight, mut failed) = (0, None);
    for (number, data) in data.chunks(largest).enumerate() {
        let offset = offset + (number * largest) as u64;
        match tree.start(file, DataTransfer::Write { offset, data, stable: false }) {
            Ok(_) => in_flight += 1,
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    for _ in 0..in_flight {
        if let Err(error) = tree.finish() {
            let is_lost = error.ends_session();
            failed.get_or_insert(error);
            if is_lost {
                break;
            }
        }
    }
    failed.map_or(Ok(()), Err)
}
