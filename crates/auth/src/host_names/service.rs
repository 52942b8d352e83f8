//! The name service of the host: `/etc/hosts`, DNS, and whatever else nsswitch.conf(5) has.

use std::net::{IpAddr, SocketAddr};

use dns_lookup::{AddrInfoHints, LookupError, LookupErrorKind, SockType};

/// Looks up hosts. Calls may block for many seconds.
pub trait HostNameService: Send + Sync {
    /// The addresses of a name.
    ///
    /// # Errors
    /// The look-up failed, or there is no such name.
    fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, LookupFailure>;

    /// The name of an address, as the owner of the address claims it.
    ///
    /// # Errors
    /// The look-up failed, or the address has no name.
    fn name(&self, address: IpAddr) -> Result<String, LookupFailure>;
}

/// Why a look-up has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupFailure {
    /// The name service says that there is none.
    #[error("there is no such name")]
    NoSuchName,
    /// The name of the address does not lead back to it.
    #[error("the address claims the name {0:?}, which does not lead back to it")]
    Unconfirmed(String),
    /// It said nothing, or an error.
    #[error("the name service failed: {0}")]
    Failed(String),
}

/// The name service of this machine.
#[derive(Debug, Default)]
pub struct SystemNames;

/// `NI_NAMEREQD`: no name is an error, RFC 3493 6.2. The number is that of Linux.
const NAME_REQUIRED: i32 = 8;

impl HostNameService for SystemNames {
    fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, LookupFailure> {
        let hints = AddrInfoHints { socktype: SockType::Stream.into(), ..AddrInfoHints::default() };
        let found = dns_lookup::getaddrinfo(Some(name), None, Some(hints)).map_err(|e| failure(&e))?;
        found
            .map(|one| one.map(|one| one.sockaddr.ip()))
            .collect::<Result<_, _>>()
            .map_err(|error| LookupFailure::Failed(error.to_string()))
    }

    fn name(&self, address: IpAddr) -> Result<String, LookupFailure> {
        let found = dns_lookup::getnameinfo(&SocketAddr::new(address, 0), NAME_REQUIRED);
        found.map(|(name, _)| name).map_err(|error| failure(&error))
    }
}

fn failure(error: &LookupError) -> LookupFailure {
    match error.kind() {
        LookupErrorKind::NoName | LookupErrorKind::NoData => LookupFailure::NoSuchName,
        kind => LookupFailure::Failed(format!("{kind:?}")),
    }
}
