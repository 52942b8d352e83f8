//! The reading side of a connection with TLS.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use rustls::ServerConfig;

use super::{Connection, Reading};
use crate::loops::{Direction, yield_now};
use crate::memory::Reservation;
use crate::outbox::ReceiveOutcome;
use crate::protocol::Protocol;
use crate::tls;

impl<P: Protocol> Connection<P> {
    /// What comes next is a handshake of TLS. False when the connection is over.
    pub(super) async fn secure(&self, reading: &mut Reading, config: Arc<ServerConfig>) -> bool {
        let is_idle = self.in_flight.available_permits() >= self.limits.in_flight;
        let received = reading.received.take_rest();
        if !is_idle
            || !self.outbox.begin_tls(config, received).await
            || !self.reserve_rest(reading, tls::HANDSHAKE_MEMORY).await
        {
            self.outbox.close();
            return false;
        }
        (reading.is_tls, reading.is_handshaking) = (true, true);
        reading.deadline = Some(Instant::now() + self.limits.handshake_timeout);
        true
    }

    /// [`Connection::receive`] on a connection with TLS.
    pub(super) async fn receive_tls(&self, reading: &mut Reading, missing: usize) -> bool {
        loop {
            let is_partial = !reading.is_handshaking && !reading.received.rest();
            if is_partial && !self.reserve_rest(reading, missing).await {
                return false;
            }
            let arrived = self.outbox.receive_tls(&mut reading.received, missing);
            if reading.is_handshaking
                && let Some(handshake) = self.outbox.handshake()
            {
                reading.is_handshaking = false;
                self.counters.is_tls.store(handshake.is_ok(), Ordering::Relaxed);
                self.protocol.secured(handshake);
                (reading.deadline, reading.reserved) = (None, Reservation::default());
            }
            let held = match arrived {
                ReceiveOutcome::Bytes(count) => {
                    self.counters.bytes_in.fetch_add(count as u64, Ordering::Relaxed);
                    self.allowance.has_moved(count);
                    return true;
                }
                ReceiveOutcome::End => return false,
                ReceiveOutcome::Again => {
                    yield_now().await;
                    continue;
                }
                ReceiveOutcome::Nothing { held } => held,
            };
            let is_idle = reading.received.rest() && held == 0;
            if reading.is_handshaking {
            } else if is_idle {
                (reading.deadline, reading.reserved) = (None, Reservation::default());
            } else if !self.reserve_rest(reading, missing + held).await {
                return false;
            } else {
                reading.deadline.get_or_insert_with(|| Instant::now() + self.limits.receive_timeout);
            }
            if !self.socket.ready(Direction::In, reading.deadline).await {
                return false;
            }
        }
    }
}
