//! The flags of `fourfold group`.

use clap::{Args, Subcommand};

use super::{Caution, Where};

/// `fourfold group …`
#[derive(Debug, Subcommand)]
pub(crate) enum GroupCommand {
    /// Make a group of accounts
    #[command(
        after_help = "A group of the server's own needs no group of the host. It has a Unix number, so that its files have it, too.

Examples:
  fourfold group add studio ada grace
  fourfold share access film --editor @studio              its members change everything in `film`

Exit codes: 0 done, 1 not done, 2 the settings were refused"
    )]
    Add {
        #[command(flatten)]
        named: GroupArgs,
        /// Accounts that are in it
        accounts: Vec<String>,
    },
    /// Put accounts into a group, and take others out
    #[command(
        after_help = "A running server ends the sessions of those whose groups change: they log in again.

Examples:
  fourfold group modify studio --add linus
  fourfold group modify studio --add linus --remove ada,grace

Exit codes: 0 done, 1 not done, 2 the settings were refused"
    )]
    Modify {
        #[command(flatten)]
        named: GroupArgs,
        /// Accounts to put in
        #[arg(long, value_name = "ACCOUNT", value_delimiter = ',', required_unless_present = "remove")]
        add: Vec<String>,
        /// Accounts to take out
        #[arg(long, value_name = "ACCOUNT", value_delimiter = ',')]
        remove: Vec<String>,
    },
    /// Remove a group; its accounts stay
    #[command(after_help = "Examples:
  fourfold group remove studio

Exit codes: 0 done, 1 not done, 2 the settings were refused")]
    Remove {
        #[command(flatten)]
        named: GroupArgs,
        #[command(flatten)]
        caution: Caution,
    },
    /// List the groups of the server's own
    #[command(after_help = "Examples:
  fourfold group list
  fourfold group list --json

Exit codes: 0 done, 1 not done, 2 the settings were refused")]
    List {
        /// One JSON array, for scripts
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        state: Where,
    },
}

/// A group of a state folder.
#[derive(Debug, Args)]
pub(crate) struct GroupArgs {
    /// Name of the group
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) state: Where,
}
