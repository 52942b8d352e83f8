//! Clients of file servers: sessions over AFP, SMB, NFS and iSCSI, beside a local folder.
//!
//! ```text
//! Target (a URL) ─► Connector ─► Session   files and transfers: what `fourfold bench` measures
//!                             ├► Peer      and metadata: what `fourfold verify-metadata` compares
//!                             └► Tree      and listings and data: what `fourfold migrate` copies
//! ```

pub mod appletalk;
pub mod check;
mod error;
pub mod metadata;
pub mod security;
mod session;
mod stranger;
mod target;
pub mod tree;

pub use error::{Error, Result};
pub use session::{
    Abilities, Completion, Connector, DataTransfer, Detour, HEAD, MacService, OpenFileId, OpenIntent, Reach,
    Session, Socket, Ticket, Traffic,
};
pub use session::{chap, decode_answers, evict, is_empty, iscsi_failed, keep};
pub use stranger::{stranger, stranger_name};
pub use target::{FORMS, Protocol, Target, without_password};
