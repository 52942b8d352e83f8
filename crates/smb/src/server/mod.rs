//! The server's side.
//!
//! ```text
//! conn ─► connection.rs ─► chain.rs ─────────────────► command files ─► vfs
//!         frames, sealing   one request after another:   create.rs, read.rs, query_info/ …
//!                           signature, credits, session,  each: request in, reply out
//!                           tree, then the command
//! ```
//!
//! [`Service`] has everything that connections share: the table of sessions, the clients with their
//! leases, the shares. A connection has its own sequence window and dialect. A session has its
//! keys, trees and opens.

mod admit;
mod app_instance;
mod chain;
mod change_notify;
mod client;
mod close;
mod config;
mod connection;
mod context;
mod create;
mod credits;
pub(crate) mod crypto;
mod dispatch;
mod durable;
mod echo;
mod extended_attributes;
mod facts;
mod flush;
mod hiding;
mod ioctl;
mod leases;
mod lock;
mod login_lines;
mod logoff;
mod mac;
mod negotiate;
mod new_settings;
pub(crate) mod ntlm;
mod open;
mod oplock_break;
mod output;
pub mod pipe;
mod pipe_end;
mod query_directory;
mod query_info;
mod read;
mod replay;
mod requests;
mod security;
mod sequence;
mod service;
mod session;
mod session_setup;
mod set_info;
mod short_names;
mod status;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod tree;
mod tree_connect;
mod tree_disconnect;
mod write;

pub use config::{Config, Dialect, Encryption, Guests, Share, ShareKind, ShareOptions};
pub use connection::serve_stream;
pub use service::{Service, SessionInfo};
