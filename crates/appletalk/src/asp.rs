//! The AppleTalk Session Protocol, "Inside AppleTalk" chapter 11: sessions of workstations with a server, over ATP.
//!
//! [`Server`] has all sessions of a server, [`Client`] is the workstation's end of one. Both are without I/O and clock: datagrams of
//! the kind ATP and calls go in with the time; datagrams and events come out. The caller calls `tick` when the time of `deadline`
//! has come.
//!
//! ```text
//! session at the server    OpenSess ──► Open ──CloseSess of the workstation──► Closed(Workstation)
//!                                        │├───2 minutes without a packet────► Closed(TimedOut)
//!                                        │└───close()─► CloseSess, 3 tries    (the caller knows)
//!                                        └ tickles every 30 seconds, both ways
//!
//! command     Command(n) ──► in flight ──reply──► Answered (kept by ATP until released)
//! write       Write(n) ──► in flight ──write_continue──► Asked ──data──► Received ──reply──► Answered
//!                              └──────────────────────reply (refused)──────────────────────┘
//! ```
//!
//! Commands of a session go to the caller one after another, in the order of their sequence numbers: it answers one before it gets the
//! next. A number that was used, or that is further ahead, is ignored (pages 11-14, 11-30).

mod client;
mod server;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use self::client::{CallError, Client, ClientEvent, Reply};
pub use self::server::{
    CloseReason, Command, CommandToken, ServerEvent, SessionError, SessionHandle, SocketPair,
};
pub use self::server::{Server, StatusTooLong};
use crate::atp::RetryRule;
use crate::wire::atp::{MAX_DATA, MAX_RESPONSE};

/// MaxCmdSize, page 11-16: the most bytes of a command.
pub const MAX_COMMAND: usize = MAX_DATA;
/// QuantumSize, page 11-16: the most bytes of a reply, and of the data of a write.
pub const QUANTUM: usize = MAX_RESPONSE;
/// How often each end sends a tickle, page 11-35.
pub const TICKLE_INTERVAL: Duration = Duration::from_secs(30);
/// A session ends when nothing arrives for this time, page 11-35.
pub const SESSION_TIMEOUT: Duration = Duration::from_secs(120);
/// The most sessions of a server, unless it is told another number.
pub const MAX_SESSIONS: usize = 64;
/// The most sessions that a server may be told to have: their numbers are one byte, and the same number should not come back soon.
pub const MOST_SESSIONS: usize = 250;
/// The most sessions of a server with one node. Each of them needs up to three calls of the server at once (tickles, an attention, the
/// data of a write), and there are [`MAX_TRANSACTIONS_OF_PEER`](crate::atp::MAX_TRANSACTIONS_OF_PEER) to one socket.
pub const MAX_SESSIONS_OF_NODE: usize = 8;
/// The most commands of a session that wait for the one in flight.
pub const MAX_WAITING_COMMANDS: usize = 4;
/// The most attentions of a session that wait for the acknowledgement of one.
pub const MAX_WAITING_ATTENTIONS: usize = 4;

/// Tickles: until they are canceled.
const TICKLES: RetryRule = RetryRule { first: TICKLE_INTERVAL, longest: TICKLE_INTERVAL, tries: None };
/// Closing and attention have limited tries, page 11-38. The numbers are ours.
const CLOSING: RetryRule = courtesy(3);
const ATTENTIONS: RetryRule = courtesy(5);
/// Opening and status.
const FIRST_CONTACT: RetryRule = courtesy(5);

const fn courtesy(tries: u32) -> RetryRule {
    RetryRule { first: Duration::from_secs(1), longest: Duration::from_secs(2), tries: Some(tries) }
}
