//! The AFP server as a part of the program: it gets settings and reports its status.

mod appletalk;
mod homes;
mod ids;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use admin::control::{Disconnect, Status};
use admin::recipe::PortmapServices;
use admin::settings::protocol::afp::Login;
use admin::settings::{AppleTalkSettings, VolumePassword};
use admin::{Protocol, Settings, ShareSettings};
use afp::catalogue::{Catalogue, SharedIds};
use afp::server::{
    ChangePassword, Config, LoginMethods, Service, SessionInfo, Share, ShareOptions, Transport,
};
use anyhow::Context;
use auth::{AccountFile, Accounts, Identity, LoginGuard};
use conn::Peer;
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use vfs::Volume;
use vfs::state::Replicas;
use wire::AppleTalkClient;

use super::connections::Connections;
use super::{
    ClientSystem, ExaminedConnection, Front, FrontClient, FrontListeners, FrontRow, Launch, PeerSession,
    Task, bonjour, counted, nothing_beside,
};
use crate::gateway;
use crate::host::here;
use crate::people::{accounts, logons, tickets};
use crate::serve::component::{Component, ResourceCounts};
use crate::serve::current::Current;
use crate::shares::volumes::{Homes, OpenFile, Volumes, backup_limits, name_owners};
pub(crate) use appletalk::{AppleTalk, line as appletalk_line};
use homes::AfpHomes;

/// How long clients have to receive the notice of the shutdown.
const GOODBYE_WITHIN: Duration = Duration::from_millis(500);

pub(super) const ROW: FrontRow = FrontRow {
    protocol: Protocol::Afp,
    beside: nothing_beside,
    start: |launch| Box::pin(async move { Ok(AfpFront::new(launch)? as Arc<dyn Front>) }),
    services: |settings, port| bonjour::one("_afpovertcp._tcp", Protocol::Afp, settings, port),
    backup_flag: 0x01,
    clients: &[
        FrontClient::new(ClientSystem::ClassicMac, "Mac OS X (AFP)")
            .made_for_it("it speaks no other protocol that keeps its resource forks."),
        FrontClient::new(ClientSystem::Mac, "Mac OS X (AFP)"),
        FrontClient::new(ClientSystem::Unknown, "Mac OS X (AFP)"),
    ],
    wrong_certificate: |_| None,
};

/// The AFP server.
struct AfpFront {
    service: Arc<Service>,
    connections: Connections,
    appletalk: Arc<AppleTalk>,
    /// Where clients over AppleTalk are served, once clients are.
    serving: OnceLock<(Handle, watch::Receiver<bool>)>,
    told: AfpDependencies,
}

/// The data for its settings, in addition to the program's settings.
struct AfpDependencies {
    shares: Shares,
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

/// What shares are made of.
#[derive(Clone)]
struct Shares {
    volumes: Arc<Volumes>,
    /// The ids of files that the servers of a cluster have in common.
    ids: Option<Arc<SharedIds>>,
}

impl AfpFront {
    /// A server for the shares of these settings.
    fn new(launch: &Launch<'_>) -> anyhow::Result<Arc<Self>> {
        let Launch { current, state, volumes, .. } = *launch;
        let ids = volumes.cluster.as_ref().map(|cluster| ids::shared(volumes.index(), cluster));
        let told = AfpDependencies {
            shares: Shares { volumes: volumes.clone(), ids },
            state: state.path().to_owned(),
            server_id: *state.server_id(),
            listen: current.settings.server.listen.clone(),
            port: launch.ports.of(ROW.protocol),
            accounts_changed: launch.accounts_changed.clone(),
            login_guard: launch.login_guard.clone(),
        };
        let service = Service::new(told.config(current)?);
        match &told.shares.ids {
            Some(ids) => _ = tokio::spawn(ids::read_on(ids.clone())),
            None => SharedIds::leave(volumes.index()).context("the index in the state folder failed")?,
        }
        if let Some(cluster) = volumes.cluster.clone() {
            service.share_with(cluster.server(), move |server| cluster.is_alive(server));
        }
        let (connections, appletalk) = (Connections::new(ROW.protocol, launch), launch.appletalk.clone());
        Ok(Arc::new(Self { service, connections, appletalk, serving: OnceLock::new(), told }))
    }
}

impl AfpFront {
    /// Speaks AppleTalk as the settings say. Returns a line if that stays as it was.
    fn speak_appletalk(&self, current: &Current) -> Option<String> {
        let (runtime, stopping) = self.serving.get()?;
        let _entered = runtime.enter();
        let settings = &current.settings;
        let work = |appletalk| self.appletalk_work(appletalk, settings, stopping);
        let applied = self.appletalk.apply(settings.appletalk.as_ref(), work);
        self.appletalk.refresh();
        applied.err()
    }

    /// What the thread that speaks AppleTalk works with.
    fn appletalk_work(
        &self,
        appletalk: AppleTalkSettings,
        settings: &Settings,
        stopping: &watch::Receiver<bool>,
    ) -> appletalk::Work {
        let service = self.service.clone();
        let adopt = self.connections.adopter(stopping, move |stream, peer, watchdog| {
            afp::server::serve_stream(service.clone(), stream, (peer, Transport::AppleTalk), watchdog)
        });
        let adopt = move |end, client: AppleTalkClient| adopt(end, client.address());
        let (name, service) = (appletalk::name(settings, &appletalk), self.service.clone());
        let status = Box::new(move |name: &str| service.appletalk_status(name));
        appletalk::Work { settings: appletalk, name, status, adopt: Box::new(adopt) }
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
        let browsed = self.shares.volumes.browsed().over(ROW.protocol);
        let browsed =
            browsed.map(|one| self.shares.share(&one.share, one.share.flat_name(), one.volume.clone(), None));
        let shares = shares.map(|share| self.share(share, settings)).chain(browsed);
        let shares = shares.collect::<anyhow::Result<Vec<_>>>()?;
        if let Some(ids) = &self.shares.ids {
            ids.set_shares(shares.iter().map(|share| (share.name.clone(), share.volume.clone())).collect())
                .context("the ids of files that the servers of the cluster have are not known")?;
        }
        let guests = shares.iter().any(|share| share.options.policy.guests);
        let change = server.protocols.afp.change_password.then(|| self.password_keeper(settings));
        let principals = tickets::principals(current, "afpserver");
        if server.protocols.afp.logins.contains(&Login::Srp) && !current.accounts.all_have_verifiers() {
            tracing::info!(
                "AFP does not offer SRP, as not every account has a verifier; `fourfold user passwd` makes one"
            );
        }
        if server.protocols.afp.logins.contains(&Login::Srp) && current.logons.is_some() {
            tracing::info!("AFP does not offer SRP: a domain controller cannot verify it (`domain-ntlm`)");
        }
        Ok(Config {
            homes: self.homes(current),
            signature: match server.protocols.afp.signature {
                Some(signature) => signature,
                None => gateway::signature(self.shares.volumes.cluster.as_ref(), self.server_id)?,
            },
            name: here::server_name(server),
            guest: guests.then(Identity::anonymous),
            kerberos: tickets::kerberos(current).filter(|_| !principals.is_empty()),
            principals,
            domain: logons::for_protocol(current),
            unix: Arc::new(current.accounts.site()),
            logins: logins(&server.protocols.afp.logins),
            login_guard: self.login_guard.clone(),
            greeting: server.protocols.afp.greeting.clone(),
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

    fn homes(&self, current: &Arc<Current>) -> Vec<afp::server::HomesShare> {
        let homes = Homes::of(&self.shares.volumes, current, ROW.protocol);
        homes.map(|homes| AfpHomes::of(homes, self.shares.clone())).collect()
    }

    fn share(&self, share: &ShareSettings, settings: &Settings) -> anyhow::Result<Arc<Share>> {
        self.shares.share(share, share.flat_name(), self.shares.volumes.open(share, settings)?, None)
    }
}

impl Shares {
    /// A share with this name. `home_in`: it is a home in this share of homes.
    fn share(
        &self,
        share: &ShareSettings,
        name: String,
        volume: Arc<Volume>,
        home_in: Option<String>,
    ) -> anyhow::Result<Arc<Share>> {
        let root = volume.root().context("the folder cannot be looked at")?.object.key();
        let catalogue = Catalogue::open(self.volumes.index(), self.volumes.identity(share)?, root)
            .context("the index in the state folder failed")?
            .shared(self.ids.clone());
        catalogue
            .take_earlier_ids(|key| volume.lasting_key(key).ok())
            .context("the index in the state folder failed")?;
        let uuid = self.volumes.mac_id(share)?;
        let created = std::fs::metadata(&share.path).and_then(|folder| folder.created());
        let created = created.unwrap_or(SystemTime::UNIX_EPOCH).into();
        let options = ShareOptions {
            policy: accounts::policy(share),
            case_sensitive: share.case_sensitive,
            time_machine: share.time_machine,
            size_limits: backup_limits(share),
            password: share.volume_password.map(VolumePassword::reveal),
            hide: share.hide.clone(),
            show: share.show.clone(),
            links: share.dfs.then(|| self.volumes.namespace().clone()),
            home_in,
        };
        Ok(Share::new(name, (volume, catalogue), uuid, created, options))
    }
}

fn logins(chosen: &[Login]) -> LoginMethods {
    let on = |login| chosen.contains(&login);
    LoginMethods {
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

/// The user of a session, as it is shown.
fn name_of(user: &Option<String>) -> String {
    user.clone().unwrap_or_else(|| "guest".into())
}

/// Who has logged in over a connection.
fn session_of(sessions: Vec<SessionInfo>) -> impl Fn(&Peer) -> PeerSession {
    let known = |session: &SessionInfo| PeerSession {
        user: Some(name_of(&session.user)),
        // Mac OS X speaks 3.0 and later.
        system: if session.version.starts_with("AFP3") {
            ClientSystem::Mac
        } else {
            ClientSystem::ClassicMac
        },
        is_asleep: session.is_asleep,
    };
    move |peer| {
        let session = sessions.iter().find(|session| session.peer == Some(peer.address));
        session.map(known).unwrap_or_default()
    }
}

impl Component for AfpFront {
    fn report(&self, status: &mut Status) {
        let sessions = self.service.sessions();
        let people = sessions
            .iter()
            .map(|session| (session.client, name_of(&session.user), session.peer.map(|peer| peer.ip())));
        name_owners(people, status);
        status.appletalk = self.appletalk.report();
        status.sessions.extend(self.connections.status(session_of(sessions)));
    }

    fn count(&self, held: &mut ResourceCounts) {
        self.connections.count(held);
    }

    fn reload(&self, current: &Arc<Current>) -> Vec<String> {
        match self.told.config(current) {
            Ok(config) => {
                self.service.set_config(config);
                self.speak_appletalk(current).into_iter().collect()
            }
            Err(error) => vec![format!("the AFP shares stay as they were: {error:#}")],
        }
    }
}

impl Front for AfpFront {
    fn serve(
        self: Arc<Self>,
        listeners: FrontListeners,
        current: Arc<Current>,
        stopping: watch::Receiver<bool>,
    ) -> Task<PortmapServices> {
        let _ = self.serving.set((Handle::current(), stopping.clone())); // it begins once
        self.speak_appletalk(&current).iter().for_each(|line| tracing::warn!("{line}"));
        let (service, bound) = (self.service.clone(), listeners.own.into_iter().flat_map(|bound| bound.tcp));
        self.connections.accept(bound, &stopping, move |stream, peer, watchdog| {
            afp::server::serve_stream(service.clone(), stream, (peer, Transport::Tcp), watchdog)
        });
        Box::pin(async { PortmapServices::default() })
    }

    fn examined(&self, is_wanted: &dyn Fn(Protocol, &Peer) -> bool) -> Vec<ExaminedConnection> {
        self.connections.examined(is_wanted, || session_of(self.service.sessions()))
    }

    /// Checks whether the host's addresses have changed.
    fn tend(&self) {
        self.service.set_addresses(self.told.addresses());
        self.appletalk.refresh();
    }

    fn say(&self, text: &str, to: &Disconnect) -> Option<usize> {
        if self.told.port.is_none() && !self.appletalk.is_on() {
            return None;
        }
        let which = |session: &SessionInfo| to.means(session.user.as_deref(), session.peer.as_slice());
        Some(if to.is_all() { self.service.say(text) } else { self.service.say_where(text, which) })
    }

    fn disconnect(&self, what: &Disconnect, file: Option<&OpenFile>) -> Option<String> {
        let which = |session: &SessionInfo| what.means(session.user.as_deref(), session.peer.as_slice());
        let (count, of) = match file {
            None => (self.service.disconnect_where(which), "AFP session"),
            Some(file) => (self.service.close_file(&file.volume, file.id, which), "AFP fork"),
        };
        counted(count, of)
    }

    fn goodbye(self: Arc<Self>) -> Task {
        Box::pin(async move {
            self.service.stop();
            let _ = tokio::time::timeout(GOODBYE_WITHIN, self.connections.ended()).await; // then they are closed
        })
    }

    fn stopped(self: Arc<Self>) -> Task {
        Box::pin(async move {
            self.connections.ended().await;
            let appletalk = self.appletalk.clone();
            let _ = tokio::task::spawn_blocking(move || appletalk.stop()).await; // a panic there was logged
        })
    }
}
