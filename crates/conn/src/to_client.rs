//! How a protocol sends a client what it has not asked for, and ends the connection.

use std::sync::{Arc, Weak};

use crate::outbox::Outbox;
use crate::protocol::Reply;

/// The way to a client besides the answers to its messages. Does nothing once the connection is over.
#[derive(Clone)]
pub struct ToClient(Way);

#[derive(Clone)]
enum Way {
    Outbox(Weak<Outbox>),
    Elsewhere(Arc<dyn Fn(Option<Reply>) -> bool + Send + Sync>),
}

impl ToClient {
    pub(crate) fn over(outbox: &Arc<Outbox>) -> Self {
        Self(Way::Outbox(Arc::downgrade(outbox)))
    }

    /// The way to nobody.
    pub fn nobody() -> Self {
        Self(Way::Outbox(Weak::new()))
    }

    /// The way to a client that is a function, for tests: it takes replies, and `None` when the connection is to end.
    pub fn of(take: impl Fn(Option<Reply>) -> bool + Send + Sync + 'static) -> Self {
        Self(Way::Elsewhere(Arc::new(take)))
    }

    /// Sends this after whatever waits already. Answers whether the connection was still there.
    pub fn send(&self, reply: Reply) -> bool {
        let queued = self.queue(reply);
        self.flush();
        queued
    }

    /// Puts this behind whatever waits already, for a protocol whose answers are more than one reply. It leaves once the
    /// message being answered has been, so it is for use by answers alone.
    pub fn queue(&self, reply: Reply) -> bool {
        let outbox = match &self.0 {
            Way::Elsewhere(take) => return take(Some(reply)),
            Way::Outbox(outbox) => outbox.upgrade(),
        };
        let Some(outbox) = outbox else { return false };
        outbox.push(reply);
        true
    }

    /// Waits until no more than so many bytes wait for the client: for answers that would be long. False when the connection
    /// is over.
    pub async fn room(&self, limit: usize) -> bool {
        let Way::Outbox(outbox) = &self.0 else { return true };
        let Some(outbox) = outbox.upgrade() else { return false };
        outbox.waiting() <= limit || {
            outbox.flush();
            outbox.room(limit, || usize::MAX).await
        }
    }

    /// Charges what was queued to the client at once: for answers that give back then what they had reserved for it.
    pub fn charge(&self) {
        if let Way::Outbox(outbox) = &self.0
            && let Some(outbox) = outbox.upgrade()
        {
            outbox.charge();
        }
    }

    /// Lets what was put there outside of an answer leave.
    pub fn flush(&self) {
        if let Way::Outbox(outbox) = &self.0
            && let Some(outbox) = outbox.upgrade()
        {
            outbox.flush();
        }
    }

    /// Ends the connection once everything that waits has left.
    pub fn finish(&self) {
        match &self.0 {
            Way::Outbox(outbox) => {
                if let Some(outbox) = outbox.upgrade() {
                    outbox.finish();
                }
            }
            Way::Elsewhere(take) => {
                take(None);
            }
        }
    }

    /// Ends the connection.
    pub fn close(&self) {
        match &self.0 {
            Way::Outbox(outbox) => {
                if let Some(outbox) = outbox.upgrade() {
                    outbox.close();
                }
            }
            Way::Elsewhere(take) => {
                take(None);
            }
        }
    }
}

impl std::fmt::Debug for ToClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is_there = match &self.0 {
            Way::Outbox(outbox) => outbox.strong_count() > 0,
            Way::Elsewhere(_) => true,
        };
        f.write_str(if is_there { "a client" } else { "nobody" })
    }
}
