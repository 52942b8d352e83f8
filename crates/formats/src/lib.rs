//! What the tree stores and tells of a file, as pure functions of bytes: no I/O, no lock, no clock.
//!
//! [`names`] has the forms in which clients see names, [`mac`] the layouts of Mac metadata, [`mountinfo`] the
//! kernel's list of mounts. Beside them are the ids of
//! files, their attributes, and the errors of the tree.

mod attributes;
mod error;
mod id_map;
pub mod mac;
pub mod mountinfo;
pub mod names;

pub use attributes::{Attributes, FileId, HostKey, Kind, LastingKey, SetAttributes, SetTime, Time};
pub use error::{Error, Result};
pub use id_map::IdMap;
pub use names::own::{OwnFolder, is_own_name};
