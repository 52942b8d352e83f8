//! The files on which clients of NLM have locks, held open.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use lock::Mutex;
use vfs::backend::Found;
use vfs::state::ClientId;
use vfs::{FileId, HostKey, Node, OpenPermit};

use crate::ranks;

/// Files with locks, kept open. If a file without a name were closed, the host could give its
/// number, and so its locks, to another file.
#[derive(Default)]
pub(super) struct LockedFiles {
    held: Mutex<HashMap<(u32, HostKey), LockedFile>, ranks::NlmFiles>,
}

struct LockedFile {
    node: Node,
    clients: Vec<ClientId>,
    /// It takes a descriptor, as an open of its first client does.
    _permit: Option<OpenPermit>,
}

impl LockedFile {
    fn new(found: &Found, permit: Option<OpenPermit>) -> Self {
        Self { node: found.object.clone(), clients: Vec::new(), _permit: permit }
    }

    fn add(&mut self, client: ClientId) {
        if !self.clients.contains(&client) {
            self.clients.push(client);
        }
    }
}

impl LockedFiles {
    /// Keeps a file for a client that has it open.
    pub(super) fn hold(&self, tag: u32, found: &Found, client: ClientId) {
        let mut held = self.held.lock();
        let file = held.entry((tag, found.object.key())).or_insert_with(|| LockedFile::new(found, None));
        file.add(client);
    }

    /// Keeps a file for a client that has no open of it. A new one is counted by `permit`.
    pub(super) fn hold_by<E>(
        &self,
        tag: u32,
        found: &Found,
        client: ClientId,
        permit: impl FnOnce() -> Result<OpenPermit, E>,
    ) -> Result<(), E> {
        let mut held = self.held.lock();
        let file = match held.entry((tag, found.object.key())) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => free.insert(LockedFile::new(found, Some(permit()?))),
        };
        file.add(client);
        Ok(())
    }

    /// Releases a file, unless `holds` says that the client still has a lock in it.
    pub(super) fn let_go(&self, tag: u32, key: HostKey, client: ClientId, holds: impl FnOnce() -> bool) {
        let mut held = self.held.lock();
        let Some(file) = held.get_mut(&(tag, key)) else { return };
        if !holds() {
            file.clients.retain(|other| *other != client);
        }
        if file.clients.is_empty() {
            held.remove(&(tag, key));
        }
    }

    /// A file that is kept, even if it has no name any more.
    pub(super) fn node(&self, tag: u32, key: HostKey) -> Option<Node> {
        self.held.lock().get(&(tag, key)).map(|file| file.node.clone())
    }

    /// Lets go of all files of an export. Gives those that no other export holds, each with its clients.
    pub(super) fn leave(&self, tag: u32) -> Vec<(FileId, Vec<ClientId>)> {
        let mut held = self.held.lock();
        let left: Vec<(HostKey, LockedFile)> =
            held.extract_if(|(other, _), _| *other == tag).map(|((_, key), file)| (key, file)).collect();
        let is_left = |key: HostKey| held.keys().all(|(_, other)| *other != key);
        let left = left.into_iter().filter(|(key, _)| is_left(*key));
        left.map(|(_, file)| (file.node.id(), file.clients)).collect()
    }

    /// Lets go of all that a client holds.
    pub(super) fn release(&self, client: ClientId) {
        self.held.lock().retain(|_, file| {
            file.clients.retain(|other| *other != client);
            !file.clients.is_empty()
        });
    }
}
