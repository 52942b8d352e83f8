//! The server.
//!
//! ```text
//! conn ─► connection.rs ─► dispatch.rs ─► command files ─► vfs
//!         DSI frames        one match on    volume.rs, file.rs, fork.rs, enumerate.rs …:
//!         authentication    the command     each command: request in, reply out
//! ```
//!
//! [`Service`] has what connections share: the sessions and the shares. A session has its volumes
//! and forks. It survives its connection if its client can reconnect.

mod config;
mod connection;
mod dispatch;
mod files;
mod homes;
mod limits;
mod new_settings;
mod request;
mod result_code;
mod service;
mod sessions;
mod status;
#[cfg(test)]
pub(crate) mod testing;
mod volumes;

pub use config::{ChangePassword, Config, Logins, Share, ShareOptions, Version};
pub use connection::{protocol, serve_stream};
pub use homes::{Homes, OpenHome};
pub use service::{Service, SessionInfo};
