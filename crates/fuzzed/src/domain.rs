//! What a domain controller answers.

use domain::wire::{bind as message, netlogon as calls};
use kerberos::wire::logon_info::MOST_GROUPS;

/// The answer to a bind of LDAP, and its length before it is whole.
pub fn bind(bytes: &[u8]) {
    if let Ok(Some(length)) = message::length(bytes) {
        assert!(length <= message::LONGEST);
    }
    if let Ok(response) = message::response(bytes) {
        assert!(response.token.len() <= bytes.len());
    }
}

/// Answers of the interface NETLOGON. Their lists have their limits.
pub fn netlogon(bytes: &[u8]) {
    _ = calls::challenged(bytes);
    _ = calls::authenticated(bytes);
    if let Ok(verdict) = calls::verdict(bytes) {
        assert!(verdict.status != 0 || verdict.validation.is_some());
        assert!(verdict.validation.is_none_or(|found| found.user.groups.len() <= MOST_GROUPS));
    }
}
