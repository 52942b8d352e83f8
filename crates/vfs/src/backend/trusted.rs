//! Whether an entry can be the server's own folder: a local user could have made it.

use super::{Backend, Found};
use crate::Kind;

/// Why something is not used as the server's own folder: a local user could have made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DistrustReason {
    /// It is a file, a link or a device.
    NotAFolder,
    /// It belongs to this user, which is neither root nor the user that the server runs as.
    OwnedBy(u32),
    /// Others than its owner may write to it, says its mode.
    WritableByOthers(u32),
}

impl std::fmt::Display for DistrustReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotAFolder => f.write_str("it is not a folder"),
            Self::OwnedBy(uid) => write!(f, "it belongs to user {uid}"),
            Self::WritableByOthers(mode) => {
                write!(f, "its mode {:o} lets others than its owner write to it", mode & 0o7777)
            }
        }
    }
}

/// Whether an entry with the name of one of the server's own folders can be used as that.
pub(crate) fn trust(backend: &dyn Backend, found: &Found) -> std::result::Result<(), DistrustReason> {
    let attributes = &found.attributes;
    match attributes.kind {
        Kind::Folder if attributes.mode & 0o022 != 0 => {
            Err(DistrustReason::WritableByOthers(attributes.mode))
        }
        Kind::Folder if attributes.uid == 0 || attributes.uid == backend.own_user() => Ok(()),
        Kind::Folder => Err(DistrustReason::OwnedBy(attributes.uid)),
        _ => Err(DistrustReason::NotAFolder),
    }
}
