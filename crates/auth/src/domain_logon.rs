//! Logins of a domain's users without Kerberos, as protocols see them: a domain controller verifies the password. The crate
//! `domain` asks it.

use std::pin::Pin;

/// A login that a domain controller looks at.
pub type LoggingOn = Pin<Box<dyn Future<Output = Result<LoggedOn, LogonRefused>> + Send>>;

/// Asks a domain controller about users that have no account with a password here.
pub trait DomainLogon: Send + Sync {
    /// The names of this server in the domain, which its challenges must have.
    fn names(&self) -> MemberNames;

    /// Whether the answer of a client to a challenge of this server was made with the user's password.
    fn by_response(&self, response: NtlmResponse) -> LoggingOn;

    /// Whether a password is right. The name is `alice`, `LAB\alice` or `alice@lab.test`.
    fn by_password(&self, user: &str, password: &str) -> LoggingOn;
}

/// The names of a member of a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberNames {
    /// The short name of the computer, which is that of its account. A controller refuses the answer to another name's challenge.
    pub computer: String,
    /// The DNS name of the computer.
    pub host: String,
    /// The short name of the domain, such as `LAB`.
    pub short: String,
    /// The DNS name of the domain.
    pub domain: String,
}

/// What a client answers to a challenge, MS-NLMP 2.2.1.3.
#[derive(Clone, PartialEq, Eq)]
pub struct NtlmResponse {
    /// The user's name as the client sent it.
    pub user: String,
    /// The domain as the client sent it; may be empty. The answer is made with both.
    pub domain: String,
    /// The client's own name; may be empty.
    pub workstation: String,
    /// The challenge of this server.
    pub challenge: [u8; 8],
    /// NtChallengeResponse, of NTLMv2.
    pub nt: Vec<u8>,
    /// LmChallengeResponse.
    pub lm: Vec<u8>,
}

/// A user whose password is right.
#[derive(Clone, PartialEq, Eq)]
pub struct LoggedOn {
    /// The name of the account, which [`crate::Domain`] knows by now.
    pub account: String,
    /// SessionBaseKey, MS-NLMP 3.3.2.
    pub base_key: [u8; 16],
}

/// Why a domain controller, or the way to it, refuses a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogonRefused {
    /// The password is wrong.
    WrongPassword,
    /// The domain has no such user.
    Unknown,
    /// The user is disabled.
    Disabled,
    /// The account of the user has ended.
    Expired,
    /// The password has expired.
    PasswordExpired,
    /// The user must choose a new password first.
    PasswordMustChange,
    /// Too many wrong passwords have come for this user.
    LockedOut,
    /// The user may not log in at this hour, or at this computer.
    Restricted,
    /// The clocks of the server and the controller differ too much.
    Clock,
    /// No controller answers. The text says why.
    NoController(String),
    /// Too many logins wait for the controller.
    Busy,
    /// Anything else. The text is for the log.
    Other(String),
}

impl std::fmt::Display for LogonRefused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::WrongPassword => "the domain controller says that the password is wrong",
            Self::Unknown => "there is no such account, neither here nor in the domain",
            Self::Disabled => "the user is disabled in the domain",
            Self::Expired => "the account of the user in the domain has expired",
            Self::PasswordExpired => "the password of the user in the domain has expired",
            Self::PasswordMustChange => "the user must choose a new password in the domain first",
            Self::LockedOut => "the domain has locked the account of the user after wrong passwords",
            Self::Restricted => "the domain does not let the user log in at this hour, or at this server",
            Self::Clock => "the clocks of this server and of the domain controller differ too much",
            Self::NoController(why) => return write!(f, "no domain controller can be asked: {why}"),
            Self::Busy => "too many logins wait for the domain controller",
            Self::Other(why) => return f.write_str(why),
        })
    }
}

impl MemberNames {
    /// Whether a client that names this domain may mean a user of a domain: it means an account of this server only if it
    /// names this computer.
    #[must_use]
    pub fn may_mean(&self, domain: &str) -> bool {
        ![&*self.computer, &*self.host, "."].iter().any(|own| own.eq_ignore_ascii_case(domain))
    }

    /// Whether a client has named the domain of this server.
    #[must_use]
    pub fn is_own(&self, domain: &str) -> bool {
        [&self.short, &self.domain].iter().any(|own| own.eq_ignore_ascii_case(domain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_names_this_computer_means_an_account_of_it() {
        let text = str::to_owned;
        let names = MemberNames {
            computer: text("FILER"),
            host: text("filer.lab.test"),
            short: text("LAB"),
            domain: text("lab.test"),
        };
        assert!(!names.may_mean("filer") && !names.may_mean(".") && !names.may_mean("FILER.lab.test"));
        assert!(names.may_mean("LAB") && names.may_mean("WORKGROUP") && names.may_mean(""));
        assert!(names.is_own("lab") && names.is_own("LAB.TEST") && !names.is_own("WORKGROUP"));
    }
}
