//! Alerts: what a person should know or do, by rules.
//!
//! ```text
//! facts, every 10 s ─► rules ─► conditions ─► raised and cleared once ─► log, webhook, mail, status, console, metrics
//! ```

mod certificate;
mod facts;
mod quiet;
mod raised;
mod rules;
pub(crate) mod sending;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use admin::ToldSettings;
use admin::control::{AlertStatus, DiskHealth, Severity, Status};
use auth::LoginGuard;
use lock::Mutex;
use namespace::Namespace;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;
use vfs::backend::host::as_ourselves;
use vfs::index::Index;

pub(crate) use self::facts::BlockedRequests;
use self::facts::{Clock, DiskFacts, Facts, Gatherer};
pub(crate) use self::quiet::{QuietAlert, QuietTable};
use self::raised::{AlertTable, News};
use self::sending::Sender;
pub(crate) use self::sending::{post, with_retries};
use crate::ranks;
use crate::serve::component::{Component, ResourceCounts};
use crate::serve::current::Current;
use crate::serve::doctor::Doctor;

/// How often the rules look.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// How long a look waits for measurements of disks. It goes on with the last ones otherwise.
const MEASURED_WITHIN: Duration = Duration::from_secs(2);

/// What the rules have seen, for metrics.
#[derive(Debug, Clone, Default)]
pub(crate) struct AlertSnapshot {
    /// The raised alerts, the oldest first.
    pub(crate) alerts: Vec<AlertStatus>,
    /// The facts of the last look.
    pub(crate) facts: Arc<Facts>,
    /// Messages that were sent, and those that could not be sent.
    pub(crate) messages: (u64, u64),
}

/// The alerts of the server.
pub(crate) struct Alerts {
    state: Mutex<AlertState, ranks::RaisedAlerts>,
    sender: Sender,
    logins: Arc<LoginGuard>,
    namespace: Arc<Namespace>,
    doctor: Arc<Doctor>,
    events: web::Events,
    folder: StateFolder,
}

/// The state folder, and what is wrong with what is in it.
pub(crate) struct StateFolder {
    pub(crate) path: PathBuf,
    pub(crate) index: Index,
    /// Why the API is off.
    pub(crate) api_failure: Option<String>,
}

struct AlertState {
    current: Arc<Current>,
    raised: AlertTable,
    quiet: QuietTable,
    facts: Arc<Facts>,
}

/// Seconds since 1970.
pub(crate) fn seconds(now: SystemTime) -> u64 {
    now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl Alerts {
    /// Alerts of a server with this state folder. Needs a tokio runtime.
    pub(crate) fn start(
        current: &Arc<Current>,
        folder: StateFolder,
        (logins, namespace, doctor): (Arc<LoginGuard>, Arc<Namespace>, Arc<Doctor>),
        events: web::Events,
    ) -> Arc<Self> {
        let state = AlertState {
            current: current.clone(),
            raised: AlertTable::default(),
            quiet: as_ourselves(|| QuietTable::read(&folder.path)).unwrap_or_default(),
            facts: Arc::default(),
        };
        let alerts = Arc::new(Self {
            state: Mutex::new(state),
            sender: Sender::start(),
            logins,
            namespace,
            doctor,
            events,
            folder,
        });
        tokio::spawn(look(Arc::downgrade(&alerts)));
        alerts
    }

    /// Judges the facts of one look.
    fn judge(&self, facts: Facts, now: SystemTime) {
        let mut state = self.state.lock();
        let told = state.current.settings.server.told.clone();
        let conditions = rules::conditions(&facts, &told, &state.raised);
        let news = state.raised.update(conditions, now);
        state.facts = Arc::new(facts);
        let before = state.quiet.clone();
        let silenced: Vec<bool> = news.iter().map(|news| state.quiet.silences(news, seconds(now))).collect();
        let changed = (state.quiet != before).then(|| state.quiet.clone());
        drop(state);
        news.iter().zip(silenced).for_each(|(news, is_silenced)| self.tell(news, &told, is_silenced));
        if let Some(quiet) = changed {
            let folder = self.folder.path.clone();
            tokio::task::spawn_blocking(move || keep(&quiet, &folder));
        }
    }

    /// The raised alerts, and those that are quiet.
    pub(crate) fn table(&self) -> (Vec<AlertStatus>, QuietTable) {
        let state = self.state.lock();
        (state.raised.list(), state.quiet.clone())
    }

    /// The disks and file systems of the machine, as they were seen last.
    pub(crate) fn disks(&self) -> DiskHealth {
        self.state.lock().facts.health.clone()
    }

    /// Makes an alert quiet, for some seconds or until it is over or worse.
    ///
    /// # Errors
    /// There are too many, or that cannot be kept; the text says why.
    pub(crate) fn mute(
        &self,
        (name, about): (&str, &str),
        seconds_long: Option<u64>,
        by: &str,
    ) -> Result<(), String> {
        let now = seconds(SystemTime::now());
        let until = seconds_long.map(|long| now.saturating_add(long));
        let quiet = {
            let mut state = self.state.lock();
            let raised = state.raised.list();
            let severity =
                raised.iter().find(|one| one.name == name && one.about == about).map(|one| one.severity);
            if severity.is_none() && until.is_none() {
                return Err("it is not raised any more".into());
            }
            if !state.quiet.add((name, about), (by, now, until), severity) {
                return Err("too many alerts are quiet already".into());
            }
            state.quiet.clone()
        };
        tracing::info!(by, alert = name, about, "an alert was made quiet");
        self.changed(&quiet)
    }

    /// Sends a test message by each way, once: what was accepted, and what was not.
    pub(crate) async fn test(&self) -> (Vec<String>, Vec<String>) {
        let told = self.state.lock().current.settings.server.told.clone();
        sending::test(&told).await
    }

    /// Tells of an alert again.
    ///
    /// # Errors
    /// It was not quiet, or that cannot be kept; the text says why.
    pub(crate) fn unmute(&self, (name, about): (&str, &str), by: &str) -> Result<(), String> {
        let quiet = {
            let mut state = self.state.lock();
            if !state.quiet.remove(name, about) {
                return Err("it is not quiet".into());
            }
            state.quiet.clone()
        };
        tracing::info!(by, alert = name, about, "an alert is told again");
        self.changed(&quiet)
    }

    fn changed(&self, quiet: &QuietTable) -> Result<(), String> {
        self.events.tell("alert", &serde_json::json!({ "event": "quiet" }));
        quiet.write(&self.folder.path).map_err(|error| format!("it is so until the next start only: {error}"))
    }

    fn tell(&self, news: &News, told: &ToldSettings, is_silenced: bool) {
        let AlertStatus { name, about, severity, since, text } = &news.alert;
        match (news.is_raised, severity) {
            (true, Severity::Critical) => {
                tracing::error!(target: "alert", alert = name, about, "raised: {text}")
            }
            (true, Severity::Warning) => {
                tracing::warn!(target: "alert", alert = name, about, "raised: {text}")
            }
            (false, _) => tracing::info!(target: "alert", alert = name, about, since, "cleared"),
        }
        let event = if news.is_raised { "raised" } else { "cleared" };
        self.events.tell("alert", &serde_json::json!({ "event": event, "alert": news.alert }));
        if !is_silenced {
            self.sender.send(news, told);
        }
    }
}

fn keep(quiet: &QuietTable, folder: &std::path::Path) {
    let kept = as_ourselves(|| quiet.write(folder)).map_err(|error| error.to_string());
    if let Err(error) = kept.and_then(|wrote| wrote.map_err(|error| error.to_string())) {
        tracing::warn!(error, "which alerts are quiet is not kept");
    }
}

impl Component for Alerts {
    fn report(&self, status: &mut Status) {
        let state = self.state.lock();
        status.alerts = state.raised.list();
        status.disks = state.facts.health.clone();
    }

    fn count(&self, held: &mut ResourceCounts) {
        let state = self.state.lock();
        held.seen = AlertSnapshot {
            alerts: state.raised.list(),
            facts: state.facts.clone(),
            messages: self.sender.counts(),
        };
    }

    fn reload(&self, current: &Arc<Current>) -> Vec<String> {
        self.state.lock().current = current.clone();
        Vec::new()
    }
}

/// Looks until the server ends. A measurement that waits for a disk does not hold up the looks.
async fn look(alerts: std::sync::Weak<Alerts>) {
    let mut every = tokio::time::interval(LOOK_EVERY);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut clock, mut gatherer) = (Clock::default(), Gatherer::default());
    let (mut measured, mut measuring) = (DiskFacts::default(), None::<JoinHandle<DiskFacts>>);
    loop {
        every.tick().await;
        let Some(alerts) = alerts.upgrade() else { return };
        let running = measuring.get_or_insert_with(|| {
            let (current, before) = (alerts.state.lock().current.clone(), measured.clone());
            let folder = alerts.folder.path.clone();
            tokio::task::spawn_blocking(move || {
                let again = || before.clone().again(&current.settings, &folder);
                as_ourselves(again).unwrap_or_else(|_| before.clone())
            })
        });
        if let Ok(ended) = tokio::time::timeout(MEASURED_WITHIN, running).await {
            measuring = None;
            measured = ended.unwrap_or(measured); // a panic there was logged
        }
        let mut facts = gatherer.gather(&measured, alerts.logins.log.failed(), clock.look());
        facts.links = facts::links(&alerts.namespace);
        facts.api_failure = alerts.folder.api_failure.clone();
        facts.troubles = alerts.doctor.troubles();
        facts.index_trouble = alerts.folder.index.trouble();
        alerts.judge(facts, SystemTime::now());
    }
}
