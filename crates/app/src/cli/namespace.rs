//! The command line of `fourfold namespace`.

use std::net::IpAddr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use namespace::Protocol;

use super::Where;

/// `fourfold namespace …`
#[derive(Debug, Subcommand)]
pub(crate) enum Namespace {
    /// List the links to other servers, and whether their targets are up
    #[command(
        after_help = "A running server says what its checks have found. Without one the links of the settings are listed.

Examples:
  fourfold namespace list
  fourfold namespace list --json | jq '.[].targets[] | select(.up == false)'

Exit codes:
  0  the links are listed
  2  the settings were refused"
    )]
    List(ListLinks),
    /// Log in to the targets of links now, and look into their folders
    #[command(
        after_help = "It does what the checks of a running server do, from this machine and as this user.

Examples:
  fourfold namespace test                    all links
  fourfold namespace test studio/archive     the targets of one link
  fourfold namespace test --json

Exit codes:
  0  all targets can be used
  1  some cannot, or there is no such link
  2  the settings were refused"
    )]
    Test(TestLinks),
    /// Say where a path leads clients of each protocol, and why
    #[command(
        after_help = "PATH begins with the name of a share. Links that Samba or a person has made count, too.

Examples:
  fourfold namespace explain studio/archive/1999
  fourfold namespace explain studio/archive --client 10.1.0.7   as a client at this address sees it
  fourfold namespace explain studio/archive --json

Exit codes:
  0  the path leads to other servers
  1  it does not: it is on this server, or nowhere
  2  the settings were refused"
    )]
    Explain(ExplainLink),
    /// Print the links as a map for the automounter of Linux
    #[command(
        after_help = "It is a direct map of autofs(5), for clients without referrals: NFSv3, and SMB without DFS.

Examples:
  fourfold namespace map > auto.fourfold     put it at /etc/auto.fourfold on the clients, and
                                             `/- /etc/auto.fourfold` into their /etc/auto.master
  fourfold namespace map --at /net --prefer smb --credentials /etc/filer.credentials

Exit codes:
  0  the map is printed
  2  the settings were refused"
    )]
    Map(MapLinks),
}

#[derive(Debug, Args)]
pub(crate) struct ListLinks {
    /// A JSON list, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct TestLinks {
    /// Only the link at this path
    pub(crate) path: Option<String>,
    /// A JSON list, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainLink {
    /// A share, and a path in it
    pub(crate) path: String,
    /// For a client at this address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) client: IpAddr,
    /// One JSON object, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct MapLinks {
    /// The folder of the clients below which links are mounted
    #[arg(long, value_name = "DIR", default_value = "/mnt")]
    pub(crate) at: String,
    /// The protocol for links that have targets of both
    #[arg(long, value_name = "PROTOCOL", default_value = "nfs", value_parser = mounted())]
    pub(crate) prefer: Protocol,
    /// The file of the clients with the account for mounts by SMB
    #[arg(long, value_name = "FILE")]
    pub(crate) credentials: Option<String>,
    /// One JSON object, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}

/// The word of a protocol that Linux mounts.
fn mounted() -> impl TypedValueParser<Value = Protocol> {
    let of = |word: &str| Protocol::FOR_LINUX.into_iter().find(|protocol| protocol.scheme() == word);
    PossibleValuesParser::new(Protocol::FOR_LINUX.map(Protocol::scheme)).try_map(move |word| {
        of(&word).ok_or("the parser has checked the word") // so this cannot happen
    })
}
