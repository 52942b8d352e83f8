//! The AFP server as a part of the program: it gets settings and reports its status.

mod homes;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use admin::control::{Disconnect, SessionStatus, Status};
use admin::settings::VolumePassword;
use admin::settings::afp::Login;
use admin::{Protocol, Settings, ShareSettings};
use afp::catalogue::{Catalogue, SharedIds};
use afp::server::{ChangePassword, Config, Logins, Service, SessionInfo, Share, ShareOptions};
use anyhow::Context;
use auth::{AccountFile, Accounts, Identity, LoginGuard};
use conn::{Budget, Loops, Server, Watchdog};
use tokio::sync::{Notify, watch};
use vfs::Volume;
use vfs::state::Replicas;

use crate::fronts::afp::homes::AfpHomes;
use crate::fronts::bind::ProtocolListeners;
use crate::gateway;
use crate::host::{here, host_names};
use crate::people::{accounts, logons, tickets};
use crate::serve::running::{self, Current, OpenFile, ResourceCounts, View, all_ended};
use crate::shares::volumes::{Homes, Volumes, name_owners};

/// The most connections at a time.
const MOST_CONNECTIONS: usize = 16_384;
/// How long clients have to receive the notice of the shutdown.
const GOODBYE_WITHIN: Duration = Duration::from_millis(500);

/// The AFP server.
pub(crate) struct AfpView {
    service: Arc<Service>,
    connections: Arc<Server>,
    watchdog: Arc<Watchdog>,
    told: AfpDependencies,
}

/// The data for its settings, in addition to the program's settings.
struct AfpDependencies {
    volumes: Arc<Volumes>,
    /// The state folder, which has the accounts.
    state: PathBuf,
    server_id: [u8; 16],
    /// The addresses on which it listens.
    listen: Vec<IpAddr>,
    port: Option<u16>,
    /// Signalled when a user has changed a password.
    accounts_changed: Arc<Notify>,
    /// Limits and logs logins with passwords, over all protocols.
    login_guard: Arc<LoginGuard>,
}

impl AfpView {
    /// A server for the shares of these settings. `accounts_changed` is signalled when a user
    /// changes a password; `login_guard` is shared by all protocols.
    pub(crate) fn new(
        current: &Arc<Current>,
        state: &admin::State,
        volumes: Arc<Volumes>,
        port: Option<u16>,
        (accounts_changed, login_guard): (Arc<Notify>, Arc<LoginGuard>),
        (budget, loops): (Arc<Budget>, &Arc<Loops>),
    ) -> anyhow::Result<Arc<Self>> {
        let (state, server_id) = (state.path().to_owned(), *state.server_id());
        let listen = current.settings.server.listen.clone();
        let told = AfpDependencies { volumes, state, server_id, listen, port, accounts_changed, login_guard };
        let service = Service::new(told.config(current)?);
        match &told.volumes.ids {
            Some(ids) => _ = tokio::spawn(gateway::ids::read_on(ids.clone())),
            None => SharedIds::leave(told.volumes.index()).context("the index in the state folder failed")?,
        }
        if let Some(cluster) = told.volumes.cluster.clone() {
            service.share_with(cluster.server(), move |server| cluster.is_alive(server));
        }
        Ok(Arc::new(Self {
            service,
            connections: Server::new(MOST_CONNECTIONS, budget).on(loops).after(host_names::before()),
            watchdog: Watchdog::start("AFP"),
            told,
        }))
    }

    /// Answers on these listeners until the server stops.
    pub(crate) fn serve(&self, bound: Option<ProtocolListeners>, stopping: &watch::Receiver<bool>) {
        for listener in bound.into_iter().flat_map(|bound| bound.tcp) {
            let (service, watchdog) = (self.service.clone(), self.watchdog.clone());
            let serve = move |stream, peer| {
                afp::server::serve_stream(service.clone(), stream, peer, watchdog.clone())
            };
            tokio::spawn(self.connections.clone().run(listener, stopping.clone(), serve));
        }
    }

    /// Checks whether the host's addresses have changed.
    pub(crate) fn tend(&self) {
        self.service.set_addresses(self.told.addresses());
    }

    /// Tells clients that the server shuts down, and lets their connections end.
    pub(crate) async fn say_goodbye(&self) {
        self.service.stop();
        let _ = tokio::time::timeout(GOODBYE_WITHIN, all_ended(&self.connections)).await; // then they are closed
    }

    /// Waits until every connection has ended.
    pub(crate) async fn stopped(&self) {
        all_ended(&self.connections).await;
    }
}

impl AfpDependencies {
    /// The server's addresses for clients: the configured ones, and for "every address" the host's
    /// current ones.
    fn addresses(&self) -> Vec<SocketAddr> {
        let mut addresses: Vec<SocketAddr> = Vec::new();
        if let Some(port) = self.port {
            for ip in here::reachable(&self.listen) {
                let address = SocketAddr::new(ip, port);
                if !addresses.contains(&address) {
                    addresses.push(address);
                }
            }
        }
        addresses
    }

    fn config(&self, current: &Arc<Current>) -> anyhow::Result<Config> {
        let settings = &current.settings;
        let server = &settings.server;
        let shares =
            settings.shares.iter().filter(|share| share.protocols.contains(&Protocol::Afp) && !share.homes);
        let shares = shares.map(|share| self.share(share, settings)).collect::<anyhow::Result<Vec<_>>>()?;
        if let Some(ids) = &self.volumes.ids {
            ids.set_shares(shares.iter().map(|share| (share.name.clone(), share.volume.clone())).collect())
                .context("the ids of files that the servers of the cluster have are not known")?;
        }
        let guests = shares.iter().any(|share| share.options.policy.guests);
        let change = server.afp.change_password.then(|| self.password_keeper(settings));
        let principals = tickets::principals(current, "afpserver");
        if server.afp.logins.contains(&Login::Srp) && !current.accounts.all_have_verifiers() {
            tracing::info!(
                "AFP does not offer SRP, as not every account has a verifier; `fourfold user passwd` makes one"
            );
        }
        if server.afp.logins.contains(&Login::Srp) && current.logons.is_some() {
            tracing::info!("AFP does not offer SRP: a domain controller cannot verify it (`domain-ntlm`)");
        }
        Ok(Config {
            homes: Homes::of(&self.volumes, current, Protocol::Afp).map(AfpHomes::of).collect(),
            signature: match server.afp.signature {
                Some(signature) => signature,
                None => gateway::signature(self.volumes.cluster.as_ref(), self.server_id)?,
            },
            name: here::server_name(server),
            guest: guests.then(Identity::anonymous),
            kerberos: tickets::kerberos(current).filter(|_| !principals.is_empty()),
            principals,
            domain: logons::for_protocol(current),
            unix: Arc::new(current.accounts.site()),
            logins: logins(&server.afp.logins),
            login_guard: self.login_guard.clone(),
            greeting: server.afp.greeting.clone(),
            change_password: change,
            addresses: self.addresses(),
            ..Config::new(shares, Arc::new(current.accounts.clone()))
        })
    }

    /// Stores new passwords in the state folder, which does not have the accounts of the command
    /// line.
    fn password_keeper(&self, settings: &Settings) -> ChangePassword {
        let typed = settings.users.iter().filter(|user| user.password.is_some());
        let typed: Vec<String> = typed.map(|user| user.name.clone()).collect();
        let (state, changed) = (self.state.clone(), self.accounts_changed.clone());
        Arc::new(move |name: &str, password: &str| {
            !typed.iter().any(|other| other == name) && change_password(&state, &changed, name, password)
        })
    }

    fn share(&self, share: &ShareSettings, settings: &Settings) -> anyhow::Result<Arc<Share>> {
        share_of(share, share.flat_name(), self.volumes.open(share, settings)?, (&self.volumes, None))
    }
}

/// A share with this name. `home_in`: it is a home in this share of homes.
pub(crate) fn share_of(
    share: &ShareSettings,
    name: String,
    volume: Arc<Volume>,
    (volumes, home_in): (&Volumes, Option<String>),
) -> anyhow::Result<Arc<Share>> {
    let root = volume.root().context("the folder cannot be looked at")?.object.key();
    let catalogue = Catalogue::open(volumes.index(), volumes.identity(share)?, root)
        .context("the index in the state folder failed")?
        .shared(volumes.ids.clone());
    catalogue
        .take_earlier_ids(|key| volume.lasting_key(key).ok())
        .context("the index in the state folder failed")?;
    let uuid = volumes.mac_id(share)?;
    let created = std::fs::metadata(&share.path).and_then(|folder| folder.created());
    let created = created.unwrap_or(SystemTime::UNIX_EPOCH).into();
    let options = ShareOptions {
        policy: accounts::policy(share),
        case_sensitive: share.case_sensitive,
        time_machine: share.time_machine,
        size_limit: share.time_machine_size.filter(|_| share.time_machine),
        password: share.volume_password.map(VolumePassword::reveal),
        hide: share.hide.clone(),
        show: share.show.clone(),
        links: share.dfs.then(|| volumes.namespace().clone()),
        home_in,
    };
    Ok(Share::new(name, (volume, catalogue), uuid, created, options))
}

fn logins(chosen: &[Login]) -> Logins {
    let on = |login| chosen.contains(&login);
    Logins {
        dhx2: on(Login::Dhx2),
        srp: on(Login::Srp),
        dhx: on(Login::Dhx),
        randnum: on(Login::Randnum),
        two_way_randnum: on(Login::TwoWayRandnum),
        cleartext: on(Login::Cleartext),
    }
}

/// Stores a user's new password.
fn change_password(state: &Path, changed: &Notify, name: &str, password: &str) -> bool {
    let edit = || AccountFile::edit(state, |accounts| accounts.change_password(name, password));
    match vfs::backend::host::as_ourselves(edit) {
        Ok(Ok(())) => {
            changed.notify_one();
            tracing::info!(account = name, "a password was changed over AFP");
            true
        }
        Ok(Err(error)) => {
            tracing::warn!(account = name, %error, "a password cannot be changed");
            false
        }
        Err(error) => {
            tracing::warn!(account = name, %error, "a password cannot be changed");
            false
        }
    }
}

impl View for AfpView {
    fn report(&self, status: &mut Status) {
        let now = SystemTime::now();
        let sessions = self.service.sessions();
        let user = |user: &Option<String>| user.clone().unwrap_or_else(|| "guest".into());
        let people = sessions
            .iter()
            .map(|session| (session.client, user(&session.user), session.peer.map(|peer| peer.ip())));
        name_owners(people, status);
        status.sessions.extend(self.connections.peers().iter().map(|peer| {
            let session = sessions.iter().find(|session| session.peer == Some(peer.address));
            SessionStatus {
                protocol: Protocol::Afp,
                peer: peer.address,
                user: session.map(|session| user(&session.user)),
                since_s: now.duration_since(peer.since).unwrap_or_default().as_secs(),
                requests: peer.counters.requests.load(Ordering::Relaxed),
                bytes_in: peer.counters.bytes_in.load(Ordering::Relaxed),
                bytes_out: peer.counters.bytes_out.load(Ordering::Relaxed),
                tls: peer.counters.is_tls.load(Ordering::Relaxed),
            }
        }));
    }

    fn say(&self, text: &str, to: &Disconnect) -> Option<usize> {
        self.told.port?;
        let which = |session: &SessionInfo| to.means(session.user.as_deref(), session.peer.as_slice());
        Some(if to.is_all() { self.service.say(text) } else { self.service.say_where(text, which) })
    }

    fn disconnect(&self, what: &Disconnect, file: Option<&OpenFile>) -> Option<String> {
        let which = |session: &SessionInfo| what.means(session.user.as_deref(), session.peer.as_slice());
        let (count, of) = match file {
            None => (self.service.disconnect_where(which), "AFP session"),
            Some(file) => (self.service.close_file(&file.volume, file.id, which), "AFP fork"),
        };
        running::counted(count, of)
    }

    fn count(&self, held: &mut ResourceCounts) {
        held.connections.push(("afp", self.connections.peers().len()));
    }

    fn reload(&self, current: &Arc<Current>) -> Vec<String> {
        match self.told.config(current) {
            Ok(config) => {
                self.service.set_config(config);
                Vec::new()
            }
            Err(error) => vec![format!("the AFP shares stay as they were: {error:#}")],
        }
    }
}
