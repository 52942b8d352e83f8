//! The flags of `fourfold replicate`.

use clap::{ArgGroup, Args, ValueEnum};

use super::Where;

pub(super) const EXAMPLES: &str = "SRC and DST are names of shares, folders beginning with / or ., or shares of another host: ssh://HOST/SHARE, with
USER@ before the host and :PORT behind it if needed, and ssh://HOST//FOLDER for a folder. `fourfold` must be installed there,
too. One of the two is on this machine. Users and groups arrive as numbers.

Without @SNAPSHOT a snapshot of SRC is taken first, and all that DST lacks are sent. DST then has the same snapshots, with
their names and holds. Clients can only read it until it is promoted. A run that was cut off continues with the next one.

Examples:
  fourfold replicate studio/video ssh://vault/studio/video
  fourfold replicate ssh://studio/studio/video backup/video    fetch from another host
  fourfold replicate studio/video /srv/backup/video --dry-run  what would be sent?
  fourfold replicate studio/video backup/video --verify        compare the content of all files, and repair
  fourfold replicate studio/video backup/video --method send   all by btrfs send or zfs send, if nothing is there to build on
  fourfold replicate --promote backup/video                    it is a share of its own from now on

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused";

/// How a snapshot is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SendMethod {
    Auto,
    Send,
    Files,
}

impl SendMethod {
    /// The word of the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Send => "send",
            Self::Files => "files",
        }
    }
}

impl From<SendMethod> for ::replicate::Method {
    fn from(method: SendMethod) -> Self {
        match method {
            SendMethod::Auto => Self::Auto,
            SendMethod::Send => Self::Send,
            SendMethod::Files => Self::Files,
        }
    }
}

/// `fourfold replicate …`
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("side").args(["receive", "send", "promote"])))]
pub(crate) struct Replicate {
    /// What is replicated, with the newest snapshot to send if it has @
    #[arg(value_name = "SRC[@SNAPSHOT]", required_unless_present = "side", conflicts_with = "side")]
    pub(crate) source: Option<String>,
    /// The place of the replica: an empty share or folder, or a replica of SRC
    #[arg(value_name = "DST", required_unless_present = "side", conflicts_with = "side")]
    pub(crate) destination: Option<String>,
    /// Say what would be sent, and send nothing
    #[arg(short = 'n', long, conflicts_with = "side")]
    pub(crate) dry_run: bool,
    /// Compare the checksums of all files, also of those that have not changed
    #[arg(long)]
    pub(crate) verify: bool,
    /// Keep snapshots at DST that SRC does not have any more
    #[arg(long)]
    pub(crate) keep: bool,
    /// How to send: the stream of `btrfs send` or `zfs send` if that is possible (auto), only so (send), or changed files (files)
    #[arg(long, value_name = "METHOD", default_value = "auto")]
    pub(crate) method: SendMethod,
    /// One JSON object a line: progress, and the result
    #[arg(long)]
    pub(crate) json: bool,
    /// Make this replica a share of its own, with the content of its newest complete snapshot
    #[arg(long, value_name = "DST")]
    pub(crate) promote: Option<String>,
    /// Receive from the standard input: the other host starts this
    #[arg(long, value_name = "DST")]
    pub(crate) receive: Option<String>,
    /// Send to the standard output: the other host starts this
    #[arg(long, value_name = "SRC")]
    pub(crate) send: Option<String>,
    #[command(flatten)]
    pub(crate) place: Where,
}
