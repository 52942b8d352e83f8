//! The links of the namespace, as a running server knows them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A link of the namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LinkStatus {
    /// The share, and the path in it.
    pub path: String,
    /// What it is for.
    pub comment: String,
    /// Why clients do not see it; `None`: they do.
    #[serde(default)]
    pub problem: Option<String>,
    /// Its targets, as they stand in the settings.
    pub targets: Vec<LinkTargetStatus>,
}

/// A target of a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LinkTargetStatus {
    /// Its URL.
    pub url: String,
    /// Whether the last check succeeded; `None`: it was not checked.
    pub up: Option<bool>,
    /// Since when, RFC 3339 in UTC.
    pub since: Option<String>,
    /// How long the last check took, in milliseconds.
    pub took_ms: Option<u64>,
    /// Why the last check failed.
    pub error: Option<String>,
    /// Checks since the start.
    pub checks: u64,
    /// Those that failed.
    pub failures: u64,
}

impl LinkTargetStatus {
    /// `up`, `down` or `unchecked`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self.up {
            Some(true) => "up",
            Some(false) => "down",
            None => "unchecked",
        }
    }
}
