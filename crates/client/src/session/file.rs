//! A local folder, by the host's calls. A transfer is done when it is started: the host's calls
//! block.

#[cfg(test)]
mod tests;
mod tree;

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, XattrFlags};

use super::{Abilities, Completion, DataTransfer, OpenFileId, OpenIntent, Session, Slots, Ticket, Traffic};
use crate::{Error, Result};

/// The longest extended attribute that is read.
const MAX_ATTRIBUTE: usize = 64 << 10;

pub use tree::keep;

pub(super) struct Local {
    /// The folder as the server sees it, for what files are besides their data: to read, and to write.
    kept: [Option<tree::ServedFolder>; 2],
    folder: PathBuf,
    files: Slots<File>,
    done: VecDeque<Completion>,
    next: u64,
    buffer: Vec<u8>,
}

impl Local {
    pub(super) fn open(folder: &str) -> Result<Self> {
        let folder = PathBuf::from(folder);
        if !folder.is_dir() {
            return Err(Error::Missing(format!("the folder {}", folder.display())));
        }
        Ok(Self {
            kept: [None, None],
            folder,
            files: Slots::default(),
            done: VecDeque::new(),
            next: 0,
            buffer: Vec::new(),
        })
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    fn transfer(&mut self, file: OpenFileId, transfer: DataTransfer<'_>) -> io::Result<Completion> {
        let open = self.files.get(file).map_err(io::Error::other)?;
        match transfer {
            DataTransfer::Read { offset, length } => {
                self.buffer.resize(length.max(self.buffer.len()), 0);
                let mut read = 0;
                while read < length {
                    match open.read_at(&mut self.buffer[read..length], offset + read as u64)? {
                        0 => break,
                        count => read += count,
                    }
                }
                Ok(Completion::read(self.next, &self.buffer[..read]))
            }
            DataTransfer::Write { offset, data, stable } => {
                open.write_all_at(data, offset)?;
                if stable {
                    open.sync_data()?;
                }
                Ok(Completion::wrote(self.next, data.len()))
            }
        }
    }
}

impl Session for Local {
    fn abilities(&self) -> Abilities {
        Abilities { files: true, locks: true, attributes: true, forks: false, pipelined: false }
    }

    fn largest(&self) -> usize {
        1 << 20
    }

    fn agreed(&self) -> String {
        "the host's calls; one transfer at a time, whatever the depth".into()
    }

    fn traffic(&self) -> Traffic {
        Traffic::default()
    }

    fn make_folder(&mut self, path: &str) -> Result<()> {
        fs::create_dir(self.at(path)).map_err(|error| said(&error, path))
    }

    fn remove_folder(&mut self, path: &str) -> Result<()> {
        fs::remove_dir(self.at(path)).map_err(|error| said(&error, path))
    }

    fn open(&mut self, path: &str, how: OpenIntent) -> Result<OpenFileId> {
        let mut options = OpenOptions::new();
        match how {
            OpenIntent::Create => options.read(true).write(true).create_new(true),
            OpenIntent::Private => options.read(true).write(true).create_new(true).mode(0o600),
            OpenIntent::Read => options.read(true),
            OpenIntent::Write => options.read(true).write(true),
        };
        let file = options.open(self.at(path)).map_err(|error| said(&error, path))?;
        Ok(self.files.put(file))
    }

    fn close(&mut self, file: OpenFileId) -> Result<()> {
        self.files.take(file).map(drop)
    }

    fn start(&mut self, file: OpenFileId, transfer: DataTransfer<'_>) -> Result<Ticket> {
        self.next += 1;
        let finished = self.transfer(file, transfer).map_err(|error| said(&error, "a file"))?;
        self.done.push_back(finished);
        Ok(finished.ticket)
    }

    fn finish(&mut self) -> Result<Completion> {
        self.done.pop_front().ok_or_else(|| Error::Other("no transfer is in flight".into()))
    }

    fn flush(&mut self, file: OpenFileId) -> Result<()> {
        self.files.get(file)?.sync_data().map_err(|error| said(&error, "a file"))
    }

    fn list(&mut self, folder: &str) -> Result<usize> {
        let mut count = 0;
        let entries = fs::read_dir(self.at(folder)).map_err(|error| said(&error, folder))?;
        for entry in entries {
            let entry = entry.and_then(|entry| entry.metadata());
            count += usize::from(entry.map_err(|error| said(&error, folder)).is_ok());
        }
        Ok(count)
    }

    fn stat(&mut self, path: &str) -> Result<u64> {
        Ok(fs::symlink_metadata(self.at(path)).map_err(|error| said(&error, path))?.len())
    }

    fn remove(&mut self, path: &str) -> Result<()> {
        fs::remove_file(self.at(path)).map_err(|error| said(&error, path))
    }

    /// The whole file: what all hosts have without unsafe calls.
    fn lock(&mut self, file: OpenFileId, _offset: u64, _length: u64, take: bool) -> Result<()> {
        let how = if take { FlockOperation::NonBlockingLockExclusive } else { FlockOperation::Unlock };
        let done = rustix::fs::flock(self.files.get(file)?, how);
        done.map_err(|error| said(&error.into(), "a lock"))
    }

    fn set_attribute(&mut self, path: &str, name: &str, value: &[u8]) -> Result<()> {
        let name = format!("user.{name}");
        rustix::fs::setxattr(self.at(path), name, value, XattrFlags::empty())
            .map_err(|error| said(&error.into(), path))
    }

    fn attribute(&mut self, path: &str, name: &str) -> Result<usize> {
        let mut value = vec![0; MAX_ATTRIBUTE];
        rustix::fs::getxattr(self.at(path), format!("user.{name}"), &mut value[..])
            .map_err(|error| said(&error.into(), path))
    }
}

/// Drops a file's clean pages from the host's page cache.
///
/// # Errors
/// Those of the host's calls.
pub fn evict(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    file.sync_all()?;
    Ok(rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?)
}

fn said(error: &io::Error, path: &str) -> Error {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::Full,
        io::ErrorKind::NotFound => Error::Missing(path.to_owned()),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            Error::Refused(format!("{path}: {error}"))
        }
        io::ErrorKind::Unsupported => Error::Unsupported("this operation of the file system"),
        _ => Error::Other(format!("{path}: {error}")),
    }
}
