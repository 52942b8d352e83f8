//! The requester: it sends a request until it has the whole response. "Inside AppleTalk" chapter 9, "ATP requester" and
//! "Wraparound and generation of TIDs".

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::{MAX_TRANSACTIONS, MAX_TRANSACTIONS_OF_PEER, Outbox, ResponseTime, RoundTrip};
use crate::Endpoint;
use crate::wire::atp::{MAX_DATA, MAX_PACKETS, Packet, ReleaseTimer, Request, Response, UserBytes};

/// When a request is sent again, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryRule {
    /// The time until it is sent again. It doubles with each time that nothing arrived.
    pub first: Duration,
    /// The longest time.
    pub longest: Duration,
    /// How often it is sent again; `None` without end.
    pub tries: Option<u32>,
}

/// A request to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The socket of this node that sends it and gets the response.
    pub source: Endpoint,
    /// The responder.
    pub destination: Endpoint,
    /// Whether it must not be executed twice, and how long the responder keeps its response.
    pub exactly_once: Option<ReleaseTimer>,
    /// The user bytes.
    pub user: UserBytes,
    /// At most [`MAX_DATA`] bytes.
    pub data: Vec<u8>,
    /// How many packets the response may have, at most [`MAX_PACKETS`]. A request that waits for none is sent until it is canceled.
    pub packets: usize,
    /// When it is sent again.
    pub retry: RetryRule,
}

/// A call of a requester.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallId(u16);

/// A call that is finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallOutcome {
    /// The call.
    pub id: CallId,
    /// The user bytes of the response's first packet.
    pub user: UserBytes,
    /// The data of all its packets.
    pub data: Vec<u8>,
    /// How many packets the response had.
    pub packets: usize,
    /// How long the first packet took. `None`: [`Requester::progress`] has said how long the responder took.
    pub time: Option<ResponseTime>,
}

/// The limits do not allow another call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyCalls;

/// The calls of a node's sockets.
#[derive(Debug)]
pub struct Requester {
    calls: BTreeMap<u16, CallState>,
    last_tid: u16,
}

/// The transaction control block of page 9-22.
#[derive(Debug)]
struct CallState {
    call: Call,
    /// The bits of the packets that have not arrived.
    missing: u8,
    /// The sequence of the last packet of the response, once it is known.
    last: Option<u8>,
    packets: [Option<(UserBytes, Vec<u8>)>; MAX_PACKETS],
    tries: Option<u32>,
    interval: Duration,
    sent: Instant,
    is_repeated: bool,
    /// How long the first packet took, once it is there.
    time: Option<ResponseTime>,
    /// The responder has said that it has the request.
    is_known: bool,
    /// When the last packet arrived, and the longest time between two.
    arrived: Option<Instant>,
    gap: Duration,
    retry_at: Instant,
}

impl Requester {
    /// A response whose last packet has arrived and others have not: they are asked for after this share of the retry time. They
    /// may have been overtaken only.
    const OVERTAKEN_SHARE: u32 = 4;
    /// A packet is missing when it is late by so many of the longest times between two packets.
    const GAPS: u32 = 3;

    /// A requester whose first transaction has the number after `last_tid`. The less it can be guessed, the better.
    #[must_use]
    pub fn new(last_tid: u16) -> Self {
        Self { calls: BTreeMap::new(), last_tid }
    }

    /// How many calls wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether no call waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Sends a request.
    ///
    /// # Errors
    /// There are [`MAX_TRANSACTIONS`] in all, or [`MAX_TRANSACTIONS_OF_PEER`] to this socket.
    pub fn call(
        &mut self,
        mut call: Call,
        now: Instant,
        outbox: &mut Outbox,
    ) -> Result<CallId, TooManyCalls> {
        let of_peer = self.calls.values().filter(|other| other.call.destination == call.destination).count();
        if self.calls.len() >= MAX_TRANSACTIONS || of_peer >= MAX_TRANSACTIONS_OF_PEER {
            return Err(TooManyCalls);
        }
        call.data.truncate(MAX_DATA);
        let tid = self.next_tid();
        let (interval, tries) = (call.retry.first, call.retry.tries);
        let state = CallState {
            missing: first_bits(call.packets),
            call,
            last: None,
            packets: Default::default(),
            tries,
            interval,
            sent: now,
            is_repeated: false,
            time: None,
            is_known: false,
            arrived: None,
            gap: Duration::ZERO,
            retry_at: now + interval,
        };
        state.send(tid, outbox);
        self.calls.insert(tid, state);
        Ok(CallId(tid))
    }

    /// The next number that no call has, page 9-28. Fewer than 65,536 calls wait.
    fn next_tid(&mut self) -> u16 {
        loop {
            self.last_tid = self.last_tid.wrapping_add(1);
            if !self.calls.contains_key(&self.last_tid) {
                return self.last_tid;
            }
        }
    }

    /// The responder has the request: something has arrived that belongs to it. It is not sent again so soon. Returns how long that
    /// took, if it is the first sign.
    pub fn progress(&mut self, id: CallId, now: Instant) -> Option<ResponseTime> {
        let state = self.calls.get_mut(&id.0)?;
        let time = state.first_sign(now);
        state.retry_at = now + state.interval;
        time.filter(|_| !std::mem::replace(&mut state.is_known, true))
    }

    /// Stops a call: page 9-26, "Releasing a TCB".
    pub fn cancel(&mut self, id: CallId) {
        self.calls.remove(&id.0);
    }

    /// Takes a packet of a response in. Returns the call if the response is whole now.
    pub fn receive(
        &mut self,
        source: Endpoint,
        local_socket: u8,
        response: &Response<'_>,
        now: Instant,
        outbox: &mut Outbox,
    ) -> Option<CallOutcome> {
        let tid = response.tid;
        let state = self.calls.get_mut(&tid)?;
        let is_of_call =
            state.call.destination.is_equivalent(source) && state.call.source.socket == local_socket;
        if !is_of_call || !state.take(response, now) {
            return None;
        }
        if state.missing != 0 {
            if response.asks_status {
                state.retry_at = now + state.interval;
                state.send(tid, outbox);
            }
            return None;
        }
        let state = self.calls.remove(&tid)?;
        if state.call.exactly_once.is_some() {
            outbox.send(state.call.source, state.call.destination, &Packet::Release { tid });
        }
        Some(state.finish(CallId(tid)))
    }

    /// Sends again what is due, and returns the calls that have no tries left.
    pub fn tick(&mut self, now: Instant, outbox: &mut Outbox) -> Vec<CallId> {
        let mut failed = Vec::new();
        for (tid, state) in &mut self.calls {
            if state.retry_at > now {
                continue;
            }
            match &mut state.tries {
                Some(0) => {
                    failed.push(CallId(*tid));
                    continue;
                }
                Some(tries) => *tries -= 1,
                None => {}
            }
            state.interval = (state.interval * 2).min(state.call.retry.longest);
            state.retry_at = now + state.interval;
            state.is_repeated = true;
            state.send(*tid, outbox);
        }
        failed.iter().for_each(|id| self.cancel(*id));
        failed
    }

    /// When [`Self::tick`] has something to do.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.calls.values().map(|state| state.retry_at).min()
    }
}

impl CallState {
    fn send(&self, tid: u16, outbox: &mut Outbox) {
        let Call { source, destination, exactly_once, user, ref data, .. } = self.call;
        let request = Request { exactly_once, bitmap: self.missing, tid, user, data };
        outbox.send(source, destination, &Packet::Request(request));
    }

    /// Keeps a packet. False if it is not expected.
    fn take(&mut self, response: &Response<'_>, now: Instant) -> bool {
        let at = response.sequence;
        if usize::from(at) >= MAX_PACKETS || self.missing & (1 << at) == 0 {
            return false;
        }
        self.missing &= !(1 << at);
        self.packets[usize::from(at)] = Some((response.user, response.data.to_vec()));
        if response.ends {
            self.last = Some(at);
            self.missing &= first_bits(usize::from(at) + 1);
        }
        self.first_sign(now);
        self.retry_at = now + self.patience(self.missing >> at == 0, now);
        true
    }

    /// Something has arrived. Returns how long the first sign took, if this is it. The link may be faster than it was thought to be.
    fn first_sign(&mut self, now: Instant) -> Option<ResponseTime> {
        let since_sent = || ResponseTime::Known(now.saturating_duration_since(self.sent));
        let is_first = self.time.is_none();
        let time = self
            .time
            .unwrap_or_else(|| if self.is_repeated { ResponseTime::Ambiguous } else { since_sent() });
        self.time = Some(time);
        self.interval = match time {
            ResponseTime::Known(time) => self.call.retry.first.min(RoundTrip::retry_after_one(time)),
            ResponseTime::Ambiguous => self.call.retry.first,
        };
        is_first.then_some(time)
    }

    /// How long the packets that are missing are waited for, when one has arrived. Those of one response follow each other as fast as
    /// the link lets them.
    fn patience(&mut self, has_last: bool, now: Instant) -> Duration {
        let gap = self.arrived.replace(now).map(|before| now.saturating_duration_since(before));
        self.gap = self.gap.max(gap.unwrap_or_default());
        let overtaken = self.interval / Requester::OVERTAKEN_SHARE;
        match gap {
            _ if has_last => overtaken,
            Some(_) => overtaken.max(self.gap * Requester::GAPS).min(self.interval),
            None => self.interval,
        }
    }

    fn finish(self, id: CallId) -> CallOutcome {
        let count = self.last.map_or(self.call.packets, |last| usize::from(last) + 1);
        let packets: Vec<_> = self.packets.into_iter().take(count).flatten().collect();
        let user = packets.first().map_or([0; 4], |(user, _)| *user);
        let data = packets.iter().flat_map(|(_, data)| data).copied().collect();
        let time = self.time.filter(|_| !self.is_known);
        CallOutcome { id, user, data, packets: packets.len(), time }
    }
}

/// The bitmap of the first packets of a response.
fn first_bits(packets: usize) -> u8 {
    u8::MAX.checked_shr((MAX_PACKETS - packets.min(MAX_PACKETS)) as u32).unwrap_or(0)
}
