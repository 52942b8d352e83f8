//! Clients, and what they have across requests: sessions, trees, opens, leases, durable opens.

pub(super) mod app_instance;
pub(super) mod client;
pub(super) mod durable;
pub(super) mod grants;
pub(super) mod leases;
pub(super) mod open;
pub(super) mod oplock_break;
pub(super) mod replay;
pub(super) mod session;
pub(super) mod tree;
pub(super) mod tree_connect;
pub(super) mod tree_disconnect;
