//! Connections with delays, which break, and which cannot be made while two servers are parted.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _};
use std::time::Duration;

use super::{Random, SimulatedServer};
use crate::MessageRefusal;
use crate::wire::PeerFrame;

#[derive(Default)]
pub(super) struct SimulatedNetwork {
    /// From the first server to the second one.
    connections: BTreeMap<(u16, u16), SimulatedConnection>,
    parted: BTreeMap<(u16, u16), Duration>,
    dead: BTreeSet<u16>,
    /// How many frames have left.
    pub(super) sent: u64,
    /// Of all frames that have left, with their order.
    pub(super) digest: DefaultHasher,
}

#[derive(Default)]
struct SimulatedConnection {
    is_open: bool,
    retry_at: Duration,
    /// Frames under way, with the time of their arrival.
    frames: VecDeque<(Duration, Vec<u8>)>,
    acks: VecDeque<(Duration, u64, u64)>,
}

impl SimulatedNetwork {
    pub(super) fn send(&mut self, now: Duration, from: u16, to: u16, frame: Vec<u8>, random: &mut Random) {
        let connection = self.connections.entry((from, to)).or_default();
        if connection.is_open {
            let earliest = connection.frames.back().map_or(now, |(at, _)| *at);
            let delay = Duration::from_micros(200 + random.below(2_000));
            let delay = if random.one_in(200) { delay * 50 } else { delay };
            (now, from, to, &frame).hash(&mut self.digest);
            connection.frames.push_back(((now + delay).max(earliest), frame));
            self.sent += 1;
        }
    }

    /// The connections between two servers break: what is under way is lost.
    pub(super) fn cut(&mut self, one: u16, other: u16) {
        for pair in [(one, other), (other, one)] {
            if let Some(connection) = self.connections.get_mut(&pair) {
                *connection =
                    SimulatedConnection { retry_at: connection.retry_at, ..SimulatedConnection::default() };
            }
        }
    }

    pub(super) fn part(&mut self, one: u16, other: u16, until: Duration) {
        self.cut(one, other);
        self.parted.insert((one.min(other), one.max(other)), until);
    }

    pub(super) fn kill(&mut self, server: u16) {
        self.dead.insert(server);
    }

    pub(super) fn heal(&mut self) {
        self.parted.clear();
    }

    pub(super) fn step(&mut self, now: Duration, servers: &mut [SimulatedServer], random: &mut Random) {
        let numbers: Vec<u16> = servers.iter().map(|server| server.number).collect();
        for from in 0..numbers.len() {
            for to in 0..numbers.len() {
                if from != to {
                    self.carry(now, (from, to), servers, random);
                }
            }
        }
    }

    fn carry(
        &mut self,
        now: Duration,
        (from, to): (usize, usize),
        servers: &mut [SimulatedServer],
        random: &mut Random,
    ) {
        let pair = (servers[from].number, servers[to].number);
        let ordered = (pair.0.min(pair.1), pair.0.max(pair.1));
        let is_parted = self.parted.get(&ordered).is_some_and(|until| now < *until)
            || servers[from].is_dead
            || servers[to].is_dead;
        let connection = self.connections.entry(pair).or_default();
        if is_parted && connection.is_open {
            *connection = SimulatedConnection::default();
        }
        if !servers[from].runs(now) || !servers[to].runs(now) {
            return; // what is under way waits
        }
        if !connection.is_open {
            servers[from].node.disconnected(pair.1);
            if !is_parted && connection.retry_at <= now {
                connection.retry_at = now + Duration::from_millis(20);
                let (Some(received), Some(_)) =
                    (servers[to].node.received(pair.0), servers[from].node.received(pair.1))
                else {
                    return;
                };
                connection.is_open = true;
                let frames = servers[from].node.connected(pair.1, received);
                frames.into_iter().for_each(|frame| self.send(now, pair.0, pair.1, frame, random));
            }
            return;
        }
        while connection.frames.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, bytes)) = connection.frames.pop_front() else { return };
            let Ok(PeerFrame::Data { number, epoch, message }) = PeerFrame::decode(&bytes[4..]) else {
                panic!("not a message: {bytes:?}");
            };
            match servers[to].node.receive(now, pair.0, number, epoch, message) {
                Ok(()) => {
                    let epoch = servers[to].node.epoch();
                    connection.acks.push_back((now + Duration::from_micros(300), number, epoch));
                }
                Err(MessageRefusal::Later) => {
                    connection.frames.push_front((now + Duration::from_millis(1), bytes));
                    return;
                }
                Err(MessageRefusal::Stranger) => {
                    *connection = SimulatedConnection::default();
                    return;
                }
                Err(MessageRefusal::Gap) => panic!("a message is missing before {number} from {}", pair.0),
            }
        }
        while connection.acks.front().is_some_and(|(at, ..)| *at <= now) {
            let Some((_, received, epoch)) = connection.acks.pop_front() else { return };
            servers[from].node.acknowledged(now, pair.1, received, epoch);
        }
    }
}
