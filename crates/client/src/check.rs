//! Whether a place on a server can be used: what health checks ask.

use std::time::Duration;

use crate::{Connector, Reach, Result, Target};

/// Logs in, and lists the first entries of the folder. Each answer may take so long.
///
/// # Errors
/// The server cannot be reached, refuses the login, or does not let the account see the folder.
pub fn visit(target: &Target, timeout: Duration) -> Result<()> {
    connector(target, timeout).connect(0)?.glance()
}

/// Connects, and lets the server answer, without a login.
///
/// # Errors
/// The server cannot be reached, or does not answer.
pub fn greet(target: &Target, timeout: Duration) -> Result<()> {
    connector(target, timeout).greet()
}

fn connector(target: &Target, timeout: Duration) -> Connector {
    Connector::new(target.clone(), Reach::direct(timeout), 1, 0)
}
