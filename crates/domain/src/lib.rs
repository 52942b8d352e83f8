//! This server as a member of an Active Directory domain: its machine account, and the keys of its services.
//!
//! ```text
//! join ─► LDAP, encrypted by Kerberos (SASL GSSAPI) ─► computer account with a random password ─► machine file and keytab
//! ```
//!
//! LDAP is the crate `ldap3`. It knows no Kerberos without a binding that needs libclang to build, so `connection` logs in by
//! MIT Kerberos itself, and puts an encrypting pump between the socket and `ldap3`.

mod connection;
mod entries;
mod keys;
mod machine;
mod membership;
mod netlogon;
pub mod wire;

pub use entries::{MOST_ENTRIES, read as directory};
pub use machine::{Machine, keytab, machine_file};
pub use membership::{Joining, Report, join, leave, renew, report};
pub use netlogon::{Health, Logons, check as check_channel};

/// Why something with the domain could not be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No domain controller answers.
    #[error(
        "no domain controller of {domain} can be reached: {why}; the machine's DNS must be that of the domain, or name one with --controller"
    )]
    Unreachable {
        /// The domain.
        domain: String,
        /// The reason.
        why: String,
    },
    /// Kerberos refuses the login.
    #[error("{principal} cannot log in: {why}")]
    Login {
        /// Who.
        principal: String,
        /// What Kerberos says.
        why: String,
    },
    /// The directory refuses a request.
    #[error("the domain controller refuses to {what}: {why}")]
    Refused {
        /// What was asked.
        what: &'static str,
        /// Its answer.
        why: String,
    },
    /// The connection fails, or an answer makes no sense.
    #[error("the domain controller {host}: {why}")]
    Broken {
        /// Its name.
        host: String,
        /// The reason.
        why: String,
    },
    /// A file of the state folder.
    #[error("{path}: {why}")]
    File {
        /// Its path.
        path: String,
        /// The reason.
        why: String,
    },
    /// The server has not joined.
    #[error("this server is in no domain; `fourfold domain join DOMAIN` joins one")]
    NotJoined,
    /// The system gives no random numbers.
    #[error("the system gives no random numbers for a password")]
    NoRandomness,
}
