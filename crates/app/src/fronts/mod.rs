//! The ways in: each protocol as a part of the program, its listeners, and how the network learns of them.

pub(crate) mod afp;
pub(crate) mod bind;
pub(crate) mod bonjour;
pub(crate) mod iscsi;
pub(crate) mod nfs;
pub(crate) mod smb;
pub(crate) mod wsd;
