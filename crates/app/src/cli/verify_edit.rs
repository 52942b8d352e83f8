//! The flags of `fourfold verify-edit`.

use std::path::PathBuf;

use bench::editing::PROGRAMS;
use clap::Args;
use clap::builder::PossibleValuesParser;

pub(super) const EXAMPLES: &str = "The command does with a share what Final Cut Pro, Premiere Pro, DaVinci Resolve, Pro Tools and Logic Pro do: names, lock files,
locks of databases, safe saves, sparse bundles, pieces of many tracks, mapped files, F_FULLFSYNC, opens that outlive their connection.
Two clients do it, so that the second one sees what the first one holds. For each use of a program it says whether it works, works with
limits, or is refused, why, and what to do. What makers say of shares counts, too. It is for any server.

It works in a folder of its own, fourfold-edit-…, which it removes. It touches no other file.

Examples:
  fourfold verify-edit smb://ada@nas/video --password-file secret
  fourfold verify-edit smb://ada@nas/video afp://ada@nas/video nfs://nas/video
  fourfold verify-edit smb://ada@nas/video --for final-cut-pro,logic-pro
  fourfold verify-edit smb://ada@nas/video --json | jq '.[].programs[] | select(.verdict != \"works\")'

Exit codes:
  0  the verdicts were made, whatever they say
  1  a server cannot be reached, or refuses the login
  2  the command line was refused";

/// `fourfold verify-edit`
#[derive(Debug, Args)]
pub(crate) struct VerifyEdit {
    /// Shares, by the protocols that editors would use
    #[arg(value_name = "URL", required = true)]
    pub(crate) urls: Vec<String>,
    /// Only these programs
    #[arg(long = "for", value_name = "PROGRAM", value_delimiter = ',', value_parser = program_words())]
    pub(crate) programs: Vec<String>,
    /// Account of URLs that name none; not for NFS
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// File with the password; its first line
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Longest wait for an answer of the server
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,
    /// A list of JSON objects, one for each URL
    #[arg(long)]
    pub(crate) json: bool,
}

fn program_words() -> PossibleValuesParser {
    PossibleValuesParser::new(PROGRAMS.map(|(word, _)| word))
}
