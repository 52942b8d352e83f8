//! Advice for a running server: what would make it faster. Scripts read it: fields may be added, never renamed or removed.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What the advice is made for, beside what the server has counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdviceRequest {
    /// Bytes per second that each active user must have.
    pub floor: u64,
    /// Measurements of the server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<LoadCurve>,
}

/// The speed of one target by the number of clients.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadCurve {
    /// What was measured: `smb://ada@filer/studio`.
    pub target: String,
    /// The workload, as in `fourfold bench --list`.
    pub workload: String,
    /// Numbers of clients, and bytes per second of all of them together.
    pub points: Vec<(u32, u64)>,
}

/// One piece of advice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Advice {
    /// `memory`, `read-write`, `users`, `video`, `rules of 1993`, `next`.
    pub topic: String,
    /// The sentences.
    pub text: Vec<String>,
}
