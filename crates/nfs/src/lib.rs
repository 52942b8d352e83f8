//! NFSv3 (RFC 1813), MOUNT, NLM v4, NSM and portmap (RFC 1833).

mod ranks;
pub mod server;
pub mod wire;
