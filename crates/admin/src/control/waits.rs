//! The event loops of a server, and how they wait for requests.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The event loops that serve connections.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct LoopsStatus {
    /// The setting `poll`: `auto`, `off`, or a limit such as `30 us`.
    pub poll: String,
    /// Each loop.
    pub loops: Vec<LoopStatus>,
}

/// The waits of an event loop since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LoopStatus {
    /// Waits that ended while the loop polled: nothing had to be woken.
    pub polled: u64,
    /// All other waits.
    pub slept: u64,
    /// Those of the latter in which the loop polled in vain.
    pub vain: u64,
    /// How long it polled in vain, in microseconds.
    pub vain_micros: u64,
    /// How long it would poll now before it sleeps, in microseconds.
    pub limit_micros: u64,
}

impl fmt::Display for LoopsStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = |of: fn(&LoopStatus) -> u64| self.loops.iter().map(of).sum::<u64>();
        let count = match self.loops.len() {
            0 => return Ok(()),
            1 => "1 event loop".to_owned(),
            more => format!("{more} event loops"),
        };
        let (polled, slept, vain) = (sum(|of| of.polled), sum(|of| of.slept), sum(|of| of.vain_micros));
        write!(f, "{count}, poll {}: {polled} of {} waits", self.poll, polled + slept)?;
        writeln!(f, " ended without a sleep, {} ms polled in vain", vain / 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_waits_of_all_loops_are_added() {
        let one = LoopStatus { polled: 90, slept: 10, vain: 5, vain_micros: 1500, limit_micros: 15 };
        let status = LoopsStatus { poll: "auto".into(), loops: vec![one, one] };
        let said = "2 event loops, poll auto: 180 of 200 waits ended without a sleep, 3 ms polled in vain\n";
        assert_eq!(status.to_string(), said);
        assert_eq!(
            LoopsStatus::default().to_string(),
            "",
            "a server of an earlier version says nothing of them"
        );
    }
}
