//! The kernel's requests.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use client::tree::{Kind, TreeEntry, below};
use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr, Request,
    TimeOrNow, WriteFlags,
};
use lock::Mutex;

use crate::TRUSTED;
use crate::answers::{attributes, errno, file_type};
use crate::files::Files;
use crate::forks::{Place, is_fixed, place};
use crate::nodes::Nodes;
use crate::ranks;
use crate::sessions::ServerSessions;

mod attributes;
mod changes;
mod forks;
mod open_files;

/// A number is never used for two files.
const GENERATION: Generation = Generation(0);
/// Entries of a listing that are copied at a time.
const PAGE: usize = 256;
/// The longest name, in bytes.
const NAME_MAX: u32 = 255;
/// Bytes of the blocks that statfs(2) counts.
const BLOCK: u64 = 4096;

/// A result for the kernel.
type Answer<T> = std::result::Result<T, Errno>;

/// The tree behind the mounted folder.
pub(crate) struct Tree {
    sessions: Arc<ServerSessions>,
    nodes: Mutex<Nodes, ranks::MountNodes>,
    files: Mutex<Files, ranks::MountFiles>,
    /// Whose everything is, if the protocol does not say it.
    owner: (u32, u32),
}

impl std::fmt::Debug for Tree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tree").field("sessions", &self.sessions).finish_non_exhaustive()
    }
}

impl Tree {
    pub(crate) fn new(sessions: Arc<ServerSessions>) -> Self {
        let owner = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        Self { sessions, nodes: Mutex::new(Nodes::new()), files: Mutex::new(Files::default()), owner }
    }

    fn path(&self, number: INodeNo) -> Answer<String> {
        self.nodes.lock().path(number.0).ok_or(Errno::ESTALE)
    }

    /// The path of a name in a folder.
    fn path_in(&self, folder: INodeNo, name: &OsStr) -> Answer<String> {
        let name = name.to_str().ok_or(Errno::EILSEQ)?;
        if name.len() > NAME_MAX as usize {
            return Err(Errno::ENAMETOOLONG);
        }
        Ok(below(&self.path(folder)?, name))
    }

    /// The path of a name in a folder, where names are to change.
    fn changed_in(&self, folder: INodeNo, name: &OsStr) -> Answer<String> {
        self.path_in(folder, name).and_then(changeable)
    }

    fn entry_of_server(&self, path: &str) -> Answer<TreeEntry> {
        self.sessions
            .repeat(|tree| {
                let native = tree.native(path);
                tree.entry(&native)
            })
            .map_err(|error| errno(&error))
    }

    fn attributes(&self, number: u64, entry: &TreeEntry) -> FileAttr {
        attributes(number, entry, self.owner)
    }

    /// What the kernel gets for a name that it looks up.
    fn looked_up(&self, path: &str) -> Answer<FileAttr> {
        let entry = self.entry(path)?;
        let number = self.nodes.lock().look_up(path);
        Ok(self.attributes(number, &entry))
    }

    fn listed(&self, number: INodeNo) -> Answer<u64> {
        let path = self.path(number)?;
        if !self.files.lock().has_room() {
            return Err(Errno::ENFILE);
        }
        let entries = self.entries(&path)?;
        Ok(self.files.lock().put_folder(entries))
    }

    fn entries_of_server(&self, path: &str) -> Answer<Vec<TreeEntry>> {
        let listing = self.sessions.repeat(|tree| {
            let native = tree.native(path);
            tree.entries(&native)
        });
        let listing = listing.map_err(|error| errno(&error))?;
        for name in &listing.unreadable {
            tracing::warn!(
                "{name} is left out: its name is not UTF-8, or none that a file can have, or there twice"
            );
        }
        Ok(listing.entries)
    }

    /// Gives entries of a listing to the kernel until it has enough. The first two are the folder and its parent.
    fn tell_entries(
        &self,
        (number, handle, offset): (INodeNo, FileHandle, u64),
        mut tell: impl FnMut(u64, &TreeEntry, &str) -> bool,
    ) -> Answer<()> {
        let folder = self.path(number)?;
        let dots = [(".", 0), ("..", 1)];
        for (name, at) in dots.iter().filter(|(_, at)| *at >= offset) {
            if tell(at + 1, &dot(name), "") {
                return Ok(());
            }
        }
        let mut at = offset.max(2);
        loop {
            let from = usize::try_from(at - 2).map_err(|_| Errno::EINVAL)?;
            let page = self.files.lock().folder(handle.0, from, PAGE).ok_or(Errno::EBADF)?;
            if page.is_empty() {
                return Ok(());
            }
            for entry in &page {
                at += 1;
                if tell(at, entry, &below(&folder, &entry.name)) {
                    return Ok(());
                }
            }
        }
    }
}

/// A path of which something can be changed.
fn changeable(path: String) -> Answer<String> {
    if is_fixed(&path) { Err(Errno::EROFS) } else { Ok(path) }
}

fn dot(name: &str) -> TreeEntry {
    TreeEntry {
        name: name.to_owned(),
        kind: Kind::Folder,
        length: 0,
        modified: None,
        changed: None,
        links: 1,
        is_locked: false,
        mode: None,
        owner: None,
    }
}

fn answer<T, R>(reply: R, done: Answer<T>, ok: impl FnOnce(R, T), fail: impl FnOnce(R, Errno)) {
    match done {
        Ok(value) => ok(reply, value),
        Err(error) => fail(reply, error),
    }
}

fn answer_attribute(reply: ReplyXattr, size: u32, found: Answer<Vec<u8>>) {
    match found {
        Err(error) => reply.error(error),
        Ok(bytes) if size == 0 => reply.size(u32::try_from(bytes.len()).unwrap_or(u32::MAX)),
        Ok(bytes) if bytes.len() > size as usize => reply.error(Errno::ERANGE),
        Ok(bytes) => reply.data(&bytes),
    }
}

impl Filesystem for Tree {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // A kernel without them asks for each entry by itself.
        let _ = config.add_capabilities(InitFlags::FUSE_DO_READDIRPLUS | InitFlags::FUSE_READDIRPLUS_AUTO);
        let _ = config.set_max_write(1 << 20);
        let _ = config.set_max_readahead(1 << 20);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let done = self.path_in(parent, name).and_then(|path| self.looked_up(&path));
        answer(reply, done, |reply, told| reply.entry(&TRUSTED, &told, GENERATION), ReplyEntry::error);
    }

    fn forget(&self, _: &Request, number: INodeNo, count: u64) {
        self.nodes.lock().forget(number.0, count);
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let done = self.path(number).and_then(|path| Ok(self.attributes(number.0, &self.entry(&path)?)));
        answer(reply, done, |reply, told| reply.attr(&TRUSTED, &told), ReplyAttr::error);
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _: Option<SystemTime>,
        handle: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let set = changes::AttributeChanges { mode, owner: (uid, gid), size, accessed, modified };
        let done = self.set_attributes(number, handle, &set);
        answer(reply, done, |reply, told| reply.attr(&TRUSTED, &told), ReplyAttr::error);
    }

    fn readlink(&self, _: &Request, number: INodeNo, reply: ReplyData) {
        let done = self.path(number).and_then(|path| self.target(&path));
        answer(reply, done, |reply, target| reply.data(target.as_bytes()), ReplyData::error);
    }

    fn mkdir(&self, _: &Request, parent: INodeNo, name: &OsStr, mode: u32, umask: u32, reply: ReplyEntry) {
        let done = self.changed_in(parent, name).and_then(|path| self.make_folder(&path, mode & !umask));
        answer(reply, done, |reply, told| reply.entry(&TRUSTED, &told, GENERATION), ReplyEntry::error);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let done = self.path_in(parent, name).and_then(|path| match place(&path) {
            Place::Fork(file) => self.remove_fork(&path, &file),
            _ => changeable(path).and_then(|path| self.remove_file(&path)),
        });
        answer(reply, done, |reply, ()| reply.ok(), ReplyEmpty::error);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let done = self.changed_in(parent, name).and_then(|path| self.remove_folder(&path));
        answer(reply, done, |reply, ()| reply.ok(), ReplyEmpty::error);
    }

    /// tar makes files by it when it sets their attributes.
    fn mknod(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        let made = self.path_in(parent, name).and_then(|path| self.make_node(&path, mode, umask));
        answer(reply, made, |reply, told| reply.entry(&TRUSTED, &told, GENERATION), ReplyEntry::error);
    }

    fn symlink(&self, _: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let done = self.changed_in(parent, name).and_then(|path| {
            let target = target.to_str().ok_or(Errno::EILSEQ)?;
            self.make_link(&path, target)
        });
        answer(reply, done, |reply, told| reply.entry(&TRUSTED, &told, GENERATION), ReplyEntry::error);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let done = self.changed_in(parent, name).and_then(|from| {
            let to = self.changed_in(new_parent, new_name)?;
            self.move_entry(&from, &to, flags)
        });
        answer(reply, done, |reply, ()| reply.ok(), ReplyEmpty::error);
    }

    fn open(&self, _: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let ok = |reply: ReplyOpen, handle| reply.opened(FileHandle(handle), FopenFlags::empty());
        answer(reply, self.opened(number, flags), ok, ReplyOpen::error);
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let done = self.path_in(parent, name).and_then(|path| self.made(&path, mode & !umask, flags));
        let ok = |reply: ReplyCreate, (told, handle)| {
            reply.created(&TRUSTED, &told, GENERATION, FileHandle(handle), FopenFlags::empty());
        };
        answer(reply, done, ok, ReplyCreate::error);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let done = self.read_at(handle, offset, size);
        answer(reply, done, |reply, data| reply.data(&data), ReplyData::error);
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let done = self.written(handle, offset, data);
        answer(reply, done, ReplyWrite::written, ReplyWrite::error);
    }

    /// Every write was answered by the server already, but those to forks in memory.
    fn flush(&self, _: &Request, _: INodeNo, handle: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        answer(reply, self.saved(handle), |reply, ()| reply.ok(), ReplyEmpty::error);
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.released(handle);
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, handle: FileHandle, _: bool, reply: ReplyEmpty) {
        let fork = self.files.lock().fork_of(handle.0);
        let done = match fork {
            Some(_) => self.saved(handle),
            None => self.with_file(handle, |tree, file| tree.flush(file)),
        };
        answer(reply, done, |reply, ()| reply.ok(), ReplyEmpty::error);
    }

    fn opendir(&self, _: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let ok = |reply: ReplyOpen, handle| reply.opened(FileHandle(handle), FopenFlags::empty());
        answer(reply, self.listed(number), ok, ReplyOpen::error);
    }

    fn readdir(
        &self,
        _: &Request,
        number: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let done = self.tell_entries((number, handle, offset), |next, entry, path| {
            // A number that the kernel does not know is only shown: any number but 0 will do.
            let shown = self.nodes.lock().number(path).unwrap_or(u64::MAX);
            reply.add(INodeNo(shown), next, file_type(entry.kind), &entry.name)
        });
        answer(reply, done, |reply, ()| reply.ok(), ReplyDirectory::error);
    }

    fn readdirplus(
        &self,
        _: &Request,
        number: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let done = self.tell_entries((number, handle, offset), |next, entry, path| {
            // The folder itself and its parent are not looked up by this.
            let shown = if path.is_empty() { number.0 } else { self.nodes.lock().look_up(path) };
            let told = self.attributes(shown, entry);
            let is_full = reply.add(INodeNo(shown), next, &entry.name, &TRUSTED, &told, GENERATION);
            if is_full && !path.is_empty() {
                self.nodes.lock().forget(shown, 1);
            }
            is_full
        });
        answer(reply, done, |reply, ()| reply.ok(), ReplyDirectoryPlus::error);
    }

    fn releasedir(&self, _: &Request, _: INodeNo, handle: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.files.lock().take_folder(handle.0);
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let space = self.sessions.repeat(|tree| tree.space()).map_err(|error| errno(&error));
        let ok = |reply: ReplyStatfs, space: client::tree::Space| {
            let (total, free) = (space.total / BLOCK, space.free / BLOCK);
            reply.statfs(total, free, free, 0, 0, BLOCK as u32, NAME_MAX, BLOCK as u32);
        };
        answer(reply, space, ok, ReplyStatfs::error);
    }

    fn setxattr(
        &self,
        _: &Request,
        number: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _: u32,
        reply: ReplyEmpty,
    ) {
        let done = self.set_part(number, name, Some(value), flags);
        answer(reply, done, |reply, ()| reply.ok(), ReplyEmpty::error);
    }

    fn getxattr(&self, _: &Request, number: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        answer_attribute(reply, size, self.part(number, name));
    }

    fn listxattr(&self, _: &Request, number: INodeNo, size: u32, reply: ReplyXattr) {
        answer_attribute(reply, size, self.part_names(number));
    }

    fn removexattr(&self, _: &Request, number: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let done = self.set_part(number, name, None, 0);
        answer(reply, done, |reply, ()| reply.ok(), ReplyEmpty::error);
    }
}
