//! Requests that wait for something and can be cancelled.

use std::collections::HashMap;
use std::sync::Arc;

use lock::Mutex;
use tokio::sync::Notify;

use crate::ranks;

/// The most requests of one connection that wait for other clients, as in other servers. Without
/// this limit a client could let all its requests wait, and could then send no CANCEL.
const MOST: usize = 512;

/// The waiting requests of one connection. The client has an interim response with an async id for
/// each.
#[derive(Default)]
pub(super) struct Requests {
    table: Mutex<RequestTable, ranks::SmbRequests>,
}

#[derive(Default)]
struct RequestTable {
    next: u64,
    over: bool,
    waiting: HashMap<u64, PendingRequest>,
}

struct PendingRequest {
    message_id: u64,
    session_id: u64,
    cancelled: Arc<Notify>,
}

/// A waiting request. Dropping the ticket removes it.
pub(super) struct RequestTicket {
    requests: Arc<Requests>,
    /// Its async id.
    pub(super) id: u64,
    cancelled: Arc<Notify>,
}

impl Requests {
    /// Registers a request that waits for other clients. `None` if too many requests wait.
    pub(super) fn wait_for_others(
        self: &Arc<Self>,
        message_id: u64,
        session_id: u64,
    ) -> Option<RequestTicket> {
        let is_full = self.table.lock().waiting.len() >= MOST;
        (!is_full).then(|| self.wait(message_id, session_id))
    }

    /// Registers a request that waits for the disk. A connection cannot have more of these than
    /// messages in flight.
    pub(super) fn wait(self: &Arc<Self>, message_id: u64, session_id: u64) -> RequestTicket {
        let mut table = self.table.lock();
        table.next += 1;
        let (id, cancelled) = (table.next, Arc::new(Notify::new()));
        if table.over {
            cancelled.notify_one();
        }
        table.waiting.insert(id, PendingRequest { message_id, session_id, cancelled: cancelled.clone() });
        RequestTicket { requests: self.clone(), id, cancelled }
    }

    /// Cancels the request with this async id, or with this message id.
    pub(super) fn cancel(&self, async_id: Option<u64>, message_id: u64) {
        let table = self.table.lock();
        let found = match async_id {
            Some(id) => table.waiting.get(&id),
            None => table.waiting.values().find(|waiting| waiting.message_id == message_id),
        };
        if let Some(waiting) = found {
            waiting.cancelled.notify_one();
        }
    }

    /// Cancels all requests of a session.
    pub(super) fn cancel_session(&self, session_id: u64) {
        let table = self.table.lock();
        table.waiting.values().filter(|waiting| waiting.session_id == session_id).for_each(|waiting| {
            waiting.cancelled.notify_one();
        });
    }

    /// The connection is over: cancels all its requests.
    pub(super) fn end(&self) {
        let mut table = self.table.lock();
        table.over = true;
        table.waiting.values().for_each(|waiting| waiting.cancelled.notify_one());
    }
}

impl RequestTicket {
    /// Whether its connection is over, so that the client cannot have cancelled it.
    pub(super) fn is_orphaned(&self) -> bool {
        self.requests.table.lock().over
    }

    /// Returns when the request is cancelled.
    pub(super) async fn cancelled(&self) {
        self.cancelled.notified().await;
    }
}

impl Drop for RequestTicket {
    fn drop(&mut self) {
        self.requests.table.lock().waiting.remove(&self.id);
    }
}
