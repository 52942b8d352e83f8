//! Who uses a unit: the initiator port, and its nexus with a port of the target. Reservations and unit attentions
//! are kept for these.

use std::net::IpAddr;
use std::sync::Arc;

/// The initiator's end of a session, SPC-4 7.6.4.6: a name and the number of the session. It is the
/// same after a reconnection, and is the key of all state that is kept for the initiator.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InitiatorPort {
    /// The iSCSI name, in lower case.
    pub name: Arc<str>,
    /// Chosen by the initiator for each of its sessions.
    pub isid: [u8; 6],
}

/// An I_T nexus: an initiator port and the port of one target, while there is a session between them.
#[derive(Debug)]
pub(crate) struct Nexus {
    /// The initiator.
    pub(crate) initiator: InitiatorPort,
    /// The host from which it logged in.
    pub(crate) host: IpAddr,
    /// The number of the target's port.
    pub(crate) port: u16,
}

impl Nexus {
    /// What registrations know of it.
    pub(crate) fn id(&self) -> ItNexus {
        ItNexus { initiator: self.initiator.clone(), port: self.port }
    }
}

/// An I_T nexus, also without a session. Registrations belong to it (SPC-4 5.13.1).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ItNexus {
    /// The initiator.
    pub(crate) initiator: InitiatorPort,
    /// RELATIVE TARGET PORT IDENTIFIER.
    pub(crate) port: u16,
}
