//! An outbox whose connection has TLS.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use rustls::ServerConfig;

use super::{Outbox, Queue};
use crate::loops::Direction;
use crate::received::ReceiveBuffer;
use crate::tls::{CompletedHandshake, Tls};

/// Most times that a connection with TLS receives before the loop's others have a turn, if nothing comes of it: records may be
/// empty.
const RECEIVES: usize = 16;

/// What came over a connection with TLS.
pub(crate) enum ReceiveOutcome {
    /// So many bytes, which were appended.
    Bytes(usize),
    /// Nothing that can be opened; so many bytes are held.
    Nothing { held: usize },
    /// Nothing yet, and more is there.
    Again,
    /// The connection is over.
    End,
}

impl Outbox {
    /// Begins TLS, after everything in clear has left. `received`: what came after the last message. False when the
    /// connection is over, or a reply has come meanwhile: no call may be in flight.
    pub(crate) async fn begin_tls(&self, config: Arc<ServerConfig>, received: Vec<u8>) -> bool {
        self.flush();
        if !self.room(0, || usize::MAX).await {
            return false;
        }
        let mut queue = self.queue.lock();
        if queue.dead || !queue.pieces.is_empty() {
            return false;
        }
        match Tls::new(config, received) {
            Ok(tls) => queue.tls = Some(tls),
            Err(error) => tracing::warn!(%error, "TLS cannot begin"),
        }
        queue.tls.is_some()
    }

    /// Opens what has been received, and receives what there is.
    pub(crate) fn receive_tls(&self, into: &mut ReceiveBuffer, missing: usize) -> ReceiveOutcome {
        let mut queue = self.queue.lock();
        for _ in 0..RECEIVES {
            let (false, Some(tls)) = (queue.dead, &mut queue.tls) else { return ReceiveOutcome::End };
            let (opened, own) = tls.open(into, missing);
            let (is_over, has_failed) = (tls.is_over(), tls.failure().is_some());
            if own > 0 {
                self.waiting.fetch_add(own, Ordering::AcqRel);
                drop(queue);
                self.flush();
                queue = self.queue.lock();
                if queue.dead {
                    return ReceiveOutcome::End;
                }
            }
            if opened > 0 && !has_failed {
                return ReceiveOutcome::Bytes(opened);
            }
            if is_over {
                return ReceiveOutcome::End;
            }
            let Some(tls) = &mut queue.tls else { return ReceiveOutcome::End };
            let Some(room) = tls.room(missing) else { return ReceiveOutcome::End };
            let free = room.capacity() - room.len();
            let socket = self.socket.attempt(Direction::In).ok_or(Errno::AGAIN);
            match socket.and_then(|socket| recv(socket, spare_capacity(room), RecvFlags::DONTWAIT)) {
                Ok((count, _)) if count > 0 => self.socket.received(count, free, missing),
                Err(Errno::AGAIN) => {
                    tls.rest();
                    return ReceiveOutcome::Nothing { held: tls.held() };
                }
                _ => return ReceiveOutcome::End,
            }
        }
        ReceiveOutcome::Again
    }

    /// How the handshake ended; `None` while it goes on.
    pub(crate) fn handshake(&self) -> Option<Result<CompletedHandshake, String>> {
        let queue = self.queue.lock();
        let tls = queue.tls.as_ref()?;
        let failed = tls.failure().map(|why| Err(why.to_owned()));
        failed.or_else(|| tls.secured().map(Ok))
    }

    /// Seals at most so many bytes of the queue, and sends them: all, or an error.
    pub(super) fn send_sealed(
        &self,
        queue: &mut Queue,
        socket: BorrowedFd<'_>,
        most: usize,
    ) -> io::Result<usize> {
        let Some(tls) = &mut queue.tls else { return Ok(0) };
        if !tls.has_sealed() {
            tls.seal(&queue.pieces, queue.sent, most, self.zeros_for_truncated)?;
        }
        let (sealed, own) = tls.send(socket)?;
        if sealed > 0 {
            queue.advance(sealed);
        }
        if let (true, Some(tls)) = (queue.pieces.is_empty(), &mut queue.tls) {
            tls.rest_sending();
        }
        Ok(sealed + own)
    }
}
