//! Kerberos logins: [`Acceptor`] takes the tokens of clients (GSS-API, RFC 2743 and 4121) and tells which principal has sent
//! them.
//!
//! MIT Kerberos of the host does the work. Its library is opened at run time (`library.rs` has all the `unsafe`), so that
//! neither building nor running the server needs it as long as no keytab is in the settings.
//!
//! A ticket of Active Directory has a PAC (MS-PAC): what the domain controller says of the user. The library verifies its
//! signature with the key of the keytab; an attribute of the client's name then says that it is authenticated. One whose
//! signature is wrong is not used.

mod acceptor;
mod initiator;
mod keytab;
mod library;
pub mod wire;

pub use acceptor::{Acceptor, Error};
pub use initiator::{Initiator, Login};
pub use keytab::{Entry, Key, entries, keytab_of};
