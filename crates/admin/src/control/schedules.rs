//! Whether a server keeps the schedules of its shares.

use serde::{Deserialize, Serialize};

/// What the program that keeps the schedules asks before it begins something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedules {
    /// How long this server surely keeps them, in milliseconds from the request on. `None`: always, because it is alone. 0: another
    /// server of the cluster does.
    pub left_ms: Option<u64>,
    /// The shares in which clients of other servers make backups of Macs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backups_elsewhere: Vec<String>,
}
