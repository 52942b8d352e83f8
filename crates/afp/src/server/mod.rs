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

mod acl;
mod attribute;
mod config;
mod connection;
mod desktop;
mod directory;
mod dispatch;
mod entries;
mod enumerate;
mod file;
mod fork;
mod icon;
mod id;
mod identity;
mod ids;
mod limits;
mod lock;
mod login;
mod names;
mod new_settings;
mod open_volume;
mod params;
mod password;
mod reach;
mod request;
mod result_code;
mod rights;
mod search;
mod service;
mod session;
mod session_control;
mod session_life;
mod session_notices;
mod session_pulse;
mod session_replies;
mod session_token;
mod set_parameters;
mod status;
mod target;
#[cfg(test)]
pub(crate) mod testing;
mod uam;
mod uuid;
mod volume;

pub use config::{ChangePassword, Config, Logins, Share, ShareOptions, Version};
pub use connection::serve_stream;
pub use service::{Service, SessionInfo};
