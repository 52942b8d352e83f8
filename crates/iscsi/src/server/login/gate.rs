//! What a login asks of the rest of the server: targets, accounts, limits. Tests have a gate of their own.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use auth::{Accounts, LoginGuard};

use crate::server::paths::MAIN_PORT;
use crate::server::target::Target;

/// The two ends of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionEnds {
    /// The initiator's.
    pub(crate) address: SocketAddr,
    /// The server's.
    pub(crate) local: SocketAddr,
}

/// The initiator that asks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Initiator<'a> {
    /// Its iSCSI name, in lower case. The name is a claim without proof.
    pub(crate) name: &'a str,
    /// The authenticated account; `None` before authentication and for guests.
    pub(crate) account: Option<&'a str>,
    /// The initiator's host.
    pub(crate) host: IpAddr,
}

/// Why an initiator may not use a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoTarget {
    /// There is no target with this name.
    NotFound,
    /// This initiator or account may not use it.
    NotAllowed,
}

/// How the server proves its identity to initiators that ask.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct OwnSecret {
    /// The server's name.
    pub(crate) name: String,
    /// The server's secret, which initiators know.
    pub(crate) secret: Vec<u8>,
}

/// What logins need from the rest of the server.
pub(crate) trait Gate: Send + Sync {
    /// The target with this name, in lower case, if this initiator may use it. Called twice if
    /// there is an account: before authentication, when only the initiator's name can be judged,
    /// and after it.
    fn target(&self, name: &str, who: &Initiator<'_>) -> Result<Arc<Target>, NoTarget>;

    /// All targets that this initiator may use. `who.account` is the authenticated account. No
    /// authentication was requested where `guests` is true.
    fn targets(&self, who: &Initiator<'_>) -> Vec<Arc<Target>>;

    /// Whether initiators without authentication may use a target; for `None`: whether they get the
    /// list of targets.
    fn guests(&self, target: Option<&Target>) -> bool;

    /// The accounts.
    fn accounts(&self) -> Arc<dyn Accounts>;

    /// The server's name and secret. `None`: the server cannot authenticate itself.
    fn own_secret(&self) -> Option<OwnSecret>;

    /// Limits and logs logins.
    fn login_guard(&self) -> Arc<LoginGuard>;

    /// The portal group at this local address.
    fn portal_group(&self, _local: IpAddr) -> u16 {
        MAIN_PORT
    }

    /// The addresses of a target for initiators that connect to this local address, each with its
    /// portal group.
    fn portals(&self, _target: &str, local: SocketAddr) -> Vec<(SocketAddr, u16)> {
        vec![(local, MAIN_PORT)]
    }

    /// Fills with random bytes. False if there are none.
    fn random(&self, bytes: &mut [u8]) -> bool {
        getrandom::fill(bytes).is_ok()
    }
}
