//! Memory that clients make the server hold: replies that they do not receive, and messages that they send half.
//!
//! One [`Budget`] bounds it for the whole server, an [`Allowance`] for each connection. Memory for a large reply or a large
//! message is reserved before it is allocated; a [`Reservation`] is exchanged for the memory that the reply really takes when
//! the reply is queued. Small replies are not reserved: they are charged when they stay behind after a send, so that replies
//! which leave at once touch no counter that connections share. Ranges of files that the kernel sends cost no memory and do
//! not count.
//!
//! ```text
//!                reserve            queue the reply         the client receives
//!   (nothing) ───────────► reserved ───────────────► owed ─────────────────────► (nothing)
//!                                                     │ nothing received for STALLED_AFTER, others wait
//!                                                     └────► the connection is ended, the largest holder first
//! ```
//!
//! Clients that have lately moved as much data as they ask for may use three quarters of the budget, others half of it. So
//! clients that take nothing cannot use up what clients at work need.

mod allowance;
mod budget;
mod queue;
mod reservation;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use self::allowance::Allowance;
pub use self::budget::Budget;
pub(crate) use self::reservation::OutboxCharge;
pub use self::reservation::Reservation;

/// The budget of a server that is not told another one.
pub const DEFAULT_BUDGET: usize = 256 << 20;
/// The smallest budget: four of the longest messages.
pub const SMALLEST_BUDGET: usize = 32 << 20;
/// Replies and messages up to this length are not reserved.
pub(crate) const SMALL: usize = 64 * 1024;
/// What a client without a login may make the server hold.
const BEFORE_LOGIN: usize = 256 * 1024;
/// The share of the budget that one client may hold: one part of so many.
const SHARES: usize = 8;
/// A client that holds memory and has moved less than one part in [`PROGRESS`] of it for so long is stalled.
const STALLED_AFTER: Duration = Duration::from_secs(3);
/// The part of what a client holds that must move, or it counts as stalled.
const PROGRESS: usize = 32;
/// A client that is stalled for so long is no longer treated as one at work.
const IDLE_AFTER: Duration = Duration::from_secs(1);
/// Stalled clients are looked for this often while requests wait.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// A request that has waited so long is given up.
const GIVE_UP_AFTER: Duration = Duration::from_secs(60);

/// Which part of the budget a reservation is taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// The client has moved as much lately.
    AtWork,
    /// It has not, or nothing is known of it.
    Unproven,
}

/// Bytes charged to the budget, by class.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct BudgetCharge {
    at_work: usize,
    unproven: usize,
}

impl BudgetCharge {
    fn of(class: Class, bytes: usize) -> Self {
        match class {
            Class::AtWork => Self { at_work: bytes, unproven: 0 },
            Class::Unproven => Self { at_work: 0, unproven: bytes },
        }
    }

    fn total(self) -> usize {
        self.at_work + self.unproven
    }

    fn plus(self, other: Self) -> Self {
        Self { at_work: self.at_work + other.at_work, unproven: self.unproven + other.unproven }
    }

    /// Takes so many bytes off, and gives what was taken.
    fn split_off(&mut self, bytes: usize) -> Self {
        let unproven = bytes.min(self.unproven);
        let at_work = (bytes - unproven).min(self.at_work);
        self.unproven -= unproven;
        self.at_work -= at_work;
        Self { at_work, unproven }
    }
}
