//! Kerberos logins: [`Acceptor`] takes the tokens of clients (GSS-API, RFC 2743 and 4121) and tells which principal has sent
//! them.
//!
//! MIT Kerberos of the host does the work. Its library is opened at run time (`library.rs` has all the `unsafe`), so that
//! neither building nor running the server needs it as long as no keytab is in the settings.

mod acceptor;
mod keytab;
mod library;

pub use acceptor::{Acceptor, Error};
pub use keytab::{Entry, entries};
