//! The tree: one model of files, names, opens, locks and Mac metadata that every protocol is a view of.
//!
//! Nothing here knows a protocol. See ARCHITECTURE.md, "The file, as `vfs` knows it".

mod attributes;
pub mod backend;
mod caller;
mod error;
pub mod index;
pub mod mac;
pub mod names;
pub mod state;

pub use attributes::{Attributes, FileId, HostKey, Kind, SetAttributes, SetTime, Time};
pub use caller::{Access, Caller};
pub use error::{Error, Result};
