//! The server's side: RPC programs over one set of exports.
//!
//! ```text
//! stream.rs, datagram.rs ─► rpc.rs (call.rs) ─► replies.rs ─► v3/ · v4/ · mount.rs · nlm/ · nsm.rs · portmap.rs ─► vfs
//!                             └─► gss.rs: logins by Kerberos
//!                                      handle.rs and export.rs find the file and the caller's user
//! ```

mod answer;
mod call;
mod clients;
mod datagram;
mod export;
mod gss;
mod handle;
mod mount;
mod naming;
mod nlm;
#[cfg(test)]
mod noise;
mod nsm;
mod observed;
mod outgoing;
mod portmap;
mod recalling;
mod replies;
mod rpc;
mod status;
mod strangers;
mod stream;
mod takeover;
#[cfg(test)]
mod testing;
mod tls;
mod unnamed;
mod v3;
mod v4;

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use auth::{LoginGuard, UnixAccounts};
use conn::RefusedVersions;
use lock::{Mutex, RwLock};
use rustls::ServerConfig;
use vfs::names::{Folding, folds_alike};

pub use call::MAX_RECORD;
use clients::ClientIds;
pub use datagram::{MAX_DATAGRAM, serve_datagrams};
pub use export::{Export, ExportOptions, Rule, Squash, TlsRule};
pub use gss::{Flavor, Tickets};
pub use handle::HandleSecret;
use naming::Naming;
pub use nsm::{HostTable, InMemory, IndexHostTable, notify_hosts};
pub use outgoing::{CallEndpoint, CallNetwork, ExchangeFuture, HostSockets};
pub use portmap::{ForeignProgram, Portmap, ProgramAddresses, announce, withdraw};
use replies::Replies;
use unnamed::UnnamedHosts;

use crate::ranks;
pub use stream::{protocol, serve_stream};
pub use takeover::{CommonGrace, LostServers, Phase};
pub use tls::Protection;

/// What the lock manager and the status monitor need besides files.
pub struct Company {
    /// How the server calls other hosts.
    pub network: Arc<dyn CallNetwork>,
    /// The table of hosts that hold locks. The server reads it after a restart.
    pub hosts: Arc<dyn HostTable>,
    /// The table of clients of version 4 that have files open. The server reads it after a restart.
    pub clients: Arc<dyn HostTable>,
    /// The grace period of several servers of one tree. `None`: there is one server, whose grace period begins with it.
    pub common: Option<Arc<dyn CommonGrace>>,
    /// Tells this server from others with the same secret of file handles. `None`: it is the only one.
    pub own: Option<HandleSecret>,
    /// The number of this run of the server, counted up at each start.
    pub epoch: u64,
    /// The grace period: how long after a restart clients may reclaim their locks before new locks
    /// are granted.
    pub grace: Duration,
    /// The name by which clients know this host.
    pub name: String,
    /// Logs mounts. The same for all protocols.
    pub login_guard: Arc<LoginGuard>,
}

impl Default for Company {
    /// The host's network, and an empty table of hosts.
    fn default() -> Self {
        let (hosts, clients) = (Arc::new(InMemory::default()), Arc::new(InMemory::default()));
        let grace = Duration::from_secs(45);
        Self {
            network: Arc::new(HostSockets),
            hosts,
            clients,
            common: None,
            own: None,
            epoch: 1,
            grace,
            name: "fourfold".into(),
            login_guard: Arc::default(),
        }
    }
}

/// What the programs of one server share.
pub struct Service {
    exports: RwLock<Arc<Vec<Arc<Export>>>, ranks::NfsExports>,
    secret: HandleSecret,
    /// Changes at each start. A client that sees a new value repeats its uncommitted writes.
    verifier: [u8; 8],
    replies: Replies,
    mounts: mount::Mounts,
    unnamed: UnnamedHosts,
    clients: ClientIds,
    places: Mutex<ProgramAddresses, ranks::NfsPlaces>,
    network: Arc<dyn CallNetwork>,
    monitor: nsm::Monitor,
    locks: nlm::Locks,
    nfs4: v4::Clients,
    naming: RwLock<Arc<Naming>, ranks::NfsNaming>,
    tls: RwLock<Option<Arc<ServerConfig>>, ranks::NfsTls>,
    gss: gss::Gss,
    login_guard: Arc<LoginGuard>,
    refused: RefusedVersions,
    oldest_version: AtomicU32,
    newest_version: AtomicU32,
    /// The minor versions of version 4 that are answered, one bit each.
    minors: AtomicU32,
    /// What datagrams of a client wait for.
    before: OnceLock<conn::AdmissionHook>,
}

impl Service {
    /// A service with these exports. `secret` makes file handles unforgeable and must be the same
    /// after a restart. `started` must be different.
    pub fn new(exports: Vec<Export>, secret: HandleSecret, started: SystemTime) -> Arc<Self> {
        Self::in_company(exports, secret, started, Company::default())
    }

    /// The same with locks that clients can reclaim after a restart.
    pub fn in_company(
        exports: Vec<Export>,
        secret: HandleSecret,
        started: SystemTime,
        company: Company,
    ) -> Arc<Self> {
        let nfs4 = v4::Clients::new(&company, &secret);
        let since = started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Arc::new(Self {
            exports: RwLock::new(Arc::new(exports.into_iter().map(Arc::new).collect())),
            secret,
            verifier: (since.as_nanos() as u64).to_be_bytes(),
            replies: Replies::default(),
            mounts: mount::Mounts::default(),
            unnamed: UnnamedHosts::default(),
            clients: ClientIds::default(),
            places: Mutex::default(),
            monitor: nsm::Monitor::new(&company, nfs4.has_former()),
            network: company.network,
            locks: nlm::Locks::default(),
            nfs4,
            naming: RwLock::new(Arc::new(Naming::new(None, UnixAccounts::NameService))),
            tls: RwLock::default(),
            gss: gss::Gss::default(),
            login_guard: company.login_guard,
            refused: RefusedVersions::default(),
            oldest_version: AtomicU32::new(crate::wire::v3::VERSION),
            newest_version: AtomicU32::new(crate::wire::v3::VERSION),
            minors: AtomicU32::new(1),
            before: OnceLock::new(),
        })
    }

    /// Datagrams of each client wait for this before they are answered. Connections do so where they are accepted.
    pub fn set_before(&self, before: conn::AdmissionHook) {
        let _ = self.before.set(before); // said once
    }

    /// The present exports.
    pub fn exports(&self) -> Arc<Vec<Arc<Export>>> {
        self.exports.read().clone()
    }

    /// Replaces the exports. Handles of exports that stay go on working. What clients have locked in an export that is gone
    /// is released, and its files are closed.
    pub fn set_exports(&self, exports: Vec<Export>) {
        let exports: Arc<Vec<_>> = Arc::new(exports.into_iter().map(Arc::new).collect());
        let before = std::mem::replace(&mut *self.exports.write(), exports.clone());
        let stays = |old: &Export| exports.iter().any(|new| new.tag == old.tag);
        for export in before.iter().filter(|export| !stays(export)) {
            self.leave_export(export);
            self.locks.leave(export);
        }
    }

    /// The oldest and the newest version of NFS that are answered.
    pub(crate) fn versions(&self) -> (u32, u32) {
        (self.oldest_version.load(Ordering::Relaxed), self.newest_version.load(Ordering::Relaxed))
    }

    /// Answers these versions of NFS: 3, 4 or both. Calls of other versions are told which there are.
    pub fn set_versions(&self, versions: RangeInclusive<u32>) {
        let known = |version: &u32| (*version).clamp(crate::wire::v3::VERSION, crate::wire::v4::VERSION);
        self.oldest_version.store(known(versions.start()), Ordering::Relaxed);
        self.newest_version.store(known(versions.end()), Ordering::Relaxed);
    }

    /// Answers these minor versions of version 4, up to 2. Calls of others get NFS4ERR_MINOR_VERS_MISMATCH.
    pub fn set_minor_versions(&self, minors: &[u32]) {
        let known = minors.iter().filter(|minor| **minor <= v4::NEWEST_MINOR);
        self.minors.store(known.fold(0, |bits, minor| bits | 1 << minor), Ordering::Relaxed);
    }

    /// Names users and groups to clients of version 4 by these names. If they are the present ones, names that are known stay.
    pub fn set_naming(&self, domain: Option<&str>, accounts: &UnixAccounts) {
        if !self.naming.read().is_of(domain, accounts) {
            *self.naming.write() = Arc::new(Naming::new(domain.map(Into::into), accounts.clone()));
        }
    }

    /// Offers TLS to the connections that begin from now on. `None`: to none.
    pub fn set_tls(&self, config: Option<Arc<ServerConfig>>) {
        *self.tls.write() = config;
    }

    pub(crate) fn naming(&self) -> Arc<Naming> {
        self.naming.read().clone()
    }

    pub(crate) fn speaks_minor(&self, minor: u32) -> bool {
        minor <= v4::NEWEST_MINOR && self.minors.load(Ordering::Relaxed) >> minor & 1 == 1
    }

    /// The addresses of the programs, as portmap reports them.
    pub fn places(&self) -> ProgramAddresses {
        *self.places.lock()
    }

    /// Sets the addresses of the programs, once the ports are known.
    pub fn set_places(&self, places: ProgramAddresses) {
        *self.places.lock() = places;
    }

    pub(crate) fn network(&self) -> &dyn CallNetwork {
        self.network.as_ref()
    }

    /// The export of this name, in any normal form. Clients mount it as `/name`.
    pub(crate) fn export_named(&self, name: &[u8]) -> Option<Arc<Export>> {
        let any_form = Folding { case_sensitive: true, normalisation_sensitive: false };
        let is_it = |export: &&Arc<Export>| folds_alike(export.name.as_bytes(), name, any_form);
        self.exports.read().iter().find(is_it).cloned()
    }

    pub(crate) fn export_tagged(&self, tag: u32) -> Option<Arc<Export>> {
        self.exports.read().iter().find(|export| export.tag == tag).cloned()
    }
}

/// The origin of a call.
#[derive(Debug, Clone, Copy)]
pub struct CallOrigin {
    /// The client's address.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
    /// Over a datagram.
    pub datagram: bool,
    /// What protects the call. It is no part of the identity of a connection.
    pub protection: Protection,
}
