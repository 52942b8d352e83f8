//! Kerberos logins, as protocols see them. The crate `kerberos` makes them.

use std::any::Any;
use std::pin::Pin;
use std::time::SystemTime;

/// A ticket that is being looked at.
pub type Accepting = Pin<Box<dyn Future<Output = Result<Ticket, TicketRefusal>> + Send>>;

/// Takes the tokens of clients.
pub trait Kerberos: Send + Sync {
    /// Takes the first token of a login by GSS-API with Kerberos 5 (RFC 4121). An error says why the login is refused, for
    /// the log.
    fn accept(&self, token: Vec<u8>) -> Accepting;

    /// The same for a login that may have three tokens, as those of DCE-RPC have (GSS_C_DCE_STYLE, MS-KILE 3.4.5.1).
    fn begin(&self, token: Vec<u8>) -> Beginning {
        drop(token);
        Box::pin(std::future::ready(Err(TicketRefusal::Other("logins of three tokens are not taken".into()))))
    }

    /// Takes the last token of a login that [`Self::begin`] has begun.
    fn finish(&self, begun: Box<dyn Any + Send>, token: Vec<u8>) -> Accepting {
        drop((begun, token));
        Box::pin(std::future::ready(Err(TicketRefusal::Other("logins of three tokens are not taken".into()))))
    }
}

/// A first token that is being looked at.
pub type Beginning = Pin<Box<dyn Future<Output = Result<LoginProgress, TicketRefusal>> + Send>>;

/// A login after its first token.
pub enum LoginProgress {
    /// It has no other.
    Whole(Ticket),
    /// The client is to answer with another one.
    Half {
        /// The token for the client.
        reply: Vec<u8>,
        /// What [`Kerberos::finish`] needs.
        state: Box<dyn Any + Send>,
    },
}

/// A login by a ticket.
pub struct Ticket {
    /// The principal, with its realm: `ada@EXAMPLE.COM`.
    pub principal: String,
    /// The name of the account that it means; `None` if it is a service, or of another realm. A user of a domain is known to
    /// [`crate::Domain`] by then.
    pub account: Option<String>,
    /// It is a host of the realms whose users have accounts: `nfs/HOST`, `host/HOST`, `root/HOST`, or `HOST$`.
    pub is_machine: bool,
    /// The key that client and server have in common: 16 or 32 bytes.
    pub session_key: Vec<u8>,
    /// The token for the client; empty if it wants none.
    pub reply: Vec<u8>,
    /// When the ticket ends.
    pub expires: Option<SystemTime>,
    /// What protects the messages that follow.
    pub context: Box<dyn SecurityContext>,
}

/// Protects messages of both sides, RFC 2743 2.3.
pub trait SecurityContext: Send {
    /// GSS_GetMIC: the server's checksum of a message; `None` if the library cannot make one.
    fn sign(&self, message: &[u8]) -> Option<Vec<u8>>;
    /// GSS_VerifyMIC: whether the client's checksum of a message is right. Whether it came before is not asked.
    fn verifies(&self, message: &[u8], checksum: &[u8]) -> bool;
    /// GSS_Wrap: the message, encrypted; `None` if the library cannot encrypt it.
    fn seal(&self, message: &[u8]) -> Option<Vec<u8>>;
    /// GSS_Unwrap: the message that a client has encrypted; `None` if it is damaged, or not encrypted.
    fn open(&self, sealed: &[u8]) -> Option<Vec<u8>>;
}

/// Why a ticket is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TicketRefusal {
    /// It has ended.
    Expired,
    /// The clocks of client and server differ too much.
    Clock,
    /// It was used before.
    Replayed,
    /// It is for a service whose key the keytab does not have.
    OtherService(String),
    /// The keytab has the service's key in another version.
    OtherVersion(String),
    /// The keytab cannot be read any more.
    Keytab(String),
    /// Anything else, in the words of the library.
    Other(String),
}

impl std::fmt::Display for TicketRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Expired => f.write_str("the ticket has expired"),
            Self::Clock => f.write_str("the clocks of client and server differ by more than five minutes"),
            Self::Replayed => f.write_str("the ticket was used before"),
            Self::OtherService(text) => write!(f, "the keytab has no key for this ticket: {text}"),
            Self::OtherVersion(text) => {
                write!(f, "the keytab has another version of the key for this ticket; write it again: {text}")
            }
            Self::Keytab(text) => write!(f, "the keytab cannot be read: {text}"),
            Self::Other(text) => f.write_str(text),
        }
    }
}
