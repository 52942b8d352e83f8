//! How often the doctor looks, and how long it remembers: times of its rules are numbers of looks.

use std::time::Duration;

/// The looks that are judged together.
const WINDOW: u32 = 12;
/// Looks without notes of reads after one that showed no scanner, and after one that showed a scanner.
const SCANNER_REST: u32 = 12;
const SCANNER_CONFIRM: u32 = 3;

/// The interval between two looks, the setting `doctor-interval`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pace(pub(super) Duration);

impl Pace {
    pub(super) fn look(self) -> Duration {
        self.0
    }

    /// How far back the doctor looks.
    pub(super) fn window(self) -> Duration {
        self.0.saturating_mul(WINDOW)
    }

    /// How long the reads of clients are not noted after a look without a scanner.
    pub(super) fn scanner_rest(self) -> Duration {
        self.0.saturating_mul(SCANNER_REST)
    }

    /// The same after a look with a scanner.
    pub(super) fn scanner_confirm(self) -> Duration {
        self.0.saturating_mul(SCANNER_CONFIRM)
    }
}
