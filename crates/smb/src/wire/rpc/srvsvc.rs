//! The server service, MS-SRVS.

mod request;
mod response;
mod server;
mod session;
mod share;

pub use request::{Change, Request};
pub use response::{DiskListResponse, TimeOfDay, change_response, file_security_response, number_response};
pub use server::Server;
pub use session::{Connection, OpenFile, Session, Transport};
pub use share::Share;

/// Kinds of share, MS-SRVS 2.2.2.4.
pub mod share_type {
    pub const DISK_TREE: u32 = 0;
    pub const IPC: u32 = 3;
    pub const SPECIAL: u32 = 0x8000_0000;
}
