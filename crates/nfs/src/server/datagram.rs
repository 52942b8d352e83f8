//! RPC over UDP: a message is a datagram, RFC 5531 10.

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use conn::{InFlight, Reply};
use tokio::net::UdpSocket;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::strangers::{Answerable, Strangers};
use super::{CallOrigin, Protection, Service, rpc};

/// The longest datagram that UDP carries over IPv4.
pub const MAX_DATAGRAM: usize = 65_507;
/// The most calls of one socket in flight. The server drops further calls, and the client repeats
/// them.
const IN_THE_MAKING: usize = 256;
/// The most threads that calls of one socket use at a time.
const THREADS: usize = 16;
/// The pause before a failed socket is read again.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves one UDP socket with every program, until `shutdown` becomes true.
pub async fn serve_datagrams(service: Arc<Service>, socket: UdpSocket, mut shutdown: watch::Receiver<bool>) {
    let (socket, room) = (Arc::new(socket), Arc::new(Semaphore::new(IN_THE_MAKING)));
    let turns = Arc::new(Semaphore::new(THREADS));
    let (mut buffer, mut strangers) = (vec![0; MAX_DATAGRAM + 1], Strangers::default());
    loop {
        let received = tokio::select! {
            received = socket.recv_from(&mut buffer) => received,
            _ = shutdown.wait_for(|&stop| stop) => return,
        };
        match received {
            Ok((length, from)) => {
                let (message, now) = (&buffer[..length], Instant::now());
                let most = match strangers.judge(&service, from.ip().to_canonical(), message, now) {
                    Answerable::Fully => MAX_DATAGRAM,
                    Answerable::UpTo(most) => most,
                    Answerable::Dropped => continue,
                };
                if let Ok(permit) = room.clone().try_acquire_owned() {
                    serve(&service, (&socket, most), &turns, from, message, permit);
                }
            }
            Err(error) => {
                tracing::warn!(%error, "cannot receive a datagram");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Answers one call on a thread that may wait for a disk. Datagrams have no watchdog as connections
/// have: only old clients use them, and not for speed.
fn serve(
    service: &Arc<Service>,
    (socket, most): (&Arc<UdpSocket>, usize),
    turns: &Arc<Semaphore>,
    from: SocketAddr,
    message: &[u8],
    permit: OwnedSemaphorePermit,
) {
    let origin = CallOrigin {
        address: from.ip().to_canonical(),
        port: from.port(),
        datagram: true,
        protection: Protection::None,
    };
    let xid = crate::wire::rpc::xid(message);
    let message = Bytes::copy_from_slice(message);
    let answer = rpc::answer(service.clone(), origin, Arc::default(), message, None, InFlight::default());
    let (socket, turns) = (socket.clone(), turns.clone());
    let before = service.before.get().map(|before| before(origin.address));
    tokio::spawn(async move {
        if let Some(before) = before {
            before.await;
        }
        let _turn = turns.acquire_owned().await;
        let runtime = tokio::runtime::Handle::current();
        let answered = tokio::task::spawn_blocking(move || runtime.block_on(answer)).await;
        send(&socket, from, (xid, most), answered.ok().flatten()).await;
        drop(permit);
    });
}

/// Sends a reply, if there is one. A client that does not receive it repeats the call.
async fn send(socket: &UdpSocket, to: SocketAddr, (xid, most): (u32, usize), reply: Option<Reply>) {
    let Some(reply) = reply.filter(|_| !conn::is_fenced()) else { return };
    let bytes = match reply.into_bytes() {
        Ok(bytes) if bytes.len() <= most => bytes,
        Ok(_) if most < MAX_DATAGRAM => rpc::failure(xid), // 24 bytes: a call has more
        Ok(bytes) => {
            tracing::warn!(%to, length = bytes.len(), "a reply does not fit a datagram");
            rpc::failure(xid)
        }
        Err(error) => {
            tracing::debug!(%to, %error, "the data of a reply went away");
            return;
        }
    };
    if let Err(error) = socket.send_to(&bytes, to).await {
        tracing::debug!(%to, %error, "a reply was not sent");
    }
}
