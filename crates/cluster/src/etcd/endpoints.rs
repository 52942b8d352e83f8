//! The address of etcd, and how a server authenticates to it.

use std::fmt;

use tokio_rustls::TlsConnector;

/// The members of etcd, and how to connect to them.
#[derive(Clone)]
pub struct Endpoints {
    /// Each as `host:port`: one at least.
    pub members: Vec<String>,
    /// With the certificate of this server. `None`: connections are in clear.
    pub tls: Option<TlsConnector>,
    /// For an etcd with authentication by password.
    pub login: Option<EtcdLogin>,
}

/// A user of etcd.
#[derive(Clone)]
pub struct EtcdLogin {
    /// The name.
    pub user: String,
    /// The password.
    pub password: String,
}

impl fmt::Debug for Endpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tls, user) = (self.tls.is_some(), self.login.as_ref().map(|login| &login.user));
        f.debug_struct("Endpoints")
            .field("members", &self.members)
            .field("tls", &tls)
            .field("user", &user)
            .finish()
    }
}
