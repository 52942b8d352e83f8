//! iSCSI (RFC 7143, 7144): logical units, each a file of a share, as disks of SPC-4 and SBC-3.

#[cfg(any(test, feature = "client"))]
pub mod client;
pub mod disks;
mod ranks;
pub mod server;
pub mod wire;
