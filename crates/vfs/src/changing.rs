//! A change, from its first question to the last notice, and what stands against it.

mod among_servers;
pub(super) mod busy;
pub(super) mod changed;
pub(super) mod coherence;
pub(super) mod early;
pub(super) mod exchange;
pub(super) mod forks;
pub(super) mod inhibited;
pub(super) mod notices;
pub(super) mod permitted;
pub(super) mod pipeline;
pub(super) mod safe_save;
pub(super) mod stateless_writes;
pub(super) mod vacated;
