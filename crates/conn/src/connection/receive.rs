//! Receives the next bytes of a connection: waits for them, and reserves memory for long messages first.

use std::sync::atomic::Ordering;
use std::time::Instant;

use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::{Connection, Reading};
use crate::loops::Direction;
use crate::protocol::Protocol;

/// Messages that arrive in several pieces are reserved memory for from this length on.
const RESERVED: usize = 8 * 1024;

impl<P: Protocol> Connection<P> {
    /// Receives at least one byte. An idle connection holds no buffer while it waits.
    pub(super) async fn receive(&self, reading: &mut Reading, missing: usize) -> bool {
        if reading.is_tls {
            // In a box: the task of a connection without TLS stays small.
            return Box::pin(self.receive_tls(reading, missing)).await;
        }
        let deadline = match reading.received.rest() {
            true => None,
            false if !self.reserve_rest(reading, missing).await => return false,
            false => {
                let limit = self.limits.receive_timeout;
                Some(*reading.deadline.get_or_insert_with(|| Instant::now() + limit))
            }
        };
        let wait = self.begin_wait(deadline.is_some());
        let mut is_eager = deadline.is_none() && self.begin_eager(reading);
        let count = loop {
            if deadline.is_none() && (is_eager || self.socket.is_drained()) {
                reading.early.begin_alone();
            }
            self.await_idle(reading);
            if !self.socket.ready(Direction::In, deadline).await {
                break 0;
            }
            if self.socket.take_idle() && self.socket.is_drained() {
                self.write_early(reading);
            }
            let Some(socket) = self.socket.attempt(Direction::In) else { continue };
            let buffer = reading.received.with_room(missing);
            let room = buffer.capacity() - buffer.len();
            match recv(socket, spare_capacity(buffer), RecvFlags::DONTWAIT) {
                Ok((count, _)) => {
                    self.socket.received(count, room, missing);
                    if is_eager {
                        reading.eager.found();
                    }
                    break count;
                }
                Err(Errno::AGAIN) => {
                    reading.received.rest();
                    if std::mem::take(&mut is_eager) {
                        reading.eager.missed();
                    }
                }
                Err(_) => break 0,
            }
        };
        if let (Some(begun), true) = (wait, count > 0) {
            self.counters.timing.arrived(begun.elapsed(), count);
        }
        self.counters.bytes_in.fetch_add(count as u64, Ordering::Relaxed);
        self.allowance.has_moved(count);
        count > 0
    }

    /// The rest of a message is waited for, from now on. A client that has held such a rest back until the beginning was
    /// acknowledged gets that at once.
    fn begin_wait(&self, is_partial: bool) -> Option<Instant> {
        if !is_partial || !self.socket.is_drained() {
            return None;
        }
        if self.counters.timing.pieces.acknowledges() {
            let _ = rustix::net::sockopt::set_tcp_quickack(self.socket.stream(), true); // only costs latency
        }
        Some(Instant::now())
    }

    /// Reserves memory for all of a long message before more of it is received. False when the connection is over.
    pub(super) async fn reserve_rest(&self, reading: &mut Reading, missing: usize) -> bool {
        let whole = reading.received.bytes().len() + missing;
        let reserved = reading.reserved.bytes();
        if whole <= reserved.max(RESERVED) {
            return true;
        }
        // A record of many fragments grows as it comes: twice as much each time, so that it does not wait often.
        let more = (whole - reserved).max(reserved);
        let more = tokio::select! {
            biased;
            more = self.allowance.reserve_more(more, &reading.reserved) => more,
            () = self.outbox.over() => None,
        };
        let Some(mut more) = more else {
            self.outbox.close();
            return false;
        };
        more.begin_owing();
        reading.reserved.begin_owing();
        reading.reserved.join(more);
        true
    }
}
