//! The operator's interface of a running server: its status, and the reload of its settings.

pub(crate) mod browsing;
mod closing;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use admin::control::{
    AbsentShareStatus, BackupsAnswer, BackupsRequest, BrowseAnswer, BrowseRequest, CachesAnswer,
    CachesRequest, Disconnect, FindAnswer, FindRequest, ListenerStatus, LunAnswer, LunRequest, LunStatus,
    Progress, Report, RestoreReport, RestoreRequest, RightsAnswer, RightsRequest, Schedules, ScrubReport,
    ScrubRequest, ShareMounts, ShareStatus, SlowOperation, StartedWith, Status, StreamsAnswer,
    StreamsRequest,
};
use admin::recipe::{self, Reachable};
use admin::{Arguments, Settings, ShareSettings};
use auth::AccountFile;
use lock::{Mutex, RwLock};

use vfs::Volume;
use vfs::backend::host::as_ourselves;

use crate::commands::advise;
use crate::commands::caches::CachesView;
use crate::fronts::{Front, Fronts};
use crate::host::host_names;
use crate::people::{accounts, groups, host_accounts, logons, tickets};
use crate::ranks;
use crate::serve::backups;
use crate::serve::component::{Component, InCommon, ResourceCounts};
use crate::serve::current::Current;
use crate::serve::slow::Slow;
use crate::serve::streams::StreamsDesk;
use crate::shares::availability::{self, Mounts};
use crate::shares::backups::Backups;
use crate::shares::searching::{self, Asker};
use crate::shares::stores;
use crate::shares::volumes::Volumes;

/// Shares whose commands are shown to a client.
const MOST_COMMANDS: usize = 8;

/// What a server consists of.
pub(crate) struct Parts {
    /// All that have a status or settings, in the order in which they get new ones.
    pub(crate) components: Vec<Arc<dyn Component>>,
    pub(crate) fronts: Fronts,
    pub(crate) volumes: Arc<Volumes>,
    pub(crate) in_common: Arc<dyn InCommon>,
    pub(crate) caches: Arc<CachesView>,
    pub(crate) slow: Arc<Slow>,
    pub(crate) streams: Arc<StreamsDesk>,
}

/// The server.
pub(crate) struct Running {
    arguments: Arguments,
    state: PathBuf,
    started: Instant,
    current: RwLock<Arc<Current>, ranks::CurrentSettings>,
    listeners: Vec<ListenerStatus>,
    reach: Reachable,
    parts: Parts,
    backups: Arc<Backups>,
    /// One reload at a time.
    reloading: Mutex<(), ranks::Reloading>,
}

impl Running {
    /// A server that is ready: its listeners are open.
    pub(crate) fn new(
        arguments: Arguments,
        state: &Path,
        current: Arc<Current>,
        (listeners, reach): (Vec<ListenerStatus>, Reachable),
        parts: Parts,
    ) -> Self {
        let (started, current) = (Instant::now(), RwLock::new(current));
        let arguments = Arguments { is_running: true, ..arguments };
        Self {
            arguments,
            state: state.into(),
            started,
            current,
            listeners,
            reach,
            parts,
            backups: Backups::new(state),
            reloading: Mutex::new(()),
        }
    }

    /// The state in force.
    pub(crate) fn current(&self) -> Arc<Current> {
        Arc::clone(&self.current.read())
    }

    /// What the settings are read with.
    pub(crate) fn arguments(&self) -> &Arguments {
        &self.arguments
    }

    /// The address of the console for browsers.
    pub(crate) fn console(&self) -> Option<String> {
        crate::serve::api::console(&self.listeners, &self.current().settings.server.api)
    }

    /// The time since the start.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// How much clients hold now.
    pub(crate) fn held(&self) -> ResourceCounts {
        let mut held = ResourceCounts::default();
        self.components().for_each(|part| part.count(&mut held));
        held
    }

    /// The shares with their mount lines.
    pub(crate) fn shares(&self) -> Vec<ShareStatus> {
        recipe::shares(&self.current().settings, self.reach)
    }

    /// The files of a share.
    pub(crate) fn volume(&self, share: &ShareSettings) -> anyhow::Result<Arc<Volume>> {
        self.parts.volumes.open(share, &self.current().settings)
    }

    /// Finds files by the rights of the asker.
    pub(crate) fn search(&self, request: &FindRequest, asker: &Asker<'_>) -> Result<FindAnswer, Vec<String>> {
        let current = self.current();
        match as_ourselves(|| searching::find(&self.parts.volumes, &current, request, asker)) {
            Ok(answer) => answer.map_err(|error| vec![format!("{error:#}")]),
            Err(error) => Err(vec![error.to_string()]),
        }
    }

    /// Begins to keep the indexes that the settings want; returns lines about what failed.
    pub(crate) fn keep_indexes(&self) -> Vec<String> {
        let (volumes, current) = (&self.parts.volumes, self.current());
        as_ourselves(|| volumes.indexes.apply(volumes, &current))
            .unwrap_or_else(|error| vec![error.to_string()])
    }

    /// What is remembered of the backups of Macs.
    pub(crate) fn backups_of_macs(&self) -> &Arc<Backups> {
        &self.backups
    }

    fn components(&self) -> impl Iterator<Item = &dyn Component> {
        self.parts.components.iter().map(|part| &**part)
    }

    /// The commands by which clients come to the protocols that are better for them.
    fn add_commands(&self, status: &mut Status) {
        let mut changes = status.doctor.protocols.iter_mut().filter(|advice| advice.is_change()).peekable();
        if changes.peek().is_none() {
            return;
        }
        let shares = recipe::best_mounts(&self.current().settings, self.reach);
        for advice in changes {
            let of_share = |share: &ShareMounts| {
                let mount = share.mounts.iter().find(|mount| mount.client == advice.system)?;
                Some((share.share.clone(), mount.command.clone()))
            };
            advice.commands = shares.iter().filter_map(of_share).take(MOST_COMMANDS).collect();
        }
    }

    fn not_served(&self) -> Vec<AbsentShareStatus> {
        let current = self.current();
        let absent = current.settings.absent.iter();
        let status = |share: &ShareSettings| AbsentShareStatus {
            name: share.name.clone(),
            path: share.path.clone(),
            why: share.absence.as_ref().map(|absence| absence.why.clone()).unwrap_or_default(),
        };
        absent.map(status).collect()
    }

    /// Serves the shares whose folders have come, and stops serving those whose folders have gone.
    pub(crate) fn look_at_folders(&self, mounts: &mut Mounts) {
        let old = self.current();
        let is_in_use = |share: &ShareSettings| self.parts.volumes.is_in_use(&share.name);
        let grouped = groups::resolve_again(&old.settings, old.accounts.domain());
        let found = availability::changed(grouped.as_ref().unwrap_or(&old.settings), mounts, is_in_use);
        let Some(settings) = found.or(grouped) else { return };
        let _one = self.reloading.lock();
        if Arc::ptr_eq(&old, &self.current()) {
            let lines = self.take_over(Current {
                settings,
                accounts: old.accounts.clone(),
                kerberos: old.kerberos.clone(),
                logons: old.logons.clone(),
            });
            lines.iter().for_each(|line| tracing::warn!("{line}"));
        } // else a reload was faster, and the folders are looked at again soon
    }

    fn take_over(&self, current: Current) -> Vec<String> {
        let current = Arc::new(current);
        self.parts.volumes.make_identities(&current.settings);
        *self.current.write() = Arc::clone(&current);
        self.components().flat_map(|part| part.reload(&current)).collect()
    }
}

/// Its methods run on threads that may have acted as another user.
impl Report for Running {
    fn status(&self) -> Status {
        let mut status = Status {
            version: env!("CARGO_PKG_VERSION").into(),
            pid: std::process::id(),
            uptime_s: self.started.elapsed().as_secs(),
            state: self.state.clone(),
            settings: self.current().settings.file.as_ref().map(|file| self.arguments.folder.join(file)),
            console: self.console(),
            listeners: self.listeners.clone(),
            shares: self.shares(),
            not_served: self.not_served(),
            domain: logons::status(&self.current()),
            ..Status::default()
        };
        self.components().for_each(|part| part.report(&mut status));
        self.add_commands(&mut status);
        status
    }

    fn say(&self, text: &str, to: &Disconnect) -> Result<Vec<String>, Vec<String>> {
        let told: Option<usize> =
            self.parts.fronts.iter().filter_map(|front| front.say(text, to)).reduce(|a, b| a + b);
        match told {
            None if to.is_all() => Ok(vec!["no message was sent, because AFP is off".into()]),
            Some(0) | None if !to.is_all() => Err(vec![
                "no AFP session is meant; `fourfold status` lists them (other protocols have no messages)"
                    .into(),
            ]),
            told => {
                let told = told.unwrap_or_default();
                Ok(vec![format!("told {told} AFP {}", if told == 1 { "client" } else { "clients" })])
            }
        }
    }

    fn disconnect(&self, what: &Disconnect) -> Result<Vec<String>, Vec<String>> {
        let file = match &what.file {
            None => None,
            Some(path) => match self.parts.volumes.find(path) {
                Some(Ok(file)) => Some(file),
                Some(Err(error)) => return Err(vec![format!("{error:#}")]),
                None => return Err(vec![format!("{} is in the folder of no share", path.display())]),
            },
        };
        let disconnect = |front: &dyn Front| front.disconnect(what, file.as_ref());
        let done: Vec<String> = self.parts.fronts.iter().filter_map(disconnect).collect();
        let nothing = match file {
            Some(_) => {
                "no SMB or AFP session that is meant has the file open; `fourfold status` lists open files"
            }
            None => {
                "no SMB, AFP or iSCSI session is meant; `fourfold status` lists them (NFS has no sessions)"
            }
        };
        if done.is_empty() { Err(vec![nothing.into()]) } else { Ok(done) }
    }

    fn lun(
        &self,
        request: LunRequest,
        progress: &dyn Fn(Progress) -> bool,
    ) -> Result<LunAnswer, Vec<String>> {
        let current = self.current();
        let ask = |front: &dyn Front| front.lun(&current, &request, progress);
        match as_ourselves(|| self.parts.fronts.iter().find_map(ask)) {
            Ok(Some(answer)) => answer.map_err(|error| vec![format!("{error:#}")]),
            Ok(None) => Err(vec!["this server has no LUNs".into()]),
            Err(error) => Err(vec![error.to_string()]),
        }
    }

    fn restore(
        &self,
        request: RestoreRequest,
        progress: &dyn Fn(Progress) -> bool,
    ) -> Result<RestoreReport, Vec<String>> {
        let current = self.current();
        match as_ourselves(|| self.parts.volumes.restore(&current, &request, progress)) {
            Ok(report) => report.map_err(|error| vec![format!("{error:#}")]),
            Err(error) => Err(vec![error.to_string()]),
        }
    }

    fn scrub(
        &self,
        request: ScrubRequest,
        progress: &dyn Fn(Progress) -> bool,
    ) -> Result<ScrubReport, Vec<String>> {
        let current = self.current();
        match as_ourselves(|| self.parts.volumes.scrub(&current, &request, progress)) {
            Ok(report) => report.map_err(|error| vec![format!("{error:#}")]),
            Err(error) => Err(vec![error.to_string()]),
        }
    }

    fn find(&self, request: FindRequest, uid: u32) -> Result<FindAnswer, Vec<String>> {
        let asker = request.account.as_deref().map_or(Asker::User(uid), Asker::Account);
        self.search(&request, &asker)
    }

    fn find_as_person(&self, request: FindRequest, uid: u32) -> Result<FindAnswer, Vec<String>> {
        self.search(&request, &Asker::Person(uid))
    }

    fn rights(
        &self,
        request: RightsRequest,
        progress: &dyn Fn(Progress) -> bool,
    ) -> Result<RightsAnswer, Vec<String>> {
        let current = self.current();
        match as_ourselves(|| self.parts.volumes.rights(&current, request, progress)) {
            Ok(answer) => answer.map_err(|error| vec![format!("{error:#}")]),
            Err(error) => Err(vec![error.to_string()]),
        }
    }

    fn backups(
        &self,
        request: BackupsRequest,
        progress: &dyn Fn(Progress) -> bool,
    ) -> Result<BackupsAnswer, Vec<String>> {
        match as_ourselves(|| backups::answer(self, &request, progress)) {
            Ok(answer) => answer.map_err(|error| vec![format!("{error:#}")]),
            Err(error) => Err(vec![error.to_string()]),
        }
    }

    fn browse(&self, request: BrowseRequest) -> Result<BrowseAnswer, Vec<String>> {
        self.execute_browse(request)
    }

    fn streams(
        &self,
        request: StreamsRequest,
        progress: &dyn Fn(Progress) -> bool,
    ) -> Result<StreamsAnswer, Vec<String>> {
        let current = self.current();
        let file = |full: &str| match self.lun(LunRequest::List, &|_| true) {
            Ok(LunAnswer::Luns(luns)) => {
                let is_it = |lun: &&LunStatus| format!("{}/{}", lun.share, lun.name) == full;
                luns.iter().find(is_it).map(|lun| lun.file.clone())
            }
            _ => None, // iSCSI is off
        };
        match as_ourselves(|| self.parts.streams.answer(&current, request, &file, progress)) {
            Ok(answer) => answer.map_err(|error| vec![format!("{error:#}")]),
            Err(error) => Err(vec![error.to_string()]),
        }
    }

    fn look_at_snapshots(&self) -> Result<Vec<String>, Vec<String>> {
        as_ourselves(|| self.components().for_each(Component::snapshots_changed))
            .map(|()| Vec::new())
            .map_err(|error| vec![error.to_string()])
    }

    fn caches(&self, request: CachesRequest) -> Result<CachesAnswer, Vec<String>> {
        if let CachesRequest::Advise(asked) = request {
            return advise::answer(self, asked).map(CachesAnswer::Advice);
        }
        self.parts.caches.answer(&request)
    }

    fn schedules(&self) -> Schedules {
        self.parts.in_common.schedules()
    }

    fn started_with(&self) -> StartedWith {
        StartedWith::from(&self.arguments)
    }

    fn slowest(&self) -> Vec<SlowOperation> {
        self.parts.slow.slowest(Instant::now())
    }

    fn reload(&self) -> Result<Vec<String>, Vec<String>> {
        as_ourselves(|| self.read_again()).map_err(|error| vec![error.to_string()])?
    }
}

impl Running {
    /// Ends what clients hold whose users may not log in any more: the accounts have changed, and the settings have not.
    pub(crate) fn admit_again(&self) {
        let _one = self.reloading.lock();
        let current = self.current();
        self.components().for_each(|part| drop(part.reload(&current)));
    }

    /// Applies the accounts of the state folder; the settings stay. Returns lines about it.
    ///
    /// # Errors
    /// They cannot be read.
    pub(crate) fn accounts_again(&self) -> anyhow::Result<Vec<String>> {
        let _one = self.reloading.lock();
        self.take_accounts()
    }

    /// The same, while no reload runs.
    fn take_accounts(&self) -> anyhow::Result<Vec<String>> {
        let (current, mut lines) = accounts::anew(&self.state, &self.current())?;
        lines.extend(self.take_over(current));
        Ok(lines)
    }

    /// Applies the accounts, although the settings stay as they were for these reasons: an account that was removed may not log in
    /// until the settings are corrected. Returns lines about both.
    fn accounts_only(&self, mut why: Vec<String>) -> Vec<String> {
        match self.take_accounts() {
            Ok(lines) => why.extend(lines),
            Err(error) => why.push(format!("the accounts stay as they were: {error:#}")),
        }
        why
    }

    fn read_again(&self) -> Result<Vec<String>, Vec<String>> {
        let before = self.parts.in_common.before_reload(&self.arguments);
        let _one = self.reloading.lock();
        let mut lines = before.map_err(|why| self.accounts_only(why))?;
        let settings = Settings::load(&self.arguments)
            .map_err(|all| self.accounts_only(all.iter().map(ToString::to_string).collect()))?;
        let stored = AccountFile::read(&self.state).map_err(|error| vec![format!("{error:#}")])?;
        let accounts = accounts::of(&stored, &settings).map_err(|error| vec![format!("{error:#}")])?;
        lines.extend(settings.notes.iter().map(ToString::to_string));
        lines.extend(accounts::unknown(&stored, &settings).iter().map(ToString::to_string));
        let old = self.current();
        let waiting = old.settings.needs_restart(&settings);
        lines.extend(waiting.iter().map(|path| format!("{path} counts from the next start")));
        // Clients must not be told of an address or a port at which nothing listens.
        let settings = stores::divided(old.settings.reloaded(settings));
        let before = old.accounts.domain();
        let domain = tickets::domain(&settings, before).unwrap_or_else(|error| {
            lines.push(format!("the domain stays as it was: {error:#}"));
            before.cloned()
        });
        domain.iter().for_each(|domain| domain.want_list());
        let accounts = accounts.with_domain(domain);
        let known = old.accounts.host_accounts();
        let (accounts, failed) = host_accounts::with(accounts, &settings, known);
        lines.extend(failed);
        let settings = groups::resolved_for(settings, &accounts);
        let kerberos = tickets::acceptor(&settings, accounts.domain()).unwrap_or_else(|error| {
            lines.push(format!("the keys of Kerberos stay as they were: {error:#}"));
            old.kerberos.clone()
        });
        let logons =
            logons::logons(&settings, accounts.domain(), old.logons.as_ref()).unwrap_or_else(|error| {
                lines.push(format!("passwords of the domain's users are verified as before: {error:#}"));
                old.logons.clone()
            });
        let clients = self.status().sessions.into_iter().map(|session| session.peer.ip());
        let _names = host_names::known(&settings, clients.collect());
        lines.extend(self.take_over(Current { settings, accounts, kerberos, logons }));
        Ok(lines)
    }
}

#[cfg(test)]
mod tests {
    use auth::{Accounts, Ids};
    use vfs::index::Index;

    use super::*;
    use crate::gateway::part::Part;
    use crate::host::memory::{self, KernelMemory};

    struct Shares;

    impl Component for Shares {
        fn reload(&self, current: &Arc<Current>) -> Vec<String> {
            current.settings.shares.iter().map(|share| share.name.clone()).collect()
        }
    }

    const ONE: &str = "[[share]]\nname = \"One\"\npath = \"one\"\n";
    const TWO: &str =
        "[server]\nnfs-port = 1\n[[share]]\nname = \"Two\"\npath = \"two\"\n[[user]]\nname = \"ada\"\n";

    /// A server with these shares and no protocols.
    fn parts(folder: &Path, current: &Arc<Current>) -> Parts {
        let (settings, machine) = (&current.settings, KernelMemory::here());
        let volumes = Volumes::new(Index::open(folder).unwrap(), folder);
        let budget = memory::budget(&settings.server, &machine);
        Parts {
            components: vec![Arc::new(Shares)],
            fronts: Fronts::default(),
            volumes: volumes.clone(),
            in_common: Part::start(current, volumes.clone(), None),
            caches: CachesView::new(current, volumes.clone(), (budget, machine), 1, nowhere()),
            slow: Arc::new(Slow::new(settings)),
            streams: StreamsDesk::new(current, volumes),
        }
    }

    /// The addresses of a server that has no listener yet: this machine, without ports.
    fn nowhere() -> Reachable {
        Reachable { host: [127, 0, 0, 1].into(), ports: Default::default(), portmap: Default::default() }
    }

    fn running(folder: &Path) -> Running {
        for name in ["one", "two"] {
            std::fs::create_dir(folder.join(name)).unwrap();
        }
        std::fs::write(folder.join("fourfold.toml"), ONE).unwrap();
        let arguments = Arguments::new(false, folder.into());
        let settings = Settings::load(&arguments).unwrap();
        let accounts = accounts::read(folder, &settings).unwrap();
        let current = Arc::new(Current { settings, accounts, kerberos: None, logons: None });
        let parts = parts(folder, &current);
        Running::new(arguments, folder, current, (Vec::new(), nowhere()), parts)
    }

    #[test]
    fn a_reload_takes_over_what_it_can_and_says_what_it_cannot() {
        let folder = tempfile::tempdir().unwrap();
        let running = running(folder.path());
        std::fs::write(folder.path().join("fourfold.toml"), TWO).unwrap();
        let without_password = "fourfold.toml:7:1: note: the account \"ada\" has no password, so nobody can log in with it; \
                                `fourfold user add` sets one";
        assert_eq!(
            running.reload().unwrap(),
            [without_password, "server.nfs-port counts from the next start", "Two"]
        );
        assert_eq!(running.status().shares[0].name, "Two");
        let again = running.reload().unwrap();
        assert_eq!(again[1], "server.nfs-port counts from the next start", "it still applies only then");
        let ports = running.current().settings.server.ports;
        assert_eq!(
            ports.of(admin::Protocol::Nfs),
            admin::Port::Standard,
            "clients learn no port that is not open"
        );
        assert!(running.current().accounts.find("ada").is_some());
    }

    #[test]
    fn settings_that_are_refused_change_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let running = running(folder.path());
        std::fs::write(folder.path().join("fourfold.toml"), TWO.replace("\"two\"", "\"~/gone\"")).unwrap();
        let lines = running.reload().unwrap_err();
        assert!(lines[0].starts_with("fourfold.toml:5:1: error: the folder `~/gone`"), "{lines:?}");
        assert_eq!(running.status().shares[0].name, "One");
    }

    /// Settings in common that two servers have changed.
    struct Differing;

    impl InCommon for Differing {
        fn before_reload(&self, _: &Arguments) -> Result<Vec<String>, Vec<String>> {
            Err(vec!["choose".into()])
        }

        fn schedules(&self) -> Schedules {
            Schedules::default()
        }
    }

    #[test]
    fn a_removed_account_may_not_log_in_although_the_settings_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut running = running(folder.path());
        let edit = |change: fn(&mut AccountFile) -> Result<(), auth::Error>| {
            AccountFile::edit(folder.path(), change).unwrap();
        };
        let has = |running: &Running, name| running.current().accounts.find(name).is_some();
        edit(|file| file.add("ada", Ids::default(), "secret"));
        edit(|file| file.add("bob", Ids::default(), "secret"));
        running.reload().unwrap();
        assert!(has(&running, "ada") && has(&running, "bob"));
        std::fs::write(folder.path().join("fourfold.toml"), "[[share]]\nname = 7\n").unwrap();
        edit(|file| file.remove("ada"));
        running.reload().unwrap_err();
        assert!(!has(&running, "ada") && has(&running, "bob"));
        assert_eq!(running.status().shares[0].name, "One");
        std::fs::write(folder.path().join("fourfold.toml"), ONE).unwrap();
        running.parts.in_common = Arc::new(Differing);
        edit(|file| file.remove("bob"));
        assert_eq!(running.reload().unwrap_err()[0], "choose");
        assert!(!has(&running, "bob"));
    }
}
