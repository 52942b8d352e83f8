//! The hosts that are told of a restart of this server, and where they are stored.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use lock::{Mutex, RwLock};

use super::kept::MAX;
use crate::ranks;

/// The table of hosts that hold locks, which outlives the server. Each method may wait for the
/// disk.
pub trait HostTable: Send + Sync + 'static {
    /// Adds the host or replaces its note; on the disk on return.
    fn add(&self, host: &[u8], note: &[u8]) -> io::Result<()>;
    /// Removes the host, if it is there; on the disk on return.
    fn remove(&self, host: &[u8]) -> io::Result<()>;
    /// All hosts and their notes.
    fn all(&self) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>>;
}

/// A table that is lost with the process.
#[derive(Debug, Default)]
pub struct InMemory {
    hosts: Mutex<BTreeMap<Vec<u8>, Vec<u8>>, ranks::NsmTable>,
}

impl HostTable for InMemory {
    fn add(&self, host: &[u8], note: &[u8]) -> io::Result<()> {
        let mut hosts = self.hosts.lock();
        if hosts.len() as u64 >= MAX && !hosts.contains_key(host) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        hosts.insert(host.into(), note.into());
        Ok(())
    }

    fn remove(&self, host: &[u8]) -> io::Result<()> {
        self.hosts.lock().remove(host);
        Ok(())
    }

    fn all(&self) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        Ok(self.hosts.lock().iter().map(|(host, note)| (host.clone(), note.clone())).collect())
    }
}

/// A host that must be told of a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) struct MonitoredHost {
    pub(super) address: IpAddr,
    /// The host's own name. The table keeps it as the note.
    pub(super) name: Vec<u8>,
}

impl MonitoredHost {
    /// A row of a table.
    pub(super) fn of_table((address, name): (Vec<u8>, Vec<u8>)) -> Option<Self> {
        let address = str::from_utf8(&address).ok()?.parse().ok()?;
        Some(Self { address, name })
    }
}

/// The hosts that hold locks now, and the table that stores them.
#[derive(Clone)]
pub(super) struct MonitoredHosts {
    inner: Arc<Inner>,
}

struct Inner {
    table: Arc<dyn HostTable>,
    /// The hosts added to the table in this run.
    now: RwLock<HashMap<IpAddr, Vec<u8>>, ranks::NsmHosts>,
    /// Held while the table and `now` change together. Only threads that may wait take it.
    changing: Mutex<(), ranks::NsmChanging>,
}

impl MonitoredHosts {
    pub(super) fn new(table: Arc<dyn HostTable>) -> Self {
        Self { inner: Arc::new(Inner { table, now: RwLock::default(), changing: Mutex::default() }) }
    }

    /// Every host of the table.
    pub(super) fn kept(&self) -> Vec<MonitoredHost> {
        let all = self.inner.table.all().unwrap_or_else(|error| {
            tracing::error!(%error, "the hosts that held locks are not known; they are not told of the restart");
            Vec::new()
        });
        all.into_iter().filter_map(MonitoredHost::of_table).collect()
    }

    /// Whether a host of this name or address holds locks now.
    pub(super) fn knows(&self, name: &[u8]) -> bool {
        let now = self.inner.now.read();
        now.iter().any(|(address, own)| own == name || address.to_string().as_bytes() == name)
    }

    /// Adds a host to the table, unless it was added in this run.
    pub(super) async fn watch(&self, address: IpAddr, name: &[u8]) -> Result<(), ()> {
        if self.inner.now.read().contains_key(&address) {
            return Ok(());
        }
        let name = name.to_vec();
        self.in_pool(move |inner| {
            if inner.now.read().contains_key(&address) {
                return Ok(());
            }
            inner.table.add(address.to_string().as_bytes(), &name).map_err(|error| {
                tracing::error!(%error, host = %address, "a lock is refused: its host cannot be remembered");
            })?;
            inner.now.write().insert(address, name);
            Ok(())
        })
        .await
    }

    /// Treats a host as one of an earlier run.
    pub(super) fn let_go(&self, address: IpAddr) {
        self.inner.now.write().remove(&address);
    }

    /// Removes a host of an earlier run from the table, unless it has locked something in this run.
    pub(super) async fn forget_former(&self, address: IpAddr) {
        let _ = self
            .in_pool(move |inner| {
                if !inner.now.read().contains_key(&address) {
                    remove(inner, address);
                }
                Ok(())
            })
            .await;
    }

    /// Treats all hosts as ones of an earlier run.
    pub(super) fn forget_all(&self) {
        self.inner.now.write().clear();
    }

    async fn in_pool(
        &self,
        change: impl FnOnce(&Inner) -> Result<(), ()> + Send + 'static,
    ) -> Result<(), ()> {
        let inner = self.inner.clone();
        let changed = tokio::task::spawn_blocking(move || {
            let _changing = inner.changing.lock();
            change(&inner)
        });
        changed.await.unwrap_or(Err(()))
    }
}

fn remove(inner: &Inner, address: IpAddr) {
    if let Err(error) = inner.table.remove(address.to_string().as_bytes()) {
        tracing::warn!(%error, host = %address, "a host cannot be forgotten; it will be told of one restart too many");
    }
}
