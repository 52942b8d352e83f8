//! Requests of a server to another one that are not about the state of a file: the caller waits for the answer. What is in them
//! is the callers' matter.
//!
//! A request is a message like the others, and arrives once at most. Unlike the others it is not sent again over the next
//! connection: it would be executed after the caller has given up. If the called server is lost before its answer is here, it is
//! unknown whether it has done what it was asked for.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::oneshot;

use super::{Effect, Node};
use crate::wire::Message;

/// The longest request and the longest answer, in bytes.
pub const MAX_CALL: usize = 128 << 10;
/// How many requests to one server may wait for their answers, and how many of one server are answered at a time. Those
/// beyond it are refused.
pub const MOST_CALLS: usize = 64;

/// A message that does nothing: no request has this number.
const NOTHING: Message = Message::Answer(0, None);

/// The requests of this server, and those that it answers.
#[derive(Default)]
pub(super) struct Calls {
    last: u64,
    waiting: BTreeMap<u64, UnansweredCall>,
    /// How many requests of each server are being answered.
    answering: BTreeMap<u16, usize>,
}

/// A request that is not answered.
struct UnansweredCall {
    /// The called server.
    to: u16,
    /// The number of the message to it.
    message: u64,
    answer: oneshot::Sender<Option<Vec<u8>>>,
}

impl Node {
    /// Asks another server. `answer` hears `None` if that refuses the request, and is dropped if it is lost. Returns whether the
    /// request is sent: there is a connection, and not too much waits.
    pub fn call(&mut self, to: u16, request: Vec<u8>, answer: oneshot::Sender<Option<Vec<u8>>>) -> bool {
        let waiting = self.calls.waiting.values().filter(|waiting| waiting.to == to).count();
        let is_connected = self.links.get(&to).is_some_and(|link| link.is_connected());
        let is_member = self.view.members.contains(&to) && to != self.me;
        if !is_member || !is_connected || waiting >= MOST_CALLS || request.len() > MAX_CALL {
            return false;
        }
        self.calls.last += 1;
        let message = self.send(to, Message::Call(self.calls.last, request));
        self.calls.waiting.insert(self.calls.last, UnansweredCall { to, message, answer });
        true
    }

    /// The answer to [`Effect::Call`]. `None`: the request is refused.
    pub fn answer_call(&mut self, now: Duration, to: u16, number: u64, answer: Option<Vec<u8>>) {
        self.now = self.now.max(now);
        if let Some(count) = self.calls.answering.get_mut(&to) {
            *count = count.saturating_sub(1);
        }
        self.send(to, Message::Answer(number, answer.filter(|answer| answer.len() <= MAX_CALL)));
        self.settle();
    }

    pub(super) fn called(&mut self, from: u16, number: u64, request: Vec<u8>) {
        let count = self.calls.answering.entry(from).or_default();
        if *count >= MOST_CALLS {
            self.send(from, Message::Answer(number, None));
            return;
        }
        *count += 1;
        self.effects.push(Effect::Call(from, number, request));
    }

    /// Only the called server answers.
    pub(super) fn answered(&mut self, from: u16, number: u64, answer: Option<Vec<u8>>) {
        if self.calls.waiting.get(&number).is_some_and(|waiting| waiting.to == from)
            && let Some(waiting) = self.calls.waiting.remove(&number)
        {
            let _ = waiting.answer.send(answer); // the caller has not waited so long
        }
    }

    /// There is another connection to this server, which has received this. Requests that were lost with the one before are
    /// refused, and not sent again.
    pub(super) fn refuse_lost_calls(&mut self, to: u16, received: u64) {
        let is_lost = |waiting: &UnansweredCall| waiting.to == to && waiting.message > received;
        let lost: Vec<UnansweredCall> =
            self.calls.waiting.extract_if(.., |_, waiting| is_lost(waiting)).map(|(_, lost)| lost).collect();
        for UnansweredCall { message, answer, .. } in lost {
            self.links.entry(to).or_default().replace(message, self.view.epoch, NOTHING);
            let _ = answer.send(None); // the caller has not waited so long
        }
    }

    pub(super) fn forget_calls(&mut self, lost: u16) {
        self.calls.waiting.retain(|_, waiting| waiting.to != lost);
        self.calls.answering.remove(&lost);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use coherence::state::{Limits, Policy, State};

    use super::*;
    use crate::node::View;
    use crate::wire::PeerFrame;
    use crate::{Fence, StatePort, Trees};

    const NOW: Duration = Duration::from_secs(1);

    fn node(me: u16) -> Node {
        let port = StatePort::new(Trees::default(), Arc::new(Fence::new()));
        let state = State::joined(Policy::default(), Limits::default(), me, port.clone());
        let mut node = Node::new(me, state, port);
        node.adopt(NOW, View { epoch: 1, members: vec![1, 2] });
        node
    }

    /// Two servers with a connection in both directions.
    fn two() -> [Node; 2] {
        let mut nodes = [node(1), node(2)];
        let sent = [nodes[0].connected(2, 0), nodes[1].connected(1, 0)];
        let [first, second] = &mut nodes;
        sent[0].iter().for_each(|frame| deliver(frame, 1, second));
        sent[1].iter().for_each(|frame| deliver(frame, 2, first));
        nodes.iter_mut().for_each(|node| drop(node.effects()));
        nodes
    }

    fn deliver(frame: &[u8], from: u16, to: &mut Node) {
        let Ok(PeerFrame::Data { number, epoch, message }) = PeerFrame::decode(&frame[4..]) else {
            panic!("no message")
        };
        to.receive(NOW, from, number, epoch, message).unwrap();
    }

    /// Brings what one server sends to the other. Returns the requests that that one is to answer.
    fn bring(from: u16, node: &mut Node, to: &mut Node) -> Vec<(u16, u64, Vec<u8>)> {
        for effect in node.effects() {
            if let Effect::Send(_, frame) = effect {
                deliver(&frame, from, to);
            }
        }
        let mut called = Vec::new();
        to.effects.retain(|effect| match effect {
            Effect::Call(from, number, request) => {
                called.push((*from, *number, request.clone()));
                false
            }
            _ => true,
        });
        called
    }

    #[test]
    fn the_answer_comes_to_the_caller() {
        let [mut first, mut second] = two();
        let (answer, mut answered) = oneshot::channel();
        assert!(first.call(2, b"question".to_vec(), answer));
        let called = bring(1, &mut first, &mut second);
        let [(1, number, request)] = &called[..] else { panic!("{called:?}") };
        assert_eq!(request, b"question");
        second.answer_call(NOW, 1, *number, Some(b"answer".to_vec()));
        bring(2, &mut second, &mut first);
        assert_eq!(answered.try_recv(), Ok(Some(b"answer".to_vec())));
    }

    #[test]
    fn a_caller_hears_of_the_loss_of_the_called_server() {
        let [mut first, _] = two();
        let (answer, mut answered) = oneshot::channel();
        assert!(first.call(2, b"question".to_vec(), answer));
        first.adopt(NOW, View { epoch: 2, members: vec![1] });
        assert_eq!(answered.try_recv(), Err(oneshot::error::TryRecvError::Closed));
        assert!(!first.call(2, b"question".to_vec(), oneshot::channel().0), "it is not a member any more");
    }

    #[test]
    fn without_a_connection_nothing_is_sent() {
        let [mut first, mut second] = two();
        let (answer, mut answered) = oneshot::channel();
        assert!(first.call(2, b"lost on its way".to_vec(), answer));
        first.disconnected(2);
        assert!(!first.call(2, b"question".to_vec(), oneshot::channel().0));
        assert_eq!(answered.try_recv(), Err(oneshot::error::TryRecvError::Empty));
        drop(first.effects());
        let received = second.received(1).unwrap();
        first.connected(2, received).iter().for_each(|frame| deliver(frame, 1, &mut second));
        assert_eq!(answered.try_recv(), Ok(None));
        assert!(second.effects().iter().all(|effect| !matches!(effect, Effect::Call(..))));
        assert!(first.call(2, b"question".to_vec(), oneshot::channel().0));
        assert!(!first.call(1, Vec::new(), oneshot::channel().0), "it does not call itself");
        assert!(!second.call(1, vec![0; MAX_CALL + 1], oneshot::channel().0), "too long");
    }

    #[test]
    fn requests_that_wait_and_those_that_are_answered_are_limited() {
        let [mut first, mut second] = two();
        let mut waiting = Vec::new();
        for _ in 0..MOST_CALLS {
            let (answer, answered) = oneshot::channel();
            assert!(first.call(2, Vec::new(), answer));
            waiting.push(answered);
        }
        assert!(!first.call(2, Vec::new(), oneshot::channel().0));
        assert_eq!(bring(1, &mut first, &mut second).len(), MOST_CALLS);
        second.called(1, 0, Vec::new()); // by a server that has another limit
        assert!(bring(1, &mut first, &mut second).is_empty(), "it is refused");
    }
}
