//! The iSCSI server as a part of the program: it gets settings and reports its status.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use admin::control::{Disconnect, LunAnswer, LunRequest, LunSession, Progress, Status};
use admin::luns::LunTable;
use admin::recipe::{self, PortmapServices};
use admin::{Protocol, Settings};
use auth::{Accounts, LoginGuard};
use conn::Peer;
use iscsi::server::{Paths, Service, SessionInfo, TargetConfig};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::connections::Connections;
use super::{
    ExaminedConnection, Front, FrontListeners, FrontRow, Launch, PeerSession, Task, counted, nothing_beside,
};
use crate::gateway;
use crate::serve::component::{Component, ResourceCounts};
use crate::serve::current::Current;
use crate::shares::luns::{Desk, Roles, Units, Work};
use crate::shares::volumes::{OpenFile, Volumes, name_owners};

/// How long initiators have to log out when the server shuts down.
const GOODBYE_WITHIN: Duration = Duration::from_secs(3);
/// How often a server of a cluster tries to serve a LUN that the server before still has.
const TRY_EVERY: Duration = Duration::from_millis(100);
/// How often it looks at LUNs of other servers without being told of a change: they may have become larger.
const LOOK_EVERY: Duration = Duration::from_secs(5);

pub(super) const ROW: FrontRow = FrontRow {
    protocol: Protocol::Iscsi,
    beside: nothing_beside,
    start: |launch| Box::pin(async move { Ok(IscsiFront::new(launch).await? as Arc<dyn Front>) }),
    services: |_, _| Vec::new(),
    backup_flag: 0,
    clients: &[],
    wrong_certificate: |_| None,
};

/// The iSCSI server.
struct IscsiFront {
    service: Arc<Service>,
    connections: Connections,
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

impl IscsiFront {
    /// A server for the LUNs of these settings and of the state folder. LUNs that cannot be served
    /// are logged.
    async fn new(launch: &Launch<'_>) -> anyhow::Result<Arc<Self>> {
        let Launch { current, state, volumes, login_guard, .. } = *launch;
        let cluster = volumes.cluster.as_ref();
        let server_id = gateway::luns::target_identity(cluster, *state.server_id())?;
        let port = launch.ports.of(ROW.protocol);
        let roles = cluster.map(|cluster| Roles::new(cluster, port.unwrap_or_default()));
        let table = gateway::luns::table(volumes);
        let units = Units::new(table.clone(), roles.clone());
        let (volumes, login_guard) = (volumes.clone(), login_guard.clone());
        let told = IscsiDependencies { volumes, table, server_id, roles, login_guard };
        let front = Self {
            service: Service::new(told.config(current, &units)),
            connections: Connections::new(ROW.protocol, launch),
            units,
            work: Work::default(),
            at: port.map(|port| (recipe::address(&current.settings.server.listen), port)),
            told,
            current: watch::Sender::new((*current).clone()),
        };
        let lines = front.take_over(current).await?;
        lines.iter().for_each(|line| tracing::error!("{line}"));
        let front = Arc::new(front);
        if let Some(relay) = front.told.roles.as_ref().and_then(|roles| roles.relay()) {
            let weak = Arc::downgrade(&front);
            relay.begin(move |naa| {
                let front = weak.upgrade()?;
                let (unit, target) = front.units.unit_of_target(naa)?;
                let ports = front.told.roles.as_ref()?.ports(&target);
                Some((unit, ports.iter().map(|port| port.number).collect()))
            });
        }
        Ok(front)
    }

    /// In a cluster: begins to serve LUNs whose server has been lost, and ceases to serve those of other servers, until the
    /// server stops.
    async fn follow(self: Arc<Self>, mut stopping: watch::Receiver<bool>) {
        let Some(roles) = &self.told.roles else { return };
        let (mut places, mut table) = (roles.places(), 0);
        while !*stopping.borrow() {
            let now = places.borrow_and_update().texts.luns;
            let is_changed = std::mem::replace(&mut table, now) != now;
            let front = self.clone();
            let looked =
                tokio::task::spawn_blocking(move || Handle::current().block_on(front.look_again(is_changed)));
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
    fn config(&self, current: &Current, units: &Units) -> TargetConfig {
        TargetConfig {
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
    let name = current.settings.server.protocols.iscsi.account.clone()?;
    let account = current.accounts.find(&name)?;
    Some((name, account.chap_secret()?.to_vec()))
}

/// The text if the server should authenticate itself and cannot.
fn unproven(current: &Current) -> Option<String> {
    let name =
        current.settings.server.protocols.iscsi.account.as_ref().filter(|_| own_secret(current).is_none())?;
    Some(format!(
        "the server cannot prove itself to initiators: there is no account {name:?} (`iscsi-account`) with a CHAP secret; \
         `fourfold user add {name} --chap-secret` makes it"
    ))
}

/// Who has logged in over a connection.
fn session_of(sessions: Vec<SessionInfo>) -> impl Fn(&Peer) -> PeerSession {
    move |peer| {
        let session = sessions.iter().find(|session| session.peers.contains(&peer.address));
        let user = session.map(|session| session.user.clone().unwrap_or_else(|| session.initiator.clone()));
        PeerSession { user, ..PeerSession::default() }
    }
}

impl Component for IscsiFront {
    fn report(&self, status: &mut Status) {
        self.units.mounts(self.at).into_iter().for_each(|(share, mount)| {
            let share = status.shares.iter_mut().find(|status| status.name == share);
            share.into_iter().for_each(|share| share.mounts.push(mount.clone()));
        });
        name_owners(self.units.owners().into_iter().map(|(client, name)| (client, name, None)), status);
        status.sessions.extend(self.connections.status(session_of(self.service.sessions())));
    }

    fn count(&self, held: &mut ResourceCounts) {
        self.connections.count(held);
    }

    fn reload(&self, current: &Arc<Current>) -> Vec<String> {
        match Handle::current().block_on(self.take_over(current)) {
            Ok(lines) => lines,
            Err(error) => vec![format!("the LUNs stay as they were: {error:#}")],
        }
    }
}

impl Front for IscsiFront {
    fn serve(
        self: Arc<Self>,
        listeners: FrontListeners,
        _: Arc<Current>,
        stopping: watch::Receiver<bool>,
    ) -> Task<PortmapServices> {
        tokio::spawn(self.clone().follow(stopping.clone()));
        let (service, bound) = (self.service.clone(), listeners.own.into_iter().flat_map(|bound| bound.tcp));
        self.connections.accept(bound, &stopping, move |stream, peer, watchdog| {
            iscsi::server::serve_stream(service.clone(), stream, peer, watchdog)
        });
        Box::pin(async { PortmapServices::default() })
    }

    fn examined(&self, is_wanted: &dyn Fn(Protocol, &Peer) -> bool) -> Vec<ExaminedConnection> {
        self.connections.examined(is_wanted, || session_of(self.service.sessions()))
    }

    /// Checks silent clients and the free space.
    fn tend(&self) {
        self.service.tend();
    }

    fn disconnect(&self, what: &Disconnect, file: Option<&OpenFile>) -> Option<String> {
        let which = |session: &SessionInfo| what.means(session.user.as_deref(), &session.peers);
        let count = if file.is_none() { self.service.disconnect(which) } else { 0 };
        counted(count, "iSCSI session")
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

    /// Asks initiators to log out.
    fn goodbye(self: Arc<Self>) -> Task {
        Box::pin(async move {
            self.service.stop();
            let _ = tokio::time::timeout(GOODBYE_WITHIN, self.connections.ended()).await; // then they are closed
        })
    }

    fn stopped(self: Arc<Self>) -> Task {
        Box::pin(async move { self.connections.ended().await })
    }
}
