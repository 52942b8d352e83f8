//! What logins of all protocols share, and the record of one that is in.

use std::sync::Arc;
use std::time::Instant;

use lock::{Mutex, rank};

use crate::login_limiter::LoginLimiter;
use crate::login_log::{Event, Login, LoginLog};

/// One for all protocols of a server, and for all its settings over time.
#[derive(Default)]
pub struct LoginGuard {
    /// Limits guessing.
    pub limiter: LoginLimiter,
    /// Writes a line for each login.
    pub log: LoginLog,
}

impl LoginGuard {
    /// One whose log is kept in memory, and its lines: for tests.
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
pub struct Lines(Arc<Mutex<Vec<String>, rank::KeptLines>>);

impl Lines {
    /// Those since the last call.
    #[must_use]
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock())
    }
}

/// Somebody who is logged in. Dropping it writes the line that the session is over.
pub struct LoginRecord {
    guard: Arc<LoginGuard>,
    protocol: &'static str,
    peer: std::net::SocketAddr,
    user: String,
    method: &'static str,
    since: Instant,
}

impl LoginRecord {
    /// Writes that somebody is logged in; as what or to what is said by `to`.
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
