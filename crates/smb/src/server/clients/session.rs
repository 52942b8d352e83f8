//! Sessions and their users, MS-SMB2 3.3.1.8 and 3.3.1.9.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Instant, SystemTime};

use auth::LoginRecord;
use lock::{Mutex, RwLock};
use vfs::state::ClientId;
use vfs::{Caller, IdMap};

use super::client::Client;
use super::open::Opens;
use super::tree::Tree;
use crate::ranks;
use crate::server::config::{Dialect, Share};
use crate::server::connection::Connection;
use crate::server::files::mac::{Kind, Mac};
use crate::server::login::crypto::kdf::SessionKeys;
use crate::server::login::crypto::sealing::{Cipher, Sealer};
use crate::server::login::crypto::signing::{Signer, SigningAlgorithm};
use crate::server::service::{ClientSystem, SessionInfo};
use crate::wire::Status;

/// The most trees of one session.
pub(in crate::server) const MAX_TREES: usize = 1024;
/// The most connections of one session.
pub(in crate::server) const MAX_CHANNELS: usize = 32;

/// The user of a session.
#[derive(Debug, Clone)]
pub(in crate::server) struct User {
    /// The account's name, or the name that a guest gave.
    pub(in crate::server) name: String,
    /// The identity that requests act as.
    pub(in crate::server) caller: Caller,
    /// The user logged in without an account, with a name that no account has.
    pub(in crate::server) guest: bool,
    /// The user logged in without a name.
    pub(in crate::server) anonymous: bool,
}

impl User {
    /// Whether the user has an account, and so a key that only client and server know.
    pub(in crate::server) fn has_account(&self) -> bool {
        !self.guest && !self.anonymous
    }

    /// Whether both sides know the session's key. An anonymous user's key is known to everyone. A
    /// guest has none: the server does not know its password.
    pub(in crate::server) fn can_sign(&self) -> bool {
        !self.guest
    }
}

/// A login with its trees and opens.
pub(in crate::server) struct Session {
    pub(in crate::server) id: u64,
    pub(in crate::server) dialect: Dialect,
    /// The GUID of its client. Other connections of the session have the same.
    pub(in crate::server) client_guid: [u8; 16],
    pub(in crate::server) signing: SigningAlgorithm,
    pub(in crate::server) cipher: Option<Cipher>,
    user: RwLock<Arc<User>, ranks::SmbUser>,
    /// When the login expires, unless the client renews it.
    expires: Mutex<Option<SystemTime>, ranks::SmbExpiry>,
    /// Requests that are neither signed nor sealed are refused.
    pub(in crate::server) require_signing: bool,
    /// Requests that are not sealed are refused.
    pub(in crate::server) require_encryption: AtomicBool,
    /// The keys: the one that later channels derive their keys from, and those that seal.
    pub(in crate::server) keys: SessionKeys,
    pub(in crate::server) sealer: Option<Sealer>,
    pub(in crate::server) trees: Trees,
    pub(in crate::server) opens: Opens,
    /// Whether its client is a Mac.
    pub(in crate::server) mac: Mac,
    /// When it began.
    pub(in crate::server) started: Instant,
    client: Arc<Client>,
    channels: Mutex<Vec<Weak<Connection>>, ranks::SmbSessionChannels>,
    /// Writes the session's end into the log.
    record: Mutex<Option<LoginRecord>, auth::LoginRecords>,
}

/// The properties of a new session.
pub(in crate::server) struct NewSession {
    pub(in crate::server) id: u64,
    pub(in crate::server) dialect: Dialect,
    pub(in crate::server) client_guid: [u8; 16],
    pub(in crate::server) signing: SigningAlgorithm,
    pub(in crate::server) cipher: Option<Cipher>,
    pub(in crate::server) user: User,
    pub(in crate::server) expires: Option<SystemTime>,
    pub(in crate::server) require_signing: bool,
    pub(in crate::server) require_encryption: bool,
    pub(in crate::server) keys: SessionKeys,
    pub(in crate::server) sealer: Option<Sealer>,
    pub(in crate::server) client: Arc<Client>,
}

impl Session {
    pub(in crate::server) fn new(new: NewSession) -> Arc<Self> {
        Arc::new(Self {
            id: new.id,
            dialect: new.dialect,
            client_guid: new.client_guid,
            signing: new.signing,
            cipher: new.cipher,
            user: RwLock::new(Arc::new(new.user)),
            expires: Mutex::new(new.expires),
            require_signing: new.require_signing,
            require_encryption: AtomicBool::new(new.require_encryption),
            keys: new.keys,
            sealer: new.sealer,
            trees: Trees::default(),
            opens: Opens::default(),
            mac: Mac::default(),
            started: Instant::now(),
            client: new.client,
            channels: Mutex::default(),
            record: Mutex::default(),
        })
    }

    /// The user of the session.
    pub(in crate::server) fn user(&self) -> Arc<User> {
        self.user.read().clone()
    }

    /// Renews the login, perhaps for another user.
    pub(in crate::server) fn renew(&self, user: User, expires: Option<SystemTime>) {
        *self.user.write() = Arc::new(user);
        *self.expires.lock() = expires;
    }

    /// Whether the login has expired.
    pub(in crate::server) fn has_expired(&self, now: SystemTime) -> bool {
        self.expires.lock().is_some_and(|expires| now >= expires)
    }

    /// Whether every request must be sealed.
    pub(in crate::server) fn requires_encryption(&self) -> bool {
        self.require_encryption.load(Ordering::Relaxed)
    }

    /// The client in the tree's tables.
    pub(in crate::server) fn client_id(&self) -> ClientId {
        self.client.id
    }

    /// The client, with what it may cache.
    pub(in crate::server) fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// Adds a connection of the session. False if there are too many.
    pub(in crate::server) fn add_channel(&self, connection: &Arc<Connection>) -> bool {
        let mut channels = self.channels.lock();
        channels.retain(|channel| channel.strong_count() > 0);
        if channels.len() >= MAX_CHANNELS {
            return false;
        }
        channels.push(Arc::downgrade(connection));
        true
    }

    /// Removes a connection. Returns how many are left.
    pub(in crate::server) fn remove_channel(&self, connection: &Connection) -> usize {
        let mut channels = self.channels.lock();
        channels.retain(|channel| channel.strong_count() > 0 && !std::ptr::eq(channel.as_ptr(), connection));
        channels.len()
    }

    /// Its connections.
    pub(in crate::server) fn connections(&self) -> Vec<Arc<Connection>> {
        self.channels.lock().iter().filter_map(Weak::upgrade).collect()
    }

    /// Whether the server can send the client a message.
    pub(in crate::server) fn is_connected(&self) -> bool {
        self.connections().iter().any(|connection| connection.channel(self.id).is_some())
    }

    /// Keeps the log's record until the session ends.
    pub(in crate::server) fn record(&self, record: LoginRecord) {
        *self.record.lock() = Some(record);
    }

    /// Ends a connection to a share, with what is open there.
    pub(in crate::server) fn disconnect_tree(&self, tree: &Arc<Tree>) {
        self.trees.remove(tree.id);
        drop(self.opens.take(|open| Arc::ptr_eq(&open.tree, tree)));
    }

    /// Closes all opens and trees.
    pub(in crate::server) fn end(&self) {
        let record = self.record.lock().take();
        drop(record);
        self.trees.clear();
        self.opens.end();
    }

    fn system(&self) -> ClientSystem {
        let offers_posix =
            |connection: &Arc<Connection>| connection.negotiated().is_some_and(|agreed| agreed.offers_posix);
        match self.mac.kind() {
            Kind::Other if self.connections().iter().any(offers_posix) => ClientSystem::Linux,
            Kind::Other => ClientSystem::Other,
            _ => ClientSystem::Mac,
        }
    }

    /// For `status`.
    pub(in crate::server) fn info(&self) -> SessionInfo {
        SessionInfo {
            client: self.client_id(),
            user: self.user().name.clone(),
            peers: self.connections().iter().map(|connection| connection.peer.address).collect(),
            dialect: self.dialect.name(),
            signed: self.require_signing,
            encrypted: self.require_encryption.load(Ordering::Relaxed),
            opens: self.opens.len(),
            system: self.system(),
        }
    }
}

/// The trees of one session.
#[derive(Default)]
pub(in crate::server) struct Trees {
    table: RwLock<IdMap<u32, Arc<Tree>>, ranks::SmbTrees>,
    next: AtomicU32,
}

impl Trees {
    /// The tree of this number.
    pub(in crate::server) fn find(&self, id: u32) -> Option<Arc<Tree>> {
        self.table.read().get(&id).cloned()
    }

    /// Adds a tree, which `make` builds with its number. Refused if there are too many.
    pub(in crate::server) fn add(&self, make: impl FnOnce(u32) -> Tree) -> Result<Arc<Tree>, Status> {
        let mut table = self.table.write();
        if table.len() >= MAX_TREES {
            return Err(Status::INSUFFICIENT_RESOURCES);
        }
        let id = loop {
            let id = self.next.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
            if id != 0 && id != u32::MAX && !table.contains_key(&id) {
                break id;
            }
        };
        let tree = Arc::new(make(id));
        table.insert(id, tree.clone());
        Ok(tree)
    }

    /// Removes a tree.
    pub(in crate::server) fn remove(&self, id: u32) -> Option<Arc<Tree>> {
        self.table.write().remove(&id)
    }

    pub(in crate::server) fn all(&self) -> Vec<Arc<Tree>> {
        self.table.read().values().cloned().collect()
    }

    /// How many of them lead to this share.
    pub(in crate::server) fn count_of(&self, share: &Arc<Share>) -> usize {
        self.table.read().values().filter(|tree| Arc::ptr_eq(&tree.share, share)).count()
    }

    /// Removes all trees.
    pub(in crate::server) fn clear(&self) {
        self.table.write().clear();
    }
}

/// A session as one connection has it: with the key that signs there.
pub(in crate::server) struct Channel {
    pub(in crate::server) session: Arc<Session>,
    pub(in crate::server) signer: Signer,
}

impl Channel {
    /// Signs one message in place, from its header to its end.
    pub(in crate::server) fn sign(&self, message: &mut [u8]) {
        self.signer.sign(message);
    }

    /// Seals the message after the room for a transform header, and fills in that header.
    pub(in crate::server) fn seal(&self, message: &mut [u8]) -> Result<(), Status> {
        let sealer = self.session.sealer.as_ref().ok_or(Status::INTERNAL_ERROR)?;
        sealer.seal(self.session.id, message);
        Ok(())
    }
}
