//! Connections, the same for every protocol: bytes come in, whole messages are answered on the thread that was woken
//! for them, and replies go out with as few system calls as the kernel allows.
//!
//! * A protocol gives a [`Protocol`]: how long the next message is, and what its answer is.
//! * A message whose answer is ready at the first poll is answered inline, and all answers of one wake-up leave in one
//!   send. One that has to wait becomes a task of its own, and the connection goes on with the next message.
//! * A system call that blocks unexpectedly (a disk that stalls) blocks one thread; the [`Watchdog`] sees it and lets another
//!   thread go on with the connection's next messages.
//! * Connections live on event loops ([`Loops`]), one per processor, which share nothing on the way of a request.
//! * Replies wait in an [`Outbox`] bounded in bytes. While it is over its limit nothing more is read from that client.
//! * Memory for replies and for half-received messages is bounded for each client ([`Allowance`]) and for all of them
//!   together ([`Budget`]).

mod affinity;
mod buffers;
mod congestion;
mod connection;
pub mod diag;
mod fence;
mod hang;
mod in_flight;
mod listen;
mod loops;
mod memory;
pub mod observe;
mod outbox;
pub mod pem;
mod pieces;
mod protocol;
mod ranks;
mod received;
mod refused;
mod stall;
mod threads;
mod timing;
mod tls;
mod to_client;
#[cfg(test)]
#[path = "../tests/scene/waiting.rs"]
mod waiting;

pub use affinity::begin_thread;
pub use buffers::BufferPools;
pub use connection::serve;
pub use fence::{is_fenced, set_fence};
pub use hang::{Hang, Monitor, StuckRequests, stuck_requests};
pub use in_flight::InFlight;
pub use listen::{AdmissionHook, Counters, Peer, Server, bind_tcp, bind_udp};
pub use loops::{LoopStream, Loops, Polling, WaitCounts};
pub use memory::{Allowance, Budget, DEFAULT_BUDGET, Reservation, SMALLEST_BUDGET};
pub use outbox::{Outbox, room_behind_head};
pub use pieces::{PieceWaitCounts, PieceWaits};
pub use protocol::{Answer, EarlyMessage, Limits, Protocol, Reply};
pub use refused::RefusedVersions;
pub use stall::Watchdog;
pub use timing::{ConnectionTimes, ConnectionTiming};
pub use tls::{CompletedHandshake, without_socket as tls_without_socket};
pub use to_client::ToClient;

/// An empty buffer for a large reply, which comes back for the next one when the reply has left.
pub fn take_buffer() -> Vec<u8> {
    buffers::replies::take()
}
