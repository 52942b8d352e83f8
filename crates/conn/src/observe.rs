//! Observed operations: each command or call of a client is a span, and is told to the observer and the log when it has
//! ended. Metrics and an audit log will get it from here. While nothing observes, an operation costs one relaxed load and
//! reads no clock.

pub mod testing;

use std::borrow::Cow;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tracing::Span;
use tracing::field::Empty;
use tracing::instrument::{Instrument, Instrumented};

/// An operation that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Operation<'a> {
    /// `nfs` (with MOUNT and NLM), `smb`, `afp` or `iscsi`.
    pub protocol: &'static str,
    /// The client's end of the connection.
    pub client: SocketAddr,
    /// The specification's name of the command.
    pub command: &'a str,
    /// What came of it.
    pub outcome: Outcome<'a>,
}

/// What is known of an operation when it has ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outcome<'a> {
    /// The account; of NFS the user id that the client states. Empty if unknown.
    pub user: &'a str,
    /// The share, export, volume or disk. Empty if the operation concerns none.
    pub share: &'a str,
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

/// An operation that is observed and has not ended. It has a span, which log lines of the server belong to meanwhile.
#[derive(Debug)]
pub struct Begun(Box<Start>);

#[derive(Debug)]
struct Start {
    at: Instant,
    protocol: &'static str,
    client: SocketAddr,
    command: Cow<'static, str>,
    span: Span,
}

/// An operation of this protocol and client begins. `None` while nothing observes: the command is not asked for then.
pub fn begin(
    protocol: &'static str,
    client: SocketAddr,
    command: impl FnOnce() -> Cow<'static, str>,
) -> Option<Begun> {
    IS_ON.load(Ordering::Relaxed).then(|| Begun::new(protocol, client, command()))
}

/// Executes a part of an operation inside its span.
pub fn within<F: Future>(begun: Option<&Begun>, part: F) -> Instrumented<F> {
    part.instrument(begun.map_or_else(Span::none, |begun| begun.0.span.clone()))
}

impl Begun {
    fn new(protocol: &'static str, client: SocketAddr, command: Cow<'static, str>) -> Self {
        let span = tracing::debug_span!(
            target: "fourfold::operation",
            parent: None,
            "operation",
            protocol, address = %client.ip(), port = client.port(), command = &*command,
            user = Empty, share = Empty, result = Empty, micros = Empty, bytes_in = Empty, bytes_out = Empty,
        );
        Self(Box::new(Start { at: Instant::now(), protocol, client, command, span }))
    }

    /// The operation has ended.
    pub fn end(&self, outcome: &Outcome<'_>) {
        let Start { at, protocol, client, command, span } = &*self.0;
        let took = at.elapsed();
        let operation = Operation { protocol, client: *client, command, outcome: *outcome };
        if let Some(observer) = OBSERVER.get() {
            observer.ended(&operation, took);
        }
        let Outcome { user, share, result, bytes_in, bytes_out, .. } = *outcome;
        let micros = took.as_micros() as u64;
        span.record("user", user).record("share", share).record("result", result);
        span.record("micros", micros).record("bytes_in", bytes_in).record("bytes_out", bytes_out);
        tracing::debug!(
            target: "fourfold::operation",
            parent: None, // the line has all fields of the span
            protocol, address = %client.ip(), port = client.port(), user, share, command = &**command, result,
            micros, bytes_in, bytes_out,
            "ended"
        );
    }
}

#[cfg(test)]
mod tests;
