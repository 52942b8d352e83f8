//! The flags of `fourfold backup-state` and `fourfold restore-state`.

use std::path::PathBuf;

use clap::Args;

use super::{Caution, Where};

pub(super) const BACKUP: &str = "The file has the server's identity, its accounts and groups with their secrets, tokens (as hashes), the table of LUNs,
the account in a domain, its own certificate, and the settings file with the shares and their roles. It is readable by its
owner only: keep it like a password. A running server goes on meanwhile.

Not in it: the files of shares, snapshots, the contents of LUNs, certificates and password files elsewhere that the settings
name, and what a server makes again by itself (the index of file ids, counts of quotas, logs). Roles on single files and folders
lie with these files, and count again where the identity is the same.

Examples:
  fourfold backup-state /root/fourfold-state.json
  fourfold backup-state - | gpg -e -r ada > state.gpg    encrypted, and never on the disk

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused";

pub(super) const RESTORE: &str = "The whole archive is checked before anything is replaced: its sum, its version, and whether the settings in it are accepted
on this machine. The server must not run. A state folder and a settings file that are there are kept beside the new ones, with
`before-restore` in their names.

Two servers with one identity confuse their clients: stop the old one for good.

Examples:
  sudo fourfold restore-state /root/fourfold-state.json               a new machine takes over
  sudo fourfold restore-state /root/fourfold-state.json --dry-run     what would be replaced?
  fourfold restore-state state.json --state s --config fourfold.toml  in these places
  sudo fourfold restore-state state.json --without-settings           the settings file stays as it is

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused";

/// `fourfold backup-state`
#[derive(Debug, Args)]
pub(crate) struct BackupState {
    /// The file to make, or `-` for standard output; it must not exist
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) place: Where,
}

/// `fourfold restore-state`
#[derive(Debug, Args)]
pub(crate) struct RestoreState {
    /// The file that `backup-state` has made
    pub(crate) file: PathBuf,
    /// Leave the settings file as it is
    #[arg(long)]
    pub(crate) without_settings: bool,
    #[command(flatten)]
    pub(crate) caution: Caution,
    #[command(flatten)]
    pub(crate) place: Where,
}
