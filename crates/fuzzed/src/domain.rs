//! What a domain controller answers.

use domain::wire::rpc::{Fragment, HEAD, Head};
use domain::wire::{bind as message, endpoints as mapper, netlogon as calls};
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

/// The answer of the endpoint mapper.
pub fn endpoints(bytes: &[u8]) {
    if let Ok(port) = mapper::port(bytes) {
        assert_ne!(port, 0);
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

/// A fragment of DCE/RPC: its head, and what it has.
pub fn rpc(bytes: &[u8]) {
    let Some((head, body)) = bytes.split_at_checked(HEAD) else { return };
    let Ok(head) = Head::decode(head) else { return };
    if let Ok(Fragment::Response(part)) = head.fragment(body) {
        assert!(part.padding <= part.data.len());
        assert!(part.token.is_empty() || part.token.len() == usize::from(head.token));
    }
}
