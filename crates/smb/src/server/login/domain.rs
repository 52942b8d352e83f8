//! Users of a domain without Kerberos: which logins a domain controller is asked about, and what its refusals mean to clients.

use auth::{Account, LogonRefused, MemberNames, NtlmResponse};

use super::exchange::{LoginJudge, LoginPolicy};
use crate::wire::Status;

/// The parts of a client's last message that decide whether its user may be one of the domain.
pub(super) struct ClaimedIdentity<'a> {
    pub(super) user: &'a str,
    pub(super) domain: &'a str,
}

/// Whether a domain controller is asked about a login. Accounts of this server with a password count first.
pub(super) fn is_asked(claimed: &ClaimedIdentity<'_>, judge: &LoginJudge<'_>, names: &MemberNames) -> bool {
    let has_password = |account: Account| !account.secrets.is_empty();
    let is_guest = judge.policy.guest && claimed.user.eq_ignore_ascii_case("guest");
    let is_own = judge.accounts.find_in_any_case(claimed.user).is_some_and(has_password);
    !is_guest && !is_own && names.may_mean(claimed.domain)
}

/// Whether a user that the controller refuses is let in as a guest: the domain does not have it, or it is not known whether, and
/// the client has named another domain.
pub(super) fn is_guest(
    refused: &LogonRefused,
    response: &ClaimedIdentity<'_>,
    names: Option<&MemberNames>,
    policy: LoginPolicy,
) -> bool {
    let is_foreign = !response.domain.is_empty() && !names.is_some_and(|names| names.is_own(response.domain));
    let may_be = match refused {
        LogonRefused::Unknown => true,
        LogonRefused::NoController(_) | LogonRefused::Busy => is_foreign,
        _ => false,
    };
    may_be && policy.admits_guest(response.user)
}

/// The status that clients get.
pub(super) fn status(refused: &LogonRefused) -> Status {
    match refused {
        LogonRefused::WrongPassword | LogonRefused::Unknown | LogonRefused::Other(_) => Status::LOGON_FAILURE,
        LogonRefused::Disabled => Status::ACCOUNT_DISABLED,
        LogonRefused::Expired => Status::ACCOUNT_EXPIRED,
        LogonRefused::PasswordExpired => Status::PASSWORD_EXPIRED,
        LogonRefused::PasswordMustChange => Status::PASSWORD_MUST_CHANGE,
        LogonRefused::LockedOut => Status::ACCOUNT_LOCKED_OUT,
        LogonRefused::Restricted => Status::ACCOUNT_RESTRICTION,
        LogonRefused::Clock => Status::TIME_DIFFERENCE_AT_DC,
        LogonRefused::NoController(_) => Status::NO_LOGON_SERVERS,
        LogonRefused::Busy => Status::REQUEST_NOT_ACCEPTED,
    }
}

/// What a controller is asked.
pub(super) fn question(
    claimed: &ClaimedIdentity<'_>,
    workstation: String,
    challenge: [u8; 8],
    (nt, lm): (&[u8], &[u8]),
) -> NtlmResponse {
    NtlmResponse {
        user: claimed.user.to_owned(),
        domain: claimed.domain.to_owned(),
        workstation,
        challenge,
        nt: nt.to_vec(),
        lm: lm.to_vec(),
    }
}
