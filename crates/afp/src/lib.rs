//! AFP 1.1 to 3.4 (Apple Filing Protocol Reference) over DSI on TCP, and over ASP on AppleTalk: the protocol of Macs from
//! System 6 to macOS 26.

pub mod catalogue;
#[cfg(any(test, feature = "client"))]
pub mod client;
pub mod darwin_acl;
mod ranks;
pub mod server;
pub mod wire;
