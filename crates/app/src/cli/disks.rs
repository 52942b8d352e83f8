//! The flags of `fourfold disks`.

use clap::Args;

use super::Where;

pub(super) const EXAMPLES: &str = "Disks are asked by `smartctl` of smartmontools, as root. A disk that sleeps is not woken. btrfs and ext4 count their errors in the kernel; pools of
ZFS and arrays of Linux say what they lack.

A server looks by itself every 45 minutes, and raises alerts. In a service of systemd it may not: there the timer of the package does, by --keep.

Examples:
  sudo fourfold disks                                   asks the disks now
  sudo fourfold disks --json
  sudo fourfold disks --keep                            for the server, too

Exit codes:
  0  nothing is wrong
  1  a disk or a file system is worn or fails, or disks cannot be asked
  2  the settings were refused";

/// `fourfold disks`
#[derive(Debug, Args)]
pub(crate) struct Disks {
    /// One JSON object, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    /// Keep what was seen in the state folder, where the server reads it; say nothing if all is well
    #[arg(long)]
    pub(crate) keep: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}
