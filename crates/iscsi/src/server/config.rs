use std::sync::Arc;

use auth::{Accounts, LoginGuard};

use super::paths::Paths;
use super::target::Target;

/// The settings of the server. A reload replaces the whole value.
pub struct TargetConfig {
    /// The targets that initiators can log in to.
    pub targets: Vec<Arc<Target>>,
    /// The accounts of the initiators.
    pub accounts: Arc<dyn Accounts>,
    /// The name and the secret by which the server authenticates itself to initiators that ask.
    pub own_secret: Option<(String, Vec<u8>)>,
    /// Limits and logs logins with secrets, over all protocols.
    pub login_guard: Arc<LoginGuard>,
    /// The ports of the targets in a cluster; `None`: the server is alone.
    pub paths: Option<Arc<dyn Paths>>,
}
