//! The flags of `fourfold user`.

use clap::{Args, Subcommand};

use super::Where;

/// `fourfold user …`
#[derive(Debug, Subcommand)]
pub(crate) enum User {
    /// Make an account
    #[command(after_help = "Examples:
  fourfold user add ada                                 asks for the password
  fourfold user add ada --uid 1000                      acts as that Unix user
  pass show ada | fourfold user add ada --password-stdin
  fourfold user add ada --chap-secret                   for iSCSI initiators, too

Without --uid the account acts as the Unix user of the same name, else as the server's own.
Exit codes: 0 done, 1 not done, 2 the settings were refused")]
    Add {
        #[command(flatten)]
        named: Named,
        /// Unix user the account acts as; by default the one of the same name, else the server's own
        #[arg(long)]
        uid: Option<u32>,
        /// Take the password from the first line of standard input
        #[arg(long)]
        password_stdin: bool,
        /// Also keep the password's first eight characters as they are, for Macs before Mac OS 8.6 and Apple IIs
        #[arg(long)]
        legacy_password: bool,
        /// Also keep the password as it is, as the secret of iSCSI logins (CHAP): 12 to 255 bytes, for Windows 12 to 16
        #[arg(long)]
        chap_secret: bool,
    },
    /// Give an account another password
    #[command(after_help = "Examples:
  fourfold user passwd ada                              asks for the password
  fourfold user passwd ada --password-stdin < secret

Exit codes: 0 done, 1 not done, 2 the settings were refused")]
    Passwd {
        #[command(flatten)]
        named: Named,
        /// Take the password from the first line of standard input
        #[arg(long)]
        password_stdin: bool,
        /// Also keep the password's first eight characters as they are, for Macs before Mac OS 8.6 and Apple IIs
        #[arg(long)]
        legacy_password: bool,
        /// Also keep the password as it is, as the secret of iSCSI logins (CHAP): 12 to 255 bytes, for Windows 12 to 16
        #[arg(long)]
        chap_secret: bool,
    },
    /// Remove an account; its files stay
    #[command(after_help = "Examples:
  fourfold user remove ada

Exit codes: 0 done, 1 not done, 2 the settings were refused")]
    Remove {
        #[command(flatten)]
        named: Named,
    },
    /// List the accounts
    #[command(after_help = "Examples:
  fourfold user list
  fourfold user list --json

Exit codes: 0 done, 1 not done, 2 the settings were refused")]
    List {
        /// One JSON array, for scripts
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        state: Where,
    },
}

/// An account of a state folder.
#[derive(Debug, Args)]
pub(crate) struct Named {
    /// Name of the account
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) state: Where,
}
