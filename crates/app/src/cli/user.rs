//! The flags of `fourfold user`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Caution, Where};

/// `fourfold user …`
#[derive(Debug, Subcommand)]
pub(crate) enum User {
    /// Make an account
    #[command(after_help = "Examples:
  fourfold user add ada                                 asks for the password
  fourfold user add ada --uid 1000                      acts as that Unix user
  fourfold user add ada --uid 5001 --gid 5000           acts as ids that no user of this machine has
  pass show ada | fourfold user add ada --password-stdin
  fourfold user add ada --chap-secret                   for iSCSI initiators, too
  fourfold user add ada --admin                         may log in to the console

Without --uid the account acts as the Unix user of the same name. If this machine has no such user, the account acts
as `default-user` of the settings, or gets a number of its own from 1900000000 to 1900999999. A server that does not run as root acts as its own user.
Exit codes: 0 done, 1 not done, 2 the settings were refused")]
    Add {
        #[command(flatten)]
        named: AccountArgs,
        /// Unix user the account acts as; by default the one of the same name
        #[arg(long, value_parser = clap::value_parser!(u32).range(..=i64::from(u32::MAX) - 1))]
        uid: Option<u32>,
        /// First group of the account; by default that of the Unix user
        #[arg(long, value_parser = clap::value_parser!(u32).range(..=i64::from(u32::MAX) - 1))]
        gid: Option<u32>,
        #[command(flatten)]
        password: PasswordArgs,
        /// Groups in addition to those of the Unix user, by name or number: film,edit. The server must run as root for them
        #[arg(long, value_name = "LIST", value_delimiter = ',')]
        groups: Vec<String>,
        /// The account may administer the server: it can log in to the console (`admin-port`)
        #[arg(long)]
        admin: bool,
    },
    /// Change the rights and the Unix user of an account
    #[command(after_help = "Examples:
  fourfold user modify ada --admin on                   may log in to the console
  fourfold user modify ada --admin off                  a running server ends the account's console sessions
  fourfold user modify ada --disabled on                may not log in; a running server ends its sessions
  fourfold user modify ada --groups film,edit           is in these groups of the host, too
  fourfold user modify ada --groups ''                  is in those of its Unix user only
  fourfold user modify ada --uid 1000                   acts as that Unix user

Exit codes: 0 done, 1 not done, 2 the settings were refused")]
    Modify {
        #[command(flatten)]
        named: AccountArgs,
        #[command(flatten)]
        rights: UserRights,
    },
    /// Give an account another password
    #[command(after_help = "Examples:
  fourfold user passwd ada                              asks for the password
  fourfold user passwd ada --password-file secret

Exit codes: 0 done, 1 not done, 2 the settings were refused")]
    Passwd {
        #[command(flatten)]
        named: AccountArgs,
        #[command(flatten)]
        password: PasswordArgs,
    },
    /// Remove an account; its files stay
    #[command(after_help = "Examples:
  fourfold user remove ada

Exit codes: 0 done, 1 not done, 2 the settings were refused")]
    Remove {
        #[command(flatten)]
        named: AccountArgs,
        #[command(flatten)]
        caution: Caution,
    },
    /// Turn off the second factor of an account, whose phone is lost
    #[command(after_help = "Examples:
  fourfold user reset-factor ada                        logs in without a code, or sets up another factor first

Exit codes: 0 done, 1 not done, 2 the settings were refused")]
    ResetFactor {
        #[command(flatten)]
        named: AccountArgs,
        #[command(flatten)]
        caution: Caution,
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

/// Where a password comes from, and what else is kept of it.
#[derive(Debug, Default, Args)]
pub(crate) struct PasswordArgs {
    /// Take the password from the first line of standard input
    #[arg(long)]
    pub(crate) password_stdin: bool,
    /// Take the password from the first line of a file
    #[arg(long, value_name = "FILE", conflicts_with = "password_stdin")]
    pub(crate) password_file: Option<PathBuf>,
    /// Also keep the password's first eight characters as they are, for Macs before Mac OS 8.6 and Apple IIs
    #[arg(long)]
    pub(crate) legacy_password: bool,
    /// Also keep the password as it is, as the secret of iSCSI logins (CHAP): 12 to 255 bytes, for Windows 12 to 16
    #[arg(long)]
    pub(crate) chap_secret: bool,
}

/// The rights of an account, and its Unix user.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct UserRights {
    /// Whether the account may administer the server: on or off
    #[arg(long, value_name = "on|off", value_parser = ["on", "off"])]
    pub(crate) admin: Option<String>,
    /// Whether the account may not log in: on or off
    #[arg(long, value_name = "on|off", value_parser = ["on", "off"])]
    pub(crate) disabled: Option<String>,
    /// Unix user the account acts as
    #[arg(long, value_parser = clap::value_parser!(u32).range(..=i64::from(u32::MAX) - 1))]
    pub(crate) uid: Option<u32>,
    /// First group of the account
    #[arg(long, value_parser = clap::value_parser!(u32).range(..=i64::from(u32::MAX) - 1))]
    pub(crate) gid: Option<u32>,
    /// Groups in addition to those of the Unix user, in place of those before: names or numbers. The server must run as root for
    /// them
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) groups: Option<Vec<String>>,
}

/// An account of a state folder.
#[derive(Debug, Args)]
pub(crate) struct AccountArgs {
    /// Name of the account
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) state: Where,
}
