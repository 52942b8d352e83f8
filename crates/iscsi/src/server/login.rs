//! Logins and text negotiation, RFC 7143 sections 6, 12 and 13: state machines without a socket or
//! a clock.
//!
//! ```text
//! Attempt: first request ─► target, initiator's name ─► security: nothing, or CHAP ─► operational keys ─► Done
//!              │                     │                          │                            │
//!              └─────────────────────┴──── a status ◄───────────┴────────────────────────────┘
//! Texts: Text Requests of full feature phase ─► SendTargets (discovery.rs), the few keys that may be said again
//! ```

mod attempt;
mod declared;
mod discovery;
mod gate;
mod name;
mod negotiate;
mod parameters;
mod security;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use attempt::{Attempt, AttemptStep, LoginResult, SessionKind};
pub(crate) use discovery::address;
pub(crate) use gate::{ConnectionEnds, Gate, Initiator, NoTarget, OwnSecret};
pub use name::iscsi_name;
pub(crate) use parameters::Parameters;
pub(crate) use text::{TextSender, Texts};
