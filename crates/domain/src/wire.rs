//! Messages between this server and a domain controller.

pub mod bind;
pub mod netlogon;
