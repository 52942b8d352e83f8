//! The server's side.
//!
//! ```text
//! conn ─► connection.rs ─► chain.rs ─────────────────► command files ─► vfs
//!         frames, sealing   one request after another:   create.rs, read.rs, query_info/ …
//!                           signature, credits, session,  each: request in, reply out
//!                           tree, then the command
//! ```
//!
//! What connections share is in [`Service`]: the table of sessions, the clients with their leases, the shares. A
//! connection has its own sequence window and dialect; a session its keys, trees and opens.

mod chain;
mod config;
mod connection;
mod context;
mod credits;
pub mod crypto;
mod dispatch;
pub mod ntlm;
mod open;
mod output;
mod requests;
mod service;
mod session;
mod status;
mod tree;

pub use config::{Config, Dialect, Guests, Share, ShareKind, ShareOptions};
pub use connection::serve_stream;
pub use service::{Service, SessionInfo};
