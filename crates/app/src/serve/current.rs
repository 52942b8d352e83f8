//! The state of a running server that a reload replaces.

use std::sync::Arc;

use admin::Settings;
use auth::Directory;
use domain::Logons;
use kerberos::Acceptor;

/// The state in force. A reload replaces the whole value, so that no reader sees a mixture.
pub(crate) struct Current {
    pub(crate) settings: Settings,
    pub(crate) accounts: Directory,
    /// What takes Kerberos tickets, if there is a keytab.
    pub(crate) kerberos: Option<Arc<Acceptor>>,
    /// What asks a domain controller about passwords, if it does that.
    pub(crate) logons: Option<Arc<Logons>>,
}
