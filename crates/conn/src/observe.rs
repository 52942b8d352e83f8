//! Observed operations: each command or call of a client, when it has ended. The log, and later metrics and an audit log, get
//! them from here. While nothing observes, an operation costs one relaxed load and reads no clock.

pub mod testing;

use std::net::SocketAddr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// An operation that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Operation<'a> {
    /// `nfs` (with MOUNT and NLM), `smb`, `afp` or `iscsi`.
    pub protocol: &'static str,
    /// The client's end of the connection.
    pub client: SocketAddr,
    /// The account; of NFS the user id that the client states. Empty if unknown.
    pub user: &'a str,
    /// The share, export, volume or disk. Empty if the operation concerns none.
    pub share: &'a str,
    /// The specification's name of the command.
    pub command: &'a str,
    /// The specification's name of the status.
    pub result: &'a str,
    /// Whether the result is an error.
    pub failed: bool,
    /// The request's length, as far as it is known.
    pub bytes_in: usize,
    /// The reply's length, as far as it is known.
    pub bytes_out: usize,
}

/// Gets every operation. It is called on the thread that answers the client, and must not block.
pub trait Observer: Send + Sync + 'static {
    /// An operation has ended, so long after it began.
    fn ended(&self, operation: &Operation<'_>, took: Duration);
}

static OBSERVER: OnceLock<Box<dyn Observer>> = OnceLock::new();
/// Whether there is an observer, or the log shows operations.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Sets the observer, once at the start. False if there is one already.
pub fn set(observer: Box<dyn Observer>) -> bool {
    let is_first = OBSERVER.set(observer).is_ok();
    IS_ON.store(true, Ordering::Relaxed);
    is_first
}

/// Has operations written into the log, if its filter lets them pass. To be called once logging has started.
pub fn follow_log() {
    if is_logged() {
        IS_ON.store(true, Ordering::Relaxed);
    }
}

fn is_logged() -> bool {
    tracing::enabled!(target: "fourfold::operation", tracing::Level::DEBUG)
}

/// The start of an operation that is observed.
#[derive(Debug, Clone, Copy)]
pub struct Begun(Instant);

/// An operation begins. `None` while nothing observes.
pub fn begin() -> Option<Begun> {
    IS_ON.load(Ordering::Relaxed).then(|| Begun(Instant::now()))
}

impl Begun {
    /// The operation has ended.
    pub fn end(self, operation: &Operation<'_>) {
        let took = self.0.elapsed();
        if let Some(observer) = OBSERVER.get() {
            observer.ended(operation, took);
        }
        let Operation { protocol, client, user, share, command, result, bytes_in, bytes_out, .. } =
            *operation;
        tracing::debug!(
            target: "fourfold::operation",
            protocol, address = %client.ip(), port = client.port(), user, share, command, result,
            micros = took.as_micros() as u64, bytes_in, bytes_out,
            "ended"
        );
    }
}

#[cfg(test)]
mod tests;
