//! The administration of a running server over HTTP: the API `/v1`, the metrics, and the console, which is a page that
//! uses the API.
//!
//! The surface is small on purpose: before a request has shown a token or a session, nothing of it is kept but its headers
//! (and 4 KiB of a login), and its answer does not depend on what the server has. Connections, their headers, bodies and times have limits.

pub mod access;
pub mod accounts;
mod admitted;
pub mod alerts;
mod answer;
mod api;
mod assets;
pub mod author;
pub mod backups;
pub mod browsing;
mod certificate;
mod code;
mod console;
mod door;
mod events;
pub mod files;
mod find;
pub mod groups;
mod guard;
mod history;
pub mod jobs;
mod log_lines;
mod login;
mod logins;
mod luns;
pub mod manage;
mod metrics;
mod negotiate;
mod openapi;
mod ranks;
mod redirect;
pub mod rights;
mod same_site;
mod second_factor;
mod serve;
pub mod server;
pub mod shares;
mod sign_ins;
mod slowest;
mod snapshots;
pub mod store;
mod streams;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tls;
pub mod tokens;
pub mod watching;
pub mod webhooks;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use admin::control::Report;
use auth::LoginGuard;
use auth::second_factor::SecondFactors;
use tokio::sync::Semaphore;

pub use self::certificate::{IssuerStatus, LiveCertificate};
pub use self::events::Events;
pub use self::jobs::{JobHandle, Jobs, NewJob};
pub use self::log_lines::{LogEvent, LogLines};
pub use self::manage::Manage;
pub use self::metrics::{Figures, Gauge, LabelledValue, Meaning, Metrics};
pub use self::serve::serve;
pub use self::tls::{Certificate, check as check_certificate, of_rpc as tls_of_rpc, own as own_certificate};
pub use self::tokens::Scope;

/// What the requests of the API need.
#[derive(Clone)]
pub struct Api {
    report: Arc<dyn Report>,
    metrics: Metrics,
    figures: Arc<dyn Fn() -> Figures + Send + Sync>,
    guard: Arc<guard::Guard>,
    manage: Arc<dyn Manage>,
    events: Events,
    jobs: Jobs,
    /// For listeners to changes in folders.
    places: watching::Places,
    log: LogLines,
    slowest: Arc<slowest::Slowest>,
    history: Arc<history::History>,
    logins: Arc<logins::Logins>,
    factors: Arc<SecondFactors>,
    login_guard: Arc<LoginGuard>,
    /// Passwords are checked one at a time: a check without an NT hash takes 19 MiB.
    verifying: Arc<Semaphore>,
    /// Files that are sent and received at the same time.
    transfers: Arc<Semaphore>,
    /// The certificate in force, with TLS.
    certificate: Option<Arc<certificate::LiveCertificate>>,
    /// Connections are encrypted.
    is_secure: bool,
}

impl Api {
    /// An API with the tokens of this state folder. `figures` is called for each scrape, on a thread that may block.
    #[must_use]
    pub fn new(
        state: PathBuf,
        (report, manage): (Arc<dyn Report>, Arc<dyn Manage>),
        (metrics, figures): (Metrics, Arc<dyn Fn() -> Figures + Send + Sync>),
        login_guard: Arc<LoginGuard>,
        (events, log): (Events, LogLines),
    ) -> Self {
        Self {
            report,
            metrics,
            figures,
            factors: Arc::new(SecondFactors::new(state.clone())),
            guard: Arc::new(guard::Guard::new(state, login_guard.clone())),
            manage,
            jobs: Jobs::new(events.clone()),
            places: watching::Places::default(),
            events,
            log,
            slowest: Arc::default(),
            history: Arc::default(),
            logins: Arc::default(),
            login_guard,
            verifying: Arc::new(Semaphore::new(1)),
            transfers: Arc::new(Semaphore::new(store::MOST_TRANSFERS)),
            certificate: None,
            is_secure: false,
        }
    }
}
