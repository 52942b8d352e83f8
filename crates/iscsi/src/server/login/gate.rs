use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use auth::{Accounts, LoginGuard};

use crate::server::target::Target;

/// The two ends of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    /// The initiator's.
    pub(crate) address: SocketAddr,
    /// Ours.
    pub(crate) local: SocketAddr,
}

/// Who asks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Initiator<'a> {
    /// Its iSCSI name, in lower case. It is only what it says.
    pub(crate) name: &'a str,
    /// The account that it has proved to be; nothing before that, and of guests.
    pub(crate) account: Option<&'a str>,
    /// The host that it asks from.
    pub(crate) host: IpAddr,
}

/// Why an initiator does not get to a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoTarget {
    /// There is none of that name.
    NotFound,
    /// It is not for this initiator or account.
    NotAllowed,
}

/// How we prove who we are to initiators that ask.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct OwnSecret {
    /// As what.
    pub(crate) name: String,
    /// The secret that initiators know of us.
    pub(crate) secret: Vec<u8>,
}

/// What logins ask the rest of the server.
pub(crate) trait Gate: Send + Sync {
    /// The target of a name, in lower case, if this initiator may use it. Asked twice where there is an account: before it is
    /// known, when only the initiator's name can be judged, and with it.
    fn target(&self, name: &str, who: &Initiator<'_>) -> Result<Arc<Target>, NoTarget>;

    /// All targets that this initiator may use. `who.account` is as proved, and nobody has been asked to prove anything where
    /// `guests` says so.
    fn targets(&self, who: &Initiator<'_>) -> Vec<Arc<Target>>;

    /// Whether initiators that do not prove who they are get to a target; of none: whether they get the list of targets.
    fn guests(&self, target: Option<&Target>) -> bool;

    /// Who there is.
    fn accounts(&self) -> Arc<dyn Accounts>;

    /// How we prove who we are. Nothing: we cannot.
    fn own_secret(&self) -> Option<OwnSecret>;

    /// Limits and logs logins.
    fn login_guard(&self) -> Arc<LoginGuard>;

    /// Where initiators reach the targets that they see from this place of ours.
    fn portals(&self, local: SocketAddr) -> Vec<SocketAddr> {
        vec![local]
    }

    /// Fills with random bytes, if there are any.
    fn random(&self, bytes: &mut [u8]) -> bool {
        getrandom::fill(bytes).is_ok()
    }
}
