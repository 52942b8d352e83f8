//! The flags of `fourfold say` and `fourfold disconnect`.

use std::path::PathBuf;

use clap::Args;
use wire::{ClientAddress, ClientIp};

use super::Where;

pub(super) const SAY: &str = "Macs show it over AFP; the other protocols have no way to.

Examples:
  fourfold say 'The server restarts at six.'

Exit codes:
  0  it was passed on; how many were told is printed
  1  the server runs but did not answer
  3  no server runs with this state folder";

pub(super) const DISCONNECT: &str = "All that is given must hold for a session. Clients may log in again: `fourfold user` and client rules keep them out.

Examples:
  fourfold disconnect --user ada                      every session of the account
  fourfold disconnect --client 192.168.1.20           every session from this address
  fourfold disconnect --connection 192.168.1.20:51515  the session of one connection of `fourfold status`
  fourfold disconnect --file /srv/projects/film.mov   sessions go on, but have the file closed

Exit codes:
  0  it was done; how many were ended is printed
  1  no session was meant, or the server runs but did not answer
  3  no server runs with this state folder";

#[derive(Debug, Args)]
pub(crate) struct Say {
    /// The message; old Macs show up to 199 characters of it
    pub(crate) text: String,
    /// Only to this account
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Only to this address
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) client: Option<ClientIp>,
    /// Only to the session with this connection, as `fourfold status` shows it
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) connection: Option<ClientAddress>,
    #[command(flatten)]
    pub(crate) state: Where,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("what").required(true).multiple(true)))]
pub(crate) struct Disconnect {
    /// Sessions of this account
    #[arg(long, value_name = "NAME", group = "what")]
    pub(crate) user: Option<String>,
    /// Sessions from this address
    #[arg(long, value_name = "ADDRESS", group = "what")]
    pub(crate) client: Option<ClientIp>,
    /// The session with this connection, as `fourfold status` shows it
    #[arg(long, value_name = "ADDRESS:PORT", group = "what")]
    pub(crate) connection: Option<ClientAddress>,
    /// Close this file, and let the sessions go on: a path on the server
    #[arg(long, value_name = "PATH", group = "what")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) state: Where,
}
