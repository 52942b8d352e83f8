//! Bytes to values and back, XDR (RFC 4506). No I/O, clock or session here.
//!
//! Every type that travels implements [`xdr::Decode`] and [`xdr::Encode`]; most are declared by `record!`, their fields
//! in layout order. [`xdr::arguments`] decodes a whole request and refuses what is left over. The doc of a type
//! cites the specification's name for it; its fields mean what they mean there.
#![allow(missing_docs)]

pub mod mount;
pub mod nlm;
pub mod nsm;
pub mod portmap;
pub mod rpc;
pub mod v3;
pub mod xdr;
