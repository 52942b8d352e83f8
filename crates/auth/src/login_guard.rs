//! The state that logins of all protocols share, and the record of a successful login.

use std::sync::Arc;
use std::time::Instant;

use lock::Mutex;

use crate::login_limiter::LoginLimiter;
use crate::login_log::{Event, Login, LoginLog};
use crate::ranks;

/// Shared by all protocols of a server. It survives changes of the settings.
#[derive(Default)]
pub struct LoginGuard {
    /// Limits guesses.
    pub limiter: LoginLimiter,
    /// Writes a line for each login.
    pub log: LoginLog,
}

impl LoginGuard {
    /// A guard whose log is kept in memory, and the lines of the log: for tests.
    #[must_use]
    pub fn keeping_lines() -> (Arc<Self>, Lines) {
        let lines = Lines::default();
        let kept = lines.clone();
        let log = LoginLog::to(move |line| kept.0.lock().push(line.to_string()));
        (Arc::new(Self { limiter: LoginLimiter::default(), log }), lines)
    }
}

/// The lines of a log that is kept in memory.
#[derive(Debug, Clone, Default)]
pub struct Lines(Arc<Mutex<Vec<String>, ranks::KeptLines>>);

impl Lines {
    /// The lines since the last call.
    #[must_use]
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock())
    }
}

/// A user's session. Its drop logs the session's end.
pub struct LoginRecord {
    guard: Arc<LoginGuard>,
    protocol: &'static str,
    peer: std::net::SocketAddr,
    user: String,
    method: &'static str,
    since: Instant,
}

impl LoginRecord {
    /// Logs a successful login; `to` names the identity or the target.
    #[must_use]
    pub fn begin(guard: &Arc<LoginGuard>, login: &Login<'_>, to: &str, now: Instant) -> Self {
        guard.log.tell(login, Event::Accepted(to), now);
        let Login { protocol, peer, user, method } = *login;
        Self { guard: guard.clone(), protocol, peer, user: user.to_owned(), method, since: now }
    }
}

impl Drop for LoginRecord {
    fn drop(&mut self) {
        let Self { protocol, peer, user, method, .. } = &*self;
        let login = Login { protocol, peer: *peer, user, method };
        let now = Instant::now();
        let after = now.saturating_duration_since(self.since);
        self.guard.log.tell(&login, Event::Ended { to: "", after: Some(after) }, now);
    }
}
