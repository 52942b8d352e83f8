//! The flags of `fourfold stream`.

use std::net::IpAddr;

use clap::{Args, Subcommand};

use super::Where;

pub(super) const EXAMPLES: &str = "A reservation keeps a speed free for streams of a share or of a LUN: video that plays, sound that is recorded from. It is
admitted only if the disk and the link carry it. While reserved streams are read, their requests go first, their files are read
ahead, and the reads and writes of all others wait for moments: never longer than half a second, and at least an eighth of the
disk's speed stays theirs. docs/streams.md says more.";

const RESERVE: &str = "The disk is measured for two seconds when it is reserved for the first time, with the files of the share. Where they are too few,
a file of 1 GiB without a name is written for it. A stream needs a quarter more than it plays, so that it can catch up; a tenth of
the disk and of the link stays for others. A stream is recognized by its second read in a row; one that is not read for ten
seconds gives its place to another.

Examples:
  fourfold stream reserve --share video --format prores422hq-2160p25 --streams 4
  fourfold stream reserve --share video --speed 100MB --streams 2 --user ada
  fourfold stream reserve --lun Studio/edit --format v210-1080p25 --streams 1 --client 192.0.2.7
  fourfold stream reserve --share video --format prores422-1080p25 --streams 8 --capacity 500MB    no measurement
  fourfold stream formats                                                                      what --format takes

Exit codes:
  0  they are reserved
  1  the server runs but did not answer
  2  they were refused: the message says what is missing
  3  no server runs with this state folder";

const LIST: &str = "Examples:
  fourfold stream list
  fourfold stream list --json | jq '.reservations[] | {id, active, late}'

Exit codes:
  0  it answered
  1  the server runs but did not answer
  3  no server runs with this state folder";

const RELEASE: &str = "Examples:
  fourfold stream release 3
  fourfold stream release --all

Exit codes:
  0  it is released
  1  the server runs but did not answer
  2  no reservation has this number
  3  no server runs with this state folder";

/// `fourfold stream …`
#[derive(Debug, Subcommand)]
pub(crate) enum StreamCommand {
    /// Keep a speed free for streams
    #[command(after_help = RESERVE)]
    Reserve(ReserveStreams),
    /// Show what is reserved, what is read of it, and what is left
    #[command(after_help = LIST)]
    List {
        /// One JSON object, for scripts
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: Where,
    },
    /// Give what is reserved to all others again
    #[command(after_help = RELEASE)]
    Release {
        /// The number of a reservation
        #[arg(value_name = "NUMBER", required_unless_present = "all")]
        id: Option<u64>,
        /// All reservations
        #[arg(long, conflicts_with = "id")]
        all: bool,
        #[command(flatten)]
        place: Where,
    },
    /// List the formats of video, and the speed that each needs
    #[command(after_help = "Examples:
  fourfold stream formats
  fourfold stream formats --json | jq -r '.[].id'")]
    Formats {
        /// One JSON array, for scripts
        #[arg(long)]
        json: bool,
    },
}

/// `fourfold stream reserve`
#[derive(Debug, Args)]
pub(crate) struct ReserveStreams {
    /// The share that they are read from
    #[arg(long, value_name = "NAME", required_unless_present = "lun", conflicts_with = "lun")]
    pub(crate) share: Option<String>,
    /// The LUN that they are read from
    #[arg(long, value_name = "SHARE/NAME")]
    pub(crate) lun: Option<String>,
    /// The format of the video: `fourfold stream formats` lists them
    #[arg(long, value_name = "FORMAT", required_unless_present = "speed", conflicts_with = "speed")]
    pub(crate) format: Option<String>,
    /// What each stream needs in a second, instead of a format: 100MB
    #[arg(long, value_name = "SIZE")]
    pub(crate) speed: Option<String>,
    /// How many streams
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) streams: u32,
    /// Only streams of this account
    #[arg(long, value_name = "ACCOUNT")]
    pub(crate) user: Option<String>,
    /// Only streams of the client with this address
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) client: Option<IpAddr>,
    /// Release them when none was read for so long; off: never
    #[arg(long, value_name = "TIME", default_value = "4h")]
    pub(crate) idle: String,
    /// What the disk carries in a second, if that is known better than a measurement tells
    #[arg(long, value_name = "SIZE", conflicts_with = "measure")]
    pub(crate) capacity: Option<String>,
    /// Measure the disk again
    #[arg(long)]
    pub(crate) measure: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}
