//! Requests about resource forks as files ([`crate::forks`]).

use client::metadata::{Aspect, Got, Value};
use client::tree::{Entry, Kind};
use client::{Error, FileId, How, Protocol};
use fuser::{Errno, INodeNo, OpenAccMode, OpenFlags};

use super::{Answer, Tree};
use crate::answers::errno;
use crate::files::OpenFile;
use crate::forks::{self, Place};

impl Tree {
    /// What is there by a path.
    pub(super) fn entry(&self, path: &str) -> Answer<Entry> {
        match forks::place(path) {
            Place::Tree(path) => self.entry_of_server(path),
            Place::Folder(folder) => {
                let entry = self.entry_of_server(folder)?;
                let is_folder = entry.kind == Kind::Folder;
                if is_folder { Ok(forks::folder("", &entry)) } else { Err(Errno::ENOTDIR) }
            }
            Place::File(file) => Ok(forks::folder("", &self.with_fork(&file)?)),
            Place::Fork(file) => {
                let entry = self.with_fork(&file)?;
                let length = self.sessions.repeat(|tree| {
                    let native = tree.native(&file);
                    tree.fork_length(&native)
                });
                Ok(forks::fork(&entry, length.map_err(|error| errno(&error))?))
            }
            Place::Nothing => Err(Errno::ENOENT),
        }
    }

    /// A file; only files have forks.
    fn with_fork(&self, path: &str) -> Answer<Entry> {
        match self.entry_of_server(path)? {
            entry if entry.kind == Kind::File => Ok(entry),
            _ => Err(Errno::ENOENT),
        }
    }

    /// The entries of a folder.
    pub(super) fn entries(&self, path: &str) -> Answer<Vec<Entry>> {
        match forks::place(path) {
            Place::Tree(path) => self.entries_of_server(path),
            Place::Folder(folder) => {
                let files =
                    self.entries_of_server(folder)?.into_iter().filter(|entry| entry.kind == Kind::File);
                Ok(files.map(|file| forks::folder(&file.name, &file)).collect())
            }
            Place::File(_) => Ok(vec![self.entry(&format!("{path}/{}", forks::RESOURCE_FORK))?]),
            Place::Fork(_) | Place::Nothing => Err(Errno::ENOTDIR),
        }
    }

    /// Opens a file, or a fork for reading.
    pub(super) fn opened(&self, number: INodeNo, flags: OpenFlags) -> Answer<u64> {
        let path = self.path(number)?;
        if !self.files.lock().has_room() {
            return Err(Errno::ENFILE);
        }
        let how = if flags.acc_mode() == OpenAccMode::O_RDONLY { How::Read } else { How::Write };
        let is_fork = forks::is_fixed(&path);
        if is_fork && how != How::Read {
            return Err(Errno::EROFS);
        }
        if is_fork && self.is_read_whole() {
            return self.fork_in_memory(&path);
        }
        let slot = self.sessions.next();
        let open = self.sessions.on(slot, 2, |lent| Ok((lent.generation, open(lent.tree, &path, how)?)));
        match open {
            Ok(open) => Ok(self.files.lock().put(OpenFile { node: number.0, slot, open, how })),
            // SMB has no stream of a fork that is empty.
            Err(Error::Missing(_)) if is_fork => self.fork_in_memory(&path),
            Err(error) => Err(errno(&error)),
        }
    }

    /// Over NFS a fork is a part of a file `._NAME`, or an attribute: there is nothing to open.
    fn is_read_whole(&self) -> bool {
        self.sessions.protocol() == Protocol::Nfs
    }

    fn fork_in_memory(&self, path: &str) -> Answer<u64> {
        let Place::Fork(file) = forks::place(path) else { return Err(Errno::EISDIR) };
        let found = self.sessions.repeat(|tree| {
            let native = tree.native(&file);
            tree.get(&native, Aspect::Fork)
        });
        let bytes = match found.map_err(|error| errno(&error))? {
            Got::Value(Value::Bytes(bytes)) => bytes,
            _ => Vec::new(),
        };
        self.files.lock().put_bytes(bytes).ok_or(Errno::ENFILE)
    }
}

/// Opens a file or a fork by its path here.
pub(super) fn open(tree: &mut dyn client::tree::Tree, path: &str, how: How) -> client::Result<FileId> {
    match forks::place(path) {
        Place::Fork(file) => tree.open_fork(&tree.native(&file), how),
        _ => tree.open(&tree.native(path), how),
    }
}
