//! What tickets contain, as bytes.

pub mod logon_info;
