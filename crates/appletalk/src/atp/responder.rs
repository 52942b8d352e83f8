//! The responder: it recognizes requests that it has seen, and keeps what it has answered. "Inside AppleTalk" chapter 9,
//! "Exactly-once (XO) transactions" and "ATP responder".

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::{MAX_TRANSACTIONS, MAX_TRANSACTIONS_OF_PEER, Outbox, release_time};
use crate::wire::atp::{
    MAX_DATA, MAX_PACKETS, MAX_RESPONSE, Packet, ReleaseTimer, Request, Response, UserBytes,
};
use crate::{Address, Endpoint};

/// What identifies a transaction: page 9-25, "the packet's source, destination addresses, and TID".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TransactionKey {
    // The order of these fields has keys that differ in networks only beside each other.
    tid: u16,
    local_socket: u8,
    socket: u8,
    node: u8,
    network: u16,
}

impl TransactionKey {
    /// The key of a request from `requester` to a socket of this node.
    #[must_use]
    pub fn new(requester: Endpoint, local_socket: u8, tid: u16) -> Self {
        let Address { network, node } = requester.address;
        Self { tid, local_socket, socket: requester.socket, node, network }
    }

    fn requester(self) -> Endpoint {
        Endpoint::new(Address::new(self.network, self.node), self.socket)
    }
}

/// A response, which is sent as one to eight packets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResponseMessage {
    /// The user bytes of the first packet. Those of the others are 0, as ASP demands (figure 11-12).
    pub user: UserBytes,
    /// At most [`MAX_RESPONSE`] bytes; what is longer is cut off.
    pub data: Vec<u8>,
}

impl ResponseMessage {
    /// A response without data.
    #[must_use]
    pub fn of_user_bytes(user: UserBytes) -> Self {
        Self { user, data: Vec::new() }
    }

    /// Sends those of the packets that the bitmap asks for.
    pub fn send(&self, bitmap: u8, tid: u16, source: Endpoint, destination: Endpoint, outbox: &mut Outbox) {
        let data = &self.data[..self.data.len().min(MAX_RESPONSE)];
        let last = data.len().div_ceil(MAX_DATA).saturating_sub(1);
        for sequence in (0..=last).filter(|at| bitmap & (1 << at) != 0) {
            let from = sequence * MAX_DATA;
            let data = &data[from..data.len().min(from + MAX_DATA)];
            let user = if sequence == 0 { self.user } else { [0; 4] };
            let ends = sequence == last;
            let sequence = sequence as u8;
            let packet = Response { ends, asks_status: false, sequence, tid, user, data };
            outbox.send(source, destination, &Packet::Response(packet));
        }
    }
}

/// How many bytes of a response arrive at a requester who sends this bitmap.
#[must_use]
pub(crate) fn room_of(bitmap: u8) -> usize {
    (MAX_PACKETS - bitmap.leading_zeros() as usize) * MAX_DATA
}

/// No room for another transaction. The requester tries again later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponderFull;

/// The transactions list of a node's responding sockets.
///
/// It keeps whole responses, and needs no STS. A request that is being executed is kept until it is answered, for however long
/// that takes (page 9-22 would let the client of ATP lose it after one release time, and execute it twice).
#[derive(Debug, Default)]
pub struct Responder {
    transactions: BTreeMap<TransactionKey, Transaction>,
    admitted: u64,
}

#[derive(Debug)]
struct Transaction {
    /// The socket of this node that answers.
    local: Endpoint,
    user: UserBytes,
    bitmap: u8,
    release: Duration,
    /// Counts up: the smallest is the oldest.
    order: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    Executing,
    Answered { response: ResponseMessage, expires: Instant, sent: Instant, sent_bitmap: u8 },
}

impl Responder {
    /// How long a request with the same bitmap as the last is taken for its duplicate, and not answered again.
    pub const DUPLICATE_TIME: Duration = Duration::from_millis(20);

    /// How many transactions are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.transactions.len()
    }

    /// Whether no transaction is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.transactions.is_empty()
    }

    /// Whether a request was admitted before. If it was answered, the packets that it asks for are sent again, and
    /// the release timer starts again (page 9-25).
    ///
    /// A requester that begins its numbers anew, as a restarted workstation does, may use one again whose response is still kept. ASP's
    /// requests differ in their user bytes then, and the old response is forgotten.
    pub fn repeat(
        &mut self,
        key: TransactionKey,
        request: &Request<'_>,
        now: Instant,
        outbox: &mut Outbox,
    ) -> bool {
        let Some((key, transaction)) = self.find(key) else { return false };
        let bitmap = request.bitmap;
        if transaction.user != request.user && matches!(transaction.state, State::Answered { .. }) {
            self.transactions.remove(&key);
            return false;
        }
        if let State::Answered { response, expires, sent, sent_bitmap } = &mut transaction.state {
            *expires = now + transaction.release;
            let is_duplicate =
                bitmap == *sent_bitmap && now.saturating_duration_since(*sent) < Self::DUPLICATE_TIME;
            if !is_duplicate {
                (*sent, *sent_bitmap) = (now, bitmap);
                response.send(bitmap, key.tid, transaction.local, key.requester(), outbox);
            }
        }
        true
    }

    /// Takes a new request in, for which [`Self::repeat`] was false. Its client has to answer or forget it.
    ///
    /// If the node of the requester has too many transactions, its oldest answered one is forgotten, and if there are too many in all,
    /// the oldest answered one of all.
    ///
    /// # Errors
    /// There are too many, and nothing is answered.
    pub fn admit(
        &mut self,
        key: TransactionKey,
        local: Endpoint,
        request: &Request<'_>,
    ) -> Result<(), ResponderFull> {
        let peer = key.requester().address;
        let of_peer = |key: &TransactionKey| key.requester().address == peer;
        if self.transactions.keys().filter(|key| of_peer(key)).count() >= MAX_TRANSACTIONS_OF_PEER {
            self.forget_oldest(of_peer)?;
        }
        if self.transactions.len() >= MAX_TRANSACTIONS {
            self.forget_oldest(|_| true)?;
        }
        self.admitted += 1;
        let release = release_time(request.exactly_once.unwrap_or(ReleaseTimer::SECONDS_30));
        let Request { user, bitmap, .. } = *request;
        let (order, state) = (self.admitted, State::Executing);
        let transaction = Transaction { local, user, bitmap, release, order, state };
        self.transactions.insert(key, transaction);
        Ok(())
    }

    fn forget_oldest(&mut self, among: impl Fn(&TransactionKey) -> bool) -> Result<(), ResponderFull> {
        let answered = self
            .transactions
            .iter()
            .filter(|(key, transaction)| among(key) && matches!(transaction.state, State::Answered { .. }));
        let oldest = answered.min_by_key(|(_, transaction)| transaction.order).map(|(key, _)| *key);
        self.transactions.remove(&oldest.ok_or(ResponderFull)?);
        Ok(())
    }

    /// Answers a request that was admitted, and keeps the response. False if the request was forgotten.
    pub fn respond(
        &mut self,
        key: TransactionKey,
        response: ResponseMessage,
        now: Instant,
        outbox: &mut Outbox,
    ) -> bool {
        let Some(transaction) = self.transactions.get_mut(&key) else { return false };
        let bitmap = transaction.bitmap;
        response.send(bitmap, key.tid, transaction.local, key.requester(), outbox);
        let expires = now + transaction.release;
        transaction.state = State::Answered { response, expires, sent: now, sent_bitmap: bitmap };
        true
    }

    /// TRel: the requester has the whole response. A request that is being executed is kept: its response has not been sent.
    pub fn release(&mut self, key: TransactionKey) {
        if let Some((key, Transaction { state: State::Answered { .. }, .. })) = self.find(key) {
            self.transactions.remove(&key);
        }
    }

    /// Forgets a request, answered or not: page 9-26, "Releasing a RspCB".
    pub fn forget(&mut self, key: TransactionKey) {
        self.transactions.remove(&key);
    }

    /// Forgets the responses whose release timers have expired.
    pub fn tick(&mut self, now: Instant) {
        self.transactions.retain(|_, transaction| transaction.expires().is_none_or(|expires| expires > now));
    }

    /// When [`Self::tick`] has something to do.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.transactions.values().filter_map(Transaction::expires).min()
    }

    /// The transaction, also if its requester has learned the number of its network meanwhile.
    fn find(&mut self, key: TransactionKey) -> Option<(TransactionKey, &mut Transaction)> {
        let (first, last) =
            (TransactionKey { network: 0, ..key }, TransactionKey { network: u16::MAX, ..key });
        let mut same = self.transactions.range_mut(first..=last);
        let is_same = |other: TransactionKey| other.requester().is_equivalent(key.requester());
        same.find(|(other, _)| is_same(**other)).map(|(key, transaction)| (*key, transaction))
    }
}

impl Transaction {
    fn expires(&self) -> Option<Instant> {
        match self.state {
            State::Executing => None,
            State::Answered { expires, .. } => Some(expires),
        }
    }
}
