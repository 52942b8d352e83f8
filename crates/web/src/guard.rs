//! Who may ask: tokens, and a limit of guesses.

use std::fs::Metadata;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use auth::LoginGuard;
use lock::Mutex;
use vfs::backend::host::as_ourselves;

use crate::ranks;
use crate::tokens::{self, Scope, Token};

/// The account under which guesses of tokens are limited. No account has a colon in its name.
const GUESSED: &str = "api:token";

/// Whether a request may be executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestAdmission {
    /// The name of the token.
    Admitted(String),
    /// The token does not exist.
    Unknown,
    /// The token has other scopes.
    NotPermitted,
    /// There were too many unknown tokens from there.
    TooMany,
}

/// Checks tokens.
pub(crate) struct Guard {
    state: PathBuf,
    logins: Arc<LoginGuard>,
    known: Mutex<TokenCache, ranks::ApiTokens>,
}

/// The tokens of the file as it was.
#[derive(Default)]
struct TokenCache {
    seen: Option<(u64, u64, i64, i64)>,
    tokens: Arc<[Token]>,
}

impl Guard {
    pub(crate) fn new(state: PathBuf, logins: Arc<LoginGuard>) -> Self {
        Self { state, logins, known: Mutex::default() }
    }

    /// The state folder, with the tokens.
    pub(crate) fn state(&self) -> &Path {
        &self.state
    }

    pub(crate) async fn admit(
        self: &Arc<Self>,
        peer: Option<SocketAddr>,
        secret: &str,
        wanted: Scope,
    ) -> RequestAdmission {
        let tokens = {
            let this = self.clone();
            // The thread may have acted as somebody else before, who may not read the file.
            let read = move || as_ourselves(|| this.tokens()).unwrap_or_default();
            tokio::task::spawn_blocking(read).await.unwrap_or_default()
        };
        let place = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.ip());
        match tokens::find(&tokens, secret) {
            Some(token) if token.permits(wanted) => RequestAdmission::Admitted(token.name.clone()),
            Some(_) => RequestAdmission::NotPermitted,
            None => self.guessed(place).await,
        }
    }

    /// A token that does not exist: the answer takes longer each time. A right token is never delayed.
    async fn guessed(&self, place: IpAddr) -> RequestAdmission {
        let Some(attempt) = self.logins.limiter.admit(place, GUESSED, Instant::now()) else {
            return RequestAdmission::TooMany;
        };
        tokio::time::sleep(attempt.wait).await;
        let delay = self.logins.limiter.failed(&attempt, Instant::now());
        tokio::time::sleep(delay).await;
        RequestAdmission::Unknown
    }

    /// The tokens of the file, which is read again when it was changed.
    fn tokens(&self) -> Arc<[Token]> {
        let seen = std::fs::metadata(self.state.join("tokens.toml")).ok().as_ref().map(stamp);
        let mut known = self.known.lock();
        if known.seen != seen {
            match tokens::read(&self.state) {
                Ok(tokens) => *known = TokenCache { seen, tokens: tokens.into() },
                Err(error) => {
                    tracing::error!(%error, "no token is accepted");
                    *known = TokenCache { seen, tokens: Arc::default() };
                }
            }
        }
        known.tokens.clone()
    }
}

fn stamp(found: &Metadata) -> (u64, u64, i64, i64) {
    (found.ino(), found.size(), found.mtime(), found.mtime_nsec())
}
