//! The flags of `fourfold find`.

use std::path::PathBuf;

use clap::Args;

use super::Where;

pub(super) const EXAMPLES: &str = "A search asks the index of each share that has one. Everybody on the server may search: a user with an account of the server
finds what the account may list, and root finds all.
All words must match: in the name, or as beginnings of words of tags, comments and contents. docs/search.md has the language.

Examples:
  fourfold find invoice 2024                                   both words
  fourfold find 'kind:pdf invoice 2024 tag:Red'
  fourfold find 'kind:image size:>10M modified:this-year' --share Studio
  fourfold find '(report OR minutes) NOT ext:tmp'
  fourfold find '*.psd modified:..2019' --print0 | xargs -0 ls -l
  fourfold find 'tag:Red' --user ada --json                    what ada finds
  fourfold find 'contract.docx' --snapshots                    when was it there last?

Exit codes:
  0  something was found
  1  nothing was found
  2  the query, the settings or the command line were refused
  3  no server runs with this state folder";

/// `fourfold find`
#[derive(Debug, Args)]
pub(crate) struct Find {
    /// What to find: words, and attributes such as kind:pdf
    #[arg(value_name = "QUERY", required = true)]
    pub(crate) query: Vec<String>,
    /// Only in this share
    #[arg(long, value_name = "NAME")]
    pub(crate) share: Option<String>,
    /// Only in this folder of the share and below
    #[arg(long = "in", value_name = "PATH", requires = "share")]
    pub(crate) folder: Option<PathBuf>,
    /// In snapshots: what is not at its place any more, after the name of the newest snapshot that has it
    #[arg(long, conflicts_with = "print0")]
    pub(crate) snapshots: bool,
    /// By the rights of this account; by default by those of the user that runs the command
    #[arg(long, value_name = "ACCOUNT")]
    pub(crate) user: Option<String>,
    /// The most files
    #[arg(long, value_name = "NUMBER", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) limit: u64,
    /// One JSON object, for scripts
    #[arg(long, conflicts_with = "print0")]
    pub(crate) json: bool,
    /// Paths on this machine with a zero byte after each, for `xargs -0`
    #[arg(long)]
    pub(crate) print0: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}
