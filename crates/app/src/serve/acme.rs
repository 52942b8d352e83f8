//! The certificate of the API from an issuer, by ACME (RFC 8555): ordered when the settings want it, and renewed in time.

mod challenges;
mod client;
mod jws;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use admin::settings::AcmeSettings;
use anyhow::ensure;
use lock::Mutex;
use tokio::sync::{Semaphore, watch};
use vfs::backend::host::as_ourselves;
use web::LiveCertificate;

use self::client::IssuedCertificate;
use self::jws::AccountKey;
use crate::ranks;
use crate::serve::running::Running;

/// How often the settings and the certificate are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// The pause after a failure; each further one doubles it. Issuers count failed checks of an hour.
const FIRST_PAUSE: Duration = Duration::from_secs(3600);
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 3600);

/// What gets the certificate.
pub(crate) struct Acme {
    running: Arc<Running>,
    live: OnceLock<Arc<LiveCertificate>>,
    state: Mutex<AcmeState, ranks::AcmeOrders>,
    /// One order at a time.
    ordering: Semaphore,
}

#[derive(Default)]
struct AcmeState {
    /// The last order: when, in seconds since 1970, and why it failed.
    last: Option<(u64, Option<String>)>,
    failures: u32,
    /// Not before. `None`: when it is due.
    next: Option<Instant>,
    /// With which settings.
    tried: Option<AcmeSettings>,
}

/// The last order, for people.
pub(crate) struct AcmeReport {
    pub(crate) names: Vec<String>,
    /// Seconds since 1970.
    pub(crate) last: Option<u64>,
    pub(crate) error: Option<String>,
}

impl Acme {
    pub(crate) fn new(running: Arc<Running>) -> Arc<Self> {
        let (live, state) = (OnceLock::new(), Mutex::default());
        Arc::new(Self { running, live, state, ordering: Semaphore::new(1) })
    }

    /// Keeps this certificate new until told to stop. Needs a tokio runtime.
    pub(crate) fn keep(self: &Arc<Self>, live: Arc<LiveCertificate>, stopping: &watch::Receiver<bool>) {
        let _ = self.live.set(live);
        let (acme, mut stopping) = (self.clone(), stopping.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = acme.look() => {}
                _ = stopping.wait_for(|stop| *stop) => {}
            }
        });
    }

    /// The names that the settings have, and how the last order ended; `None`: no certificate is asked for.
    pub(crate) fn report(&self) -> Option<AcmeReport> {
        let settings = self.settings()?;
        let last = self.state.lock().last.clone();
        let (last, error) = last.map_or((None, None), |(at, error)| (Some(at), error));
        Some(AcmeReport { names: settings.names, last, error })
    }

    fn settings(&self) -> Option<AcmeSettings> {
        self.running.current().settings.server.acme.clone()
    }

    async fn look(&self) {
        loop {
            if let Some(settings) = self.settings()
                && self.may_begin(&settings)
                && self.is_due(&settings).await
            {
                let _ = self.order(&settings).await; // it was logged
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Whether the pause after a failure is over, or the settings are others than then.
    fn may_begin(&self, settings: &AcmeSettings) -> bool {
        let state = self.state.lock();
        state.tried.as_ref() != Some(settings) || state.next.is_none_or(|next| Instant::now() >= next)
    }

    async fn is_due(&self, settings: &AcmeSettings) -> bool {
        let Some(live) = self.live.get().cloned() else { return false };
        let names = settings.names.clone();
        let look = move || {
            let described = as_ourselves(|| live.described()).ok().flatten();
            described.is_none_or(|(has, from, until)| is_due(&has, (from, until), (&names, now())))
        };
        tokio::task::spawn_blocking(look).await.unwrap_or(false)
    }

    /// Orders a certificate and takes it into use.
    ///
    /// # Errors
    /// It is not to be had; the text says why. The one in force stays.
    async fn order(&self, settings: &AcmeSettings) -> Result<(), String> {
        let _one = self.ordering.try_acquire().map_err(|_| "a certificate is ordered already".to_owned())?;
        let done = self.try_order(settings).await.map_err(|error| format!("{error:#}"));
        let mut state = self.state.lock();
        state.last = Some((now(), done.as_ref().err().cloned()));
        state.tried = Some(settings.clone());
        let names = settings.names.join(", ");
        match &done {
            Ok(()) => {
                (state.failures, state.next) = (0, None);
                tracing::info!(names, "the issuer has given a certificate, which is in force");
            }
            Err(error) => {
                let pause = FIRST_PAUSE.saturating_mul(1 << state.failures.min(5)).min(LONGEST_PAUSE);
                state.failures = state.failures.saturating_add(1);
                state.next = Some(Instant::now() + pause);
                tracing::warn!(names, error, "no certificate from the issuer");
            }
        }
        done
    }

    async fn try_order(&self, settings: &AcmeSettings) -> anyhow::Result<()> {
        let live =
            self.live.get().cloned().ok_or_else(|| anyhow::anyhow!("the API is served without TLS"))?;
        let state: PathBuf = self.running.current().settings.server.state.clone();
        let folder = state.clone();
        let key = blocking(move || AccountKey::of(&folder)).await??;
        let IssuedCertificate { chain, key } = client::issued(settings, key).await?;
        let put = move || live.replace(&state, &chain, &key).map_err(anyhow::Error::msg);
        blocking(put).await??;
        // Otherwise the next look would order again at once, and so on until the issuer refuses all.
        ensure!(
            !self.is_due(settings).await,
            "the issuer has given a certificate that has to be renewed at once: it lacks a name, or the clock of this machine is wrong"
        );
        Ok(())
    }

    /// Orders a certificate now, for a person.
    ///
    /// # Errors
    /// The settings want none, or it is not to be had; the lines say why.
    pub(crate) fn order_now(&self, by: &str) -> Result<Vec<String>, Vec<String>> {
        let settings = self
            .settings()
            .ok_or_else(|| vec!["`acme-names` is not set: no certificate is asked for".to_owned()])?;
        tracing::info!(by, "a certificate is ordered");
        match tokio::runtime::Handle::current().block_on(self.order(&settings)) {
            Ok(()) => {
                Ok(vec!["The issuer has given a certificate. It is in force, for new connections.".into()])
            }
            Err(error) => Err(vec![error]),
        }
    }
}

/// Does something with the state folder on a thread that may block, and that may have acted as somebody else before.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> anyhow::Result<T> {
    let done = tokio::task::spawn_blocking(move || as_ourselves(work)).await?;
    done.map_err(|error| anyhow::anyhow!("{error}"))
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Whether a certificate of these names and this time has to be replaced: it lacks a name, or less than a third of its time is left.
fn is_due(has: &[String], (from, until): (u64, u64), (names, now): (&[String], u64)) -> bool {
    let lacks = names.iter().any(|name| !has.iter().any(|known| known.eq_ignore_ascii_case(name)));
    lacks || until.saturating_sub(now) < until.saturating_sub(from) / 3
}

#[cfg(test)]
mod tests;
