//! The flags of `fourfold rights`.

use clap::{Args, Subcommand};

use super::Where;

pub(super) const EXAMPLES: &str = "PATH is SHARE, SHARE/path, or a path on this machine that begins with / or .

The roles of a share are its settings: owners, editors, contributors, readers, drop. A role that is set on a file or folder counts
there and below in place of the share's: `rights set studio/2019 accountant reader`. Over the network the server makes all of them
true for every protocol. For local programs they are modes and POSIX ACLs on the disk: `check` finds what differs from them, and
`reset` mends it. A running server does the work, and clients go on meanwhile. Without one the command does it.

Examples:
  fourfold rights show studio/2019                    who may do what there, and why
  fourfold rights of ada studio/2019/plan.pdf         what ada may do with a file, and why
  fourfold rights set studio/2019 accountant reader   the accountant may only read 2019
  fourfold rights unset studio/2019 accountant        and has the role of the share again
  fourfold rights check                               all team folders
  fourfold rights reset studio --recursive --dry-run  what a reset would change, in numbers
  fourfold rights reset studio --recursive            change it; the command says how it is taken back

Exit codes:
  0  it is as the roles say, or was changed
  1  `check` has found something, or something could not be looked at or changed
  2  the settings or the command line were refused";

/// `fourfold rights`
#[derive(Debug, Subcommand)]
pub(crate) enum RightsCommand {
    /// Show the roles, what was set on the way, and what everyone may do there
    ///
    /// Example: fourfold rights show studio/2019
    Show(ShowRights),
    /// Show what one person may do with a file or folder, and why
    ///
    /// Example: fourfold rights of ada studio/2019/plan.pdf
    Of(RightsOf),
    /// Give somebody a role on a file or folder, and on everything below
    ///
    /// It counts in place of the share's roles: `none` keeps somebody out. A role of a person counts before one of a group, that
    /// before one of everyone; of several groups the widest counts. Who has no role in the share does not get in by this.
    ///
    /// Example: fourfold rights set studio/2019 accountant reader
    Set(SetRights),
    /// End the role that `set` has given: the share's role counts again
    ///
    /// Example: fourfold rights unset studio/2019 accountant
    Unset(UnsetRights),
    /// Bring a file or folder to what the roles, and the lists of the folders above, say
    ///
    /// Modes and POSIX ACLs become those of the roles, and lists that were moved or copied here become those of this folder. What was
    /// set on files and folders themselves stays, unless --all is given. The changes are recorded, and --undo takes them back.
    ///
    /// Example: fourfold rights reset studio --recursive --dry-run
    Reset(ResetRights),
    /// Find what keeps local programs from doing what the roles say, or lets them do more
    ///
    /// Files that a role says somebody may edit and cannot, owners without a role, what all users of this machine may write, lists
    /// that do not count, missing default ACLs.
    ///
    /// Example: fourfold rights check studio --json
    Check(CheckRights),
}

#[derive(Debug, Args)]
pub(crate) struct ShowRights {
    /// The file or folder
    #[arg(value_name = "PATH")]
    pub(crate) path: std::ffi::OsString,
    /// One JSON object, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct RightsOf {
    /// An account, `guests`, or the number of a user of NFS
    #[arg(value_name = "PERSON")]
    pub(crate) person: String,
    #[command(flatten)]
    pub(crate) at: ShowRights,
}

#[derive(Debug, Args)]
pub(crate) struct SetRights {
    /// The file or folder
    #[arg(value_name = "PATH")]
    pub(crate) path: std::ffi::OsString,
    /// An account, `@group`, `everyone` or `guests`
    #[arg(value_name = "WHO")]
    pub(crate) who: String,
    /// `owner`, `editor`, `reader` or `none`
    #[arg(value_name = "ROLE", value_parser = ["owner", "editor", "reader", "none"])]
    pub(crate) role: String,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct UnsetRights {
    /// The file or folder
    #[arg(value_name = "PATH")]
    pub(crate) path: std::ffi::OsString,
    /// An account, `@group`, `everyone` or `guests`
    #[arg(value_name = "WHO")]
    pub(crate) who: String,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct ResetRights {
    /// The file or folder; with --undo the share
    #[arg(value_name = "PATH")]
    pub(crate) path: std::ffi::OsString,
    /// Everything below, too
    #[arg(long)]
    pub(crate) recursive: bool,
    /// What was set on files and folders themselves goes, too
    #[arg(long)]
    pub(crate) all: bool,
    /// Change nothing, and count what would change
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
    /// Take back the changes of this record; `reset`, `set` and `unset` say its name
    #[arg(long, value_name = "RECORD", conflicts_with_all = ["recursive", "all", "dry_run"])]
    pub(crate) undo: Option<String>,
    /// One JSON object, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct CheckRights {
    /// The file or folder; without it all team folders
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<std::ffi::OsString>,
    /// One JSON object, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}
