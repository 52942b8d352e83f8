//! Messages between this server and a domain controller.

pub mod bind;
pub mod endpoints;
mod ndr;
pub mod netlogon;
pub mod rpc;
