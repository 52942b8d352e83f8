//! Which connection a thread answers now, so that the tree can say that a read is a stream's without knowing connections.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use super::ReservedStreams;
use super::stream::StreamTable;

thread_local! {
    /// The client whose message this thread answers.
    static CLIENT: Cell<Option<IpAddr>> = const { Cell::new(None) };
    /// What was found of its message.
    static SERVICE: RefCell<Option<StreamService>> = const { RefCell::new(None) };
}

/// A read of a stream that is being answered.
#[derive(Debug)]
pub struct StreamService {
    streams: Arc<ReservedStreams>,
    table: Arc<StreamTable>,
    /// The stream among those of its table.
    number: usize,
    length: usize,
    began: Instant,
    is_over: bool,
}

impl StreamService {
    pub(super) fn new(
        streams: Arc<ReservedStreams>,
        table: Arc<StreamTable>,
        (number, length): (usize, usize),
        began: Instant,
    ) -> Self {
        Self { streams, table, number, length, began, is_over: false }
    }

    /// The bytes that are read.
    pub fn bytes(&self) -> usize {
        self.length
    }

    /// It is answered.
    pub fn end(mut self, now: Instant) {
        self.is_over = true;
        let took = now.saturating_duration_since(self.began);
        let pressure = self.table.served(self.number, self.length, took);
        self.streams.others.note(pressure, now);
    }
}

impl Drop for StreamService {
    fn drop(&mut self) {
        if !self.is_over {
            self.table.dropped(self.number);
        }
    }
}

/// Runs a part of the answer to a message of this client. Gives the stream that it has read, too.
pub fn while_reading<T>(client: IpAddr, run: impl FnOnce() -> T) -> (T, Option<StreamService>) {
    let _before = Before(CLIENT.replace(Some(client)));
    let result = run();
    (result, SERVICE.take())
}

/// The client before, which is in force again when this is dropped.
struct Before(Option<IpAddr>);

impl Drop for Before {
    fn drop(&mut self) {
        CLIENT.set(self.0);
    }
}

/// The client whose message this thread answers.
pub(super) fn client() -> Option<IpAddr> {
    CLIENT.get()
}

/// The message that this thread answers reads a stream. Outside of [`while_reading`] nothing follows from that.
pub(super) fn serve(service: StreamService) {
    if CLIENT.get().is_some() {
        SERVICE.set(Some(service));
    }
}
