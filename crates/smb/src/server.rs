//! The server's side.
//!
//! ```text
//! conn ─► frames.rs ─► chain.rs ─────────────────► command files ─► vfs
//!         frames        one request after another:   create.rs, read.rs, query_info/ …
//!                       sealing, signature, credits,  each: request in, reply out
//!                       session, tree, then the command
//! ```
//!
//! [`Service`] has everything that connections share: the table of sessions, the clients with their
//! leases, the shares. A connection has its own sequence window and dialect. A session has its
//! keys, trees and opens. [`rpc`] listens on ports of its own.

mod chain;
mod clients;
mod config;
mod connection;
mod context;
mod credits;
mod dfs;
mod dispatch;
mod echo;
mod files;
mod frames;
mod homes;
pub(crate) mod login;
mod new_settings;
mod output;
pub mod pipes;
mod requests;
pub mod rpc;
mod sequence;
mod service;
mod status;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use clients::durable::note::{CacheNote, DurableNote, LeaseNote};
pub use config::{
    Config, Dialect, EncryptionPolicy, Guests, HomesShare, OpenHome, Share, ShareKind, ShareOptions,
};
pub use frames::{protocol, serve_stream};
pub use service::{ClientSystem, Service, SessionInfo};
