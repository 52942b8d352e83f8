use std::sync::Arc;

use auth::{Accounts, LoginGuard};

use super::target::Target;

/// What the server is told. Replaced as a whole by a reload.
pub struct Config {
    /// What can be logged in to.
    pub targets: Vec<Arc<Target>>,
    /// Who may log in.
    pub accounts: Arc<dyn Accounts>,
    /// The name and the secret by which the server proves itself to initiators that ask.
    pub own_secret: Option<(String, Vec<u8>)>,
    /// Limits and logs logins secrets, over all protocols.
    pub login_guard: Arc<LoginGuard>,
}
