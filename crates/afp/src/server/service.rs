use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use vfs::state::ClientId;

use super::config::{Config, Share, Version};
use super::limits::MAX_SESSIONS;
use super::login;
use super::session::{Session, User};
use crate::wire::ResultCode;

/// What all connections share.
pub struct Service {
    config: RwLock<Arc<Config>>,
    sessions: Mutex<HashMap<u64, Arc<Session>>>,
    next_session: AtomicU64,
    pub(super) gate: login::Gate,
}

/// A session as `status` shows it.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "named in full")]
pub struct SessionInfo {
    /// The client in the tree's tables.
    pub client: ClientId,
    /// `None` for a guest.
    pub user: Option<String>,
    /// `None` while its client is away.
    pub peer: Option<SocketAddr>,
    pub version: &'static str,
}

impl Service {
    /// A server with these settings.
    pub fn new(config: Config) -> Arc<Self> {
        Arc::new(Self {
            config: RwLock::new(Arc::new(config)),
            sessions: Mutex::default(),
            next_session: AtomicU64::new(1),
            gate: login::Gate::default(),
        })
    }

    /// The settings as of now.
    pub(super) fn config(&self) -> Arc<Config> {
        self.config.read().clone()
    }

    /// Other settings from now on. Volumes that are open stay as they were opened.
    pub fn set_config(&self, config: Config) {
        *self.config.write() = Arc::new(config);
    }

    /// The share of a name, exact or in another case.
    pub(super) fn share(&self, is_it: impl Fn(&Share) -> bool) -> Option<Arc<Share>> {
        self.config().shares.iter().find(|share| is_it(share)).cloned()
    }

    /// Somebody has logged in.
    pub(super) fn begin_session(
        self: &Arc<Self>,
        version: Version,
        user: User,
    ) -> Result<Arc<Session>, ResultCode> {
        let mut sessions = self.sessions.lock();
        if sessions.len() >= MAX_SESSIONS {
            return Err(ResultCode::TOO_MANY_SESSIONS);
        }
        let id = self.next_session.fetch_add(1, Ordering::Relaxed);
        let session = Session::new(self, id, version, user);
        sessions.insert(id, session.clone());
        Ok(session)
    }

    /// A session is over.
    pub(super) fn end_session(&self, session: &Session) {
        self.sessions.lock().remove(&session.id);
        session.end();
    }

    /// A session's connection is lost.
    pub(super) fn session_lost(&self, session: &Arc<Session>) {
        self.end_session(session);
    }

    /// All of them.
    pub(super) fn all_sessions(&self) -> Vec<Arc<Session>> {
        self.sessions.lock().values().cloned().collect()
    }

    /// Who is there.
    pub fn sessions(&self) -> Vec<SessionInfo> {
        let info = |session: &Arc<Session>| SessionInfo {
            client: session.client,
            user: session.user.name.clone(),
            peer: session.connection().map(|connection| connection.peer.address),
            version: session.version.name(),
        };
        self.all_sessions().iter().map(info).collect()
    }
}
