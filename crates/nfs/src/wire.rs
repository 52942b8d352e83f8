//! Converts bytes to values and back, XDR (RFC 4506). There is no I/O, clock or session here.
//!
//! Every type on the wire implements [`xdr::Decode`] and [`xdr::Encode`]. Most are declared by
//! `record!`, with their fields in layout order. [`xdr::arguments`] decodes a whole request and
//! refuses bytes left over. The doc of a type cites the specification's name for it. Its fields
//! have the specification's meaning.
#![allow(missing_docs)]

pub mod gss;
pub mod mount;
pub mod nlm;
pub mod nsm;
pub mod portmap;
pub mod rpc;
pub mod v3;
pub mod v4;
pub mod xdr;
