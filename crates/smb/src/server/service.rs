//! What all connections of the SMB server share: settings, sessions, clients, durable opens.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use conn::RefusedVersions;
use lock::{Mutex, RwLock};
use vfs::state::ClientId;
use vfs::{FileId, Volume};

use super::config::{Config, Share};
use super::connection::Connection;
use crate::ranks;
use crate::server::clients::app_instance::Instances;
use crate::server::clients::client::Client;
use crate::server::clients::durable::Durables;
use crate::server::clients::durable::inherited::SharedService;
use crate::server::clients::open::{File, Open};
use crate::server::clients::session::{Session, User};
use crate::server::files::short_names::ShortNames;

/// The most sessions at a time.
pub(super) const MAX_SESSIONS: usize = 16_384;

/// What all connections share.
pub struct Service {
    config: RwLock<Arc<Config>, ranks::SmbConfig>,
    pipes: Arc<Share>,
    sessions: Mutex<HashMap<u64, Arc<Session>>, ranks::SmbSessions>,
    /// Clients that have a session.
    clients: Mutex<HashMap<[u8; 16], Weak<Client>>, ranks::SmbClients>,
    /// Opens that wait for their clients to reconnect.
    pub(super) durables: Arc<Durables>,
    /// Short names that clients have asked for.
    pub(super) short_names: ShortNames,
    /// Opens of applications that may move to other clients.
    pub(super) instances: Instances,
    /// The other servers of the tree, if there are any.
    pub(super) shared: OnceLock<Arc<SharedService>>,
    next_file: AtomicU64,
    /// Hosts with clients that speak only SMB 1.
    pub(super) refused: RefusedVersions,
    /// Distinguishes the keys of opens without a lease from the keys that clients choose.
    salt: u64,
}

/// A session as `status` shows it.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "named in full")]
pub struct SessionInfo {
    /// The client in the tree's tables.
    pub client: ClientId,
    pub user: String,
    pub peers: Vec<std::net::SocketAddr>,
    pub dialect: &'static str,
    pub signed: bool,
    pub encrypted: bool,
    pub opens: usize,
    pub system: ClientSystem,
}

/// The system of a client, as far as it has said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientSystem {
    /// By the create context AAPL.
    Mac,
    /// By the offer of POSIX extensions in NEGOTIATE.
    Linux,
    /// Windows says nothing.
    Other,
}

impl Service {
    /// A server with these settings.
    pub fn new(config: Config) -> Arc<Self> {
        Arc::new(Self {
            config: RwLock::new(Arc::new(config)),
            pipes: Share::pipes(),
            sessions: Mutex::default(),
            clients: Mutex::default(),
            durables: Arc::default(),
            short_names: ShortNames::default(),
            instances: Instances::default(),
            shared: OnceLock::new(),
            next_file: AtomicU64::new(1),
            refused: RefusedVersions::default(),
            salt: getrandom::u64().unwrap_or(0x466F_7572_666F_6C64),
        })
    }

    /// The present settings.
    pub fn config(&self) -> Arc<Config> {
        self.config.read().clone()
    }

    /// Applies new settings. Returns the old and the new ones.
    pub(super) fn replace_config(&self, config: Config) -> (Arc<Config>, Arc<Config>) {
        let now = Arc::new(config);
        (std::mem::replace(&mut *self.config.write(), now.clone()), now)
    }

    /// The share of this name.
    pub(super) fn share(&self, name: &str) -> Option<Arc<Share>> {
        if name.eq_ignore_ascii_case(&self.pipes.name) {
            return Some(self.pipes.clone());
        }
        self.config().share(name).cloned()
    }

    /// `IPC$`.
    pub(super) fn pipes(&self) -> &Arc<Share> {
        &self.pipes
    }

    /// From now on numbers of opens begin with that of this server.
    pub(super) fn begin_with(&self, server: u16) {
        self.next_file.store((u64::from(server) << 48) + 1, Ordering::Relaxed);
    }

    /// A number for an open that is unique in this process.
    pub(super) fn file_number(&self) -> u64 {
        self.next_file.fetch_add(1, Ordering::Relaxed)
    }

    /// The key of a cache that belongs to only one open.
    pub(super) fn party_key(&self, file_number: u64) -> [u8; 16] {
        let mut key = [0; 16];
        key[..8].copy_from_slice(&self.salt.to_be_bytes());
        key[8..].copy_from_slice(&file_number.to_be_bytes());
        key
    }

    /// The client at the other end of a connection. Before 2.1 each connection is a client of its
    /// own.
    pub(super) fn client(&self, connection: &Connection) -> Arc<Client> {
        let guid = connection.negotiated().map_or([0; 16], |negotiated| negotiated.client_guid);
        if guid == [0; 16] {
            return Client::new(guid, self.durables.clone());
        }
        self.client_of(guid)
    }

    /// The client of this GUID.
    pub(super) fn client_of(&self, guid: [u8; 16]) -> Arc<Client> {
        let mut clients = self.clients.lock();
        if let Some(client) = clients.get(&guid).and_then(Weak::upgrade) {
            return client;
        }
        clients.retain(|_, client| client.strong_count() > 0);
        let client = Client::new(guid, self.durables.clone());
        clients.insert(guid, Arc::downgrade(&client));
        client
    }

    /// Tells all clients which of their caches must be given back.
    pub(super) fn tell_clients(&self) {
        let clients: Vec<_> = self.clients.lock().values().filter_map(Weak::upgrade).collect();
        clients.iter().for_each(Client::deliver);
    }

    /// A number for a session that is unique and that attackers cannot guess. It has 32 bits,
    /// because some clients keep only these.
    pub(super) fn unused_session_id(&self) -> u64 {
        let sessions = self.sessions.lock();
        loop {
            let id = getrandom::u32().map_or_else(|_| self.file_number(), u64::from);
            if id != 0 && id != u64::from(u32::MAX) && !sessions.contains_key(&id) {
                return id;
            }
        }
    }

    /// Ends a session whose client has begun another one in its place.
    pub(super) fn replace_session(&self, session: &Arc<Session>) {
        self.end_session(session);
    }

    /// The session of this number.
    pub(super) fn session(&self, id: u64) -> Option<Arc<Session>> {
        self.sessions.lock().get(&id).cloned()
    }

    /// Adds a session to the table. False if there are too many.
    pub(super) fn add_session(&self, session: Arc<Session>) -> bool {
        let mut sessions = self.sessions.lock();
        if sessions.len() >= MAX_SESSIONS {
            return false;
        }
        session.client().add_session(&session);
        sessions.insert(session.id, session);
        true
    }

    /// Removes a session from the table. References to it may remain.
    pub(super) fn remove_session(&self, id: u64) -> Option<Arc<Session>> {
        self.sessions.lock().remove(&id)
    }

    /// Ends a session whose last connection is gone. Durable opens are kept.
    pub(super) fn session_lost(&self, session: &Arc<Session>) {
        self.remove_session(session.id);
        self.durables.keep(session, |_| true);
        session.end();
    }

    /// Ends a session that its user has logged off, or that was replaced. Durable opens are kept.
    pub(super) fn end_session(&self, session: &Arc<Session>) {
        self.durables.keep(session, |_| true);
        self.end_session_for_good(session);
    }

    /// Ends a session and closes all its opens.
    pub(super) fn end_session_for_good(&self, session: &Arc<Session>) {
        self.remove_session(session.id);
        let connections = session.connections();
        connections.iter().for_each(|connection| connection.remove_channel(session.id));
        // Closes the opens first: that answers their requests that wait for a lock or for changes
        // of a folder.
        session.end();
        connections.iter().for_each(|connection| connection.requests.cancel_session(session.id));
    }

    /// Closes opens of clients that are not connected.
    pub(super) fn drop_durables(&self, which: impl Fn(&Open, &User) -> bool) {
        self.durables.drop_where(which);
    }

    /// Ends sessions at the administrator's request and closes their opens. Returns how many
    /// sessions.
    pub fn disconnect(&self, which: impl Fn(&SessionInfo) -> bool) -> usize {
        let mut meant = self.all_sessions();
        meant.retain(|session| which(&session.info()));
        meant.iter().for_each(|session| self.end_session_for_good(session));
        meant.len()
    }

    /// Closes the sessions' opens of a file at the administrator's request. Returns how many opens.
    pub fn close_file(
        &self,
        volume: &Arc<Volume>,
        file: FileId,
        which: impl Fn(&SessionInfo) -> bool,
    ) -> usize {
        let is_it = |open: &Open| {
            let of_file = |f: &File| Arc::ptr_eq(f.open.volume(), volume) && f.open.node().id() == file;
            open.file().is_ok_and(of_file)
        };
        let mut meant = self.all_sessions();
        meant.retain(|session| which(&session.info()));
        meant.iter().map(|session| session.opens.take(is_it).len()).sum()
    }

    /// All sessions, as `status` shows them.
    pub fn sessions(&self) -> Vec<SessionInfo> {
        let sessions: Vec<_> = self.sessions.lock().values().cloned().collect();
        sessions.iter().map(|session| session.info()).collect()
    }

    /// All sessions, for callers that search them.
    pub(super) fn all_sessions(&self) -> Vec<Arc<Session>> {
        self.sessions.lock().values().cloned().collect()
    }
}
