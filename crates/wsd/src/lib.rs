//! WS-Discovery: how Windows finds computers for the list *Network*. WS-Discovery of April 2005, the Devices Profile of
//! February 2006 (DPWS) and PnP-X.
//!
//! ```text
//!  Windows                                      this server
//!     │  Probe: wsdp:Device?        multicast, UDP 3702 │
//!     │ ──────────────────────────────────────────────► │
//!     │ ◄───────────────────────── ProbeMatches, unicast│
//!     │  Resolve: where is urn:uuid:…?                  │
//!     │ ──────────────────────────────────────────────► │
//!     │ ◄─────────── ResolveMatches: http://…:5357/uuid │
//!     │  Get                             TCP 5357, HTTP │
//!     │ ──────────────────────────────────────────────► │
//!     │ ◄──────────── GetResponse: NAME/Workgroup:GROUP │
//! ```
//!
//! The server sends Hello when it starts and Bye when it ends.

mod ranks;
pub mod wire;

mod server;

pub use server::{Device, Responder, Sockets};
