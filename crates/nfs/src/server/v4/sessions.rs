//! Sessions, RFC 8881 2.10: their limits, their slots, and the connections that use them.
//!
//! A slot executes one request after another, each with the next sequence number, and keeps the last reply: a request with
//! the number of the last one is that request again, and gets the same reply without being executed. The memory for these
//! replies is set aside when a session is created, so that a reply can always be kept.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lock::{Mutex, RwLock};

use super::backchannel::BackChannel;
use super::client::Client;
use crate::ranks;
use crate::server::CallOrigin;
use crate::server::call::MAX_RECORD;
use crate::wire::v4::OPERATIONS_LIMIT;
use crate::wire::v4::sessions::{ChannelAttributes, SessionId};
use crate::wire::v4::types::Status;

/// The most sessions of one client.
const SESSIONS_OF_CLIENT: usize = 16;
/// The most connections that a session remembers. The oldest one is forgotten, and is remembered again when it is used.
const CONNECTIONS: usize = 64;
/// The most slots of a session: requests that a client may have in flight.
const SLOTS: u32 = 64;
/// The longest reply that a slot keeps.
const KEPT_REPLY: u32 = 4 * 1024;
/// The most memory for kept replies of all sessions.
const KEPT_TOTAL: usize = 128 << 20;
/// How much of it a session gets at most, by how much is left: the last row is for 16,384 small sessions.
const SHARES: [(usize, usize); 3] =
    [(KEPT_TOTAL / 2, 256 * 1024), (KEPT_TOTAL / 4, 32 * 1024), (LEAST_KEPT, LEAST_KEPT)];
/// What each session gets: one slot with a short reply.
const LEAST_KEPT: usize = 2 * 1024;
/// A reply up to this length is kept even if the client has not asked for it.
const KEPT_UNASKED: usize = 256;
/// The head of a reply of RPC: xid, kind, status, verifier and status of the call.
pub(super) const RPC_REPLY_HEAD: u32 = 24;
/// The shortest requests and replies that a client may limit a session to: those of SEQUENCE alone.
const SHORTEST_MESSAGE: u32 = 128;
/// The fewest operations: SEQUENCE and one other.
const FEWEST_OPERATIONS: u32 = 2;

/// All sessions.
#[derive(Default)]
pub(in crate::server) struct Sessions {
    table: RwLock<SessionTable, ranks::Nfs4Sessions>,
    /// The memory that is set aside for kept replies.
    kept: AtomicUsize,
}

#[derive(Default)]
struct SessionTable {
    sessions: HashMap<SessionId, Arc<Session>>,
    /// The sessions of each client, by its number.
    of_clients: HashMap<u32, Vec<SessionId>>,
}

/// One session.
pub(super) struct Session {
    pub(super) id: SessionId,
    pub(super) client: Arc<Client>,
    /// The minor version that the client speaks in it, and the server when it calls the client.
    pub(super) minor: u32,
    /// The limits of requests.
    pub(super) fore: ChannelAttributes,
    /// How the server calls the client.
    pub(super) back: BackChannel,
    slots: Box<[Mutex<SessionSlot, ranks::Nfs4Slot>]>,
    connections: Mutex<Vec<BoundConnection>, ranks::Nfs4Connections>,
}

/// A connection that uses a session.
#[derive(Debug, Clone, Copy)]
struct BoundConnection {
    origin: CallOrigin,
    /// The server may call the client over it.
    is_back: bool,
}

/// The last request of a slot.
#[derive(Default)]
struct SessionSlot {
    sequence: u32,
    /// Of the request, to tell another request with the same number.
    digest: u64,
    reply: Vec<u8>,
    is_kept: bool,
    /// A request after it is being executed.
    is_busy: bool,
    is_used: bool,
}

/// A request of a slot that is being executed, also after its connection has ended. If it is dropped unfinished, as when its
/// task panics, the request counts as executed, and its reply is lost: executing it again could do it twice.
pub(super) struct SlotTurn {
    session: Arc<Session>,
    at: usize,
    digest: u64,
    is_ended: bool,
}

/// What to do with a request.
pub(super) enum SlotRequestState {
    New(SlotTurn),
    /// It was executed. This was the reply.
    Repeated(Vec<u8>),
}

/// The limits of a channel as the server allows them: TOOSMALL if no request could be executed.
pub(super) fn allowed(wanted: &ChannelAttributes, kept: usize) -> Result<ChannelAttributes, Status> {
    let size = |size: u32| size.min(MAX_RECORD as u32);
    let kept = u32::try_from(kept).unwrap_or(u32::MAX);
    let kept_size = wanted.kept_size.min(KEPT_REPLY).min(wanted.reply_size).min(kept);
    let most_slots = kept / kept_size.max(1);
    let allowed = ChannelAttributes {
        header_padding: 0,
        request_size: size(wanted.request_size),
        reply_size: size(wanted.reply_size),
        kept_size,
        operations: wanted.operations.min(OPERATIONS_LIMIT),
        requests: wanted.requests.min(SLOTS).min(most_slots),
        inbound_reads: None,
    };
    let is_too_small = allowed.request_size < SHORTEST_MESSAGE
        || allowed.reply_size < SHORTEST_MESSAGE
        || allowed.operations < FEWEST_OPERATIONS
        || allowed.requests == 0;
    if is_too_small { Err(Status::TOOSMALL) } else { Ok(allowed) }
}

impl Sessions {
    /// Creates a session of a client, in a minor version, over a connection that the server may use to call back (`true`) or
    /// not: NOSPC if the client has too many, or there are too many in all; STALE_CLIENTID if the client has ended meanwhile,
    /// because nothing would end the session.
    pub(super) fn create(
        &self,
        (client, minor): (&Arc<Client>, u32),
        (wanted, back): (&ChannelAttributes, BackChannel),
        over: (CallOrigin, bool),
        is_there: impl FnOnce() -> bool,
    ) -> Result<Arc<Session>, Status> {
        let session = self.add((client, minor), wanted, back, over)?;
        if is_there() {
            return Ok(session);
        }
        self.end(&session);
        Err(Status::STALE_CLIENTID)
    }

    fn add(
        &self,
        (client, minor): (&Arc<Client>, u32),
        wanted: &ChannelAttributes,
        back: BackChannel,
        (origin, is_back): (CallOrigin, bool),
    ) -> Result<Arc<Session>, Status> {
        let mut id = [0; 16];
        getrandom::fill(&mut id).map_err(|_| Status::SERVERFAULT)?;
        let fore = self.set_aside(wanted)?;
        let session = Arc::new(Session {
            id,
            client: client.clone(),
            minor,
            fore,
            back,
            slots: (0..fore.requests).map(|_| Mutex::default()).collect(),
            connections: Mutex::new(vec![BoundConnection { origin, is_back }]),
        });
        let mut table = self.table.write();
        let own = table.of_clients.entry(client.number).or_default();
        if own.len() >= SESSIONS_OF_CLIENT {
            drop(table);
            self.give_back(&fore);
            return Err(Status::NOSPC);
        }
        own.push(id);
        client.sessions.fetch_add(1, Ordering::AcqRel);
        table.sessions.insert(id, session.clone());
        Ok(session)
    }

    /// Sets memory for kept replies aside, and says which limits it allows.
    fn set_aside(&self, wanted: &ChannelAttributes) -> Result<ChannelAttributes, Status> {
        loop {
            let used = self.kept.load(Ordering::Acquire);
            let left = KEPT_TOTAL.saturating_sub(used);
            let share = SHARES.iter().find(|(least_left, _)| left >= *least_left).ok_or(Status::NOSPC)?;
            let fore = allowed(wanted, share.1)?;
            let more = used + reserved(&fore);
            if self.kept.compare_exchange(used, more, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                return Ok(fore);
            }
        }
    }

    fn give_back(&self, fore: &ChannelAttributes) {
        self.kept.fetch_sub(reserved(fore), Ordering::AcqRel);
    }

    /// The session of this name.
    pub(super) fn named(&self, id: &SessionId) -> Result<Arc<Session>, Status> {
        self.table.read().sessions.get(id).cloned().ok_or(Status::BADSESSION)
    }

    /// Ends a session. Requests in flight are still answered.
    pub(super) fn end(&self, session: &Session) {
        let mut table = self.table.write();
        if table.sessions.remove(&session.id).is_none() {
            return;
        }
        let number = session.client.number;
        session.client.sessions.fetch_sub(1, Ordering::AcqRel);
        if let Some(own) = table.of_clients.get_mut(&number) {
            own.retain(|id| *id != session.id);
            if own.is_empty() {
                table.of_clients.remove(&number);
            }
        }
        drop(table);
        self.give_back(&session.fore);
    }

    /// The sessions of a client.
    pub(super) fn of(&self, client: &Client) -> Vec<Arc<Session>> {
        let table = self.table.read();
        let ids = table.of_clients.get(&client.number).into_iter().flatten();
        ids.filter_map(|id| table.sessions.get(id).cloned()).collect()
    }

    /// Ends all sessions of a client.
    pub(super) fn end_of(&self, client: &Client) {
        self.of(client).iter().for_each(|session| self.end(session));
    }
}

/// The memory for the kept replies of a session.
fn reserved(fore: &ChannelAttributes) -> usize {
    fore.requests as usize * (fore.kept_size as usize).max(KEPT_UNASKED)
}

impl Session {
    /// The number of the last slot.
    pub(super) fn highest_slot(&self) -> u32 {
        self.fore.requests - 1 // there is at least one
    }

    /// Remembers that a connection uses the session, RFC 8881 2.10.3.1; with `is_back` for calls of the server, too.
    pub(super) fn bind(&self, origin: CallOrigin, is_back: bool) {
        let mut connections = self.connections.lock();
        if let Some(known) = connections.iter_mut().find(|known| known.origin == origin) {
            known.is_back |= is_back;
            return;
        }
        if connections.len() >= CONNECTIONS {
            connections.remove(0);
        }
        connections.push(BoundConnection { origin, is_back });
    }

    /// Whether a connection uses the session.
    pub(super) fn is_bound(&self, origin: CallOrigin) -> bool {
        self.connections.lock().iter().any(|known| known.origin == origin)
    }

    /// The connections over which the server may call the client.
    pub(super) fn back_connections(&self) -> Vec<CallOrigin> {
        let connections = self.connections.lock();
        connections.iter().filter(|known| known.is_back).map(|known| known.origin).collect()
    }

    /// Begins a request, RFC 8881 2.10.6.1.
    pub(super) fn begin(
        self: &Arc<Self>,
        at: u32,
        sequence: u32,
        digest: u64,
    ) -> Result<SlotRequestState, Status> {
        let at = at as usize;
        let mut slot = self.slots.get(at).ok_or(Status::BADSLOT)?.lock();
        if sequence == slot.sequence.wrapping_add(1) {
            if slot.is_busy {
                return Err(Status::DELAY); // the same request is being executed
            }
            slot.is_busy = true;
            self.client.in_flight.fetch_add(1, Ordering::AcqRel);
            return Ok(SlotRequestState::New(SlotTurn {
                session: self.clone(),
                at,
                digest,
                is_ended: false,
            }));
        }
        if sequence != slot.sequence || !slot.is_used {
            return Err(Status::SEQ_MISORDERED);
        }
        if slot.digest != digest {
            return Err(Status::SEQ_FALSE_RETRY);
        }
        if slot.is_kept {
            Ok(SlotRequestState::Repeated(slot.reply.clone()))
        } else {
            Err(Status::RETRY_UNCACHED_REP)
        }
    }
}

impl SlotTurn {
    pub(super) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// Ends the request with the two parts of its reply, which is kept if the client `wants` that or it is short. `None`: a
    /// reply that cannot be kept.
    pub(super) fn end(mut self, reply: Option<[&[u8]; 2]>, wants: bool) {
        let most = if wants { self.session.fore.kept_size as usize } else { KEPT_UNASKED };
        self.keep(reply.filter(|[first, rest]| first.len() + rest.len() <= most));
    }

    /// The request was not executed: it may come again.
    pub(super) fn cancel(mut self) {
        self.is_ended = true;
        if let Some(slot) = self.session.slots.get(self.at) {
            slot.lock().is_busy = false;
        }
    }

    fn keep(&mut self, kept: Option<[&[u8]; 2]>) {
        self.is_ended = true;
        let Some(slot) = self.session.slots.get(self.at) else { return };
        let mut slot = slot.lock();
        slot.sequence = slot.sequence.wrapping_add(1);
        (slot.digest, slot.is_used, slot.is_busy, slot.is_kept) = (self.digest, true, false, kept.is_some());
        slot.reply.clear();
        for part in kept.unwrap_or_default() {
            slot.reply.extend_from_slice(part);
        }
    }
}

impl Drop for SlotTurn {
    fn drop(&mut self) {
        self.session.client.renew();
        self.session.client.in_flight.fetch_sub(1, Ordering::AcqRel);
        if !self.is_ended {
            self.keep(None);
        }
    }
}

/// A COMPOUND that began with SEQUENCE.
pub(super) struct SequencedCompound {
    pub(super) turn: SlotTurn,
    /// The client wants the reply to be kept.
    pub(super) wants_kept: bool,
    /// The most bytes of the results, and why there cannot be more.
    pub(super) most: (usize, Status),
}

impl SequencedCompound {
    pub(super) fn client(&self) -> &Arc<Client> {
        &self.session().client
    }

    pub(super) fn session(&self) -> &Arc<Session> {
        self.turn.session()
    }

    /// Whether all data have to be among the kept bytes.
    pub(super) fn wants_kept(&self) -> bool {
        self.wants_kept
    }

    /// Ends the request with its reply without the tag, in two parts; `None` if data follow it that are not in memory.
    pub(super) fn end(self, reply: Option<[&[u8]; 2]>) {
        self.turn.end(reply, self.wants_kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Protection;
    use crate::server::v4::principal::Principal;
    use crate::wire::v4::sessions::CallbackSecurity;

    const WANTED: ChannelAttributes = ChannelAttributes {
        header_padding: 0,
        request_size: 1 << 20,
        reply_size: 1 << 20,
        kept_size: 8192,
        operations: 16,
        requests: 1000,
        inbound_reads: Some(1),
    };

    fn create(sessions: &Sessions, client: &Arc<Client>, is_there: bool) -> Result<Arc<Session>, Status> {
        let back = BackChannel::new(WANTED, 0x4000_0000, CallbackSecurity::default());
        sessions.create((client, 1), (&WANTED, back), (origin(1), true), || is_there)
    }

    fn client(number: u32) -> Arc<Client> {
        Client::new((1, number), &Arc::from(&b"name"[..]), ([0; 8], Principal::root()), 1)
    }

    fn origin(port: u16) -> CallOrigin {
        CallOrigin { address: [192, 0, 2, 1].into(), port, datagram: false, protection: Protection::None }
    }

    #[test]
    fn a_channel_has_the_limits_that_both_sides_allow() {
        let large = allowed(&WANTED, 256 * 1024).unwrap();
        assert_eq!((large.kept_size, large.requests, large.operations), (4096, 64, 16));
        let small = allowed(&WANTED, LEAST_KEPT).unwrap();
        assert_eq!((small.kept_size, small.requests), (2048, 1));
        for wanted in [
            ChannelAttributes { request_size: 20, ..WANTED },
            ChannelAttributes { reply_size: 0, ..WANTED },
            ChannelAttributes { operations: 1, ..WANTED },
            ChannelAttributes { requests: 0, ..WANTED },
        ] {
            assert_eq!(allowed(&wanted, 256 * 1024), Err(Status::TOOSMALL));
        }
    }

    #[test]
    fn ten_thousand_clients_get_a_session_each_and_their_memory_is_bounded() {
        let sessions = Sessions::default();
        let clients: Vec<_> = (0..10_000).map(client).collect();
        for client in &clients {
            create(&sessions, client, true).expect("a session");
        }
        assert!(sessions.kept.load(Ordering::Relaxed) <= KEPT_TOTAL);
        clients.iter().for_each(|client| sessions.end_of(client));
        assert_eq!(sessions.kept.load(Ordering::Relaxed), 0);
        assert!(sessions.table.read().of_clients.is_empty());
        let made = (0..100).map_while(|_| create(&sessions, &clients[0], true).ok());
        assert_eq!(made.count(), SESSIONS_OF_CLIENT);
    }

    #[test]
    fn a_client_that_has_ended_gets_no_session() {
        let (sessions, client) = (Sessions::default(), client(1));
        let made = create(&sessions, &client, false);
        assert_eq!(made.err(), Some(Status::STALE_CLIENTID));
        assert!(sessions.table.read().sessions.is_empty() && !client.has_sessions());
        assert_eq!(sessions.kept.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_slot_executes_each_request_once() {
        let sessions = Sessions::default();
        let session = create(&sessions, &client(1), true).unwrap();
        let new = |sequence| match session.begin(3, sequence, 7) {
            Ok(SlotRequestState::New(turn)) => turn,
            _ => panic!("request {sequence} is not the next one"),
        };
        let refusal = |sequence, digest| session.begin(3, sequence, digest).err();
        assert_eq!(session.begin(64, 1, 7).err(), Some(Status::BADSLOT));
        assert_eq!(refusal(0, 7), Some(Status::SEQ_MISORDERED));
        let turn = new(1);
        assert_eq!(refusal(1, 7), Some(Status::DELAY));
        turn.end(Some([b"sh", b"ort"]), false);
        assert!(matches!(session.begin(3, 1, 7), Ok(SlotRequestState::Repeated(reply)) if reply == b"short"));
        assert_eq!(refusal(1, 8), Some(Status::SEQ_FALSE_RETRY));
        assert_eq!(refusal(3, 7), Some(Status::SEQ_MISORDERED));
        new(2).cancel(); // not executed, so it comes again
        new(2).end(Some([&[], &[0; 1000]]), false);
        assert_eq!(refusal(2, 7), Some(Status::RETRY_UNCACHED_REP));
        new(3).end(Some([&[], &[1; 1000]]), true);
        assert!(
            matches!(session.begin(3, 3, 7), Ok(SlotRequestState::Repeated(reply)) if reply == [1; 1000])
        );
        drop(new(4)); // its task has panicked
        assert_eq!(refusal(4, 7), Some(Status::RETRY_UNCACHED_REP), "it is not executed twice");
        new(5).end(None, true);
    }

    #[test]
    fn a_session_remembers_a_bounded_number_of_connections() {
        let session = create(&Sessions::default(), &client(1), true).unwrap();
        assert!(session.is_bound(origin(1)) && !session.is_bound(origin(2)));
        (2..2 + CONNECTIONS as u16).for_each(|port| session.bind(origin(port), port % 2 == 0));
        assert!(!session.is_bound(origin(1)) && session.is_bound(origin(2)));
        assert_eq!(session.connections.lock().len(), CONNECTIONS);
        assert_eq!(session.back_connections().len(), CONNECTIONS / 2);
        session.bind(origin(3), true);
        session.bind(origin(3), false);
        assert!(session.back_connections().contains(&origin(3)));
    }
}
