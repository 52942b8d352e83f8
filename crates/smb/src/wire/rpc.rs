//! Interfaces of DCE/RPC that clients need to see a server (its shares, itself, and the names of accounts), to search it, and to hear of its
//! loss: one module each. The crate `dcerpc` has the messages and the form of arguments inside them.

pub mod level;
pub mod lsarpc;
pub mod mdssvc;
pub mod samr;
pub mod srvsvc;
mod win_error;
pub mod witness;
pub mod wkssvc;

pub use dcerpc::{Syntax, Uuid, epm, ndr, pdu};
pub use win_error::WinError;
