//! One TCP connection: DSI frames in and out, Apple Filing Protocol Programming Guide, "Data Stream Interface".

use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::{Buf, Bytes, BytesMut};
use conn::{Answer, InFlight, Limits, Peer, Protocol, Reply as Frame, Stream, ToClient, Watchdog};
use lock::{Mutex, rank};
use wire::{Reader, Writer};

use super::config::Version;
use super::dispatch;
use super::limits::{MAX_AROUND, MAX_BEFORE_LOGIN, QUANTUM};
use super::request::{Outcome, Reply};
use super::service::Service;
use super::status;
use crate::server::sessions::login;
use crate::server::sessions::password;
use crate::server::sessions::session::{Session, User};
use crate::server::sessions::session_replies::REPLIES;
use crate::wire::ResultCode;
use crate::wire::dsi::{Command, Header, Options};

/// A connection.
pub(super) struct Connection {
    pub(super) service: Arc<Service>,
    pub(super) peer: Peer,
    to_client: OnceLock<ToClient>,
    stage: Mutex<Stage, rank::AfpStage>,
    /// A user has logged in: longer messages are accepted.
    logged_in: AtomicBool,
    /// The login in progress.
    pub(super) pending: login::Pending<login::Attempt>,
    /// The change of a password in progress.
    pub(super) changing: login::Pending<password::Change>,
    /// The number of the server's next request to the client.
    next_id: AtomicU16,
}

/// The state of a connection.
enum Stage {
    /// Connected.
    Fresh,
    /// A DSI session is open, without a login.
    Open,
    /// A user has logged in.
    LoggedIn(Arc<Session>),
    /// Over.
    Closed,
}

/// Serves one connection until either side ends it.
pub async fn serve_stream(service: Arc<Service>, stream: Stream, peer: Peer, watchdog: Arc<Watchdog>) {
    let limits = Limits::default();
    conn::serve(stream, &peer, protocol(service, peer.clone()), limits, watchdog).await;
}

/// One connection without its transport, for `conn` and for tests without sockets.
pub fn protocol(service: Arc<Service>, peer: Peer) -> impl Protocol {
    Served(Connection::new(service, peer))
}

impl Connection {
    /// A connection before its first message.
    pub(super) fn new(service: Arc<Service>, peer: Peer) -> Arc<Self> {
        Arc::new(Self {
            service,
            peer,
            to_client: OnceLock::new(),
            stage: Mutex::new(Stage::Fresh),
            logged_in: AtomicBool::new(false),
            pending: login::Pending::default(),
            changing: login::Pending::default(),
            next_id: AtomicU16::new(0),
        })
    }

    /// The session of the login.
    pub(super) fn session(&self) -> Option<Arc<Session>> {
        match &*self.stage.lock() {
            Stage::LoggedIn(session) => Some(session.clone()),
            Stage::Fresh | Stage::Open | Stage::Closed => None,
        }
    }

    /// Completes a login: the user has authenticated.
    pub(super) fn log_in(self: &Arc<Self>, version: Version, user: User) -> Result<Arc<Session>, ResultCode> {
        let mut stage = self.stage.lock();
        if !matches!(*stage, Stage::Open) {
            return Err(ResultCode::USER_ALREADY_LOGGED_ON);
        }
        let session = self.service.begin_session(version, user)?;
        session.connect(self);
        *stage = Stage::LoggedIn(session.clone());
        self.logged_in.store(true, Ordering::Relaxed);
        self.peer.memory.logged_in(true);
        Ok(session)
    }

    /// The client continues an earlier session, which replaces the session that it has just begun.
    pub(super) fn take_over(self: &Arc<Self>, old: &Arc<Session>) -> Result<(), ResultCode> {
        let mut stage = self.stage.lock();
        let Stage::LoggedIn(begun) = &*stage else { return Err(ResultCode::SESSION_CLOSED) };
        let begun = begun.clone();
        let before = old.connect(self);
        *stage = Stage::LoggedIn(old.clone());
        drop(stage);
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
        let mut stage = self.stage.lock();
        let was = std::mem::replace(&mut *stage, Stage::Open);
        self.logged_in.store(false, Ordering::Relaxed);
        self.peer.memory.logged_in(false);
        drop(stage);
        if let Stage::LoggedIn(session) = was {
            self.service.end_session(&session);
        }
    }

    /// Sends a request or notification to the client. Answers whether the connection still existed.
    pub(super) fn tell(&self, command: Command, payload: &[u8]) -> bool {
        let Some(to_client) = self.to_client.get() else { return false };
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let header = Header { is_reply: false, command, id, code: 0, length: payload.len() as u32 };
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

    /// One whole message.
    async fn answer(self: Arc<Self>, mut message: BytesMut, in_flight: InFlight) -> Option<Frame> {
        let header = Header::decode(&mut Reader::new(&message)).ok()?;
        message.advance(Header::LEN);
        let payload = message.freeze();
        if header.is_reply {
            return None; // the answer to an attention is not needed
        }
        let outcome = match header.command {
            Command::TICKLE => {
                if let Some(session) = self.session() {
                    session.life.hear();
                }
                return None;
            }
            Command::GET_STATUS => status::run(&self.service),
            Command::OPEN_SESSION => self.open_session(&payload),
            Command::CLOSE_SESSION => {
                if let Some(session) = self.leave() {
                    self.service.end_session(&session);
                }
                self.close();
                return None;
            }
            Command::COMMAND => dispatch::run(&self, header.id, payload, Bytes::new(), in_flight).await,
            Command::WRITE => self.write(header, payload, in_flight).await,
            _ => Err(ResultCode::CALL_NOT_SUPPORTED),
        };
        Some(framed(header, outcome))
    }

    fn open_session(&self, payload: &[u8]) -> Outcome {
        let _asked = Options::decode(&mut Reader::new(payload))?;
        let mut stage = self.stage.lock();
        if !matches!(*stage, Stage::Fresh) {
            return Err(ResultCode::PARAM_ERROR);
        }
        *stage = Stage::Open;
        let options = Options {
            request_quantum: Some(QUANTUM),
            replay_cache: Some(REPLIES as u32),
            ..Options::default()
        };
        Ok(Reply::encoded(|w| options.encode(w)))
    }

    /// A command with data behind it: the header says where they begin.
    async fn write(self: &Arc<Self>, header: Header, mut payload: Bytes, in_flight: InFlight) -> Outcome {
        let at = header.code as usize;
        if at > payload.len() {
            return Err(ResultCode::PARAM_ERROR);
        }
        let data = payload.split_off(at);
        dispatch::run(self, header.id, payload, data, in_flight).await
    }

    /// The connection is over, by a logout or not. Returns the session that used it.
    fn leave(&self) -> Option<Arc<Session>> {
        match std::mem::replace(&mut *self.stage.lock(), Stage::Closed) {
            Stage::LoggedIn(session) => Some(session),
            Stage::Fresh | Stage::Open | Stage::Closed => None,
        }
    }

    /// Whether a DSI session is open.
    pub(super) fn is_open(&self) -> bool {
        matches!(*self.stage.lock(), Stage::Open | Stage::LoggedIn(_))
    }
}

/// A reply with its header.
fn framed(request: Header, outcome: Outcome) -> Frame {
    let (code, reply) = match outcome {
        Ok(reply) => (reply.code.unwrap_or(ResultCode::NO_ERROR), reply),
        Err(code) => (code, Reply::empty()),
    };
    let length = reply.head.len() + reply.data.as_ref().map_or(0, vfs::Payload::len);
    let header = Header { is_reply: true, code: code.0 as u32, length: length as u32, ..request };
    let mut w = Writer::onto(Vec::with_capacity(Header::LEN + reply.head.len()));
    header.encode(&mut w);
    w.put(&reply.head);
    Frame { head: w.into_bytes(), body: reply.data, tail: 0, reserved: reply.reserved }
}

/// The connection's interface to `conn`.
pub(super) struct Served(pub(super) Arc<Connection>);

impl Protocol for Served {
    fn message_length(&self, bytes: &[u8]) -> Result<Option<usize>, &'static str> {
        let Some(header) = bytes.get(..Header::LEN) else { return Ok(None) };
        let header = Header::decode(&mut Reader::new(header)).map_err(|_| "not a frame of DSI")?;
        let most = match self.0.logged_in.load(Ordering::Relaxed) {
            true => QUANTUM as usize + MAX_AROUND,
            false => MAX_BEFORE_LOGIN,
        };
        match header.length as usize {
            length if length > most => Err("a message longer than any that is served"),
            length => Ok(Some(Header::LEN + length)),
        }
    }

    fn answer(&self, message: BytesMut, in_flight: InFlight) -> Answer {
        Box::pin(self.0.clone().answer(message, in_flight))
    }

    fn began(&self, client: ToClient) {
        let _ = self.0.to_client.set(client); // a connection begins once
        login::watch(&self.0);
    }

    fn ended(&self) {
        if let Some(session) = self.0.leave() {
            self.0.service.session_lost(&session, &self.0);
        }
    }
}
