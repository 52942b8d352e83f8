//! What clients do in a second: the difference between two looks.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::time::Instant;

use admin::Protocol;
use admin::control::{AlertStatus, SessionStatus, SlowOperation, Status};
use serde::Serialize;

/// In one second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(super) struct ClientRate {
    pub(super) operations: f64,
    /// Bytes that the server has received.
    pub(super) bytes_in: f64,
    /// Bytes that it has sent.
    pub(super) bytes_out: f64,
}

impl ClientRate {
    fn add(&mut self, other: Self) {
        self.operations += other.operations;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
    }

    fn bytes(self) -> f64 {
        self.bytes_in + self.bytes_out
    }
}

/// A client, and what it does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Client {
    pub(super) protocol: Protocol,
    pub(super) peer: SocketAddr,
    pub(super) user: Option<String>,
    pub(super) since_s: u64,
    #[serde(flatten)]
    pub(super) rate: ClientRate,
}

/// The order of clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ClientOrder {
    #[default]
    Bytes,
    Operations,
    User,
    Age,
}

impl ClientOrder {
    pub(super) fn next(self) -> Self {
        match self {
            Self::Bytes => Self::Operations,
            Self::Operations => Self::User,
            Self::User => Self::Age,
            Self::Age => Self::Bytes,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Operations => "operations",
            Self::User => "user",
            Self::Age => "age",
        }
    }
}

/// The last look, and the rates since the one before.
#[derive(Debug, Default)]
pub(super) struct Rates {
    pub(super) status: Option<Status>,
    at: Option<Instant>,
    counted: HashMap<(Protocol, SocketAddr), (u64, u64, u64)>,
    clients: Vec<Client>,
}

/// One look as JSON. Fields may be added, and are never renamed or removed.
#[derive(Debug, Serialize)]
pub(super) struct Report<'a> {
    uptime_s: u64,
    opens: usize,
    locks: usize,
    leases: usize,
    alerts: &'a [AlertStatus],
    protocols: BTreeMap<&'static str, ClientRate>,
    clients: Vec<Client>,
    slowest: Vec<&'a SlowOperation>,
}

impl Rates {
    pub(super) fn look(&mut self, status: Status, now: Instant) {
        let seconds = self.at.map(|at| now.duration_since(at).as_secs_f64()).filter(|seconds| *seconds > 0.0);
        let counted = |session: &SessionStatus| (session.requests, session.bytes_in, session.bytes_out);
        let client = |session: &SessionStatus| {
            let key = (session.protocol, session.peer);
            // A client that came since the last look began with nothing.
            let before = self.counted.get(&key).copied().unwrap_or_default();
            let counts = counted(session);
            let rate = |now: u64, before: u64| {
                seconds.map_or(0.0, |seconds| now.saturating_sub(before) as f64 / seconds)
            };
            let rate = ClientRate {
                operations: rate(counts.0, before.0),
                bytes_in: rate(counts.1, before.1),
                bytes_out: rate(counts.2, before.2),
            };
            let (protocol, peer, user) = (session.protocol, session.peer, session.user.clone());
            Client { protocol, peer, user, since_s: session.since_s, rate }
        };
        self.clients = status.sessions.iter().map(client).collect();
        self.counted = status.sessions.iter().map(|one| ((one.protocol, one.peer), counted(one))).collect();
        (self.at, self.status) = (Some(now), Some(status));
    }

    /// The clients in this order.
    pub(super) fn clients(&self, order: ClientOrder) -> Vec<&Client> {
        let mut clients: Vec<&Client> = self.clients.iter().collect();
        let whole = |rate: f64| Reverse(rate as u64);
        match order {
            ClientOrder::Bytes => clients.sort_by_key(|one| (whole(one.rate.bytes()), one.peer)),
            ClientOrder::Operations => clients.sort_by_key(|one| (whole(one.rate.operations), one.peer)),
            ClientOrder::User => {
                clients.sort_by(|one, other| (&one.user, one.peer).cmp(&(&other.user, other.peer)))
            }
            ClientOrder::Age => clients.sort_by_key(|one| (Reverse(one.since_s), one.peer)),
        }
        clients
    }

    /// The number of clients of each protocol, and what they do together.
    pub(super) fn protocols(&self) -> BTreeMap<&'static str, (usize, ClientRate)> {
        let mut protocols = BTreeMap::<_, (usize, ClientRate)>::new();
        for client in &self.clients {
            let (count, rate) = protocols.entry(client.protocol.title()).or_default();
            *count += 1;
            rate.add(client.rate);
        }
        protocols
    }

    pub(super) fn report<'a>(&'a self, slow: &'a [(Instant, SlowOperation)]) -> Report<'a> {
        let status = self.status.as_ref();
        Report {
            uptime_s: status.map_or(0, |status| status.uptime_s),
            opens: status.map_or(0, |status| status.opens.len()),
            locks: status.map_or(0, |status| status.locks.len()),
            leases: status.map_or(0, |status| status.leases.len()),
            alerts: status.map_or(&[], |status| &status.alerts),
            protocols: self.protocols().into_iter().map(|(name, (_, rate))| (name, rate)).collect(),
            clients: self.clients(ClientOrder::default()).into_iter().cloned().collect(),
            slowest: slow.iter().map(|(_, operation)| operation).collect(),
        }
    }
}
