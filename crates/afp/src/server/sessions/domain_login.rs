//! Users of a domain without a ticket: a domain controller verifies the password that the client has sent.

use auth::{Account, LogonRefused};

use crate::server::config::Config;
use crate::wire::ResultCode;

/// A user that has no password here, and the password that came.
pub(in crate::server) struct DomainCredentials {
    pub(in crate::server) user: String,
    pub(in crate::server) password: String,
}

/// Asks a domain controller. It waits for the network, and holds no permit.
pub(in crate::server) async fn verify(
    config: &Config,
    credentials: &DomainCredentials,
) -> Result<Account, LogonRefused> {
    let domain = config.domain.as_ref().ok_or(LogonRefused::Unknown)?;
    let logon = domain.by_password(&credentials.user, &credentials.password).await?;
    let account = config.accounts.find_in_any_case(&logon.account).ok_or(LogonRefused::Unknown)?;
    if account.disabled { Err(LogonRefused::Disabled) } else { Ok(account) }
}

/// The result code that clients get.
pub(in crate::server) fn code(refused: &LogonRefused) -> ResultCode {
    match refused {
        LogonRefused::PasswordExpired => ResultCode::PASSWORD_EXPIRED,
        LogonRefused::PasswordMustChange => ResultCode::PASSWORD_NEEDS_CHANGE,
        LogonRefused::NoController(_) | LogonRefused::Clock => ResultCode::NO_SERVER,
        LogonRefused::Busy => ResultCode::MISC_ERROR,
        LogonRefused::WrongPassword
        | LogonRefused::Unknown
        | LogonRefused::Disabled
        | LogonRefused::Expired
        | LogonRefused::LockedOut
        | LogonRefused::Restricted
        | LogonRefused::Other(_) => ResultCode::USER_NOT_AUTH,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use auth::{DomainLogon, LoggedOn, LoggingOn, MemberNames, NtlmResponse};

    use super::*;
    use crate::server::sessions::uam::UamMethod;
    use crate::server::testing::{ADA, people};
    use crate::server::transport::Transport;

    /// Knows one user, whose account is that of ada.
    struct Controller;

    impl DomainLogon for Controller {
        fn names(&self) -> MemberNames {
            let text = String::new;
            MemberNames { computer: text(), host: text(), short: text(), domain: text() }
        }

        fn by_response(&self, _: NtlmResponse) -> LoggingOn {
            Box::pin(async { Err(LogonRefused::Busy) })
        }

        fn by_password(&self, user: &str, password: &str) -> LoggingOn {
            let account = if user == "LAB\\ada" { "ada" } else { "unknown" }.to_owned();
            let is_right = password == "secret";
            Box::pin(async move {
                let base_key = [0; 16];
                if is_right { Ok(LoggedOn { account, base_key }) } else { Err(LogonRefused::WrongPassword) }
            })
        }
    }

    fn config() -> Config {
        Config { domain: Some(Arc::new(Controller)), ..Config::new(Vec::new(), people(&[ADA])) }
    }

    #[tokio::test]
    async fn the_account_is_the_one_that_the_controller_names() {
        let verify = async |user: &str, password: &str| {
            let credentials = DomainCredentials { user: user.into(), password: password.into() };
            verify(&config(), &credentials).await.map(|account| account.name)
        };
        assert_eq!(verify("LAB\\ada", "secret").await, Ok("ada".to_owned()));
        assert_eq!(verify("LAB\\ada", "wrong").await, Err(LogonRefused::WrongPassword));
        assert_eq!(verify("zoe", "secret").await, Err(LogonRefused::Unknown), "it has no account here");
    }

    /// A client chooses a method before it names a user, and a controller cannot verify SRP.
    #[test]
    fn srp_is_not_offered_with_a_domain() {
        let mut config = config();
        config.logins.srp = true;
        let offers_srp =
            |config: &Config| UamMethod::offered(config, Transport::Tcp).contains(&UamMethod::Srp);
        assert!(!offers_srp(&config));
        config.domain = None;
        assert_eq!(offers_srp(&config), config.accounts.all_have_verifiers());
    }

    #[test]
    fn a_controller_that_is_away_is_no_wrong_password() {
        assert_eq!(code(&LogonRefused::NoController("away".into())), ResultCode::NO_SERVER);
        assert_eq!(code(&LogonRefused::WrongPassword), ResultCode::USER_NOT_AUTH);
        assert_eq!(code(&LogonRefused::Disabled), ResultCode::USER_NOT_AUTH);
        assert_eq!(code(&LogonRefused::PasswordExpired), ResultCode::PASSWORD_EXPIRED);
    }
}
