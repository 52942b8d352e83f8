//! The AppleTalk Transaction Protocol, "Inside AppleTalk" chapter 9: requests of one packet, responses of up to eight, and
//! requests that are executed exactly once although packets are lost, doubled and overtaken.
//!
//! [`Requester`] and [`Responder`] are without I/O and clock. They put what is to be sent into an [`Outbox`], and
//! their owner sends that as datagrams of the kind [`DatagramKind::ATP`](crate::DatagramKind::ATP).
//!
//! ```text
//! requester   send ──TReq──► Waiting ──all packets──► (XO: TRel) done
//!                             │  ▲ │
//!                    timer, STS└──┘ └──no tries left──► failed
//!
//! responder   TReq ──admit──► Executing ──respond──► Answered ──TRel or release timer──► forgotten
//!                              │ duplicate: ignored    │ ▲ duplicate: the packets that its bitmap asks for
//!                                                      └─┘
//! ```

mod outbox;
mod requester;
mod responder;
mod round_trip;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use self::outbox::{Outbox, Outgoing};
pub use self::requester::{Call, CallId, CallOutcome, Requester, RetryRule, TooManyCalls};
pub(crate) use self::responder::room_of;
pub use self::responder::{Responder, ResponderFull, ResponseMessage, TransactionKey};
pub use self::round_trip::{ResponseTime, RoundTrip};
use crate::wire::atp::ReleaseTimer;

/// The most transactions that a requester or a responder has at once. More requests are not answered: their senders retry.
pub const MAX_TRANSACTIONS: usize = 1_024;
/// The most transactions that a responder has with one node, and a requester with one socket.
pub const MAX_TRANSACTIONS_OF_PEER: usize = 32;

/// How long the timer runs, page 9-14. A reserved value is as short as the shortest.
#[must_use]
pub fn release_time(timer: ReleaseTimer) -> Duration {
    let seconds = match timer {
        ReleaseTimer::MINUTE_1 => 60,
        ReleaseTimer::MINUTES_2 => 120,
        ReleaseTimer::MINUTES_4 => 240,
        ReleaseTimer::MINUTES_8 => 480,
        _ => 30,
    };
    Duration::from_secs(seconds)
}
