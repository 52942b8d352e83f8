//! The calls of the server to clients in sessions, over the connections that these have made: RFC 8881 2.10.3.1 and 20.
//!
//! ```text
//! delegations.rs ─► Session::call_back ─ a free slot ─► BackConnections ─► ToClient ─ the call ─► client
//!                                                          ▲                                     │
//!                        rpc.rs: a message that is a reply ┴─────────────────────────────────────┘
//! ```

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use conn::{Reply, ToClient};
use lock::Mutex;
use tokio::sync::{Mutex as Turn, oneshot};
use tokio::time::timeout;
use wire::{Reader, Writer};

use super::client::Client;
use super::sessions::Session;
use crate::ranks;
use crate::server::outgoing::next_xid;
use crate::server::{CallOrigin, Service};
use crate::wire::rpc::{AuthFlavor, AuthSys, CallHeader, Credential, Outcome, RecordMark, ReplyHeader};
use crate::wire::v4::callbacks::{
    CALLBACK_VERSION, CB_COMPOUND, CB_NULL, CachedAttributes, Callback, CallbackCall, CallbackReply,
    CallbackSequence,
};
use crate::wire::v4::sessions::{CallbackSecurity, ChannelAttributes};
use crate::wire::v4::types::Status;
use crate::wire::xdr::{Decode, Encode, Opaque, Words};

/// How long the server waits for a client's answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// The most slots of a back channel that the server uses: its calls to one client that are in flight.
const SLOTS: u32 = 4;
/// The longest call of the server, with its heads.
const LONGEST_CALL: u32 = 512;
/// The longest CB_NOTIFY, with its heads. Linux takes calls of 4096 bytes.
pub(super) const LONGEST_NOTICE: usize = 4096;
/// The longest answer that is read. Those that the server asks for are some hundred bytes long.
const LONGEST_ANSWER: usize = 4096;

/// The connections of clients, as far as the server may call them.
#[derive(Default)]
pub(in crate::server) struct BackConnections {
    table: Mutex<HashMap<CallOrigin, BackchannelConnection>, ranks::Nfs4BackConnections>,
    last: AtomicU64,
    /// Clients of minor version 0 have registered.
    has_clients: AtomicBool,
}

struct BackchannelConnection {
    /// Tells it from a later connection from the same address and port.
    number: u64,
    client: ToClient,
    /// The calls without an answer, by their transaction ids. Each slot of each session has one at most.
    waiting: HashMap<u32, oneshot::Sender<Bytes>>,
    of: ConnectionClient,
}

/// The client of minor version 0 that uses a connection. Most of its operations do not say which client it is.
#[derive(Default)]
enum ConnectionClient {
    #[default]
    Unknown,
    One(Weak<Client>),
    Several,
}

impl BackConnections {
    /// A connection begins. Returns its number.
    pub(in crate::server) fn began(&self, origin: CallOrigin, client: ToClient) -> u64 {
        let number = self.last.fetch_add(1, Ordering::Relaxed);
        let connection =
            BackchannelConnection { number, client, waiting: HashMap::new(), of: ConnectionClient::Unknown };
        self.table.lock().insert(origin, connection);
        number
    }

    /// It is over: no call over it gets an answer.
    pub(in crate::server) fn ended(&self, origin: CallOrigin, number: u64) {
        let mut table = self.table.lock();
        if table.get(&origin).is_some_and(|connection| connection.number == number) {
            table.remove(&origin);
        }
    }

    /// A client answers a call. An answer that no call waits for is ignored.
    pub(in crate::server) fn replied(&self, origin: CallOrigin, message: &Bytes) {
        let xid = crate::wire::rpc::xid(message);
        let mut table = self.table.lock();
        let waiting = table.get_mut(&origin).and_then(|connection| connection.waiting.remove(&xid));
        drop(table);
        if let Some(waiting) = waiting
            && message.len() <= LONGEST_ANSWER
        {
            let _ = waiting.send(message.clone()); // nothing waits any more
        }
    }

    /// A client of minor version 0 uses this connection.
    pub(super) fn note_client(&self, origin: CallOrigin, client: &Arc<Client>) {
        let mut table = self.table.lock();
        let Some(connection) = table.get_mut(&origin) else { return };
        let of = match &connection.of {
            ConnectionClient::One(known) => match known.upgrade() {
                Some(known) if Arc::ptr_eq(&known, client) => return,
                Some(known) if !known.is_over() => ConnectionClient::Several,
                _ => ConnectionClient::One(Arc::downgrade(client)),
            },
            ConnectionClient::Unknown => ConnectionClient::One(Arc::downgrade(client)),
            ConnectionClient::Several => return,
        };
        connection.of = of;
        self.has_clients.store(true, Ordering::Release);
    }

    /// The only client of minor version 0 that uses this connection.
    pub(super) fn client_of(&self, origin: CallOrigin) -> Option<Arc<Client>> {
        if !self.has_clients.load(Ordering::Acquire) {
            return None;
        }
        match &self.table.lock().get(&origin)?.of {
            ConnectionClient::One(client) => client.upgrade().filter(|client| !client.is_over()),
            _ => None,
        }
    }

    /// Whether the connection is there.
    fn has(&self, origin: CallOrigin) -> bool {
        self.table.lock().contains_key(&origin)
    }

    /// Sends a call and waits for its results. `None`: the connection is gone, the client has not answered in time, or it
    /// has refused the call.
    async fn call(
        &self,
        origin: CallOrigin,
        header: CallHeader<'_>,
        arguments: &impl Encode,
    ) -> Option<Vec<u8>> {
        let (answer, answered) = oneshot::channel();
        let to = {
            let mut table = self.table.lock();
            let connection = table.get_mut(&origin)?;
            connection.waiting.insert(header.xid, answer);
            connection.client.clone()
        };
        let mut w = Writer::new();
        w.zeros(RecordMark::SIZE);
        header.encode(&mut w);
        arguments.encode(&mut w);
        let len = (w.len() - RecordMark::SIZE) as u32; // some hundred bytes
        w.patch_u32_be(0, RecordMark { last: true, len }.word());
        let is_sent = to.send(Reply { head: w.into_bytes(), ..Reply::default() });
        let answered = timeout(ANSWER_LIMIT, answered);
        let answer = if is_sent { answered.await.ok().and_then(Result::ok) } else { None };
        if answer.is_none() {
            let mut table = self.table.lock();
            table.get_mut(&origin).map(|connection| connection.waiting.remove(&header.xid));
        }
        let answer = answer?;
        let r = &mut Reader::new(&answer);
        match ReplyHeader::decode(r) {
            Ok(ReplyHeader { outcome: Outcome::Success, .. }) => Some(r.rest().to_vec()),
            _ => None,
        }
    }
}

/// How the server calls the client of a session.
pub(super) struct BackChannel {
    /// The longest call that the client takes.
    request_size: u32,
    callback: Mutex<(u32, CallbackSecurity), ranks::Nfs4Callback>,
    /// The last sequence number of each slot.
    slots: Box<[Turn<u32>]>,
    /// The client has answered a call.
    is_proven: AtomicBool,
}

impl BackChannel {
    /// A channel with these limits, to this program of the client.
    pub(super) fn new(limits: ChannelAttributes, program: u32, security: CallbackSecurity) -> Self {
        Self {
            request_size: limits.request_size,
            callback: Mutex::new((program, security)),
            slots: (0..limits.requests.clamp(1, SLOTS)).map(|_| Turn::new(0)).collect(),
            is_proven: AtomicBool::new(false),
        }
    }

    /// The client says anew how it is to be called.
    pub(super) fn change(&self, program: u32, security: CallbackSecurity) {
        *self.callback.lock() = (program, security);
    }

    /// Whether the client has answered over this channel: only then it can be asked for what it gets.
    pub(super) fn is_proven(&self) -> bool {
        self.is_proven.load(Ordering::Acquire)
    }
}

/// How a client answers a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallbackOutcome {
    /// It will do what it is asked for.
    Accepted,
    /// It tells the attributes that it knows.
    Attributes(CachedAttributes),
    /// It is to be asked again.
    Later,
    /// It does not want what it gets, or does not know such calls.
    Rejected,
    /// It cannot be reached.
    Unreachable,
}

impl CallbackOutcome {
    /// What a status of an operation means.
    fn by(status: Option<Status>) -> Self {
        match status {
            Some(Status::OK) => Self::Accepted,
            Some(Status::REJECT_DELEG | Status::NOTSUPP | Status::OP_ILLEGAL) => Self::Rejected,
            _ => Self::Later,
        }
    }
}

impl Session {
    /// The connections over which the server may call the client now.
    fn callable(&self, service: &Service) -> Vec<CallOrigin> {
        let back = &service.nfs4.back;
        self.back_connections().into_iter().filter(|origin| back.has(*origin)).collect()
    }

    /// Whether the server can call the client.
    pub(super) fn is_callable(&self, service: &Service) -> bool {
        self.back.is_proven()
            && self.back_connections().into_iter().any(|origin| service.nfs4.back.has(origin))
    }

    /// Whether the client takes calls that are long enough for notices.
    pub(super) fn takes_notices(&self) -> bool {
        self.back.request_size as usize >= LONGEST_NOTICE
    }

    /// Calls CB_NULL once. The client gets no delegation before it has answered.
    pub(super) fn prove(self: &Arc<Self>, service: &Arc<Service>) {
        if self.back.is_proven() || self.back.request_size < LONGEST_CALL {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (session, service) = (self.clone(), service.clone());
        runtime.spawn(async move {
            for origin in session.callable(&service) {
                if session.call(&service, origin, CB_NULL, &()).await.is_some() {
                    session.back.is_proven.store(true, Ordering::Release);
                    return;
                }
            }
        });
    }

    async fn call(
        &self,
        service: &Service,
        origin: CallOrigin,
        procedure: u32,
        arguments: &impl Encode,
    ) -> Option<Vec<u8>> {
        let (program, security) = *self.back.callback.lock();
        let credential = match security {
            CallbackSecurity { sys: Some((uid, gid)), .. } => {
                let machine_name = Opaque::new(b"fourfold");
                Credential::Sys(AuthSys { stamp: 0, machine_name, uid, gid, gids: Words::new(&[]) })
            }
            CallbackSecurity { none: true, .. } => Credential::None,
            _ => return None,
        };
        let (xid, verifier) = (next_xid(), AuthFlavor::AUTH_NONE);
        let header = CallHeader { xid, program, version: CALLBACK_VERSION, procedure, credential, verifier };
        service.nfs4.back.call(origin, header, arguments).await
    }

    /// CB_COMPOUND.
    pub(super) async fn call_back(&self, service: &Service, callback: Callback<'_>) -> CallbackOutcome {
        if matches!(callback, Callback::Notify(_)) && !self.takes_notices() {
            return CallbackOutcome::Unreachable;
        }
        for origin in self.callable(service) {
            let (slot, mut sequence) = self.back.turn().await;
            let next = sequence.wrapping_add(1);
            let call = CallbackCall {
                minor: self.minor,
                ident: 0,
                sequence: Some(CallbackSequence {
                    session: self.id,
                    sequence: next,
                    slot,
                    highest_slot: self.back.slots.len() as u32 - 1, // there is at least one
                    cache: false,
                    referring: 0,
                }),
                callback,
            };
            let Some(results) = self.call(service, origin, CB_COMPOUND, &call).await else { continue };
            match CallbackReply::decode(&mut Reader::new(&results)) {
                Ok(CallbackReply::Executed { in_session: true, status }) => {
                    *sequence = next;
                    return CallbackOutcome::by(status);
                }
                Ok(CallbackReply::Attributes { in_session: true, known }) => {
                    *sequence = next;
                    return CallbackOutcome::Attributes(known);
                }
                // The client has executed the request of this number, and its answer was lost.
                Ok(CallbackReply::Refused(Status::RETRY_UNCACHED_REP | Status::SEQ_FALSE_RETRY)) => {
                    *sequence = next;
                    return CallbackOutcome::Later;
                }
                Ok(CallbackReply::Refused(Status::DELAY)) => return CallbackOutcome::Later,
                _ => {}
            }
        }
        CallbackOutcome::Unreachable
    }
}

impl BackChannel {
    /// A slot without a call in flight, else the first one when it is free.
    async fn turn(&self) -> (u32, tokio::sync::MutexGuard<'_, u32>) {
        let free = self.slots.iter().zip(0..).find_map(|(slot, at)| Some((at, slot.try_lock().ok()?)));
        match free {
            Some(free) => free,
            None => (0, self.slots[0].lock().await),
        }
    }
}
