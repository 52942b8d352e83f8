//! Observed operations: each command or call of a client is a span, and is told to the observer and the log when it has
//! ended. Metrics, the audit log and the log of slow operations get it from here. While nothing observes, an operation costs
//! one relaxed load and reads no clock.

pub mod testing;

use std::borrow::Cow;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use coherence::noted::{Notes, OperationTrace, Paths, during, want};
use tracing::Span;
use tracing::field::Empty;
use tracing::instrument::{Instrument, Instrumented};
use wire::{ClientAddress, ClientIp};

/// An operation that has ended.
#[derive(Debug, Clone, Copy)]
pub struct EndedOperation<'a> {
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

/// Gets every operation while it is on. It is called on the thread that answers the client, and must not block.
pub trait Observer: Send + Sync + 'static {
    /// An operation has ended, so long after it began.
    fn ended(&self, operation: &EndedOperation<'_>, took: Duration);

    /// The same for an observer that wants files or times: it gets what was noted of them.
    fn ended_with(&self, operation: &EndedOperation<'_>, took: Duration, _noted: &OperationTrace) {
        self.ended(operation, took);
    }
}

/// What an observer wants to be noted while operations run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wants {
    /// The files that an operation concerns, and when their paths are found.
    pub files: Option<Paths>,
    /// Where its time goes.
    pub times: bool,
}

/// The most observers of a process.
const MOST_OBSERVERS: usize = 6;
/// The bit of the log in [`IS_ON`].
const LOG: u32 = 1 << 31;

static OBSERVERS: [OnceLock<Box<dyn Observer>>; MOST_OBSERVERS] = [const { OnceLock::new() }; MOST_OBSERVERS];
/// The observers that are on, one bit each, and whether the log shows operations.
static IS_ON: AtomicU32 = AtomicU32::new(0);

/// An observer, to turn it on and off. It stays as long as the process.
#[derive(Debug, Clone, Copy)]
pub struct Switch(u32);

/// Adds an observer, which is off. `None` if there are too many.
pub fn add(observer: Box<dyn Observer>) -> Option<Switch> {
    let mut observer = Some(observer);
    let is_free = |place: &OnceLock<Box<dyn Observer>>| {
        let Some(one) = observer.take() else { return false };
        place.set(one).map_err(|one| observer = Some(one)).is_ok()
    };
    let number = OBSERVERS.iter().position(is_free)?;
    u32::try_from(number).ok().map(Switch)
}

/// Adds an observer, and turns it on. False if there are too many.
pub fn set(observer: Box<dyn Observer>) -> bool {
    add(observer).map(|switch| switch.turn(Some(Wants::default()))).is_some()
}

impl Switch {
    /// Turns the observer on, or off with `None`. Operations that have begun may still be told to it, or may not.
    pub fn turn(self, on: Option<Wants>) {
        let Wants { files, times } = on.unwrap_or_default();
        want(self.0, files, times);
        match on {
            Some(_) => IS_ON.fetch_or(1 << self.0, Ordering::Relaxed),
            None => IS_ON.fetch_and(!(1 << self.0), Ordering::Relaxed),
        };
    }
}

/// Has operations written into the log, if its filter lets them pass. To be called once logging has started.
pub fn follow_log() {
    if is_logged() {
        IS_ON.fetch_or(LOG, Ordering::Relaxed);
    }
}

fn is_logged() -> bool {
    tracing::enabled!(target: "fourfold::operation", tracing::Level::DEBUG)
}

/// An operation that is observed and has not ended. It has a span, which log lines of the server belong to meanwhile.
#[derive(Debug)]
pub struct RunningOperation(Box<Start>);

#[derive(Debug)]
struct Start {
    at: Instant,
    protocol: &'static str,
    client: SocketAddr,
    command: Cow<'static, str>,
    span: Span,
    notes: Option<Arc<Notes>>,
}

/// An operation of this protocol and client begins. `None` while nothing observes: the command is not asked for then.
pub fn begin(
    protocol: &'static str,
    client: SocketAddr,
    command: impl FnOnce() -> Cow<'static, str>,
) -> Option<RunningOperation> {
    (IS_ON.load(Ordering::Relaxed) != 0).then(|| RunningOperation::new(protocol, client, command()))
}

pin_project_lite::pin_project! {
    /// A part of an operation, which runs inside its span and with its notes.
    #[derive(Debug)]
    pub struct OperationPart<F> {
        #[pin]
        part: Instrumented<F>,
        notes: Option<Arc<Notes>>,
    }
}

impl<F: Future> Future for OperationPart<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        during(this.notes.as_ref(), || this.part.poll(cx))
    }
}

/// Executes a part of an operation inside its span, and notes what it does. A large part is passed pinned: to move the future of a
/// whole request, which has some KiB, costs more than the rest of this.
pub fn within<F: Future>(begun: Option<&RunningOperation>, part: F) -> OperationPart<F> {
    let (span, notes) = match begun {
        Some(begun) => (begun.0.span.clone(), begun.0.notes.clone()),
        None => (Span::none(), None),
    };
    OperationPart { part: part.instrument(span), notes }
}

impl RunningOperation {
    fn new(protocol: &'static str, client: SocketAddr, command: Cow<'static, str>) -> Self {
        let span = tracing::debug_span!(
            target: "fourfold::operation",
            parent: None,
            "operation",
            protocol, address = %ClientIp(client.ip()), port = ClientAddress(client).port(), command = &*command,
            user = Empty, share = Empty, result = Empty, micros = Empty, bytes_in = Empty, bytes_out = Empty,
        );
        Self(Box::new(Start { at: Instant::now(), protocol, client, command, span, notes: Notes::begin() }))
    }

    /// The operation has ended.
    pub fn end(&self, outcome: &Outcome<'_>) {
        let Start { at, protocol, client, command, span, notes } = &*self.0;
        let took = at.elapsed();
        let operation = EndedOperation { protocol, client: *client, command, outcome: *outcome };
        let on = IS_ON.load(Ordering::Relaxed);
        if on & !LOG != 0 {
            let noted = notes.as_ref().map(|notes| notes.taken()).unwrap_or_default();
            let is_on = |number: usize| on & (1 << number) != 0;
            let observers = OBSERVERS.iter().enumerate().filter(|(number, _)| is_on(*number));
            observers
                .filter_map(|(_, place)| place.get())
                .for_each(|observer| observer.ended_with(&operation, took, &noted));
        }
        let Outcome { user, share, result, bytes_in, bytes_out, .. } = *outcome;
        let micros = took.as_micros() as u64;
        span.record("user", user).record("share", share).record("result", result);
        span.record("micros", micros).record("bytes_in", bytes_in).record("bytes_out", bytes_out);
        tracing::debug!(
            target: "fourfold::operation",
            parent: None, // the line has all fields of the span
            protocol, address = %ClientIp(client.ip()), port = ClientAddress(*client).port(), user, share, command = &**command, result,
            micros, bytes_in, bytes_out,
            "ended"
        );
    }
}

#[cfg(test)]
mod tests;
