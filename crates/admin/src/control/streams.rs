//! The requests about reserved streams, and how they are. Scripts read the answers: fields may be added, never renamed or
//! removed.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::table::table;

/// The most streams of one reservation.
pub const MOST_STREAMS: u32 = 1000;

/// A request about reserved streams.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "do")]
pub enum StreamsRequest {
    /// What is reserved.
    List,
    /// Reserves streams.
    Reserve(NewReservation),
    /// Releases one reservation, or all.
    Release {
        /// Its number; without it: all.
        #[serde(default)]
        id: Option<u64>,
    },
}

/// Streams that are to be reserved: of a share or of a LUN, by a format or by a speed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NewReservation {
    /// The share.
    pub share: Option<String>,
    /// The LUN, as `SHARE/NAME`.
    pub lun: Option<String>,
    /// The format of the video, such as `prores422hq-2160p25`.
    pub format: Option<String>,
    /// Bytes per second of each stream, instead of a format.
    pub speed: Option<u64>,
    /// How many streams.
    pub streams: u32,
    /// Only those of this account.
    pub user: Option<String>,
    /// Only those of this client.
    #[schema(value_type = Option<String>)]
    pub client: Option<IpAddr>,
    /// It is released when no stream was read for so many seconds; 0: never. Without it: 4 hours.
    pub idle_s: Option<u64>,
    /// Bytes per second that all streams and all others have together, if this is known better than a measurement tells.
    pub capacity: Option<u64>,
    /// The disk is measured again, although it was measured before.
    pub measure: bool,
}

/// The answer to [`StreamsRequest`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StreamsAnswer {
    /// What is reserved.
    List(StreamsStatus),
    /// What was done, in lines.
    Done(Vec<String>),
}

/// What is reserved for streams.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct StreamsStatus {
    /// The reservations, the oldest first.
    pub reservations: Vec<ReservationStatus>,
    /// What was measured of the disks.
    pub capacities: Vec<CapacityStatus>,
    /// Bytes per second that all others may have now; `None`: any number.
    pub others: Option<u64>,
    /// How long others have waited for streams, all together, in milliseconds.
    pub others_waited_ms: u64,
}

/// A reservation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ReservationStatus {
    /// Its number.
    pub id: u64,
    /// The share.
    pub share: String,
    /// The LUN, as `SHARE/NAME`.
    pub lun: Option<String>,
    /// The format of the video.
    pub format: Option<String>,
    /// Bytes per second of each stream.
    pub speed: u64,
    /// How many streams.
    pub streams: u32,
    /// Only those of this account.
    pub user: Option<String>,
    /// Only those of this client.
    #[schema(value_type = Option<String>)]
    pub client: Option<IpAddr>,
    /// It is released when no stream was read for so many seconds; 0: never.
    pub idle_s: u64,
    /// When it was made, in seconds since 1970.
    pub made: u64,
    /// Streams that are read now.
    pub active: u64,
    /// Reads of its streams since the server began.
    pub reads: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Reads that took longer than their bytes play.
    pub late: u64,
    /// The longest time that a read took, in milliseconds.
    pub longest_ms: u64,
    /// Reads of streams beyond those that are reserved.
    pub beyond: u64,
    /// Why it has no effect.
    pub problem: Option<String>,
}

/// What a disk carries.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CapacityStatus {
    /// The shares on it that have reservations, or were measured.
    pub shares: Vec<String>,
    /// Bytes per second.
    pub speed: u64,
    /// Bytes per second that may still be reserved.
    pub left: u64,
    /// Where this comes from: `measured`, `given`.
    pub source: String,
    /// When, in seconds since 1970.
    pub at: u64,
    /// The link that limits it, with its bytes per second.
    pub link: Option<(String, u64)>,
    /// The folder that was measured.
    #[schema(value_type = String)]
    pub folder: PathBuf,
}

impl ReservationStatus {
    /// Its streams in words: `4 streams of prores422hq-2160p25 of video for ada`.
    #[must_use]
    pub fn words(&self) -> String {
        let count =
            if self.streams == 1 { "1 stream".to_owned() } else { format!("{} streams", self.streams) };
        let format = self.format.clone().unwrap_or_else(|| speed_words(self.speed as f64));
        let place = self.lun.as_ref().unwrap_or(&self.share);
        let user = self.user.as_ref().map(|user| format!(" for {user}")).unwrap_or_default();
        let client = self.client.map(|client| format!(" at {client}")).unwrap_or_default();
        format!("{count} of {format} of {place}{user}{client}")
    }

    /// When it is released by itself, in words.
    #[must_use]
    pub fn idle_words(&self) -> String {
        match self.idle_s {
            0 => "stays until it is released".into(),
            hours if hours.is_multiple_of(3600) => {
                format!("released after {} h without a read", hours / 3600)
            }
            minutes if minutes.is_multiple_of(60) => {
                format!("released after {} min without a read", minutes / 60)
            }
            seconds => format!("released after {seconds} s without a read"),
        }
    }
}

/// `92.1 MB/s`, `15 KB/s`.
#[must_use]
pub fn speed_words(bytes: f64) -> String {
    if bytes < 1e6 { format!("{:.0} KB/s", bytes / 1e3) } else { format!("{:.1} MB/s", bytes / 1e6) }
}

/// For people: a table of the reservations, and a line for each disk.
impl fmt::Display for StreamsStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.reservations.iter().map(|one| {
            let state = match (&one.problem, one.late) {
                (Some(problem), _) => problem.clone(),
                (None, 0) => format!("{} of {} read", one.active, one.streams),
                (None, late) => format!("{} of {} read, {late} reads late", one.active, one.streams),
            };
            let needs = speed_words(one.speed as f64 * f64::from(one.streams));
            [one.id.to_string(), one.words(), needs, state, one.idle_words()]
        });
        table(f, "Reserved streams", ["number", "streams", "together", "now", "until"], rows)?;
        for disk in &self.capacities {
            let names = disk.shares.join(", ");
            let (speed, left) = (speed_words(disk.speed as f64), speed_words(disk.left as f64));
            writeln!(
                f,
                "The disk of {names} carries {speed} ({}); {left} can still be reserved.",
                disk.source
            )?;
            if let Some((name, speed)) = &disk.link {
                writeln!(f, "The link {name} carries {}, which is less.", speed_words(*speed as f64))?;
            }
        }
        if let Some(others) = self.others {
            let waited = self.others_waited_ms as f64 / 1000.0;
            writeln!(
                f,
                "Others have {} while streams are read; they have waited {waited:.1} s for streams.",
                speed_words(others as f64)
            )?;
        }
        Ok(())
    }
}
