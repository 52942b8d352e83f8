//! Requests about resource forks as files ([`crate::forks`]).

use client::metadata::{Aspect, AspectState, MetadataValue};
use client::tree::{Kind, TreeEntry};
use client::{Error, OpenFileId, OpenIntent};
use fuser::{Errno, FileAttr, FileHandle, INodeNo, OpenAccMode, OpenFlags};

use super::changes::AttributeChanges;
use super::{Answer, Tree};
use crate::answers::errno;
use crate::files::{NO_FORK, OpenHandle};
use crate::forks::{self, Place};
use crate::parts::{self, PartRefusal};

impl Tree {
    /// What is there by a path.
    pub(super) fn entry(&self, path: &str) -> Answer<TreeEntry> {
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
                if let Some(length) = self.length_in_memory(path) {
                    return Ok(forks::fork(&entry, length));
                }
                let length = self.sessions.repeat(|tree| {
                    let native = tree.native(&file);
                    tree.fork_length(&native)
                });
                match length.map_err(|error| errno(&error))? {
                    0 if self.files.lock().is_removed(path) => Err(Errno::ENOENT),
                    length => Ok(forks::fork(&entry, length)),
                }
            }
            Place::Nothing => Err(Errno::ENOENT),
        }
    }

    /// A file; only files have forks.
    fn with_fork(&self, path: &str) -> Answer<TreeEntry> {
        match self.entry_of_server(path)? {
            entry if entry.kind == Kind::File => Ok(entry),
            _ => Err(Errno::ENOENT),
        }
    }

    /// The entries of a folder.
    pub(super) fn entries(&self, path: &str) -> Answer<Vec<TreeEntry>> {
        match forks::place(path) {
            Place::Tree(path) => self.entries_of_server(path),
            Place::Folder(folder) => {
                let files =
                    self.entries_of_server(folder)?.into_iter().filter(|entry| entry.kind == Kind::File);
                Ok(files.map(|file| forks::folder(&file.name, &file)).collect())
            }
            Place::File(_) => match self.entry(&format!("{path}/{}", forks::RESOURCE_FORK)) {
                Err(error) if error.code() == libc::ENOENT => self.entry(path).map(|_| Vec::new()),
                found => Ok(vec![found?]),
            },
            Place::Fork(_) | Place::Nothing => Err(Errno::ENOTDIR),
        }
    }

    /// Opens a file or a fork.
    pub(super) fn opened(&self, number: INodeNo, flags: OpenFlags) -> Answer<u64> {
        let path = self.path(number)?;
        if !self.files.lock().has_room() {
            return Err(Errno::ENFILE);
        }
        let how =
            if flags.acc_mode() == OpenAccMode::O_RDONLY { OpenIntent::Read } else { OpenIntent::Write };
        let fork = match forks::place(&path) {
            Place::Fork(file) => Some(file),
            Place::Tree(_) => None,
            _ => return Err(Errno::EISDIR),
        };
        if let Some(file) = &fork {
            if how != OpenIntent::Read && self.with_fork(file)?.is_locked {
                return Err(Errno::EACCES);
            }
            if self.is_read_whole() {
                return self.fork_in_memory(number, file);
            }
        }
        let slot = self.sessions.next();
        let open = self.sessions.on(slot, 2, |lent| Ok((lent.generation, open(lent.tree, &path, how)?)));
        match open {
            Ok(open) => Ok(self.files.lock().put(OpenHandle { node: number.0, slot, open, how })),
            // SMB has no stream of a fork that is empty.
            Err(Error::Missing(_)) if fork.is_some() && how == OpenIntent::Read => {
                self.files.lock().put_fork(NO_FORK, Vec::new()).ok_or(Errno::ENFILE)
            }
            Err(error) => Err(errno(&error)),
        }
    }

    /// Makes and opens a fork. Each file has one that may be empty, unless it was removed here.
    pub(super) fn made_fork(&self, path: &str, flags: i32) -> Answer<(FileAttr, u64)> {
        match self.entry(path) {
            Err(error) if error.code() == libc::ENOENT => self.files.lock().note_made(path),
            Ok(_) if flags & libc::O_EXCL != 0 => return Err(Errno::EEXIST),
            found => drop(found?),
        }
        let told = self.looked_up(path)?;
        let handle = self.opened(told.ino, OpenFlags(libc::O_RDWR))?;
        if flags & libc::O_TRUNC != 0 {
            self.set_fork_size((told.ino, Some(FileHandle(handle))), path, 0)?;
        }
        Ok((told, handle))
    }

    /// Removes a fork: to servers it is an empty one.
    pub(super) fn remove_fork(&self, path: &str, file: &str) -> Answer<()> {
        if self.entry(path)?.is_locked {
            return Err(Errno::EACCES);
        }
        self.empty_fork(path, file)?;
        self.files.lock().note_removed(path);
        Ok(())
    }

    fn empty_fork(&self, path: &str, file: &str) -> Answer<()> {
        let number = self.nodes.lock().number(path);
        if let Some(number) = number.filter(|number| self.files.lock().fork(*number).is_some()) {
            self.files.lock().cut_fork(number, 0);
            return self.save(number, file);
        }
        self.write_whole(file, Vec::new())
    }

    /// Changes the length of a fork. Its dates are those of its file, and so are its mode and owner, which can be changed there only.
    pub(super) fn set_fork_attributes(
        &self,
        (number, handle): (INodeNo, Option<FileHandle>),
        (path, file): (&str, &str),
        set: &AttributeChanges,
    ) -> Answer<FileAttr> {
        let told = self.attributes(number.0, &self.entry(path)?);
        let is_other = |new: Option<u32>, now: u32| new.is_some_and(|new| new != now);
        let mode = set.mode.map(|mode| mode & 0o7777);
        if is_other(mode, told.perm.into())
            || is_other(set.owner.0, told.uid)
            || is_other(set.owner.1, told.gid)
        {
            return Err(Errno::EPERM);
        }
        if let Some(size) = set.size {
            self.set_fork_size((number, handle), path, size)?;
        }
        self.set_times(file, set)?;
        Ok(self.attributes(number.0, &self.entry(path)?))
    }

    fn set_fork_size(
        &self,
        (number, handle): (INodeNo, Option<FileHandle>),
        path: &str,
        size: u64,
    ) -> Answer<()> {
        let Place::Fork(file) = forks::place(path) else { return Err(Errno::EISDIR) };
        if self.is_read_whole() {
            // truncate(2) comes without a handle.
            let own = self.fork_in_memory(number, &file)?;
            let is_cut = self.files.lock().cut_fork(number.0, size);
            let done = if is_cut { self.save(number.0, &file) } else { Err(Errno::EFBIG) };
            self.files.lock().take(own);
            return done;
        }
        let of_kernel = handle.map(|handle| handle.0);
        let open = of_kernel.or_else(|| self.files.lock().handle_of(number.0));
        let open =
            open.filter(|open| self.files.lock().get(*open).is_some_and(|file| file.how != OpenIntent::Read));
        if let Some(open) = open {
            return self.with_file(FileHandle(open), |tree, fork| tree.set_fork_length(fork, size));
        }
        let done = self.sessions.repeat(|tree| {
            let native = tree.native(&file);
            let fork = tree.open_fork(&native, OpenIntent::Write)?;
            let done = tree.set_fork_length(fork, size);
            tree.close(fork)?;
            done
        });
        done.map_err(|error| errno(&error))
    }

    /// Writes a fork in memory to the server, if it has changed.
    pub(super) fn saved(&self, handle: FileHandle) -> Answer<()> {
        let node = self.files.lock().fork_of(handle.0);
        let path = node.and_then(|node| Some((node, self.nodes.lock().path(node)?)));
        match path.as_ref().map(|(node, path)| (node, forks::place(path))) {
            Some((node, Place::Fork(file))) => self.save(*node, &file),
            _ => Ok(()),
        }
    }

    fn save(&self, node: u64, file: &str) -> Answer<()> {
        let Some(bytes) = self.files.lock().save_fork(node) else { return Ok(()) };
        let done = self.write_whole(file, bytes);
        if done.is_err() {
            self.files.lock().not_saved(node);
        }
        done
    }

    fn write_whole(&self, file: &str, bytes: Vec<u8>) -> Answer<()> {
        let protocol = self.sessions.protocol();
        let mut refused = false;
        let done = self.sessions.repeat(|tree| {
            let native = tree.native(file);
            let of = (&*native, Kind::File);
            let done = match bytes.is_empty() {
                true => parts::remove(tree, of, protocol, Aspect::Fork),
                false => parts::write(tree, of, protocol, Aspect::Fork, &bytes),
            };
            match done {
                Err(PartRefusal::Server(error)) => Err(error),
                done => {
                    refused = done.is_err();
                    Ok(())
                }
            }
        });
        done.map_err(|error| errno(&error))?;
        if refused { Err(Errno::EOPNOTSUPP) } else { Ok(()) }
    }

    fn length_in_memory(&self, path: &str) -> Option<u64> {
        let number = self.nodes.lock().number(path)?;
        self.files.lock().fork(number).map(|bytes| bytes.len() as u64)
    }

    /// Over NFS a fork is a part of a file `._NAME`, or an attribute: there is nothing to open.
    fn is_read_whole(&self) -> bool {
        !self.sessions.protocol().has_forks()
    }

    fn fork_in_memory(&self, number: INodeNo, file: &str) -> Answer<u64> {
        let known = self.files.lock().open_fork(number.0);
        if let Some(handle) = known {
            return Ok(handle);
        }
        let bytes = self.read_whole(file)?;
        self.files.lock().put_fork(number.0, bytes).ok_or(Errno::ENFILE)
    }

    fn read_whole(&self, file: &str) -> Answer<Vec<u8>> {
        let found = self.sessions.repeat(|tree| {
            let native = tree.native(file);
            tree.get(&native, Aspect::Fork)
        });
        Ok(match found.map_err(|error| errno(&error))? {
            AspectState::Value(MetadataValue::Bytes(bytes)) => bytes,
            _ => Vec::new(),
        })
    }
}

/// Opens a file or a fork by its path here.
pub(super) fn open(
    tree: &mut dyn client::tree::Tree,
    path: &str,
    how: OpenIntent,
) -> client::Result<OpenFileId> {
    match forks::place(path) {
        Place::Fork(file) => tree.open_fork(&tree.native(&file), how),
        _ => tree.open(&tree.native(path), how),
    }
}
