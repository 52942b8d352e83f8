//! The tree. See ARCHITECTURE.md, "The file, as `vfs` knows it".

pub mod mac;
pub mod names;
