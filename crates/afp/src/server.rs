//! The server.
//!
//! ```text
//! conn ─► frames.rs ─► dispatch.rs ─► command files ─► vfs
//!         DSI frames    one match on    volume.rs, file.rs, fork.rs, enumerate.rs …:
//!                       the command     each command: request in, reply out
//! ```
//!
//! Over AppleTalk the frames come from sessions of ASP: [`Transport`] says what differs.
//!
//! [`Service`] has what connections share: the sessions and the shares. A session has its volumes
//! and forks. It survives its connection if its client can reconnect.

mod config;
mod connection;
mod dispatch;
mod files;
mod frames;
mod homes;
mod limits;
mod new_settings;
mod reply;
mod request;
mod result_code;
mod service;
mod sessions;
mod status;
#[cfg(test)]
pub(crate) mod testing;
mod transport;
mod volumes;

pub use config::{ChangePassword, Config, HomesShare, LoginMethods, OpenHome, Share, ShareOptions, Version};
pub use frames::{protocol, serve_stream};
pub use service::{Service, SessionInfo};
pub use transport::{ASP_QUANTUM, Transport};
