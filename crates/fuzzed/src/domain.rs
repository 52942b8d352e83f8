//! What a domain controller answers.

use domain::wire::bind as message;

/// The answer to a bind of LDAP, and its length before it is whole.
pub fn bind(bytes: &[u8]) {
    if let Ok(Some(length)) = message::length(bytes) {
        assert!(length <= message::LONGEST);
    }
    if let Ok(response) = message::response(bytes) {
        assert!(response.token.len() <= bytes.len());
    }
}
