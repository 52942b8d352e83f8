//! Kerberos logins, as protocols see them. The crate `kerberos` makes them.

use std::pin::Pin;
use std::time::SystemTime;

/// A ticket that is being looked at.
pub type Accepting = Pin<Box<dyn Future<Output = Result<Ticket, Refused>> + Send>>;

/// Takes the tokens of clients.
pub trait Kerberos: Send + Sync {
    /// Takes the first token of a login by GSS-API with Kerberos 5 (RFC 4121). An error says why the login is refused, for
    /// the log.
    fn accept(&self, token: Vec<u8>) -> Accepting;
}

/// A login by a ticket.
pub struct Ticket {
    /// The principal, with its realm: `ada@EXAMPLE.COM`.
    pub principal: String,
    /// The name of the account that it means; `None` if it is a service, or of another realm.
    pub account: Option<String>,
    /// The key that client and server have in common: 16 or 32 bytes.
    pub session_key: Vec<u8>,
    /// The token for the client; empty if it wants none.
    pub reply: Vec<u8>,
    /// When the ticket ends.
    pub expires: Option<SystemTime>,
    /// The checksums of the two sides.
    pub checksums: Box<dyn Checksums>,
}

/// Checksums of messages (GSS_GetMIC and GSS_VerifyMIC).
pub trait Checksums: Send {
    /// The server's checksum of a message; `None` if the library cannot make one.
    fn sign(&self, message: &[u8]) -> Option<Vec<u8>>;
    /// Whether the client's checksum of a message is right.
    fn verifies(&self, message: &[u8], checksum: &[u8]) -> bool;
}

/// Why a ticket is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// It has ended.
    Expired,
    /// The clocks of client and server differ too much.
    Clock,
    /// It was used before.
    Replayed,
    /// It is for a service whose key the keytab does not have.
    OtherService(String),
    /// Anything else, in the words of the library.
    Other(String),
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Expired => f.write_str("the ticket has expired"),
            Self::Clock => f.write_str("the clocks of client and server differ by more than five minutes"),
            Self::Replayed => f.write_str("the ticket was used before"),
            Self::OtherService(text) => write!(f, "the keytab has no key for this ticket: {text}"),
            Self::Other(text) => f.write_str(text),
        }
    }
}
