//! Bytes to values and back, XDR (RFC 4506). No I/O, clock or session here.
//!
//! Every type that travels implements [`xdr::Decode`] and [`xdr::Encode`]; most are declared by
//! [`xdr::record!`](xdr), their fields in layout order. [`xdr::arguments`] decodes a whole request and refuses what
//! is left over. Fields bear the specification's meaning, and the doc of their type cites it.
#![allow(missing_docs)]

pub mod mount;
pub mod rpc;
pub mod v3;
pub mod xdr;
