//! What the console administers of a running server: see [`web::Manage`].

mod access;
mod accounts;
mod backups;
mod browsing;
mod change;
mod desk;
mod files;
mod folders;
mod forecast;
mod groups;
mod hooks;
mod jobs;
mod rights;
mod server;
mod shares;
mod snapshots;
mod store;
mod watching;

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, OnceLock};

use admin::ShareSettings;
use admin::control::{
    Advice, AdviceRequest, BackupStatus, CachesAnswer, CachesRequest, PersonAnswer, Report, RightsRequest,
    RightsStatus,
};
use admin::settings::units::format_size;
use auth::kerberos::Kerberos;
use auth::{Account, Accounts, Refusal};
use vfs::backend::host::as_ourselves;
use web::access::{Entrant, GroupStatus};
use web::accounts::AccountChange;
use web::author::{Author, ChangeResult};
use web::backups::PolicyChange;
use web::files::{FileStatus, FolderStatus, Part};
use web::groups::GroupChange;
use web::jobs::{BenchmarkStatus, ConversionStatus, JobRequest, NewJob};
use web::manage::{
    AccountStatus, Holdings, Level, Note, Overview, SettingChange, SettingsStatus, SnapshotsStatus,
    SpaceStatus,
};
use web::shares::{HostFolders, NewShare, ShareChange};
use web::watching::FolderWatch;
use web::webhooks::{NewWebhook, WebhookStatus};
use web::{Events, LiveCertificate, Manage};

use crate::commands::advise;
use crate::commands::dataset::space;
use crate::host::{here, memory};
use crate::people::{logons, tickets};
use crate::serve::acme::Acme;
use crate::serve::alerts::Alerts;
use crate::serve::component::Component;
use crate::serve::current::Current;
use crate::serve::running::Running;
use crate::shares::quotas;

/// A disk with less than `alert-space` free is a warning, and with less than this part a problem.
const ALMOST_NONE: f64 = 0.01;

/// Tells the console of changes, and reads its certificate again.
#[derive(Default)]
pub(crate) struct ConsoleNotifier {
    pub(crate) events: Events,
    /// Set while the API is served with TLS.
    certificate: OnceLock<Arc<LiveCertificate>>,
}

impl ConsoleNotifier {
    /// From now on a reload reads this certificate again.
    pub(crate) fn served_with(&self, certificate: Arc<LiveCertificate>) {
        let _ = self.certificate.set(certificate); // the API is served once
    }
}

impl Component for ConsoleNotifier {
    fn reload(&self, _: &Arc<Current>) -> Vec<String> {
        self.events.tell("settings", &());
        let read = self.certificate.get().map(|certificate| certificate.again());
        let failed = read.and_then(Result::err);
        failed.map(|why| format!("the certificate of the API stays as it was: {why}")).into_iter().collect()
    }

    fn snapshots_changed(&self) {
        self.events.tell("snapshots", &());
    }
}

/// The server, as the console administers it.
pub(crate) struct Console {
    running: Arc<Running>,
    alerts: Arc<Alerts>,
    acme: Arc<Acme>,
    changes: change::Changes,
    forecast: forecast::Forecast,
    hooks: hooks::Hooks,
}

impl Console {
    pub(crate) fn new(running: Arc<Running>, alerts: Arc<Alerts>, acme: Arc<Acme>) -> Self {
        let state = running.current().settings.server.state.clone();
        let forecast = as_ourselves(|| forecast::Forecast::of(&state)).unwrap_or_default();
        let (changes, hooks) = (change::Changes::default(), hooks::Hooks::default());
        Self { running, alerts, acme, changes, forecast, hooks }
    }

    /// Takes samples of the space for the forecast, until the console is dropped; sends what webhooks are to be told. Needs a
    /// tokio runtime.
    pub(crate) fn start(self: &Arc<Self>) {
        self.hooks.start(&self.running);
        let console = Arc::downgrade(self);
        tokio::spawn(async move {
            let mut every = tokio::time::interval(std::time::Duration::from_secs(forecast::EVERY));
            loop {
                every.tick().await;
                let Some(console) = console.upgrade() else { return };
                let work = move || {
                    let current = console.running.current();
                    let take = || console.forecast.sample(&spaces(&current), &current.settings.server.state);
                    as_ourselves(take).and_then(|()| as_ourselves(|| store::bin::empty(&console)))
                };
                let _ = tokio::task::spawn_blocking(work).await; // a panic there was logged
            }
        });
    }

    /// The lines of an error, for an operation as the server itself.
    fn as_server<T, E: From<Vec<String>>>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        as_ourselves(work).map_err(|error| vec![error.to_string()])?
    }
}

impl Manage for Console {
    fn verify(&self, name: &str, password: &str) -> Result<Account, Refusal> {
        logons::verify(&self.running.current(), name, password)
    }

    fn administrator(&self, name: &str) -> Option<Account> {
        let current = self.running.current();
        let account = current.accounts.find(name)?;
        (!account.disabled && current.accounts.is_admin(name)).then_some(account)
    }

    fn kerberos(&self) -> Option<Arc<dyn Kerberos>> {
        tickets::kerberos(&self.running.current())
    }

    fn may_administer(&self, name: &str) -> bool {
        self.running.current().accounts.is_admin(name)
    }

    fn change_account(&self, change: &AccountChange) -> Result<Vec<String>, Vec<String>> {
        self.as_server(|| accounts::change(&self.running, &self.changes, change))
    }

    fn change_group(&self, change: &GroupChange) -> Result<Vec<String>, Vec<String>> {
        self.as_server(|| groups::change(&self.running, change))
    }

    fn overview(&self) -> Overview {
        let current = self.running.current();
        let mut shares = as_ourselves(|| spaces(&current)).unwrap_or_default();
        self.forecast.judge(&mut shares);
        let part = match self.running.caches(CachesRequest::Show) {
            Ok(CachesAnswer::Shown(status)) => status.part,
            _ => 1.0,
        };
        Overview {
            name: here::server_name(&current.settings.server),
            version: env!("CARGO_PKG_VERSION").into(),
            uptime_s: self.running.uptime().as_secs(),
            notes: desk::with_alerts(notes(&current, &shares, part), &self.alerts),
            holdings: self.holdings(),
            shares,
            memory: memory::resident(),
        }
    }

    fn holdings(&self) -> Holdings {
        let held = self.running.held();
        let connections =
            held.connections.iter().map(|(protocol, count)| ((*protocol).to_owned(), *count)).collect();
        Holdings { connections, opens: held.opens, locks: held.locks, leases: held.leases }
    }

    fn accounts(&self) -> Vec<AccountStatus> {
        as_ourselves(|| accounts::all(&self.running.current())).unwrap_or_default()
    }

    fn groups(&self) -> Vec<GroupStatus> {
        access::groups(&self.running)
    }

    fn access(&self, share: &str) -> Result<Vec<Entrant>, Vec<String>> {
        self.as_server(|| access::entrants(&self.running, share))
    }

    fn rights(&self, share: &str, path: &[u8]) -> Result<RightsStatus, Vec<String>> {
        self.as_server(|| rights::status(&self.running, share, path))
    }

    fn rights_of(&self, person: &str, share: &str, path: &[u8]) -> Result<PersonAnswer, Vec<String>> {
        self.as_server(|| rights::of_person(&self.running, person, share, path))
    }

    fn rights_job(&self, request: RightsRequest) -> Result<NewJob, Vec<String>> {
        self.as_server(|| rights::job(&self.running, request))
    }

    fn settings(&self) -> Result<SettingsStatus, Vec<String>> {
        self.as_server(|| change::status(&self.running, &self.changes))
    }

    fn change(&self, change: &SettingChange) -> ChangeResult {
        self.as_server(|| change::make(&self.running, &self.changes, change))
    }

    fn undo(&self, by: &Author) -> ChangeResult {
        self.as_server(|| change::undo(&self.running, &self.changes, by))
    }

    fn share(&self, new: &NewShare, by: &Author) -> ChangeResult {
        self.as_server(|| shares::share(&self.running, &self.changes, new, by))
    }

    fn change_share(&self, change: &ShareChange, by: &Author) -> ChangeResult {
        self.as_server(|| shares::change(&self.running, &self.changes, change, by))
    }

    fn host_folders(&self, path: Option<&str>) -> Result<HostFolders, Vec<String>> {
        self.as_server(|| folders::list(&self.running, path))
    }

    fn unshare(&self, name: &str, recursive: bool, by: &Author) -> ChangeResult {
        self.as_server(|| shares::unshare(&self.running, &self.changes, (name, recursive), by))
    }

    fn rename_share(&self, name: &str, new: &str, by: &Author) -> ChangeResult {
        self.as_server(|| shares::rename(&self.running, &self.changes, (name, new), by))
    }

    fn job(&self, request: JobRequest) -> Result<NewJob, Vec<String>> {
        self.as_server(|| jobs::job(&self.running, request))
    }

    fn conversions(&self) -> Result<Vec<ConversionStatus>, Vec<String>> {
        self.as_server(|| Ok(jobs::conversions_kept(&self.running)))
    }

    fn benchmarks(&self) -> Result<Vec<BenchmarkStatus>, Vec<String>> {
        self.as_server(|| Ok(jobs::kept(&self.running)))
    }

    fn benchmark(&self, name: &str) -> Result<String, Vec<String>> {
        self.as_server(|| jobs::report(&self.running, name))
    }

    fn compare(&self, before: &str, after: &str) -> Result<Vec<String>, Vec<String>> {
        self.as_server(|| jobs::compare(&self.running, before, after))
    }

    fn advice(&self, floor: Option<&str>, benchmark: Option<&str>) -> Result<Vec<Advice>, Vec<String>> {
        let text = floor.unwrap_or(advise::USUAL_FLOOR);
        let floor = advise::floor(text).map_err(|error| vec![format!("`{text}` {error}")])?;
        let curves = match benchmark {
            Some(name) => self.as_server(|| jobs::curves(&self.running, name))?,
            None => Vec::new(),
        };
        advise::answer(&self.running, AdviceRequest { floor, curves })
    }

    fn folder(&self, share: &str, path: &[u8], part: &Part) -> Result<FolderStatus, Vec<String>> {
        self.as_server(|| files::folder(&self.running, share, path, part))
    }

    fn file(&self, share: &str, path: &[u8]) -> Result<FileStatus, Vec<String>> {
        self.as_server(|| files::file(&self.running, share, path))
    }

    fn watch(&self, folder: &str, below: bool) -> Result<FolderWatch, Vec<String>> {
        self.as_server(|| watching::watch(&self.running, folder, below))
    }

    fn webhooks(&self) -> Vec<WebhookStatus> {
        self.hooks.list()
    }

    fn add_webhook(&self, new: NewWebhook) -> Result<WebhookStatus, Vec<String>> {
        self.as_server(|| self.hooks.add(&self.running, new))
    }

    fn remove_webhook(&self, id: u64) -> Result<Vec<String>, Vec<String>> {
        self.as_server(|| self.hooks.remove(&self.running, id))
    }

    fn test_webhook(&self, id: u64) -> Result<Vec<String>, Vec<String>> {
        self.hooks.test(id)
    }

    fn backups(&self) -> Result<Vec<BackupStatus>, Vec<String>> {
        self.as_server(|| backups::status(&self.running))
    }

    fn change_backup_policy(&self, change: &PolicyChange, by: &Author) -> ChangeResult {
        self.as_server(|| backups::change(&self.running, &self.changes, change, by))
    }

    fn snapshots(&self, share: Option<&str>) -> Result<SnapshotsStatus, Vec<String>> {
        self.as_server(|| snapshots::status(&self.running, share))
    }

    fn take_snapshot(&self, share: &str, name: Option<&str>) -> Result<Vec<String>, Vec<String>> {
        self.as_server(|| snapshots::take(&self.running, share, name))
    }

    fn remove_snapshot(&self, share: &str, name: &str) -> Result<Vec<String>, Vec<String>> {
        self.as_server(|| snapshots::remove(&self.running, share, name))
    }

    fn rename_snapshot(&self, share: &str, name: &str, new: &str) -> Result<Vec<String>, Vec<String>> {
        self.as_server(|| snapshots::rename(&self.running, share, name, new))
    }

    fn hold_snapshot(&self, share: &str, name: &str, tag: &str) -> Result<Vec<String>, Vec<String>> {
        self.as_server(|| snapshots::hold(&self.running, share, name, (tag, true)))
    }

    fn release_snapshot(&self, share: &str, name: &str, tag: &str) -> Result<Vec<String>, Vec<String>> {
        self.as_server(|| snapshots::hold(&self.running, share, name, (tag, false)))
    }
}

/// The space of each share that is served.
fn spaces(current: &Current) -> Vec<SpaceStatus> {
    let shares = &current.settings.shares;
    let sums = match shares.iter().any(|share| share.quota.is_some()) {
        true => quotas::sums(&current.settings.server.state),
        false => BTreeMap::new(),
    };
    let of_share = |share: &ShareSettings| {
        let (mut available, size) = space(&share.path).ok().unzip();
        if let (Some(quota), Some(sum)) = (share.quota, sums.get(&share.path)) {
            available = available.map(|bytes: u64| bytes.min(quota.saturating_sub(sum.used)));
        }
        SpaceStatus {
            share: share.name.clone(),
            path: share.path.clone(),
            size,
            available,
            quota: share.quota,
            disk: std::fs::metadata(&share.path).ok().map(|found| found.dev()),
            growth_per_day: None,
            full_in_s: None,
        }
    };
    shares.iter().map(of_share).collect()
}

/// What needs attention, the most important first. `part`: what of the limits of the caches applies.
fn notes(current: &Current, spaces: &[SpaceStatus], part: f64) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut note = |level, text: String, hint: &str| {
        notes.push(Note { level, text, hint: hint.to_owned(), alert: None, quiet: false });
    };
    for share in &current.settings.absent {
        let why = share.absence.as_ref().map(|absence| absence.why.as_str()).unwrap_or_default();
        let text = format!("The share {} is not served: {why}", share.name);
        note(Level::Problem, text, "It comes back by itself when its folder does.");
    }
    let little = current.settings.server.told.space as f64 / 100.0;
    let mut told = Vec::new();
    for space in spaces {
        let (Some(size), Some(available)) = (space.size.filter(|size| *size > 0), space.available) else {
            continue;
        };
        let size = space.quota.map_or(size, |quota| quota.min(size)).max(1);
        let free = available as f64 / size as f64;
        let is_new = space.quota.is_some() || !told.contains(&space.disk);
        if free >= little || !is_new {
            continue;
        }
        told.push(space.disk);
        let level = if free < ALMOST_NONE { Level::Problem } else { Level::Warning };
        let text = format!("{} has {} free", space.share, format_size(available));
        note(level, text, "Remove files or snapshots, or give the share more space.");
    }
    if part < 1.0 {
        let text =
            format!("Memory is short: the caches have given way to {:.0} % of their limits", part * 100.0);
        note(Level::Warning, text, "Other programs take the memory, or `cache-memory` is too high.");
    }
    if current.settings.shares.is_empty() {
        let text = "No folder is shared".to_owned();
        note(Level::Hint, text, "`fourfold create NAME --path DIR` on the server shares one.");
    }
    notes.sort_by_key(|note| note.level);
    notes
}

#[cfg(test)]
mod tests {
    use admin::{Arguments, Settings};

    use super::*;

    #[test]
    fn notes_tell_what_is_not_served_and_what_is_full_once_for_each_disk() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("here")).unwrap();
        let text = "[[share]]\nname = \"here\"\npath = \"here\"\n\
                    [[share]]\nname = \"gone\"\npath = \"gone\"\nmust-be-mounted = true\n";
        std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
        let settings = Settings::load(&Arguments::new(false, folder.path().into())).unwrap();
        let accounts = crate::people::accounts::read(folder.path(), &settings).unwrap();
        let current = Current { settings, accounts, kerberos: None, logons: None };
        let space = |share: &str, available, disk, quota| SpaceStatus {
            share: share.into(),
            size: Some(1_000_000),
            available: Some(available),
            disk: Some(disk),
            quota,
            ..SpaceStatus::default()
        };
        let spaces = [
            space("a", 40_000, 1, None),
            space("b", 40_000, 1, None),
            space("c", 900_000, 2, None),
            space("d", 500, 3, Some(100_000)),
        ];
        let notes = notes(&current, &spaces, 0.5);
        let told: Vec<(Level, &str)> = notes.iter().map(|note| (note.level, note.text.as_str())).collect();
        assert_eq!(told.len(), 4, "{told:?}");
        assert!(told[0].0 == Level::Problem && told[0].1.starts_with("The share gone is not served: "));
        assert!(told[1].0 == Level::Problem && told[1].1.starts_with("d has "), "{told:?}");
        assert!(told[2].0 == Level::Warning && told[2].1.starts_with("a has "), "{told:?}");
        assert!(told[3].1.contains("50 %"), "{told:?}");
        let mut current = current;
        current.settings.server.told.space = 0;
        assert_eq!(super::notes(&current, &spaces, 1.0).len(), 1, "no note about space, as the setting says");
    }
}
