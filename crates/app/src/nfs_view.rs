//! The NFS server as part of the program: settings in, status out.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use admin::control::{LockStatus, OpenStatus, SessionStatus, Status};
use admin::{Port, Protocol, ServerSettings, Settings, ShareSettings};
use anyhow::Context;
use conn::{Limits, Server, Watchdog};
use nfs::server::{Company, Export, HandleSecret, Places, Portmap, Service, Sockets};
use parking_lot::Mutex;
use tokio::sync::watch;
use vfs::backend::host::{Host, HostOptions};
use vfs::index::Index;
use vfs::state::{LockKind, Modes};
use vfs::{Volume, VolumeOptions};

use crate::bind::Bound;
use crate::running::{Current, View};
use crate::{bind, exports, here, privileges};

/// Where every client looks for portmap.
const PORTMAP: u16 = 111;
/// Most opens, and most locks, of a share that a status lists.
const MOST_SHOWN: usize = 1000;
/// Connections at a time.
const MOST_CONNECTIONS: usize = 16_384;

/// The NFS server.
pub(crate) struct NfsView {
    service: Arc<Service>,
    connections: Arc<Server>,
    watchdog: Arc<Watchdog>,
    index: Index,
    /// Volumes by share name, kept over reloads with their caches and locks.
    volumes: Mutex<HashMap<String, Known>>,
}

struct Known {
    path: PathBuf,
    read_only: bool,
    volume: Arc<Volume>,
}

impl NfsView {
    /// A server for the shares of these settings.
    pub(crate) fn new(current: &Current, state: &admin::State, index: Index) -> anyhow::Result<Arc<Self>> {
        let mut secret = [0; 16];
        secret.copy_from_slice(&state.handle_secret()[..16]);
        let company = Company {
            network: Arc::new(Sockets),
            hosts: Arc::new(index.peers()),
            epoch: index.boot_epoch(),
            grace: current.settings.server.grace_period,
            name: here::host_name(),
        };
        let secret = HandleSecret::new(secret);
        let view = Arc::new(Self {
            service: Service::in_company(Vec::new(), secret, SystemTime::now(), company),
            connections: Server::new(MOST_CONNECTIONS),
            watchdog: Watchdog::start(),
            index,
            volumes: Mutex::default(),
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
        const LOOK_EVERY: Duration = Duration::from_millis(10);
        const MOST_LOOKS: usize = 200;
        for _ in 0..MOST_LOOKS {
            if self.connections.peers().is_empty() {
                return;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Looks after caches.
    pub(crate) fn tend(&self) {
        let volumes: Vec<Arc<Volume>> =
            self.volumes.lock().values().map(|known| known.volume.clone()).collect();
        volumes.iter().for_each(|volume| volume.tend());
    }

    fn exports(&self, settings: &Settings) -> anyhow::Result<Vec<Export>> {
        let shares = settings.shares.iter().filter(|share| share.protocols.contains(&Protocol::Nfs));
        shares.map(|share| self.export(share, settings)).collect()
    }

    fn export(&self, share: &ShareSettings, settings: &Settings) -> anyhow::Result<Export> {
        let identity = self.index.volume(&share.name).context("the index in the state folder failed")?;
        Ok(Export {
            name: share.name.clone(),
            tag: identity.tag.0,
            volume: self.volume(share, settings)?,
            options: exports::options(share),
        })
    }

    /// The share's volume; the same one as before when nothing about its folder has changed.
    fn volume(&self, share: &ShareSettings, settings: &Settings) -> anyhow::Result<Arc<Volume>> {
        let mut volumes = self.volumes.lock();
        if let Some(known) = volumes.get(&share.name)
            && (&known.path, known.read_only) == (&share.path, share.read_only)
        {
            return Ok(known.volume.clone());
        }
        let many = settings.shares.len().max(1);
        let options =
            HostOptions { open_files: privileges::files_to_keep_open() / many, read_only: share.read_only };
        let host = Host::open(&share.path, &options).with_context(|| {
            format!("the folder {} of the share {} cannot be opened", share.path.display(), share.name)
        })?;
        let cache_bytes = usize::try_from(settings.server.cache_size).unwrap_or(usize::MAX) / many;
        let options = VolumeOptions { read_only: share.read_only, cache_bytes, sidecars: share.mac_sidecars };
        let volume = Arc::new(Volume::new(Arc::new(host), options));
        let known = Known { path: share.path.clone(), read_only: share.read_only, volume: volume.clone() };
        volumes.insert(share.name.clone(), known);
        Ok(volume)
    }
}

/// What is open and locked in one share. Files are told by their inode numbers, which `find -inum` finds.
fn held(share: &str, volume: &Volume, status: &mut Status) {
    let modes = |modes: Modes| {
        let letters = [(Modes::READ, 'r'), (Modes::WRITE, 'w'), (Modes::DELETE, 'd')];
        letters.into_iter().filter(|(mode, _)| modes.meets(*mode)).map(|(_, letter)| letter).collect()
    };
    status.opens.extend(volume.state().opens(None, MOST_SHOWN).into_iter().map(|open| OpenStatus {
        share: share.into(),
        file: format!("inode {}", open.file.0),
        owner: format!("client {}", open.client.0),
        access: modes(open.access),
        deny: modes(open.deny),
    }));
    status.locks.extend(volume.state().ranges(None, MOST_SHOWN).into_iter().map(|range| LockStatus {
        share: share.into(),
        file: format!("inode {}", range.file.0),
        owner: format!("client {}", range.lock.owner.client.0),
        start: range.lock.range.start(),
        length: range.lock.range.length().unwrap_or(0),
        exclusive: range.lock.kind == LockKind::Exclusive,
    }));
}

impl View for NfsView {
    fn report(&self, status: &mut Status) {
        let now = SystemTime::now();
        self.volumes.lock().iter().for_each(|(share, known)| held(share, &known.volume, status));
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
