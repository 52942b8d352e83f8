//! The target.
//!
//! ```text
//! conn ─► connection.rs ─► login_phase.rs ─► login/           authentication and negotiation
//!         PDUs, digests └► full_feature.rs ─► command.rs ─► scsi/dispatch.rs ─► the commands' files ─► vfs
//!                          in their order  ├► data_out.rs     transfer.rs: what the initiator sends, and is asked for
//!                                          ├► task_management.rs, nop.rs, text.rs, logout.rs
//!                                          └► respond.rs ─► sender.rs ─► conn
//! ```
//!
//! [`Service`] has what connections share: the sessions and the targets. A session has the order of
//! its initiator's commands. Logical units know the sessions that use them.

mod chap;
mod command;
mod config;
mod connection;
mod data_out;
mod full_feature;
mod limits;
pub(crate) mod login;
mod login_phase;
mod logout;
mod nop;
mod observed;
mod paths;
mod respond;
pub(crate) mod scsi;
mod sender;
mod service;
mod session;
mod solicited;
pub mod stored;
pub(crate) mod target;
mod task;
mod task_management;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod text;
mod transfer;
mod window;

pub use config::TargetConfig;
pub use connection::serve_stream;
pub use login::iscsi_name;
pub use paths::{AccessState, MAIN_PORT, Paths, RelayFuture, TargetPort, Way};
pub use scsi::{Identity, InitiatorPort, LogicalUnit, RelayResult, UnitOptions, UnitStateStore};
pub use service::{Service, SessionInfo};
pub use target::{Target, TargetLun};
