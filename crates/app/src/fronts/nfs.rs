//! The NFS server as a part of the program: it gets settings and reports its status.

mod exports;

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use admin::control::{ListenerStatus, Status};
use admin::recipe::PortmapServices;
use admin::{Port, Protocol, ServerSettings, Settings, ShareSettings};
use anyhow::Context;
use cluster::RecordKind;
use conn::{Limits, Peer};
use nfs::server::{
    Company, Export, ExportOptions, HandleSecret, HostSockets, HostTable, IndexHostTable, Portmap,
    ProgramAddresses, Service, Tickets,
};
use tokio::sync::watch;

use self::exports::Logins;
use super::bind::{self, ProtocolListeners};
use super::connections::Connections;
use super::{
    ClientSystem, ExaminedConnection, Front, FrontClient, FrontListeners, FrontRow, Launch, PeerSession,
    Task, bonjour, nothing_beside,
};
use crate::gateway;
use crate::gateway::taking::{self, InCluster, OfCluster};
use crate::host::{here, host_names};
use crate::people::tickets;
use crate::serve::component::{Component, ResourceCounts};
use crate::serve::current::Current;
use crate::shares::browsing::BrowsedShare;
use crate::shares::volumes::Volumes;

pub(super) const ROW: FrontRow = FrontRow {
    protocol: Protocol::Nfs,
    beside: nothing_beside,
    start: |launch| Box::pin(async move { Ok(NfsFront::new(launch)? as Arc<dyn Front>) }),
    services,
    backup_flag: 0,
    clients: &[
        FrontClient::new(ClientSystem::Linux, "Linux (NFS)").made_for_it(
            "Linux has it in its kernel as its own: modes, owners, links and locks are those of a local disk, and requests need fewer \
             round trips. SMB stays right where each user must log in and there is no Kerberos.",
        ),
        FrontClient::new(ClientSystem::Mac, "macOS (NFS)"),
        FrontClient::new(ClientSystem::Unknown, "Linux (NFS)"),
    ],
    wrong_certificate,
};

/// The reason why NFS over TLS has no certificate: the file cannot be read, it has no certificate, or the key is another one's.
fn wrong_certificate(settings: &ServerSettings) -> Option<String> {
    let tls = &settings.protocols.nfs.tls;
    let of_api = || settings.api.certificate.clone().filter(|_| settings.api.tls);
    let (chain, key) = tls.certificate.clone().or_else(of_api)?;
    let checked = web::check_certificate(&web::Certificate { chain, key }, tls.client_ca.as_deref());
    Some(format!("`nfs-certificate`: {}", checked.err()?))
}

/// The NFS server.
struct NfsFront {
    service: Arc<Service>,
    connections: Connections,
    volumes: Arc<Volumes>,
    /// The sockets of the server's own portmap.
    portmap: OnceLock<Vec<ListenerStatus>>,
}

impl NfsFront {
    /// A server for the shares of these settings.
    fn new(launch: &Launch<'_>) -> anyhow::Result<Arc<Self>> {
        let Launch { current, state, volumes, login_guard, .. } = *launch;
        let mut own = [0; 16];
        own.copy_from_slice(&state.handle_secret()[..16]);
        let secret = gateway::handle_secret(volumes.cluster.as_ref(), own)?;
        let (hosts, clients) = tables(volumes)?;
        let common = volumes.cluster.as_ref().map(|cluster| Arc::new(OfCluster(cluster.clone())) as _);
        let company = Company {
            network: Arc::new(HostSockets),
            hosts,
            clients,
            common,
            own: Some(HandleSecret::new(own)),
            epoch: volumes.index().boot_epoch(),
            grace: current.settings.server.grace_period,
            name: here::host_name(),
            login_guard: login_guard.clone(),
        };
        let secret = HandleSecret::new(secret);
        let front = Arc::new(Self {
            service: Service::in_company(Vec::new(), secret, SystemTime::now(), company),
            connections: Connections::new(ROW.protocol, launch),
            volumes: volumes.clone(),
            portmap: OnceLock::new(),
        });
        front.service.set_exports(front.exports(current)?);
        if let Some(cluster) = &front.volumes.cluster {
            tokio::spawn(taking::watch(cluster.clone(), front.service.clone()));
        }
        front.service.set_before(host_names::before());
        front.set_versions(current);
        tickets::tell(current, "NFS", "nfs");
        front.set_tickets(current);
        front.set_tls(&current.settings.server).iter().for_each(|line| tracing::warn!("{line}"));
        Ok(front)
    }

    /// Reads the certificate. Without one, clients are not offered TLS, and those of rules that demand it are refused.
    fn set_tls(&self, server: &ServerSettings) -> Vec<String> {
        if server.ports.of(Protocol::Nfs) == Port::Off {
            return Vec::new();
        }
        let certificate =
            server.protocols.nfs.tls.certificate.clone().or_else(|| server.api.certificate.clone());
        let certificate = certificate.map(|(chain, key)| web::Certificate { chain, key });
        let addresses: Vec<IpAddr> = server.listen.iter().chain(&server.api.listen).copied().collect();
        let config =
            certificate.map_or_else(|| web::own_certificate(&server.state, &addresses), Ok).and_then(
                |certificate| web::tls_of_rpc(&certificate, server.protocols.nfs.tls.client_ca.as_deref()),
            );
        match config {
            Ok(config) => {
                self.service.set_tls(Some(config));
                Vec::new()
            }
            Err(error) => vec![format!("the certificate for NFS over TLS cannot be used: {error}")],
        }
    }

    fn set_tickets(&self, current: &Current) {
        let accounts = Arc::new(current.accounts.clone());
        self.service.set_tickets(tickets::kerberos(current).map(|kerberos| Tickets { kerberos, accounts }));
    }

    fn set_versions(&self, current: &Current) {
        let server = &current.settings.server;
        self.service.set_minor_versions(&server.protocols.nfs.minor_versions);
        self.service.set_versions(versions(server));
        self.service.set_naming(server.protocols.nfs.domain.as_deref(), &current.accounts.site());
    }

    /// Registers the services that clients find through port 111.
    async fn announce(&self, settings: &ServerSettings, stopping: &watch::Receiver<bool>) -> PortmapServices {
        // Version 4 uses its own port alone, RFC 7530 3.1: nobody has to ask for others.
        if settings.ports.of(Protocol::Portmap) == Port::Off || !versions(settings).contains(&OF_PORTMAP) {
            return PortmapServices::default();
        }
        let portmap = nfs::server::announce(&self.service, || self.own_portmap(settings, stopping)).await;
        match &portmap {
            Portmap::Registered { others } if !others.is_empty() => {
                let others: Vec<String> = others.iter().map(ToString::to_string).collect();
                tracing::warn!(
                    "rpcbind names another server for {}; clients that ask rpcbind reach that one",
                    others.join(", ")
                );
            }
            Portmap::Off(why) => tracing::warn!(why, "clients do not find the lock service by themselves"),
            Portmap::Registered { .. } | Portmap::Served(_) => {}
        }
        PortmapServices { locks: portmap.finds_locks(), files: portmap.finds_files() }
    }

    /// Opens the server's own portmap, if no rpcbind runs.
    fn own_portmap(
        &self,
        settings: &ServerSettings,
        stopping: &watch::Receiver<bool>,
    ) -> Result<SocketAddr, String> {
        let bound = bind::open(settings, Protocol::Portmap, here::privileged());
        let bound = bound.map_err(|error| format!("{error:#}"))?.ok_or("it is turned off")?;
        let address = bound.tcp.first().and_then(|tcp| tcp.local_addr().ok()).ok_or("it has no address")?;
        self.service.set_places(ProgramAddresses { portmap: Some(bound.port), ..self.service.places() });
        let _ = self.portmap.set(bound.listeners(Protocol::Portmap)); // opened only once
        self.answer(bound, stopping);
        Ok(address)
    }

    fn answer(&self, bound: ProtocolListeners, stopping: &watch::Receiver<bool>) {
        let service = self.service.clone();
        self.connections.accept(bound.tcp, stopping, move |stream, peer, watchdog| {
            nfs::server::serve_stream(service.clone(), stream, peer, Limits::default(), watchdog)
        });
        for socket in bound.udp {
            tokio::spawn(nfs::server::serve_datagrams(self.service.clone(), socket, stopping.clone()));
        }
    }

    fn exports(&self, current: &Current) -> anyhow::Result<Vec<Export>> {
        let settings = &current.settings;
        let logins = Logins {
            kerberos: !tickets::principals(current, "nfs").is_empty(),
            certificates: settings.server.protocols.nfs.tls.client_ca.is_some(),
        };
        let shares = settings.shares.iter().filter(|share| share.protocols.contains(&Protocol::Nfs));
        let browsed = self.volumes.browsed().over(ROW.protocol);
        let browsed = browsed.map(|one| self.browsed_export(&one, settings, logins));
        shares.map(|share| self.export(share, settings, logins)).chain(browsed).collect()
    }

    /// The contents of a disk image.
    fn browsed_export(
        &self,
        one: &BrowsedShare,
        settings: &Settings,
        logins: Logins,
    ) -> anyhow::Result<Export> {
        Ok(Export {
            name: one.share.name.clone(),
            tag: gateway::identity(&self.volumes, &one.share)?.tag,
            volume: one.volume.clone(),
            options: exports::of_one_person(&one.share, &settings.server, logins, one.needs_proof),
        })
    }

    fn export(&self, share: &ShareSettings, settings: &Settings, logins: Logins) -> anyhow::Result<Export> {
        let identity = gateway::identity(&self.volumes, share)?;
        Ok(Export {
            name: share.name.clone(),
            tag: identity.tag,
            volume: self.volumes.open(share, settings)?,
            options: ExportOptions {
                links: share.dfs.then(|| self.volumes.namespace().clone()),
                ..exports::options(share, &settings.server, logins)
            },
        })
    }
}

/// The tables of hosts and of clients that may reclaim after a restart: in the state folder, or where the other servers of
/// the cluster find them.
fn tables(volumes: &Volumes) -> anyhow::Result<(Arc<dyn HostTable>, Arc<dyn HostTable>)> {
    if let Some(cluster) = &volumes.cluster {
        return Ok((
            InCluster::new(cluster, RecordKind::Hosts),
            InCluster::new(cluster, RecordKind::Clients),
        ));
    }
    let failed = "the index in the state folder failed";
    let hosts = IndexHostTable::new(volumes.index().clone()).context(failed)?;
    Ok((Arc::new(hosts), Arc::new(IndexHostTable::of_clients(volumes.index().clone()).context(failed)?)))
}

/// The version of NFS whose clients ask portmap for its programs.
const OF_PORTMAP: u32 = 3;

/// The versions of NFS that the settings turn on.
fn versions(server: &ServerSettings) -> RangeInclusive<u32> {
    let oldest = if server.protocols.nfs.version_3 { 3 } else { 4 };
    let newest = if server.protocols.nfs.minor_versions.is_empty() { 3 } else { 4 };
    oldest..=newest
}

/// One service for each share, because it contains the share's path. A share that no host may mount is not announced.
fn services(settings: &Settings, port: u16) -> Vec<bonjour::Service> {
    let is_given = |share: &&ShareSettings| settings.server.gives_by_nfs(share);
    let shares: Vec<&ShareSettings> = bonjour::shown(settings, ROW.protocol).filter(is_given).collect();
    let several = shares.len() > 1;
    let service = |share: &ShareSettings| bonjour::Service {
        which: several.then(|| share.name.clone()),
        ..bonjour::Service::new("_nfs._tcp", port).with("path", format!("/{}", share.name))
    };
    shares.into_iter().map(service).filter(bonjour::Service::fits).collect()
}

impl Component for NfsFront {
    fn report(&self, status: &mut Status) {
        status.listeners.extend(self.portmap.get().into_iter().flatten().cloned());
        status.sessions.extend(self.connections.status(|_| PeerSession::default()));
    }

    fn count(&self, held: &mut ResourceCounts) {
        self.connections.count(held);
    }

    fn reload(&self, current: &Arc<Current>) -> Vec<String> {
        match self.exports(current) {
            Ok(exports) => {
                self.set_versions(current);
                self.service.set_exports(exports);
                self.set_tickets(current);
                self.set_tls(&current.settings.server)
            }
            Err(error) => vec![format!("the NFS exports stay as they were: {error:#}")],
        }
    }
}

impl Front for NfsFront {
    fn serve(
        self: Arc<Self>,
        listeners: FrontListeners,
        current: Arc<Current>,
        stopping: watch::Receiver<bool>,
    ) -> Task<PortmapServices> {
        Box::pin(async move {
            let Some(bound) = listeners.own else { return PortmapServices::default() };
            let settings = &current.settings.server;
            let families = |wanted: fn(&IpAddr) -> bool| settings.listen.iter().any(wanted);
            let (ipv4, ipv6) = (families(IpAddr::is_ipv4), families(IpAddr::is_ipv6));
            self.service.set_places(ProgramAddresses {
                programs: bound.port,
                portmap: None,
                udp: true,
                ipv4,
                ipv6,
            });
            self.answer(bound, &stopping);
            let found = self.announce(settings, &stopping).await;
            // Clients find the lock service now: those that held locks are told to reclaim them.
            let service = self.service.clone();
            tokio::spawn(async move { nfs::server::notify_hosts(&service).await });
            found
        })
    }

    fn examined(&self, is_wanted: &dyn Fn(Protocol, &Peer) -> bool) -> Vec<ExaminedConnection> {
        self.connections.examined(is_wanted, || |_: &Peer| PeerSession::default())
    }

    fn stopped(self: Arc<Self>) -> Task {
        Box::pin(async move {
            nfs::server::withdraw(&self.service).await;
            self.connections.ended().await;
        })
    }
}
