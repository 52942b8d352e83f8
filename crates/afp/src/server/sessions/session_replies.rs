//! The replay cache of AFP 3.3. It keeps replies for a client that loses its connection,
//! reconnects, and repeats the requests without a reply. Apple Filing Protocol Programming Guide,
//! "Replay Cache".
//!
//! A repeated request is never executed twice. A client does not repeat requests on one connection,
//! so only replies of an earlier connection are returned: a client may use its numbers again
//! freely.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use lock::Mutex;
use tokio::sync::Notify;

use crate::ranks;
use crate::server::reply::{Outcome, Reply};
use crate::wire::{ResultCode, command};

/// How many replies are kept.
pub(in crate::server) const REPLIES: usize = 128;
/// How many bytes of replies are kept. Only replies to commands that change something are kept, and
/// these have at most some names.
const MAX_BYTES: usize = 64 * 1024;
/// The longest reply that is kept.
const MAX_REPLY: usize = 4 * 1024;
/// After this many requests on the new connection, a client has repeated all that it wanted to.
const MAX_REPLAYED: usize = 4 * REPLIES;

/// The replies of a session. No reply is kept before [`Replies::begin_keeping`].
#[derive(Default)]
pub(in crate::server) struct Replies {
    keeps: AtomicBool,
    /// There are replies of an earlier connection.
    came_back: AtomicBool,
    kept: Mutex<CachedReplies, ranks::AfpReplies>,
    finished: Notify,
}

#[derive(Default)]
struct CachedReplies {
    /// Oldest first.
    entries: VecDeque<CachedReply>,
    bytes: usize,
    /// The number of the session's current connection.
    connection: u32,
    /// Requests since the reconnection.
    requests: usize,
}

struct CachedReply {
    id: u16,
    command: u8,
    connection: u32,
    /// `None` while the request is executed.
    answer: Option<(ResultCode, Box<[u8]>)>,
}

/// The stored state of a request.
pub(in crate::server) enum RequestState<'a> {
    /// It is new: the caller executes it and reports its outcome.
    New(RequestTurn<'a>),
    /// It has a reply.
    Answered(Outcome),
    /// It is being executed: ask again later.
    Underway,
}

impl Replies {
    /// Begins to keep replies: from now on, the client can reconnect.
    pub(in crate::server) fn begin_keeping(&self) {
        self.keeps.store(true, Ordering::Relaxed);
    }

    /// The client has reconnected.
    pub(in crate::server) fn came_back(&self) {
        let mut kept = self.kept.lock();
        kept.connection += 1;
        kept.requests = 0;
        self.came_back.store(true, Ordering::Relaxed);
    }

    /// Whether a request may be one of an earlier connection, and have a reply.
    pub(in crate::server) fn may_repeat(&self) -> bool {
        self.came_back.load(Ordering::Relaxed)
    }

    /// Begins a request. `None` if no state of it is needed.
    pub(in crate::server) fn begin(&self, id: u16, number: u8) -> Option<RequestState<'_>> {
        if !self.keeps.load(Ordering::Relaxed) {
            return None;
        }
        if command::properties(number).repeatable {
            self.count();
            return None;
        }
        let mut kept = self.kept.lock();
        self.forget_old(&mut kept);
        let connection = kept.connection;
        let same = |entry: &CachedReply| (entry.id, entry.command) == (id, number);
        let came_back = self.came_back.load(Ordering::Relaxed);
        if let Some(at) = kept.entries.iter().position(same) {
            let entry = &mut kept.entries[at];
            let is_repeated = came_back && entry.connection != connection;
            match &entry.answer {
                None if is_repeated => return Some(RequestState::Underway),
                Some((code, head)) if is_repeated => {
                    let reply = Reply { code: Some(*code), head: head.to_vec(), ..Reply::default() };
                    entry.connection = connection; // a new request on this connection
                    return Some(RequestState::Answered(Ok(reply)));
                }
                _ => kept.remove(at),
            }
        }
        kept.entries.push_back(CachedReply { id, command: number, connection, answer: None });
        kept.make_room();
        Some(RequestState::New(RequestTurn { replies: self, id, number, connection, is_done: false }))
    }

    /// Waits until a request has been executed.
    pub(in crate::server) async fn finished(&self, id: u16, number: u8) {
        let finished = self.finished.notified();
        tokio::pin!(finished);
        finished.as_mut().enable();
        let is_underway =
            |entry: &CachedReply| (entry.id, entry.command) == (id, number) && entry.answer.is_none();
        if self.kept.lock().entries.iter().any(is_underway) {
            finished.await;
        }
    }

    /// Counts a request after a reconnection.
    fn count(&self) {
        if self.came_back.load(Ordering::Relaxed) {
            self.forget_old(&mut self.kept.lock());
        }
    }

    /// Forgets the replies of earlier connections, once the client repeats no more requests.
    fn forget_old(&self, kept: &mut CachedReplies) {
        if !self.came_back.load(Ordering::Relaxed) {
            return;
        }
        kept.requests += 1;
        if kept.requests > MAX_REPLAYED {
            let connection = kept.connection;
            kept.entries.retain(|entry| entry.connection == connection || entry.answer.is_none());
            kept.bytes = kept.entries.iter().map(CachedReply::bytes).sum();
            self.came_back.store(false, Ordering::Relaxed);
        }
    }

    /// The number of replies, and their bytes.
    #[cfg(test)]
    pub(in crate::server) fn size(&self) -> (usize, usize) {
        let kept = self.kept.lock();
        (kept.entries.len(), kept.bytes)
    }
}

impl CachedReply {
    fn bytes(&self) -> usize {
        self.answer.as_ref().map_or(0, |(_, head)| head.len())
    }
}

impl CachedReplies {
    fn remove(&mut self, at: usize) {
        if let Some(entry) = self.entries.remove(at) {
            self.bytes -= entry.bytes();
        }
    }

    fn make_room(&mut self) {
        while self.entries.len() > REPLIES || self.bytes > MAX_BYTES {
            self.remove(0);
        }
    }
}

/// A request that is being executed. If it is dropped before it is finished, it counts as never
/// sent.
pub(in crate::server) struct RequestTurn<'a> {
    replies: &'a Replies,
    id: u16,
    number: u8,
    connection: u32,
    is_done: bool,
}

impl RequestTurn<'_> {
    /// Keeps the outcome.
    pub(in crate::server) fn finish(mut self, outcome: &Outcome) {
        let (code, head) = match outcome {
            Ok(reply) => (reply.code.unwrap_or(ResultCode::NO_ERROR), &reply.head[..]),
            Err(code) => (*code, &[][..]),
        };
        if head.len() > MAX_REPLY || outcome.as_ref().is_ok_and(|reply| reply.data.is_some()) {
            return; // only harmless commands have such long replies
        }
        self.is_done = true;
        let mut kept = self.replies.kept.lock();
        if let Some(at) = self.place(&kept) {
            kept.entries[at].answer = Some((code, head.into()));
            kept.bytes += head.len();
            kept.make_room();
        }
        drop(kept);
        self.replies.finished.notify_waiters();
    }

    fn place(&self, kept: &CachedReplies) -> Option<usize> {
        let same = |entry: &CachedReply| {
            (entry.id, entry.command, entry.connection) == (self.id, self.number, self.connection)
        };
        kept.entries.iter().position(|entry| same(entry) && entry.answer.is_none())
    }
}

impl Drop for RequestTurn<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            let mut kept = self.replies.kept.lock();
            if let Some(at) = self.place(&kept) {
                kept.remove(at);
            }
            drop(kept);
            self.replies.finished.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREATE: u8 = command::CREATE_DIR;

    fn replies() -> Replies {
        let replies = Replies::default();
        replies.begin_keeping();
        replies
    }

    fn done(replies: &Replies, id: u16, head: &[u8]) {
        match replies.begin(id, CREATE) {
            Some(RequestState::New(turn)) => {
                turn.finish(&Ok(Reply { head: head.into(), ..Reply::default() }))
            }
            _ => panic!("request {id} is new"),
        }
    }

    fn answered(replies: &Replies, id: u16, number: u8) -> Option<Vec<u8>> {
        match replies.begin(id, number) {
            Some(RequestState::Answered(Ok(reply))) => Some(reply.head),
            _ => None,
        }
    }

    #[test]
    fn what_was_answered_before_the_connection_was_lost_is_answered_the_same_and_not_done_again() {
        let replies = replies();
        done(&replies, 7, b"seven");
        if let Some(RequestState::New(turn)) = replies.begin(8, CREATE) {
            turn.finish(&Err(ResultCode::OBJECT_EXISTS));
        }
        replies.came_back();
        assert_eq!(answered(&replies, 7, CREATE), Some(b"seven".to_vec()));
        assert_eq!(answered(&replies, 7, command::CREATE_FILE), None, "another command");
        let Some(RequestState::Answered(Ok(reply))) = replies.begin(8, CREATE) else {
            panic!("it failed before")
        };
        assert_eq!(reply.code, Some(ResultCode::OBJECT_EXISTS));
    }

    #[test]
    fn a_number_used_again_on_the_same_connection_is_another_request() {
        let replies = replies();
        done(&replies, 7, b"first");
        done(&replies, 7, b"second");
        assert_eq!(replies.size(), (1, 6));
        replies.came_back();
        assert_eq!(answered(&replies, 7, CREATE), Some(b"second".to_vec()));
        done(&replies, 7, b"third");
    }

    #[test]
    fn nothing_is_kept_of_reads_nor_for_clients_that_cannot_come_back() {
        let replies = Replies::default();
        assert!(replies.begin(1, CREATE).is_none());
        replies.begin_keeping();
        for number in [command::READ_EXT, command::ENUMERATE_EXT2, command::GET_FILE_DIR_PARMS] {
            assert!(replies.begin(1, number).is_none());
        }
        assert_eq!(replies.size(), (0, 0));
    }

    #[test]
    fn no_more_than_128_replies_and_their_bytes_are_kept() {
        let replies = replies();
        (0..300).for_each(|id| done(&replies, id, &[1; 8]));
        assert_eq!(replies.size(), (128, 128 * 8));
        (0..300).for_each(|id| done(&replies, id, &[1; MAX_REPLY]));
        assert_eq!(replies.size(), (16, 16 * MAX_REPLY));
        done(&replies, 500, &[1; MAX_REPLY + 1]);
        assert_eq!(replies.size(), (16, 16 * MAX_REPLY), "longer ones are not kept");
    }

    #[test]
    fn numbers_that_have_come_round_find_nothing_old() {
        let replies = replies();
        done(&replies, 7, b"long ago");
        replies.came_back();
        (0..MAX_REPLAYED).for_each(|_| assert!(replies.begin(9, command::READ).is_none()));
        done(&replies, 7, b"now");
    }

    #[tokio::test]
    async fn what_is_still_being_done_is_waited_for() {
        let replies = replies();
        let Some(RequestState::New(turn)) = replies.begin(7, CREATE) else { panic!("it is new") };
        replies.came_back();
        assert!(matches!(replies.begin(7, CREATE), Some(RequestState::Underway)));
        let finish = async { turn.finish(&Ok(Reply { head: b"done".to_vec(), ..Reply::default() })) };
        tokio::join!(replies.finished(7, CREATE), finish);
        assert_eq!(answered(&replies, 7, CREATE), Some(b"done".to_vec()));
        replies.finished(7, CREATE).await; // does not wait
    }

    #[test]
    fn what_was_called_off_is_done_when_asked_again() {
        let replies = replies();
        drop(replies.begin(7, CREATE));
        replies.came_back();
        assert!(matches!(replies.begin(7, CREATE), Some(RequestState::New(_))));
    }
}
