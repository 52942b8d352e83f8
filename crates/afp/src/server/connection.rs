//! The state of one connection, Apple Filing Protocol Programming Guide, "Data Stream Interface".

use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, OnceLock};

use conn::{Peer, Reply as Frame, ToClient};
use lock::Mutex;
use wire::Writer;

use super::config::Version;
use super::service::Service;
use super::transport::Transport;
use crate::ranks;
use crate::server::sessions::login;
use crate::server::sessions::password;
use crate::server::sessions::session::{Session, SessionUser};
use crate::wire::ResultCode;
use crate::wire::dsi::{Command, DsiHeader};

/// A connection.
pub(super) struct Connection {
    pub(super) service: Arc<Service>,
    pub(super) peer: Peer,
    pub(super) transport: Transport,
    to_client: OnceLock<ToClient>,
    state: Mutex<ConnectionState, ranks::AfpStage>,
    /// A user has logged in: longer messages are accepted.
    logged_in: AtomicBool,
    /// The login in progress.
    pub(super) pending: login::StepwiseExchange<login::LoginAttempt>,
    /// The change of a password in progress.
    pub(super) changing: login::StepwiseExchange<password::PendingChange>,
    /// The number of the server's next request to the client.
    next_id: AtomicU16,
}

/// The state of a connection: what exists in it only then is a part of it.
#[derive(Clone)]
pub(super) enum ConnectionState {
    /// Connected.
    Fresh,
    /// A DSI session is open, without a login.
    Open,
    /// A user has logged in.
    LoggedIn(Arc<Session>),
    /// Over.
    Closed,
}

impl Connection {
    /// A connection before its first message.
    pub(super) fn new(service: Arc<Service>, peer: Peer, transport: Transport) -> Arc<Self> {
        Arc::new(Self {
            service,
            peer,
            transport,
            to_client: OnceLock::new(),
            state: Mutex::new(ConnectionState::Fresh),
            logged_in: AtomicBool::new(false),
            pending: login::StepwiseExchange::default(),
            changing: login::StepwiseExchange::default(),
            next_id: AtomicU16::new(0),
        })
    }

    /// The connection has begun, and this is how its client is reached.
    pub(super) fn begin(&self, client: ToClient) {
        let _ = self.to_client.set(client); // a connection begins once
    }

    /// The longest message that is accepted at present.
    pub(super) fn longest_message(&self) -> usize {
        self.transport.longest_message(self.logged_in.load(Ordering::Relaxed))
    }

    /// Opens the DSI session, which a connection does once.
    pub(super) fn open(&self) -> Result<(), ResultCode> {
        let mut state = self.state.lock();
        if !matches!(*state, ConnectionState::Fresh) {
            return Err(ResultCode::PARAM_ERROR);
        }
        *state = ConnectionState::Open;
        Ok(())
    }

    /// The state, as of now: other commands of the client may change it.
    pub(super) fn state(&self) -> ConnectionState {
        self.state.lock().clone()
    }

    /// The session of the login.
    pub(super) fn session(&self) -> Option<Arc<Session>> {
        self.state().into_session()
    }

    /// Completes a login: the user has authenticated.
    pub(super) fn log_in(
        self: &Arc<Self>,
        version: Version,
        user: SessionUser,
    ) -> Result<Arc<Session>, ResultCode> {
        let mut state = self.state.lock();
        if !matches!(*state, ConnectionState::Open) {
            return Err(ResultCode::USER_ALREADY_LOGGED_ON);
        }
        let session = self.service.begin_session(version, user)?;
        session.connect(self);
        *state = ConnectionState::LoggedIn(session.clone());
        self.logged_in.store(true, Ordering::Relaxed);
        self.peer.memory.logged_in(true);
        Ok(session)
    }

    /// The client continues an earlier session, which replaces the session that it has just begun.
    pub(super) fn take_over(self: &Arc<Self>, old: &Arc<Session>) -> Result<(), ResultCode> {
        let mut state = self.state.lock();
        let ConnectionState::LoggedIn(begun) = &*state else { return Err(ResultCode::SESSION_CLOSED) };
        let begun = begun.clone();
        let before = old.connect(self);
        *state = ConnectionState::LoggedIn(old.clone());
        drop(state);
        if let Some(before) = before {
            before.leave();
            before.close();
        }
        old.life.come_back();
        self.service.end_session(&begun);
        Ok(())
    }

    /// The client has logged out. It may close the connection, or log in again.
    pub(super) fn log_out(&self) {
        let mut state = self.state.lock();
        let was = std::mem::replace(&mut *state, ConnectionState::Open);
        self.logged_in.store(false, Ordering::Relaxed);
        self.peer.memory.logged_in(false);
        drop(state);
        if let ConnectionState::LoggedIn(session) = was {
            self.service.end_session(&session);
        }
    }

    /// Sends a request or notification to the client. Answers whether the connection still existed.
    pub(super) fn tell(&self, command: Command, payload: &[u8]) -> bool {
        let Some(to_client) = self.to_client.get() else { return false };
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let header = DsiHeader { is_reply: false, command, id, code: 0, length: payload.len() as u32 };
        let mut w = Writer::new();
        header.encode(&mut w);
        w.put(payload);
        to_client.send(Frame { head: w.into_bytes(), ..Frame::default() })
    }

    /// Ends the connection.
    pub(super) fn close(&self) {
        if let Some(to_client) = self.to_client.get() {
            to_client.close();
        }
    }

    /// The connection is over, by a logout or not. Returns the session that used it.
    pub(super) fn leave(&self) -> Option<Arc<Session>> {
        std::mem::replace(&mut *self.state.lock(), ConnectionState::Closed).into_session()
    }
}

impl ConnectionState {
    fn into_session(self) -> Option<Arc<Session>> {
        match self {
            Self::LoggedIn(session) => Some(session),
            Self::Fresh | Self::Open | Self::Closed => None,
        }
    }
}
