//! The health of the machine's disks and file systems.
//!
//! Only root may ask disks, and a disk that fails may not answer for minutes. So a program without clients looks: `fourfold disks
//! --keep` by a timer of systemd, or else the one that keeps the schedules. It writes what it sees into the state folder, and the
//! server reads it there.

mod filesystems;
mod smart;

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use admin::control::DiskHealth;
use auth::durable;

/// The file in the state folder.
const FILE: &str = "disk-health.json";
/// The largest file that is read.
const LARGEST: u64 = 1 << 20;
/// A look that is older is made again.
const OLD: Duration = Duration::from_secs(45 * 60);

/// Looks at all disks and file systems. A disk that sleeps is not woken: of it counts what `before` says.
pub(crate) fn look(before: &DiskHealth) -> DiskHealth {
    let (disks, why) = match smart::look(before) {
        Ok(disks) => (disks, None),
        Err(why) => (before.disks.clone(), Some(why)),
    };
    DiskHealth { looked: now(), why, disks, filesystems: filesystems::look(Path::new("/")) }
}

/// What the last look has found; empty before the first look.
pub(crate) fn read(state: &Path) -> DiskHealth {
    let path = state.join(FILE);
    if path.metadata().is_ok_and(|found| found.len() > LARGEST) {
        return DiskHealth::default();
    }
    std::fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

/// Keeps what was seen for the server with this state folder.
pub(crate) fn write(state: &Path, health: &DiskHealth) -> std::io::Result<()> {
    durable::replace(&state.join(FILE), &serde_json::to_vec(health).unwrap_or_default())
}

/// Whether what was seen is so old that it is time to look again.
pub(crate) fn is_old(health: &DiskHealth) -> bool {
    now().saturating_sub(health.looked) >= OLD.as_secs()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
