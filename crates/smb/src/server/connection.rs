//! The state of one TCP connection, MS-SMB2 3.3.1.7.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::{Buf, BytesMut};
use conn::{Peer, Reply as Frame, ToClient};
use lock::{Mutex, RwLock};
use vfs::IdMap;

use super::context::{IncomingRequest, Reply};
use super::credits::CreditWindow;
use super::output::ChainOutput;
use super::requests::Requests;
use super::service::Service;
use crate::ranks;
use crate::server::clients::session::Channel;
use crate::server::login::in_progress::LoginTable;
use crate::server::login::negotiate::Negotiation;
use crate::wire::frame;
use crate::wire::header::{Header, Id};
use crate::wire::transform::Transform;
use crate::wire::{Status, error};

/// The longest READ, WRITE and other transfer.
pub(super) const MAX_TRANSACT: u32 = 8 << 20;
/// The most bytes around the data of the longest request: headers, and other requests of the same
/// chain.
const MAX_AROUND: usize = 128 * 1024;
/// The longest message of a client that has not logged in.
const MAX_BEFORE_LOGIN: usize = 64 * 1024;
/// The most sessions of one connection.
pub(super) const MAX_SESSIONS: usize = 64;

/// How many ended sessions a connection remembers the keys of.
const MAX_ENDED: usize = 16;

/// A connection.
pub(super) struct Connection {
    pub(super) service: Arc<Service>,
    pub(super) peer: Peer,
    to_client: OnceLock<ToClient>,
    /// What was agreed on. Once, for the life of the connection.
    pub(super) negotiated: OnceLock<Negotiation>,
    pub(super) window: Mutex<CreditWindow, ranks::SmbWindow>,
    pub(super) requests: Arc<Requests>,
    /// Sessions used over this connection.
    pub(super) channels: RwLock<IdMap<u64, Arc<Channel>>, ranks::SmbChannels>,
    /// Sessions that have ended. Their clients may not know it yet, so the server still signs
    /// refusals with their keys.
    ended: Mutex<VecDeque<Arc<Channel>>, ranks::SmbEndedChannels>,
    /// Logins in progress.
    pub(super) logins: LoginTable,
    /// A user has logged in: the server accepts longer messages.
    logged_in: AtomicBool,
}

impl Connection {
    /// A connection of which nothing is known.
    pub(super) fn new(service: Arc<Service>, peer: Peer) -> Arc<Self> {
        Arc::new(Self {
            service,
            peer,
            to_client: OnceLock::new(),
            negotiated: OnceLock::new(),
            window: Mutex::new(CreditWindow::new()),
            requests: Arc::default(),
            channels: RwLock::default(),
            ended: Mutex::default(),
            logins: LoginTable::default(),
            logged_in: AtomicBool::new(false),
        })
    }

    /// The connection has begun, and this is how its client is reached.
    pub(super) fn begin(&self, client: ToClient) {
        let _ = self.to_client.set(client); // a connection begins once
    }

    /// The longest message that is accepted at present.
    pub(super) fn longest_message(&self) -> usize {
        match self.logged_in.load(Ordering::Relaxed) {
            true => MAX_TRANSACT as usize + MAX_AROUND,
            false => MAX_BEFORE_LOGIN,
        }
    }

    /// What was agreed on, once it was.
    pub(super) fn negotiated(&self) -> Option<&Negotiation> {
        self.negotiated.get()
    }

    /// A session that is used here.
    pub(super) fn channel(&self, session_id: u64) -> Option<Arc<Channel>> {
        self.channels.read().get(&session_id).cloned()
    }

    /// A session is used here from now on. False when there are too many.
    pub(super) fn add_channel(self: &Arc<Self>, channel: Arc<Channel>) -> bool {
        let mut channels = self.channels.write();
        if channels.len() >= MAX_SESSIONS || !channel.session.add_channel(self) {
            return false;
        }
        self.logged_in.store(true, Ordering::Relaxed);
        self.peer.memory.logged_in(true);
        channels.insert(channel.session.id, channel);
        true
    }

    /// A session is used here no longer.
    pub(super) fn remove_channel(&self, session_id: u64) {
        let Some(channel) = self.channels.write().remove(&session_id) else { return };
        let mut ended = self.ended.lock();
        if ended.len() == MAX_ENDED {
            ended.pop_front();
        }
        ended.push_back(channel);
    }

    /// A session that was used here and has ended.
    pub(super) fn ended_channel(&self, session_id: u64) -> Option<Arc<Channel>> {
        self.ended.lock().iter().rev().find(|channel| channel.session.id == session_id).cloned()
    }

    /// Sends a message that the client has not asked for, or one that precedes its answer.
    pub(super) fn send(&self, mut output: ChainOutput) -> bool {
        let Some(to_client) = self.to_client.get() else { return false };
        match output.finish() {
            Ok(None) => true,
            Ok(Some(frame)) => to_client.send(frame),
            Err(()) => {
                to_client.close();
                false
            }
        }
    }

    /// Ends the connection.
    pub(super) fn close(&self) {
        if let Some(to_client) = self.to_client.get() {
            to_client.close();
        }
    }

    /// Tells the client that the answer to `request` comes later. The chain's answers so far are
    /// sent first.
    pub(super) fn send_interim(&self, request: &IncomingRequest, output: &mut ChainOutput, id: u64) {
        let mut interim = output.beside();
        let earlier = std::mem::replace(output, output.beside());
        output.async_id = Some(id);
        self.send(earlier);
        let credits = self.window.lock().grant(request.header.credits, request.header.credit_charge);
        let header = Header { id: Id::Async(id), ..request.header.response(Status::PENDING, credits) };
        let body = Reply::encoded(|w| error::Response::Empty.encode(w)).body;
        interim.push(&header, &body, None, None);
        self.send(interim);
    }

    /// The connection is over. Ends everything that only this connection keeps alive.
    pub(super) fn end(&self) {
        self.requests.end();
        self.ended.lock().clear();
        let channels: Vec<_> = self.channels.write().drain().map(|(_, channel)| channel).collect();
        for channel in channels {
            let session = &channel.session;
            if session.remove_channel(self) == 0 {
                self.service.session_lost(session);
            }
        }
    }
}

/// Decrypts an encrypted frame. Also returns the session that it came in.
pub(super) fn unseal(connection: &Connection, mut message: BytesMut) -> Option<(BytesMut, Arc<Channel>)> {
    let transform = Transform::decode(&message).ok()?;
    let length = message.len() - Transform::LEN;
    if transform.flags != Transform::ENCRYPTED || transform.original_message_size as usize != length {
        return None;
    }
    let channel = connection.channel(transform.session_id)?;
    channel.session.sealer.as_ref()?.open(&mut message).ok()?;
    message.advance(Transform::LEN);
    Some((message, channel))
}

/// A frame with the prefix that TCP wants.
pub(super) fn framed(message: Vec<u8>) -> Frame {
    let mut head = ((message.len() & frame::MESSAGE_LIMIT) as u32).to_be_bytes().to_vec();
    head.extend(message);
    Frame { head, ..Frame::default() }
}
