//! The health of the machine's disks and file systems, as it was seen last.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::status::Status;
use super::table::table;
use crate::settings::units::format_size;

/// The disks and file systems of the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct DiskHealth {
    /// When they were looked at, in seconds since 1970; 0: never.
    pub looked: u64,
    /// Why the disks could not be asked, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The disks that answer to `smartctl`.
    pub disks: Vec<DiskStatus>,
    /// File systems that count their errors, and arrays of disks.
    pub filesystems: Vec<FilesystemStatus>,
}

/// How well something is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// It says nothing of itself, or sleeps and was not woken.
    #[default]
    Unknown,
    /// Nothing is wrong.
    Good,
    /// It works, and has lost something, or is near its end.
    Worn,
    /// It fails, or will soon.
    Failing,
}

impl Health {
    /// The word for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Good => "good",
            Self::Worn => "worn",
            Self::Failing => "failing",
        }
    }
}

/// A disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct DiskStatus {
    /// Its device, such as `/dev/sda`.
    pub device: String,
    /// What its maker calls it.
    pub model: String,
    /// Its serial number, which is on its label.
    pub serial: String,
    /// Bytes.
    pub size: Option<u64>,
    /// Degrees Celsius.
    pub temperature: Option<i64>,
    /// Hours that it was on.
    pub hours: Option<u64>,
    /// Percent of the writes for which it is built that were made.
    pub used_percent: Option<u64>,
    /// How well it is.
    pub health: Health,
    /// What is wrong, in words.
    pub problems: Vec<String>,
}

/// A file system or an array.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct FilesystemStatus {
    /// `btrfs`, `ext4`, `zfs`, or `md` for an array of Linux.
    pub kind: String,
    /// Its label, its pool or its device.
    pub name: String,
    /// How well it is.
    pub health: Health,
    /// What is wrong, in words.
    pub problems: Vec<String>,
}

impl fmt::Display for DiskHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(why) = &self.why {
            writeln!(f, "\n{why}")?;
        }
        let dash = |value: Option<String>| value.unwrap_or_else(|| "-".into());
        let disks = self.disks.iter().map(|disk| {
            [
                disk.device.clone(),
                disk.model.clone(),
                disk.serial.clone(),
                dash(disk.size.map(format_size)),
                dash(disk.temperature.map(|degrees| format!("{degrees} °C"))),
                dash(disk.hours.map(|hours| format!("{} d", hours / 24))),
                dash(disk.used_percent.map(|percent| format!("{percent} %"))),
                disk.health.word().to_owned(),
                disk.problems.join("; "),
            ]
        });
        if !self.disks.is_empty() {
            let headings = [
                "device",
                "model",
                "serial",
                "size",
                "temperature",
                "on",
                "used up",
                "health",
                "what is wrong",
            ];
            table(f, "Disks", headings, disks)?;
        }
        let filesystems = self.filesystems.iter().map(|one| {
            [one.kind.clone(), one.name.clone(), one.health.word().to_owned(), one.problems.join("; ")]
        });
        match self.filesystems.is_empty() {
            true => Ok(()),
            false => table(f, "File systems", ["kind", "name", "health", "what is wrong"], filesystems),
        }
    }
}

impl Status {
    pub(super) fn disks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.disks)
    }
}
