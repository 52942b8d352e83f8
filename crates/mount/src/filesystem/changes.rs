//! Requests that change names and attributes.

use std::time::SystemTime;

use client::metadata::{Aspect, AspectState, MetadataValue};
use client::tree::{Kind, TreeEntry};
use client::{Error, OpenIntent};
use fuser::{Errno, FileAttr, FileHandle, INodeNo, RenameFlags, TimeOrNow};

use super::{Answer, Tree, changeable};
use crate::answers::{WRITE_BITS, errno, stamp};
use crate::files::OpenHandle;
use crate::forks::{Place, place};

/// What new files and folders have where the protocol has modes and a program asks for nothing else.
const USUAL: [u32; 2] = [0o644, 0o755];

/// What setattr changes.
pub(super) struct AttributeChanges {
    pub(super) mode: Option<u32>,
    pub(super) owner: (Option<u32>, Option<u32>),
    pub(super) size: Option<u64>,
    pub(super) accessed: Option<TimeOrNow>,
    pub(super) modified: Option<TimeOrNow>,
}

impl Tree {
    /// Changes something of a path, with the path that the protocol takes.
    fn change<T>(
        &self,
        path: &str,
        act: impl FnOnce(&mut dyn client::tree::Tree, &str) -> client::Result<T>,
    ) -> client::Result<T> {
        self.sessions.once(|tree| {
            let native = tree.native(path);
            act(tree, &native)
        })
    }

    fn put(&self, path: &str, aspect: Aspect<'_>, value: &MetadataValue) -> Answer<bool> {
        self.change(path, |tree, path| tree.put(path, aspect, value)).map_err(|error| errno(&error))
    }

    /// The error of making something: the name is taken if something is there.
    fn not_made(&self, path: &str, error: &Error) -> Errno {
        match error {
            Error::Other(_) if self.entry(path).is_ok() => Errno::EEXIST,
            error => errno(error),
        }
    }

    /// A new mode. Protocols without modes keep whether anybody may write.
    fn set_mode(&self, path: &str, entry: &TreeEntry, mode: u32) -> Answer<()> {
        if entry.mode.is_some() {
            let mode = MetadataValue::Number(u64::from(mode & 0o7777));
            return if self.put(path, Aspect::Mode, &mode)? { Ok(()) } else { Err(Errno::EOPNOTSUPP) };
        }
        let is_locked = mode & WRITE_BITS == 0;
        if entry.kind == Kind::File && is_locked != entry.is_locked {
            self.put(path, Aspect::ReadOnly, &MetadataValue::Flag(is_locked))?;
        }
        Ok(())
    }

    fn set_size(&self, number: INodeNo, handle: Option<FileHandle>, path: &str, size: u64) -> Answer<()> {
        let of_kernel = handle.map(|handle| handle.0);
        let open = of_kernel.or_else(|| self.files.lock().handle_of(number.0));
        let open =
            open.filter(|open| self.files.lock().get(*open).is_some_and(|file| file.how != OpenIntent::Read));
        if let Some(open) = open {
            return self.with_file(FileHandle(open), |tree, file| tree.set_length(file, size));
        }
        let done = self.change(path, |tree, path| {
            let file = tree.open(path, OpenIntent::Write)?;
            let done = tree.set_length(file, size);
            tree.close(file)?;
            done
        });
        done.map_err(|error| errno(&error))
    }

    pub(super) fn set_attributes(
        &self,
        number: INodeNo,
        handle: Option<FileHandle>,
        set: &AttributeChanges,
    ) -> Answer<FileAttr> {
        let path = self.path(number)?;
        if let Place::Fork(file) = place(&path) {
            return self.set_fork_attributes((number, handle), (&path, &file), set);
        }
        let path = changeable(path)?;
        let entry = self.entry(&path)?;
        if let Some(size) = set.size {
            self.set_size(number, handle, &path, size)?;
        }
        if let Some(mode) = set.mode {
            self.set_mode(&path, &entry, mode)?;
        }
        let (user, group) = entry.owner.unwrap_or(self.owner);
        if let Some(new) = set.owner.0.filter(|new| *new != user) {
            let is_set = self.put(&path, Aspect::Owner, &MetadataValue::Number(new.into()))?;
            if !is_set {
                return Err(Errno::EPERM);
            }
        }
        if set.owner.1.is_some_and(|new| new != group) {
            return Err(Errno::EPERM);
        }
        self.set_times(&path, set)?;
        Ok(self.attributes(number.0, &self.entry(&path)?))
    }

    pub(super) fn set_times(&self, path: &str, set: &AttributeChanges) -> Answer<()> {
        let time = |time: TimeOrNow| {
            let (seconds, nanoseconds) = stamp(match time {
                TimeOrNow::SpecificTime(time) => time,
                TimeOrNow::Now => SystemTime::now(),
            });
            MetadataValue::Time(seconds, nanoseconds)
        };
        if let Some(accessed) = set.accessed {
            self.put(path, Aspect::Accessed, &time(accessed))?; // protocols without it have no reader of it
        }
        if let Some(modified) = set.modified
            && !self.put(path, Aspect::Modified, &time(modified))?
        {
            return Err(Errno::EOPNOTSUPP);
        }
        Ok(())
    }

    pub(super) fn target(&self, path: &str) -> Answer<String> {
        let found = self.sessions.repeat(|tree| {
            let native = tree.native(path);
            tree.get(&native, Aspect::Target)
        });
        match found.map_err(|error| errno(&error))? {
            AspectState::Value(MetadataValue::Text(target)) => Ok(target),
            _ => Err(Errno::EINVAL),
        }
    }

    /// The mode of something new, if it is not the usual one.
    fn give_mode(&self, path: &str, mode: u32) -> Answer<FileAttr> {
        let entry = self.entry(path)?;
        let mode = mode & 0o7777;
        if entry.mode.is_some_and(|has| has != mode) || (entry.mode.is_none() && !USUAL.contains(&mode)) {
            self.set_mode(path, &entry, mode)?;
        }
        self.looked_up(path)
    }

    pub(super) fn make_folder(&self, path: &str, mode: u32) -> Answer<FileAttr> {
        let done = self.change(path, |tree, path| tree.make_folder(path));
        done.map_err(|error| self.not_made(path, &error))?;
        self.give_mode(path, mode)
    }

    pub(super) fn make_link(&self, path: &str, target: &str) -> Answer<FileAttr> {
        let done = self.change(path, |tree, path| tree.make_link(path, target));
        done.map_err(|error| self.not_made(path, &error))?;
        self.looked_up(path)
    }

    /// Makes a file or a fork, and opens it.
    pub(super) fn made(&self, path: &str, mode: u32, flags: i32) -> Answer<(FileAttr, u64)> {
        match place(path) {
            Place::Fork(_) => self.made_fork(path, flags),
            Place::Tree(path) => self.make_file(path, mode, flags),
            _ => Err(Errno::EROFS),
        }
    }

    /// Makes a file or a fork, as no server here has devices.
    pub(super) fn make_node(&self, path: &str, mode: u32, umask: u32) -> Answer<FileAttr> {
        if mode & libc::S_IFMT != libc::S_IFREG {
            return Err(Errno::EPERM);
        }
        let (told, handle) = self.made(path, mode & !umask & 0o7777, libc::O_EXCL)?;
        self.released(FileHandle(handle));
        Ok(told)
    }

    /// Makes a file and opens it. Without O_EXCL, another client may have made it meanwhile.
    fn make_file(&self, path: &str, mode: u32, flags: i32) -> Answer<(FileAttr, u64)> {
        if !self.files.lock().has_room() {
            return Err(Errno::ENFILE);
        }
        let slot = self.sessions.next();
        let opened = |how| {
            self.sessions.on(slot, 1, |lent| {
                let file = lent.tree.open(&lent.tree.native(path), how)?;
                Ok((lent.generation, file))
            })
        };
        let (open, is_new) = match opened(OpenIntent::Create) {
            Ok(open) => (open, true),
            Err(error) => match self.not_made(path, &error) {
                taken if taken.code() == libc::EEXIST && flags & libc::O_EXCL == 0 => {
                    (opened(OpenIntent::Write).map_err(|error| errno(&error))?, false)
                }
                other => return Err(other),
            },
        };
        let told = match is_new {
            true => self.give_mode(path, mode),
            false => self.looked_up(path),
        };
        // Without an answer the kernel never closes it.
        let told = told.inspect_err(|_| {
            let _ = self.sessions.on(slot, 1, |lent| lent.tree.close(open.1));
        })?;
        let handle =
            self.files.lock().put(OpenHandle { node: told.ino.0, slot, open, how: OpenIntent::Write });
        Ok((told, handle))
    }

    /// Removes a file. One that is open here gets a hidden name until it is closed, as programs go on with it.
    pub(super) fn remove_file(&self, path: &str) -> Answer<()> {
        let node = self.nodes.lock().number(path);
        if let Some(node) = node.filter(|node| self.files.lock().handle_of(*node).is_some()) {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let hidden = client::tree::below(folder, &format!(".fuse_hidden{node:08x}"));
            self.rename_to(path, &hidden)?;
            let is_open = self.files.lock().hide(node, &hidden);
            if !is_open {
                self.remove_hidden(&hidden);
            }
            return Ok(());
        }
        let remove = || self.change(path, |tree, path| tree.remove(path));
        let done = match remove() {
            // SMB removes no read-only file; the rights of Unix to a file do not say who may remove it.
            Err(error) if !error.ends_session() && self.entry(path).is_ok_and(|entry| entry.is_locked) => {
                self.put(path, Aspect::ReadOnly, &MetadataValue::Flag(false))?;
                let done = remove();
                if done.is_err() {
                    self.put(path, Aspect::ReadOnly, &MetadataValue::Flag(true))?;
                }
                done
            }
            done => done,
        };
        done.map_err(|error| errno(&error))?;
        self.nodes.lock().remove(path);
        Ok(())
    }

    /// Removes a file that was removed while it was open.
    pub(super) fn remove_hidden(&self, path: &str) {
        self.nodes.lock().remove(path);
        if let Err(error) = self.change(path, |tree, path| tree.remove(path)) {
            tracing::warn!("{path}, which was removed while it was open, is still there: {error}");
        }
    }

    pub(super) fn remove_folder(&self, path: &str) -> Answer<()> {
        let done = self.change(path, |tree, path| match tree.remove_folder(path) {
            Err(Error::Other(why)) => {
                let is_empty = tree.entries(path).is_ok_and(|listing| listing.entries.is_empty());
                Ok(if is_empty { Err(Error::Other(why)) } else { Ok(false) })
            }
            Err(error) => Err(error),
            Ok(()) => Ok(Ok(true)),
        });
        match done.map_err(|error| errno(&error))? {
            Ok(true) => {
                self.nodes.lock().remove(path);
                Ok(())
            }
            Ok(false) => Err(Errno::ENOTEMPTY),
            Err(error) => Err(errno(&error)),
        }
    }

    fn rename_to(&self, from: &str, to: &str) -> Answer<()> {
        let done = self.change(from, |tree, native| {
            let to = tree.native(to);
            tree.rename(native, &to)
        });
        done.map_err(|error| errno(&error))?;
        self.nodes.lock().rename(from, to);
        Ok(())
    }

    pub(super) fn move_entry(&self, from: &str, to: &str, flags: RenameFlags) -> Answer<()> {
        if flags.intersects(!RenameFlags::RENAME_NOREPLACE) {
            return Err(Errno::EINVAL);
        }
        if from == to {
            return Ok(());
        }
        let replaced = match self.entry(to) {
            Ok(entry) => Some(entry),
            Err(error) if error.code() == libc::ENOENT => None,
            Err(error) => return Err(error),
        };
        if let Some(replaced) = replaced {
            if flags.contains(RenameFlags::RENAME_NOREPLACE) {
                return Err(Errno::EEXIST);
            }
            let moved = self.entry(from)?;
            match (moved.kind == Kind::Folder, replaced.kind == Kind::Folder) {
                (true, false) => return Err(Errno::ENOTDIR),
                (false, true) => return Err(Errno::EISDIR),
                // No protocol here replaces a folder.
                (true, true) => self.remove_folder(to)?,
                // A file that is open here goes on to be read.
                (false, false) => {
                    let node = self.nodes.lock().number(to);
                    if node.is_some_and(|node| self.files.lock().handle_of(node).is_some()) {
                        self.remove_file(to)?;
                    }
                }
            }
        }
        self.rename_to(from, to)
    }
}
