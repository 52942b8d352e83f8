//! Searches of Macs in a share. Finder asks a server for them by Spotlight's remote procedure calls, which SMB carries in the pipe
//! `mdssvc` and AFP in FPSpotlightRPC: the messages inside are the same.
//!
//! ```text
//! bytes ─► message::decode ─► Client::answer ─► ClientSearch ─► Store::look ─► the volume's index, and the tree's own judgement
//!                                    └─► what was found until now ─► message::encode ─► bytes
//! ```
//!
//! A search runs beside its client: a Mac opens it, and then fetches what was found, again and again, until it is told that the
//! search is over. What a client has open is bounded by the limits of [`client`].

pub mod client;
pub mod found;
pub mod message;
mod ranks;
pub mod search;
mod volume;

pub use client::{Client, Store};
pub use found::FoundFile;
pub use search::ClientSearch;
pub use volume::VolumeStore;
