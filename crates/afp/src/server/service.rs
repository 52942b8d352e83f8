//! What all connections of the AFP server share: settings, sessions, volumes that are watched.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lock::{Mutex, RwLock};
use tokio::time::Instant;
use vfs::state::ClientId;

use super::config::{Config, Share, Version};
use super::connection::Connection;
use super::limits::{MAX_AWAY, MAX_AWAY_EACH, MAX_SESSIONS};
use crate::ranks;
use crate::server::sessions::login;
use crate::server::sessions::session::{Session, SessionUser};
use crate::server::sessions::session_notices::VolumeWatches;
use crate::server::sessions::session_pulse::PulseAction;
use crate::wire::ResultCode;
use crate::wire::dsi::Command;

/// How often the sessions are checked.
const BEAT: Duration = Duration::from_secs(10);

/// How long a Mac waits for the loss of the server of its old session: longer than the others take to notice it.
const LOST_WITHIN: Duration = Duration::from_secs(8);
/// How often it is looked whether that server is lost.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Which other servers of the tree are alive.
struct ServerLiveness {
    /// This server.
    server: u16,
    is_alive: Box<dyn Fn(u16) -> bool + Send + Sync>,
}

/// The state that all connections share.
pub struct Service {
    config: RwLock<Arc<Config>, ranks::AfpConfig>,
    sessions: Mutex<HashMap<u64, Arc<Session>>, ranks::AfpSessions>,
    next_session: AtomicU64,
    /// Which other servers of the tree are alive, if there are any.
    alive: OnceLock<ServerLiveness>,
    pub(super) gate: login::LoginGate,
    /// The administrator's last message.
    message: RwLock<Option<Arc<str>>, ranks::AfpMessage>,
    /// Volumes that are watched for sessions that have them open.
    pub(super) watched: VolumeWatches,
    /// A task checks the sessions.
    is_tended: AtomicBool,
    /// New sessions are refused.
    is_stopping: AtomicBool,
    /// How many volumes the last list had no room for.
    pub(super) left_out: AtomicUsize,
}

/// A session as `status` shows it.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "named in full")]
pub struct SessionInfo {
    /// The client in the tree's tables.
    pub client: ClientId,
    /// `None` for a guest.
    pub user: Option<String>,
    /// `None` while its client is disconnected.
    pub peer: Option<SocketAddr>,
    pub version: &'static str,
    /// It has said that it sleeps, by FPZzz.
    pub is_asleep: bool,
}

impl Service {
    /// A server with these settings.
    pub fn new(config: Config) -> Arc<Self> {
        Arc::new(Self {
            config: RwLock::new(Arc::new(config)),
            sessions: Mutex::default(),
            next_session: AtomicU64::new(1),
            alive: OnceLock::new(),
            gate: login::LoginGate::default(),
            message: RwLock::default(),
            watched: VolumeWatches::default(),
            is_tended: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
            left_out: AtomicUsize::new(0),
        })
    }

    /// Other servers have the same tree. Numbers of sessions begin with that of this server, and `is_alive` says which
    /// others are members. Called once, before there are clients.
    pub fn share_with(&self, server: u16, is_alive: impl Fn(u16) -> bool + Send + Sync + 'static) {
        self.next_session.store((u64::from(server) << 48) + 1, Ordering::Relaxed);
        let _ = self.alive.set(ServerLiveness { server, is_alive: Box::new(is_alive) }); // it is called once
    }

    /// Waits until the server that has this session is lost, if that is another one: what the session had binds others
    /// until then.
    pub(super) async fn wait_for_loss(&self, session: u64) {
        let Some(ServerLiveness { server: own, is_alive }) = self.alive.get() else { return };
        let (server, until) = (vfs::state::home(session), Instant::now() + LOST_WITHIN);
        while server != *own && is_alive(server) && Instant::now() < until {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// The current settings.
    pub(super) fn config(&self) -> Arc<Config> {
        self.config.read().clone()
    }

    /// Replaces the settings. Open volumes stay as they were opened.
    pub(super) fn replace_config(&self, config: Config) -> (Arc<Config>, Arc<Config>) {
        let now = Arc::new(config);
        (std::mem::replace(&mut *self.config.write(), now.clone()), now)
    }

    /// Sets the server's addresses.
    pub fn set_addresses(&self, addresses: Vec<SocketAddr>) {
        if self.config().addresses != addresses {
            Arc::make_mut(&mut *self.config.write()).addresses = addresses;
        }
    }

    /// The share with a name, exact or in another case.
    pub(super) fn share(&self, is_it: impl Fn(&Share) -> bool) -> Option<Arc<Share>> {
        self.config().shares.iter().find(|share| is_it(share)).cloned()
    }

    /// Begins the session of a user.
    pub(super) fn begin_session(
        self: &Arc<Self>,
        version: Version,
        user: SessionUser,
    ) -> Result<Arc<Session>, ResultCode> {
        if self.is_stopping.load(Ordering::Relaxed) {
            return Err(ResultCode::SERVER_GOING_DOWN);
        }
        self.make_room(MAX_SESSIONS);
        let id = self.next_session.fetch_add(1, Ordering::Relaxed);
        let session = Session::new(self, id, version, user);
        let mut sessions = self.sessions.lock();
        if sessions.len() >= MAX_SESSIONS {
            return Err(ResultCode::TOO_MANY_SESSIONS);
        }
        sessions.insert(id, session.clone());
        drop(sessions);
        self.tend();
        Ok(session)
    }

    /// Ends a session.
    pub(super) fn end_session(&self, session: &Session) {
        self.sessions.lock().remove(&session.id);
        if session.life.end() {
            session.end();
        }
    }

    /// Handles the loss of a session's connection. The session is kept for a while if its client
    /// can reconnect.
    pub(super) fn session_lost(&self, session: &Arc<Session>, connection: &Connection) {
        if !session.disconnect(connection) {
            return; // its client has already reconnected
        }
        if !session.life.can_come_back() || self.is_stopping.load(Ordering::Relaxed) {
            return self.end_session(session);
        }
        session.go_away();
        self.make_room_for_away(&session.user);
    }

    /// Ends the sessions that have been disconnected longest if there are too many: first those of
    /// the user that has one more now.
    fn make_room_for_away(&self, user: &SessionUser) {
        let (all, theirs) = (self.away(), |session: &&Arc<Session>| session.user.is(user));
        let surplus = all.iter().filter(theirs).count().saturating_sub(MAX_AWAY_EACH);
        all.iter().filter(theirs).take(surplus).for_each(|session| self.end_session(session));
        let surplus = (all.len() - surplus).saturating_sub(MAX_AWAY);
        all.iter().take(surplus).for_each(|session| self.end_session(session));
    }

    fn make_room(&self, most: usize) {
        if self.sessions.lock().len() >= most
            && let Some(longest) = self.away().first()
        {
            self.end_session(longest);
        }
    }

    /// Sessions whose clients are disconnected, the longest first.
    fn away(&self) -> Vec<Arc<Session>> {
        let mut away = self.all_sessions();
        away.retain(|session| session.connection().is_none());
        away.sort_by_key(|session| (std::cmp::Reverse(session.life.time_away()), session.id));
        away
    }

    /// The session with this number.
    pub(super) fn session(&self, id: u64) -> Option<Arc<Session>> {
        self.sessions.lock().get(&id).cloned()
    }

    /// Called regularly: sends tickles, and ends what has timed out.
    pub(super) fn beat(&self, time: Duration) {
        for session in self.all_sessions() {
            let connection = session.connection();
            match session.life.pass(time, connection.is_some()) {
                PulseAction::Nothing => {}
                PulseAction::Tickle => {
                    let _ = connection.map(|connection| connection.tell(Command::TICKLE, &[])); // it may be over
                }
                PulseAction::Close => {
                    tracing::debug!(user = ?session.user.name, "a client has been silent for too long");
                    session.close();
                }
                PulseAction::End => {
                    self.end_session(&session);
                    session.close();
                }
            }
        }
    }

    /// Checks the sessions for as long as there are any: one timer for all of them.
    fn tend(self: &Arc<Self>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.is_tended.swap(true, Ordering::AcqRel) {
            return;
        }
        let service = Arc::downgrade(self);
        runtime.spawn(async move {
            loop {
                tokio::time::sleep(BEAT).await;
                let Some(service) = service.upgrade() else { return };
                service.beat(BEAT);
                let sessions = service.sessions.lock();
                if sessions.is_empty() {
                    return service.is_tended.store(false, Ordering::Release);
                }
            }
        });
    }

    /// The administrator's last message.
    pub(super) fn message(&self) -> Option<Arc<str>> {
        self.message.read().clone()
    }

    pub(super) fn set_message(&self, text: &str) {
        *self.message.write() = Some(text.into());
    }

    /// Refuses new sessions from now on.
    pub(super) fn refuse_sessions(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// All sessions.
    pub(super) fn all_sessions(&self) -> Vec<Arc<Session>> {
        self.sessions.lock().values().cloned().collect()
    }

    /// All sessions, for `status`.
    pub fn sessions(&self) -> Vec<SessionInfo> {
        self.all_sessions().iter().map(|session| session.info()).collect()
    }
}
