//! The NFS server as part of the program: settings in, status out.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use admin::control::{SessionStatus, Status};
use admin::{Port, Protocol, ServerSettings, Settings, ShareSettings};
use conn::{Limits, Server, Watchdog};
use nfs::server::{Company, Export, HandleSecret, Places, Portmap, Service, Sockets};
use tokio::sync::watch;

use crate::bind::Bound;
use crate::running::{Current, View, all_ended};
use crate::volumes::Volumes;
use crate::{bind, exports, here};

/// Where every client looks for portmap.
const PORTMAP: u16 = 111;
/// Connections at a time.
const MOST_CONNECTIONS: usize = 16_384;

/// The NFS server.
pub(crate) struct NfsView {
    service: Arc<Service>,
    connections: Arc<Server>,
    watchdog: Arc<Watchdog>,
    volumes: Arc<Volumes>,
}

impl NfsView {
    /// A server for the shares of these settings.
    pub(crate) fn new(
        current: &Current,
        state: &admin::State,
        volumes: Arc<Volumes>,
    ) -> anyhow::Result<Arc<Self>> {
        let mut secret = [0; 16];
        secret.copy_from_slice(&state.handle_secret()[..16]);
        let company = Company {
            network: Arc::new(Sockets),
            hosts: Arc::new(volumes.index().peers()),
            epoch: volumes.index().boot_epoch(),
            grace: current.settings.server.grace_period,
            name: here::host_name(),
        };
        let secret = HandleSecret::new(secret);
        let view = Arc::new(Self {
            service: Service::in_company(Vec::new(), secret, SystemTime::now(), company),
            connections: Server::new(MOST_CONNECTIONS),
            watchdog: Watchdog::start("NFS"),
            volumes,
        });
        view.service.set_exports(view.exports(&current.settings)?);
        Ok(view)
    }

    /// Answers on these listeners until told to stop. Whether clients find the lock service through port 111.
    pub(crate) async fn serve(
        &self,
        bound: Option<Bound>,
        settings: &ServerSettings,
        stopping: watch::Receiver<bool>,
    ) -> bool {
        let Some(bound) = bound else { return false };
        let families = |wanted: fn(&IpAddr) -> bool| settings.listen.iter().any(wanted);
        let (ipv4, ipv6) = (families(IpAddr::is_ipv4), families(IpAddr::is_ipv6));
        self.service.set_places(Places { programs: bound.port, portmap: None, udp: true, ipv4, ipv6 });
        self.answer(bound, &stopping);
        let found = self.announce(settings, &stopping).await;
        // Now that clients find the lock service, those that held locks are told to take them back.
        let service = self.service.clone();
        tokio::spawn(async move { nfs::server::notify_hosts(&service).await });
        found
    }

    /// Whether clients find the lock service through port 111 now.
    async fn announce(&self, settings: &ServerSettings, stopping: &watch::Receiver<bool>) -> bool {
        if settings.ports.portmap == Port::Off {
            return false;
        }
        let portmap = nfs::server::announce(&self.service, || self.own_portmap(settings, stopping)).await;
        match portmap {
            Portmap::Registered => true,
            Portmap::Served(address) => address.port() == PORTMAP,
            Portmap::Off(why) => {
                tracing::warn!(why, "clients do not find the lock service by themselves");
                false
            }
        }
    }

    /// Opens our own portmap, where no rpcbind runs.
    fn own_portmap(
        &self,
        settings: &ServerSettings,
        stopping: &watch::Receiver<bool>,
    ) -> Result<SocketAddr, String> {
        let bound = bind::open(settings, Protocol::Portmap, true, here::privileged());
        let bound = bound.map_err(|error| format!("{error:#}"))?.ok_or("it is turned off")?;
        let address = bound.tcp.first().and_then(|tcp| tcp.local_addr().ok()).ok_or("it has no address")?;
        self.service.set_places(Places { portmap: Some(bound.port), ..self.service.places() });
        self.answer(bound, stopping);
        Ok(address)
    }

    fn answer(&self, bound: Bound, stopping: &watch::Receiver<bool>) {
        for listener in bound.tcp {
            let (service, watchdog) = (self.service.clone(), self.watchdog.clone());
            let serve = move |stream, peer| {
                let (service, watchdog) = (service.clone(), watchdog.clone());
                nfs::server::serve_stream(service, stream, peer, Limits::default(), watchdog)
            };
            tokio::spawn(self.connections.clone().run(listener, stopping.clone(), serve));
        }
        for socket in bound.udp {
            tokio::spawn(nfs::server::serve_datagrams(self.service.clone(), socket, stopping.clone()));
        }
    }

    /// Waits until every connection has ended.
    pub(crate) async fn stopped(&self) {
        nfs::server::withdraw(&self.service).await;
        all_ended(&self.connections).await;
    }

    fn exports(&self, settings: &Settings) -> anyhow::Result<Vec<Export>> {
        let shares = settings.shares.iter().filter(|share| share.protocols.contains(&Protocol::Nfs));
        shares.map(|share| self.export(share, settings)).collect()
    }

    fn export(&self, share: &ShareSettings, settings: &Settings) -> anyhow::Result<Export> {
        let identity = self.volumes.identity(share)?;
        Ok(Export {
            name: share.name.clone(),
            tag: identity.tag.0,
            volume: self.volumes.open(share, settings)?,
            options: exports::options(share),
        })
    }
}

impl View for NfsView {
    fn report(&self, status: &mut Status) {
        let now = SystemTime::now();
        status.sessions.extend(self.connections.peers().iter().map(|peer| SessionStatus {
            protocol: Protocol::Nfs,
            peer: SocketAddr::new(peer.address.ip(), peer.address.port()),
            user: None,
            since_s: now.duration_since(peer.since).unwrap_or_default().as_secs(),
            requests: peer.counters.requests.load(Ordering::Relaxed),
            bytes_in: peer.counters.bytes_in.load(Ordering::Relaxed),
            bytes_out: peer.counters.bytes_out.load(Ordering::Relaxed),
        }));
    }

    fn reload(&self, current: &Arc<Current>) -> Vec<String> {
        match self.exports(&current.settings) {
            Ok(exports) => {
                self.service.set_exports(exports);
                Vec::new()
            }
            Err(error) => vec![format!("the NFS exports stay as they were: {error:#}")],
        }
    }
}
