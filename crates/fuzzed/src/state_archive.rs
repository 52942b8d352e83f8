//! The archive of a server's state, which can come from anywhere.

use admin::StateArchive;

/// What is understood is written, and understood as the same.
pub fn archive(data: &[u8]) {
    if let Ok(archive) = StateArchive::decode(data) {
        let again = StateArchive::decode(archive.encode().as_bytes()).expect("it was decoded");
        assert_eq!(archive, again);
    }
}
