//! The iSCSI server as a part of the program: it gets settings and reports its status.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use admin::control::{Disconnect, LunAnswer, LunRequest, LunSession, Progress, SessionStatus, Status};
use admin::luns::LunTable;
use admin::{Protocol, Settings};
use auth::{Accounts, LoginGuard};
use conn::{Budget, Loops, Server, Watchdog};
use iscsi::server::{Config, Paths, Service, SessionInfo};
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::fronts::bind::ProtocolListeners;
use crate::gateway;
use crate::host::host_names;
use crate::serve::running::{self, Current, OpenFile, ResourceCounts, View, all_ended};
use crate::shares::luns::{Desk, Roles, Units, Work};
use crate::shares::volumes::{Volumes, name_owners};

/// The most connections at a time.
const MOST_CONNECTIONS: usize = 16_384;
/// How long initiators have to log out when the server shuts down.
const GOODBYE_WITHIN: Duration = Duration::from_secs(3);
/// How often a server of a cluster tries to serve a LUN that the server before still has.
const TRY_EVERY: Duration = Duration::from_millis(100);
/// How often it looks at LUNs of other servers without being told of a change: they may have become larger.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The iSCSI server.
pub(crate) struct IscsiView {
    service: Arc<Service>,
    connections: Arc<Server>,
    watchdog: Arc<Watchdog>,
    units: Units,
    work: Work,
    /// The server's address for initiators; `None`: it is off.
    at: Option<(IpAddr, u16)>,
    told: IscsiDependencies,
    /// The settings in force.
    current: watch::Sender<Arc<Current>>,
}

/// The data for its settings, in addition to the program's settings.
struct IscsiDependencies {
    volumes: Arc<Volumes>,
    table: LunTable,
    server_id: [u8; 16],
    /// What this server is to serve of a cluster; `None`: it is alone.
    roles: Option<Arc<Roles>>,
    /// Limits and logs logins with secrets, over all protocols.
    login_guard: Arc<LoginGuard>,
}

impl IscsiView {
    /// A server for the LUNs of these settings and of the state folder. LUNs that cannot be served
    /// are logged.
    pub(crate) async fn new(
        current: &Arc<Current>,
        state: &admin::State,
        volumes: Arc<Volumes>,
        at: Option<(IpAddr, u16)>,
        login_guard: Arc<LoginGuard>,
        (budget, loops): (Arc<Budget>, &Arc<Loops>),
    ) -> anyhow::Result<Arc<Self>> {
        let cluster = volumes.cluster.as_ref();
        let server_id = gateway::luns::target_identity(cluster, *state.server_id())?;
        let port = at.map(|(_, port)| port).unwrap_or_default();
        let roles = cluster.map(|cluster| Roles::new(cluster, port));
        let table = gateway::luns::table(&volumes);
        let units = Units::new(table.clone(), roles.clone());
        let told = IscsiDependencies { volumes, table, server_id, roles, login_guard };
        let service = Service::new(told.config(current, &units));
        let (connections, watchdog) = (
            Server::new(MOST_CONNECTIONS, budget).on(loops).after(host_names::before()),
            Watchdog::start("iSCSI"),
        );
        let (work, now) = (Work::default(), watch::Sender::new(current.clone()));
        let view = Self { service, connections, watchdog, units, work, at, told, current: now };
        let lines = view.take_over(current).await?;
        lines.iter().for_each(|line| tracing::error!("{line}"));
        let view = Arc::new(view);
        if let Some(relay) = view.told.roles.as_ref().and_then(|roles| roles.relay()) {
            let weak = Arc::downgrade(&view);
            relay.begin(move |naa| {
                let view = weak.upgrade()?;
                let (unit, target) = view.units.unit_of_target(naa)?;
                let ports = view.told.roles.as_ref()?.ports(&target);
                Some((unit, ports.iter().map(|port| port.number).collect()))
            });
        }
        Ok(view)
    }

    /// Answers on these listeners until the server stops.
    pub(crate) fn serve(
        self: &Arc<Self>,
        bound: Option<ProtocolListeners>,
        stopping: &watch::Receiver<bool>,
    ) {
        tokio::spawn(self.clone().follow(stopping.clone()));
        for listener in bound.into_iter().flat_map(|bound| bound.tcp) {
            let (service, watchdog) = (self.service.clone(), self.watchdog.clone());
            let serve = move |stream, peer| {
                iscsi::server::serve_stream(service.clone(), stream, peer, watchdog.clone())
            };
            tokio::spawn(self.connections.clone().run(listener, stopping.clone(), serve));
        }
    }

    /// Checks silent clients and the free space.
    pub(crate) fn tend(&self) {
        self.service.tend();
    }

    /// In a cluster: begins to serve LUNs whose server has been lost, and ceases to serve those of other servers, until the
    /// server stops.
    async fn follow(self: Arc<Self>, mut stopping: watch::Receiver<bool>) {
        let Some(roles) = &self.told.roles else { return };
        let (mut places, mut table) = (roles.places(), 0);
        while !*stopping.borrow() {
            let now = places.borrow_and_update().texts.luns;
            let is_changed = std::mem::replace(&mut table, now) != now;
            let view = self.clone();
            let looked =
                tokio::task::spawn_blocking(move || Handle::current().block_on(view.look_again(is_changed)));
            if !matches!(looked.await, Ok(Ok(()))) {
                table = 0; // it is read again
            }
            let pause = if self.units.is_pending() { TRY_EVERY } else { LOOK_EVERY };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                changed = places.changed() => if changed.is_err() { return },
                _ = stopping.changed() => {}
            }
        }
    }

    async fn look_again(&self, is_changed: bool) -> Result<(), ()> {
        let (current, before) = (self.current.borrow().clone(), self.units.changes());
        let sessions = |target: &str| self.sessions_of(target);
        let looked = self.desk(&current.settings, &sessions).look_again(is_changed).await;
        if self.units.changes() != before {
            self.service.set_config(self.told.config(&current, &self.units));
        }
        match looked {
            Ok(lines) if is_changed => lines.iter().for_each(|line| tracing::error!("{line}")),
            Ok(_) => {}
            Err(error) => {
                tracing::warn!("the LUNs of the cluster are not known: {error:#}");
                return Err(());
            }
        }
        Ok(())
    }

    /// Asks initiators to log out, and lets their connections end.
    pub(crate) async fn say_goodbye(&self) {
        self.service.stop();
        let _ = tokio::time::timeout(GOODBYE_WITHIN, all_ended(&self.connections)).await; // then they are closed
    }

    /// Waits until every connection has ended.
    pub(crate) async fn stopped(&self) {
        all_ended(&self.connections).await;
    }

    /// Serves the LUNs of these settings and of the state folder; returns lines about LUNs that
    /// cannot be served.
    async fn take_over(&self, current: &Arc<Current>) -> anyhow::Result<Vec<String>> {
        self.current.send_replace(current.clone());
        let sessions = |target: &str| self.sessions_of(target);
        let lines = self.desk(&current.settings, &sessions).serve_anew_alone().await;
        self.service.set_config(self.told.config(current, &self.units));
        Ok(lines?.into_iter().chain(unproven(current)).collect())
    }

    fn desk<'a>(
        &'a self,
        settings: &'a Settings,
        sessions: &'a (dyn Fn(&str) -> Vec<LunSession> + Sync),
    ) -> Desk<'a> {
        Desk {
            table: &self.told.table,
            server_id: &self.told.server_id,
            settings,
            volumes: &self.told.volumes,
            work: &self.work,
            at: self.at,
            served: Some((&self.units, sessions)),
        }
    }

    fn sessions_of(&self, target: &str) -> Vec<LunSession> {
        let sessions = self.service.sessions().into_iter();
        let here = sessions.filter(|session| session.target.as_deref() == Some(target));
        here.map(|session| LunSession {
            initiator: session.initiator,
            user: session.user,
            peers: session.peers,
        })
        .collect()
    }
}

impl IscsiDependencies {
    fn config(&self, current: &Current, units: &Units) -> Config {
        Config {
            targets: units.targets(),
            accounts: Arc::new(current.accounts.clone()),
            own_secret: own_secret(current),
            login_guard: self.login_guard.clone(),
            paths: self.roles.clone().map(|roles| roles as Arc<dyn Paths>),
        }
    }
}

/// The name and the secret of the account with which the server authenticates itself.
fn own_secret(current: &Current) -> Option<(String, Vec<u8>)> {
    let name = current.settings.server.iscsi.account.clone()?;
    let account = current.accounts.find(&name)?;
    Some((name, account.chap_secret()?.to_vec()))
}

/// The text if the server should authenticate itself and cannot.
fn unproven(current: &Current) -> Option<String> {
    let name = current.settings.server.iscsi.account.as_ref().filter(|_| own_secret(current).is_none())?;
    Some(format!(
        "the server cannot prove itself to initiators: there is no account {name:?} (`iscsi-account`) with a CHAP secret; \
         `fourfold user add {name} --chap-secret` makes it"
    ))
}

impl View for IscsiView {
    fn disconnect(&self, what: &Disconnect, file: Option<&OpenFile>) -> Option<String> {
        let which = |session: &SessionInfo| what.means(session.user.as_deref(), &session.peers);
        let count = if file.is_none() { self.service.disconnect(which) } else { 0 };
        running::counted(count, "iSCSI session")
    }

    fn report(&self, status: &mut Status) {
        let now = SystemTime::now();
        self.units.mounts(self.at).into_iter().for_each(|(share, mount)| {
            let share = status.shares.iter_mut().find(|status| status.name == share);
            share.into_iter().for_each(|share| share.mounts.push(mount.clone()));
        });
        name_owners(self.units.owners().into_iter().map(|(client, name)| (client, name, None)), status);
        let sessions = self.service.sessions();
        status.sessions.extend(self.connections.peers().iter().map(|peer| {
            let session = sessions.iter().find(|session| session.peers.contains(&peer.address));
            SessionStatus {
                protocol: Protocol::Iscsi,
                peer: peer.address,
                user: session
                    .map(|session| session.user.clone().unwrap_or_else(|| session.initiator.clone())),
                since_s: now.duration_since(peer.since).unwrap_or_default().as_secs(),
                requests: peer.counters.requests.load(Ordering::Relaxed),
                bytes_in: peer.counters.bytes_in.load(Ordering::Relaxed),
                bytes_out: peer.counters.bytes_out.load(Ordering::Relaxed),
                tls: peer.counters.is_tls.load(Ordering::Relaxed),
            }
        }));
    }

    fn count(&self, held: &mut ResourceCounts) {
        held.connections.push(("iscsi", self.connections.peers().len()));
    }

    fn reload(&self, current: &Arc<Current>) -> Vec<String> {
        match Handle::current().block_on(self.take_over(current)) {
            Ok(lines) => lines,
            Err(error) => vec![format!("the LUNs stay as they were: {error:#}")],
        }
    }

    fn lun(
        &self,
        current: &Arc<Current>,
        request: &LunRequest,
        progress: &dyn Fn(Progress) -> bool,
    ) -> Option<anyhow::Result<LunAnswer>> {
        let sessions = |target: &str| self.sessions_of(target);
        let desk = self.desk(&current.settings, &sessions);
        let answer = Handle::current().block_on(desk.answer(request.clone(), progress));
        if *request != LunRequest::List {
            self.service.set_config(self.told.config(current, &self.units));
        }
        Some(answer)
    }
}
