//! The successor of each server: the next one in the ring of the members. It knows the opens whose clients may come back
//! ([`OpenRecord`]), and takes them over when the server is lost.
//!
//! ```text
//! server ── Keep, Drop ──► successor
//! a new epoch without the server:  successor ── Report, with the old and new numbers ──► all
//!                                  all have reported: the numbers change in each state, and the rest of the lost server goes
//! ```
//!
//! Until all have reported, what clients of the lost server have binds the others. So nothing can be granted between the
//! loss and the inheritance.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use coherence::state::{Inheritance, InheritedOpen, LeaseId, OpenId, OpenReplica, Successor};
use formats::FileId;
use tokio::sync::oneshot;

use super::{Effect, MOST_WAITING, Node};
use crate::wire::{MAX_ITEMS, Message};

/// The longest note of a protocol about an open, in bytes.
pub const MAX_NOTE: usize = 8_192;
/// How many opens of one server a successor keeps. Those beyond it are not inherited.
pub const MOST_KEPT: usize = 65_536;
/// So many messages may wait for the successor. Beyond that, it is told everything when they have arrived, as two servers may be
/// apart for long while both are members. The simulation comes to a lower limit.
const MOST_BEHIND: usize = if cfg!(test) { 8 } else { MOST_WAITING + 2 * MOST_KEPT };
/// For how many epochs a successor tells the others of what it has inherited: those that miss one hear of it in the next.
const TOLD_FOR: u64 = 2;

/// An open that the successor takes over if its server is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRecord {
    /// The file, by its number in the cluster.
    pub file: FileId,
    /// The name of the client.
    pub client: [u8; 16],
    /// The open, its ranges and its lease.
    pub replica: OpenReplica,
    /// What its protocol must know.
    pub note: Arc<[u8]>,
}

/// An open that is to be known to the successor.
#[derive(Debug)]
pub(crate) struct ToKeep {
    /// The file, by its number here.
    pub(crate) file: FileId,
    pub(crate) open: OpenId,
    pub(crate) lease: Option<LeaseId>,
    pub(crate) client: [u8; 16],
    pub(crate) note: Arc<[u8]>,
    /// It is inherited also while its lease is being recalled.
    pub(crate) persistent: bool,
}

/// What waits until the successor has all that it was told.
pub(super) enum Waiter {
    /// Dropped then.
    Arrived(oneshot::Sender<Infallible>),
    /// Told then whether this open is among that.
    Kept(OpenId, oneshot::Sender<bool>),
}

/// What a server is told of one that it is the successor of.
#[derive(Default)]
struct OfServer {
    /// Each with its place in the order in which the records came.
    records: BTreeMap<OpenId, (u64, OpenRecord)>,
    next: u64,
}

/// What this server has told its successor, and what it is the successor of.
#[derive(Default)]
pub(super) struct Successors {
    /// What takes over opens of lost servers.
    pub(super) taker: Option<Arc<dyn Successor>>,
    own: BTreeMap<OpenId, OpenRecord>,
    successor: Option<u16>,
    /// The number of the last message to the successor about opens.
    last: u64,
    /// The successor is not told now, as too many messages wait: the opens that it may know.
    behind: Option<BTreeSet<OpenId>>,
    /// Those that wait until a successor has such a message.
    waiting: Vec<(u16, u64, Waiter)>,
    told: BTreeMap<u16, OfServer>,
    /// What was inherited, with the epoch.
    inherited: Vec<(u64, Inheritance)>,
    /// What all servers have inherited, by their reports of this epoch.
    reported: Vec<Inheritance>,
    /// Lost servers with something in states that are here.
    lost: Vec<u16>,
    /// Inherited opens whose new numbers are not in the states yet: this server's own successor is told of them then.
    early: Vec<ToKeep>,
}

/// The server that inherits from this one, if there is one.
pub(crate) fn successor_of(server: u16, members: &[u16]) -> Option<u16> {
    let after = members.iter().find(|member| **member > server);
    after.or(members.first()).copied().filter(|successor| *successor != server)
}

impl Node {
    /// What takes over opens of lost servers on this one. Without it nothing is inherited.
    pub fn set_successor(&mut self, taker: Arc<dyn Successor>) {
        self.successors.taker = Some(taker);
    }

    /// Whether this server has opens for a successor and is the only member.
    pub fn lacks_successor(&self) -> bool {
        !self.successors.own.is_empty() && self.successors.successor.is_none()
    }

    /// The successor is told of an open as it is now; or that it is not to be inherited any more.
    pub(super) fn keep(&mut self, wanted: ToKeep) {
        let replica = self.state.replica(wanted.file, wanted.open, wanted.lease, wanted.persistent);
        if replica.is_none() && self.state.is_awaited(wanted.file, wanted.open) {
            self.successors.early.retain(|early| early.open != wanted.open);
            return self.successors.early.push(wanted);
        }
        let ToKeep { file: here, open, client, note, .. } = wanted;
        let replica = replica.filter(|of| of.ranges.len() <= MAX_ITEMS && note.len() <= MAX_NOTE);
        let (Some(replica), Some(file)) = (replica, self.port.trees.out(here)) else {
            return self.keep_no_longer(open);
        };
        if self.successors.own.len() >= MOST_KEPT && !self.successors.own.contains_key(&open) {
            return;
        }
        let record = OpenRecord { file, client, replica, note };
        if self.successors.own.get(&open) == Some(&record) {
            return;
        }
        self.successors.own.insert(open, record.clone());
        self.tell_successor(Message::Keep(Box::new(record)));
    }

    pub(super) fn keep_no_longer(&mut self, open: OpenId) {
        self.successors.early.retain(|early| early.open != open);
        if self.successors.own.remove(&open).is_some() {
            self.tell_successor(Message::Drop(open));
        }
    }

    fn tell_successor(&mut self, message: Message) {
        let Some(successor) = self.successors.successor else { return };
        let is_behind = self.links.get(&successor).is_some_and(|link| link.waiting() >= MOST_BEHIND);
        if self.successors.behind.is_none() && !is_behind {
            self.successors.last = self.send(successor, message);
            return;
        }
        if self.successors.behind.is_none() {
            let dropped = if let Message::Drop(open) = message { Some(open) } else { None };
            self.successors.behind = Some(self.successors.own.keys().copied().chain(dropped).collect());
        }
    }

    /// No message to a server waits any more: if it is the successor, it is told what was left out.
    pub(super) fn catch_up_successor(&mut self, to: u16) {
        if self.successors.successor != Some(to) {
            return;
        }
        let Some(known) = self.successors.behind.take() else { return };
        let own = &self.successors.own;
        let gone = known.into_iter().filter(|open| !own.contains_key(open)).map(Message::Drop);
        let all = own.values().map(|record| Message::Keep(Box::new(record.clone())));
        let messages: Vec<Message> = gone.chain(all).collect();
        for message in messages {
            self.successors.last = self.send(to, message);
        }
        let last = self.successors.last;
        let waiting = self.successors.waiting.iter_mut().filter(|(_, number, _)| *number == u64::MAX);
        waiting.for_each(|(_, number, _)| *number = last);
    }

    /// `waiter` is answered when the successor has all that it was told, and what was left out.
    pub(super) fn wait_for_successor(&mut self, waiter: Waiter) {
        if let Some(successor) = self.successors.successor {
            let last = if self.successors.behind.is_some() { u64::MAX } else { self.successors.last };
            self.successors.waiting.push((successor, last, waiter));
            self.answer_waiting();
        }
    }

    /// Lets those go on that wait for what has arrived.
    pub(super) fn answer_waiting(&mut self) {
        for (to, number, waiter) in std::mem::take(&mut self.successors.waiting) {
            match waiter {
                waiter if waiter.is_closed() => {}
                waiter if !self.has_arrived(to, number) => {
                    self.successors.waiting.push((to, number, waiter));
                }
                Waiter::Arrived(waiter) => drop(waiter),
                Waiter::Kept(open, waiter) => _ = waiter.send(self.successors.own.contains_key(&open)),
            }
        }
    }

    /// Another server, of which this is the successor, has such an open.
    pub(super) fn told_to_keep(&mut self, from: u16, record: OpenRecord) {
        let of = self.successors.told.entry(from).or_default();
        let id = record.replica.open.id;
        if of.records.len() < MOST_KEPT || of.records.contains_key(&id) {
            of.next += 1;
            of.records.insert(id, (of.next, record));
        }
    }

    pub(super) fn told_to_drop(&mut self, from: u16, open: OpenId) {
        self.successors.told.get_mut(&from).into_iter().for_each(|of| _ = of.records.remove(&open));
    }

    /// This server is not the successor of another one any more.
    pub(super) fn told_to_drop_all(&mut self, from: u16) {
        self.successors.told.remove(&from);
    }

    /// A new epoch begins, after one with the members `before`: takes over what lost servers have told this one.
    pub(super) fn inherit(&mut self, before: &[u16], lost: &[u16]) {
        let epoch = self.view.epoch;
        self.successors.reported.clear();
        self.successors.inherited.retain(|(of, _)| of + TOLD_FOR >= epoch);
        self.successors.lost.extend(lost);
        for server in lost {
            let told = self
                .successors
                .told
                .remove(server)
                .filter(|_| successor_of(*server, before) == Some(self.me));
            let mut records: Vec<(u64, OpenRecord)> =
                told.unwrap_or_default().records.into_values().collect();
            // The lowest new number is that of the latest.
            records.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
            let taken = records.into_iter().filter_map(|(_, record)| self.take_over(record)).collect();
            self.effects.push(Effect::Inherit(*server, taken));
        }
        let members = &self.view.members;
        self.successors.told.retain(|server, _| members.contains(server));
        self.choose_successor();
    }

    fn take_over(&mut self, record: OpenRecord) -> Option<(InheritedOpen, Arc<[u8]>)> {
        let OpenRecord { file, client, replica, note } = record;
        let here = self.port.trees.back(file)?;
        let (client, notices) = self.successors.taker.as_ref()?.client(&client)?;
        let (inherited, one) = self.state.inherit(here, replica, client, &notices)?;
        self.successors.inherited.push((self.view.epoch, Inheritance { file, ..one }));
        Some((inherited, note))
    }

    /// Another member may be the successor of this one now: then it is told everything.
    fn choose_successor(&mut self) {
        let successor = successor_of(self.me, &self.view.members);
        let before = std::mem::replace(&mut self.successors.successor, successor);
        if before == successor {
            return;
        }
        if let Some(before) = before {
            self.send(before, Message::DropAll);
        }
        let all: Vec<OpenRecord> = self.successors.own.values().cloned().collect();
        (self.successors.last, self.successors.behind) = (0, None);
        all.into_iter().for_each(|record| self.tell_successor(Message::Keep(Box::new(record))));
        let last = if self.successors.behind.is_some() { u64::MAX } else { self.successors.last };
        let waiting = std::mem::take(&mut self.successors.waiting).into_iter();
        self.successors.waiting = successor
            .map(|successor| waiting.map(|(_, _, waiter)| (successor, last, waiter)).collect())
            .unwrap_or_default();
    }

    /// What this server has inherited, for its reports.
    pub(super) fn inherited(&self) -> Vec<Inheritance> {
        self.successors.inherited.iter().map(|(_, one)| *one).collect()
    }

    /// Another server says what it has inherited.
    pub(super) fn hear_inherited(&mut self, inherited: Vec<Inheritance>) {
        self.successors.reported.extend(inherited);
    }

    /// All servers have reported: what lost servers had is inherited, or goes.
    pub(super) fn end_lost(&mut self) {
        for one in std::mem::take(&mut self.successors.reported) {
            if let Some(here) = self.port.trees.back(one.file) {
                self.state.rehome(&Inheritance { file: here, ..one });
            }
        }
        std::mem::take(&mut self.successors.early).into_iter().for_each(|wanted| self.keep(wanted));
        let lost = std::mem::take(&mut self.successors.lost);
        lost.iter().for_each(|server| self.state.forget(*server));
        self.hear_port();
        self.forget_said_to(&lost);
    }
}

impl Waiter {
    fn is_closed(&self) -> bool {
        match self {
            Self::Arrived(waiter) => waiter.is_closed(),
            Self::Kept(_, waiter) => waiter.is_closed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_has_another_successor() {
        assert_eq!(successor_of(3, &[1, 3, 7]), Some(7));
        assert_eq!(successor_of(7, &[1, 3, 7]), Some(1));
        assert_eq!(successor_of(5, &[1, 3, 7]), Some(7), "of one that is not there any more");
        assert_eq!(successor_of(3, &[3]), None);
        assert_eq!(successor_of(3, &[]), None);
    }
}
