//! The administration of a running server over HTTP: the API `/v1` and the metrics.
//!
//! The surface is small on purpose: before a request has shown a token, nothing of it is kept but its headers, and its
//! answer does not depend on what the server has. Connections, their headers, bodies and times have limits.

mod api;
mod guard;
mod metrics;
mod openapi;
mod serve;
mod tls;
pub mod tokens;

use std::path::PathBuf;
use std::sync::Arc;

use admin::control::Report;
use auth::LoginGuard;

pub use self::metrics::{Figures, Gauge, Labelled, Meaning, Metrics};
pub use self::serve::serve;
pub use self::tls::{Certificate, own as own_certificate};
pub use self::tokens::Scope;

/// What the requests of the API need.
#[derive(Clone)]
pub struct Api {
    report: Arc<dyn Report>,
    metrics: Metrics,
    figures: Arc<dyn Fn() -> Figures + Send + Sync>,
    guard: Arc<guard::Guard>,
}

impl Api {
    /// An API with the tokens of this state folder. `figures` is called for each scrape, on a thread that may block.
    #[must_use]
    pub fn new(
        state: PathBuf,
        report: Arc<dyn Report>,
        (metrics, figures): (Metrics, Arc<dyn Fn() -> Figures + Send + Sync>),
        logins: Arc<LoginGuard>,
    ) -> Self {
        Self { report, metrics, figures, guard: Arc::new(guard::Guard::new(state, logins)) }
    }
}
