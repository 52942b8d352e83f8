//! What of reserved streams is kept in the state folder.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use auth::StateFile;
use serde::{Deserialize, Serialize};
use vfs::reserved::HEADROOM;

const FILE: StateFile = StateFile { format: 1, if_damaged: ", or remove it and reserve the streams anew" };
/// Its name in the state folder.
const NAME: &str = "streams.toml";
/// Disks whose speed is remembered.
const MOST_CAPACITIES: usize = 64;

/// The reservations and the speeds of disks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct KeptStreams {
    format: u32,
    /// The last number that was given.
    #[serde(default)]
    pub(super) last: u64,
    #[serde(default, rename = "reservation")]
    pub(super) reservations: Vec<KeptReservation>,
    #[serde(default, rename = "capacity")]
    pub(super) capacities: Vec<Capacity>,
}

/// A reservation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptReservation {
    pub(super) id: u64,
    pub(super) share: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lun: Option<String>,
    /// The file of the LUN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<PathBuf>,
    /// The number of the file system.
    pub(super) device: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) format: Option<String>,
    /// Bytes per second of each stream.
    pub(super) speed: u64,
    pub(super) streams: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client: Option<IpAddr>,
    /// Seconds; 0: it is never released by itself.
    pub(super) idle_s: u64,
    /// Seconds since 1970.
    pub(super) made: u64,
}

/// What a disk carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Capacity {
    /// The number of the file system.
    pub(super) device: u64,
    /// Bytes per second.
    pub(super) speed: u64,
    /// How that is known, in words.
    pub(super) source: String,
    /// When, in seconds since 1970.
    pub(super) at: u64,
    /// The folder that was measured.
    pub(super) folder: PathBuf,
}

impl Default for KeptStreams {
    fn default() -> Self {
        Self { format: FILE.format, last: 0, reservations: Vec::new(), capacities: Vec::new() }
    }
}

impl KeptReservation {
    /// Bytes per second that are kept for its streams, with what they need to catch up.
    fn needs(&self) -> u64 {
        (self.speed as f64 * f64::from(self.streams) * HEADROOM) as u64
    }
}

impl KeptStreams {
    pub(super) fn read(state: &Path) -> anyhow::Result<Self> {
        Ok(FILE.read(&state.join(NAME))?.unwrap_or_default())
    }

    pub(super) fn write(&self, state: &Path) -> anyhow::Result<()> {
        Ok(FILE.write(&state.join(NAME), self)?)
    }

    /// Bytes per second that are reserved on one disk.
    pub(super) fn reserved_on(&self, device: u64) -> u64 {
        let here = self.reservations.iter().filter(|one| one.device == device);
        here.map(KeptReservation::needs).fold(0, u64::saturating_add)
    }

    /// Bytes per second that are reserved on all disks, and so on the link.
    pub(super) fn reserved(&self) -> u64 {
        self.reservations.iter().map(KeptReservation::needs).fold(0, u64::saturating_add)
    }

    pub(super) fn capacity_of(&self, device: u64) -> Option<&Capacity> {
        self.capacities.iter().find(|known| known.device == device)
    }

    /// Remembers what a disk carries, in place of what was known.
    pub(super) fn keep_capacity(&mut self, capacity: Capacity) {
        self.capacities.retain(|known| known.device != capacity.device);
        if self.capacities.len() >= MOST_CAPACITIES {
            self.capacities.remove(0);
        }
        self.capacities.push(capacity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reservation() -> KeptReservation {
        KeptReservation {
            id: 3,
            share: "video".into(),
            lun: None,
            file: None,
            device: 7,
            format: Some("prores422hq-2160p25".into()),
            speed: 92_125_000,
            streams: 4,
            user: Some("ada".into()),
            client: Some("192.0.2.1".parse().unwrap()),
            idle_s: 3600,
            made: 1_800_000_000,
        }
    }

    #[test]
    fn reservations_are_the_same_after_a_restart() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(
            KeptStreams::read(state.path()).unwrap(),
            KeptStreams::default(),
            "nothing is reserved yet"
        );
        let mut kept = KeptStreams { last: 3, reservations: vec![reservation()], ..KeptStreams::default() };
        let disk =
            |speed| Capacity { device: 7, speed, source: "given".into(), at: 1, folder: "/srv".into() };
        kept.keep_capacity(disk(100));
        kept.keep_capacity(disk(200));
        kept.write(state.path()).unwrap();
        let read = KeptStreams::read(state.path()).unwrap();
        assert_eq!((&read, read.capacity_of(7).map(|disk| disk.speed)), (&kept, Some(200)));
        assert_eq!((read.reserved_on(7), read.reserved_on(8)), (460_625_000, 0), "4 × 92.125 MB/s × 1.25");
    }

    #[test]
    fn the_sum_of_reservations_does_not_overflow() {
        let huge = |device| KeptReservation { device, speed: i64::MAX as u64, streams: 1, ..reservation() };
        let kept = KeptStreams { reservations: vec![huge(1), huge(2), huge(2)], ..KeptStreams::default() };
        assert_eq!((kept.reserved(), kept.reserved_on(2)), (u64::MAX, u64::MAX));
        assert!(kept.reserved_on(1) < u64::MAX);
    }
}
