//! One namespace over many servers. A link is a place in a share that leads clients to other servers. This crate has the
//! table of links, knows which of their targets are up, and decides where a client is led. Each protocol asks it, and
//! tells its clients in its own way: SMB by referrals, NFS by `fs_locations`, AFP by a document with a URL.
//!
//! ```text
//! settings ─► Table ─► Namespace ─► refer(text of a link, protocol, client) ─► Referral
//!                          ▲
//!    checker ─► checked(target, result)
//! ```
//!
//! On the disk a link is a symbolic link whose text names its targets ([`text`]), as Samba keeps its own. So a link is
//! found where files are found, and links that Samba or a person has made work without the table.

mod automount;
mod document;
mod ranks;
mod refer;
mod table;
mod target;
pub mod text;

pub use automount::{Automount, automount};
pub use document::{CREATOR, Document};
pub use refer::{Choice, Client, Health, Namespace, Referral, Standing};
pub use table::{DEFAULT_TTL, Link, Site, Table, TargetOrder};
pub use target::{Lead, MOST_TARGETS, PortLimit, Protocol, Target, Wrong};
