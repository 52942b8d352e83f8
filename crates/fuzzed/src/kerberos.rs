//! What tickets contain.

use kerberos::wire::logon_info as information;

/// What a PAC says of a user. Its lists have their limits.
pub fn logon_info(bytes: &[u8]) {
    if let Ok(user) = information::decode(bytes) {
        assert!(user.groups.len() <= information::MOST_GROUPS);
        assert!(user.sid.split().is_some());
    }
}
