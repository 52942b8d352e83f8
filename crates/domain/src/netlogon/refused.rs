//! The statuses with which a domain controller refuses a login, MS-ERREF 2.3.1.

use auth::LogonRefused;

/// What a status of NetrLogonSamLogonEx means.
pub(super) fn of(status: u32) -> LogonRefused {
    match status {
        0xC000_0064 => LogonRefused::Unknown, // STATUS_NO_SUCH_USER
        0xC000_006A | 0xC000_006D => LogonRefused::WrongPassword, // STATUS_WRONG_PASSWORD, STATUS_LOGON_FAILURE
        0xC000_0071 => LogonRefused::PasswordExpired,             // STATUS_PASSWORD_EXPIRED
        0xC000_0224 => LogonRefused::PasswordMustChange,          // STATUS_PASSWORD_MUST_CHANGE
        0xC000_0072 => LogonRefused::Disabled,                    // STATUS_ACCOUNT_DISABLED
        0xC000_0193 => LogonRefused::Expired,                     // STATUS_ACCOUNT_EXPIRED
        0xC000_0234 => LogonRefused::LockedOut,                   // STATUS_ACCOUNT_LOCKED_OUT
        // STATUS_ACCOUNT_RESTRICTION, _INVALID_LOGON_HOURS, _INVALID_WORKSTATION, _AUTHENTICATION_FIREWALL_FAILED
        0xC000_006E | 0xC000_006F | 0xC000_0070 | 0xC000_0413 => LogonRefused::Restricted,
        0xC000_0133 => LogonRefused::Clock, // STATUS_TIME_DIFFERENCE_AT_DC
        0xC000_005E => {
            LogonRefused::NoController("it reaches no controller of the user's domain".into()) // STATUS_NO_LOGON_SERVERS
        }
        0xC000_0198..=0xC000_019A => {
            LogonRefused::Other("it is the account of a computer or of a domain".into()) // STATUS_NOLOGON_*_TRUST_ACCOUNT
        }
        _ => LogonRefused::Other(format!(
            "the domain controller refuses the login with the status {status:#010x}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_that_an_administrator_mends_in_other_ways_are_told_apart() {
        assert_eq!(of(0xC000_006A), LogonRefused::WrongPassword);
        assert_eq!(of(0xC000_0064), LogonRefused::Unknown);
        assert_eq!(of(0xC000_0072), LogonRefused::Disabled);
        assert!(of(0xC000_0001).to_string().contains("0xc0000001"));
    }
}
