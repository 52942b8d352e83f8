//! The flags of `fourfold domain`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Caution, Where};

/// `fourfold domain …`
#[derive(Debug, Subcommand)]
pub(crate) enum DomainCommand {
    /// Make this server a member of an Active Directory domain
    #[command(
        after_help = "It makes the account of this server in the domain, by LDAP that Kerberos encrypts, with a random password, and keeps the
keys of its services in the state folder (domain.keytab). An account of the same name is taken over. Then `domain = \"lab.example.com\"`
in [server] lets users of the domain log in.

Examples:
  fourfold domain join lab.example.com --user administrator       asks for the password
  pass show join | fourfold domain join lab.example.com --user joiner --password-stdin
  fourfold domain join lab.example.com --user administrator --controller dc1.lab.example.com
  fourfold domain join lab.example.com --user joiner --container OU=Servers,DC=lab,DC=example,DC=com

Exit codes: 0 joined, 1 not joined, 2 the settings were refused"
    )]
    Join {
        /// DNS name of the domain
        domain: String,
        #[command(flatten)]
        by: By,
        /// A domain controller; by default those that DNS has for the domain's name
        #[arg(long, value_name = "HOST")]
        controller: Option<String>,
        /// Where in the directory the account is made; by default CN=Computers
        #[arg(long, value_name = "DN")]
        container: Option<String>,
        /// DNS name by which clients reach this server; by default the host's name in the domain
        #[arg(long, value_name = "HOST")]
        host: Option<String>,
        /// One JSON object, for scripts
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        state: Where,
    },
    /// Remove the account of this server from its domain, and its keys from here
    #[command(after_help = "Examples:
  fourfold domain leave --user administrator                      asks for the password
  fourfold domain leave --local                                   the account stays in the domain

Exit codes: 0 done, 1 not done, 2 the settings were refused")]
    Leave {
        #[command(flatten)]
        by: MaybeBy,
        /// Only forget the keys here
        #[arg(long, conflicts_with = "user")]
        local: bool,
        #[command(flatten)]
        caution: Caution,
        #[command(flatten)]
        state: Where,
    },
    /// Give the account of this server a new password now; a server does so by itself every 30 days
    #[command(after_help = "Keys of the password before stay valid for the tickets that clients have.

Examples:
  fourfold domain renew

Exit codes: 0 done, 1 not done, 2 the settings were refused")]
    Renew {
        #[command(flatten)]
        state: Where,
    },
    /// Show the domain of this server, and whether its account can log in
    #[command(after_help = "Examples:
  fourfold domain status
  fourfold domain status --json | jq .works

Exit codes: 0 the account can log in, 1 it cannot, or this server is in no domain, 2 the settings were refused")]
    Status {
        /// One JSON object, for scripts
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        state: Where,
    },
}

/// Who may change the domain.
#[derive(Debug, Args)]
pub(crate) struct By {
    /// User of the domain who may make accounts of computers
    #[arg(long, value_name = "NAME")]
    pub(crate) user: String,
    #[command(flatten)]
    pub(crate) password: Password,
}

/// Who may change the domain, if it is to be changed.
#[derive(Debug, Args)]
pub(crate) struct MaybeBy {
    /// User of the domain who may remove accounts of computers
    #[arg(long, value_name = "NAME", required_unless_present = "local")]
    pub(crate) user: Option<String>,
    #[command(flatten)]
    pub(crate) password: Password,
}

/// Where its password is.
#[derive(Debug, Args)]
pub(crate) struct Password {
    /// Take the password from the first line of standard input
    #[arg(long)]
    pub(crate) password_stdin: bool,
    /// Take the password from the first line of a file
    #[arg(long, value_name = "FILE", conflicts_with = "password_stdin")]
    pub(crate) password_file: Option<PathBuf>,
}
