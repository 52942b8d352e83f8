//! The virtual addresses of this server: it takes, renews and gives them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use lock::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::RunContext;
use crate::addresses::{Address, AddressAssignment, AddressMethod, connections, plan};
use crate::etcd::{Error, Etcd};
use crate::fence;
use crate::membership::{EtcdState, RENEW_EVERY, address_key};
use crate::node::successor_of;
use crate::ranks;

/// How long an address that this host could not get is left to others.
const TRY_AGAIN_AFTER: Duration = Duration::from_secs(10);
/// How long an address is left to the successor of its former server, which has the durable opens of the clients.
const SUCCESSOR_FIRST: Duration = Duration::from_secs(1);

/// How often the network is told of an address: MAX_NEIGHBOR_ADVERTISEMENT of RFC 4861 10, once a second.
const TOLD: u8 = 3;

/// What etcd said of addresses.
#[derive(Debug, Clone, Default)]
pub(super) struct EtcdAddresses {
    /// When it was asked, as [`fence::now`] counts.
    asked: Duration,
    held: Vec<AddressAssignment>,
    takers: Vec<u16>,
    members: Vec<u16>,
}

impl EtcdAddresses {
    pub(super) fn of(asked: Duration, seen: &EtcdState) -> Self {
        let takers = seen.members.members.iter().filter(|member| member.addresses);
        let takers = takers.map(|member| member.number).collect();
        let members = seen.members.view().members;
        Self { asked, held: seen.addresses.clone(), takers, members }
    }
}

/// The task that keeps the addresses.
pub(super) struct Keeping {
    stop: watch::Sender<bool>,
    task: Mutex<Option<JoinHandle<()>>, ranks::ClusterWays>,
}

impl Keeping {
    /// Begins it, if this server takes addresses. Returns where it is told what etcd says.
    pub(super) fn start(shared: &Arc<RunContext>, lease: u64) -> (watch::Sender<EtcdAddresses>, Self) {
        let (looks, looked) = watch::channel(EtcdAddresses::default());
        let (stop, stopping) = watch::channel(false);
        let takes = !shared.config.addresses.is_empty();
        let keep = || shared.etcd.spawn(Addresses::new(shared.clone(), lease).keep(looked, stopping));
        (looks, Self { stop, task: Mutex::new(takes.then(keep)) })
    }

    /// This server has no address any more.
    pub(super) async fn end(&self) {
        self.stop.send_replace(true);
        let task = self.task.lock().take();
        if let Some(task) = task {
            let _ = task.await; // a panic there was logged
        }
    }
}

/// An address that this server has.
struct OwnAddress {
    address: Address,
    since: Duration,
    /// How often the network was told.
    told: u8,
}

/// The addresses of a running server.
pub(super) struct Addresses {
    shared: Arc<RunContext>,
    etcd: Etcd,
    lease: u64,
    way: AddressMethod,
    own: Vec<OwnAddress>,
    /// When an address was given away last.
    given: Duration,
    /// Addresses that this host could not get, and when they are tried again.
    refused: Vec<(IpAddr, Instant)>,
    /// The servers that had the addresses, and when that was seen last.
    former: HashMap<IpAddr, (u16, Instant)>,
}

impl Addresses {
    pub(super) fn new(shared: Arc<RunContext>, lease: u64) -> Self {
        let etcd = Etcd::new(shared.config.etcd.clone());
        let way = shared.config.address_command.clone().map_or(AddressMethod::Kernel, AddressMethod::Command);
        let (own, refused, former) = (Vec::new(), Vec::new(), HashMap::new());
        Self { shared, etcd, lease, way, own, given: Duration::ZERO, refused, former }
    }

    /// Until it is told to stop. Then this server has no address any more.
    pub(super) async fn keep(
        mut self,
        mut looks: watch::Receiver<EtcdAddresses>,
        mut stopping: watch::Receiver<bool>,
    ) {
        let mut renew_at = Instant::now();
        while !*stopping.borrow() {
            let looked = looks.borrow_and_update().clone();
            if !self.shared.fence.is_over() {
                self.follow(&looked).await;
            }
            if Instant::now() >= renew_at {
                renew_at = Instant::now() + RENEW_EVERY;
                self.renew().await;
            }
            tokio::select! {
                changed = looks.changed() => if changed.is_err() { return },
                () = sleep(RENEW_EVERY) => {}
                _ = stopping.changed() => {}
            }
        }
        for own in std::mem::take(&mut self.own) {
            self.release(&own.address).await;
            if let Err(error) = self.give(own.address.ip).await {
                tracing::warn!(%error, address = %own.address.ip, "another server takes it when the lease has ended");
            }
        }
    }

    async fn follow(&mut self, looked: &EtcdAddresses) {
        let me = self.shared.me;
        let is_lost =
            |own: &OwnAddress| own.since < looked.asked && !looked.held.contains(&(own.address.ip, me));
        let (lost, own): (Vec<OwnAddress>, Vec<OwnAddress>) =
            std::mem::take(&mut self.own).into_iter().partition(is_lost);
        self.own = own;
        for own in lost {
            self.release(&own.address).await; // not expected: its key goes with the lease
        }
        self.refused.retain(|(_, until)| Instant::now() < *until);
        let seen = Instant::now();
        self.former.extend(looked.held.iter().map(|(ip, of)| (*ip, (*of, seen))));
        let wanted: Vec<IpAddr> = self.shared.config.addresses.iter().map(|address| address.ip).collect();
        let mut held = looked.held.clone();
        held.extend(self.own.iter().map(|own| (own.address.ip, me)));
        held.sort_unstable();
        held.dedup();
        let plan = plan(&wanted, &held, (&looked.takers, me), |ip| connections(ip) > 0);
        // It has the key, and did not hear of that.
        let is_missed =
            |(ip, of): &&AddressAssignment| *of == me && self.own.iter().all(|own| own.address.ip != *ip);
        let missed = looked.held.iter().filter(is_missed).map(|(ip, _)| *ip);
        let missed: Vec<IpAddr> = if looked.asked > self.given { missed.collect() } else { Vec::new() };
        for ip in plan.take.into_iter().chain(missed.iter().copied()) {
            if self.refused.iter().any(|(refused, _)| *refused == ip)
                || self.is_successors(ip, &looked.members)
            {
                continue;
            }
            if let Err(error) = self.take(ip, missed.contains(&ip)).await {
                tracing::warn!(%error, address = %ip, "a virtual address is not taken yet");
            }
        }
        for ip in plan.give {
            let at = self.own.iter().position(|own| own.address.ip == ip);
            let Some(own) = at.map(|at| self.own.swap_remove(at)) else { continue };
            self.release(&own.address).await;
            if let Err(error) = self.give(ip).await {
                tracing::warn!(%error, address = %ip, "a virtual address is not given away yet");
            }
        }
    }

    /// Whether an address is to be taken by the successor of the server that had it, if that does it soon.
    fn is_successors(&self, ip: IpAddr, members: &[u16]) -> bool {
        let Some((of, seen)) = self.former.get(&ip) else { return false };
        let me = self.shared.me;
        *of != me
            && seen.elapsed() < SUCCESSOR_FIRST
            && successor_of(*of, members).is_some_and(|successor| successor != me)
    }

    async fn take(&mut self, ip: IpAddr, has_key: bool) -> Result<(), Error> {
        let Some(address) = self.shared.config.addresses.iter().find(|address| address.ip == ip).cloned()
        else {
            return Ok(());
        };
        let key = address_key(&self.shared.config.cluster, ip);
        if !has_key && !self.etcd.swap(&key, 0, &self.shared.me.to_string(), Some(self.lease)).await? {
            return Ok(()); // another server was faster
        }
        let since = fence::now();
        let (way, seconds, taken) = (self.way.clone(), self.seconds(), address.clone());
        if seconds == 0 {
            return Ok(()); // this server is about to end
        }
        match blocking(move || way.take(&taken, seconds)).await {
            Ok(()) => {
                tracing::info!(address = %ip, device = address.device, "this server has the virtual address");
                self.own.push(OwnAddress { address, since, told: 1 });
            }
            Err(error) => {
                tracing::error!(%error, address = %ip, device = address.device, "this host does not get the virtual address");
                self.refused.push((ip, Instant::now() + TRY_AGAIN_AFTER));
                self.release(&address).await;
                self.give(ip).await?;
            }
        }
        Ok(())
    }

    async fn give(&mut self, ip: IpAddr) -> Result<(), Error> {
        let key = address_key(&self.shared.config.cluster, ip);
        let removed = self.etcd.remove_if(&key, &self.shared.me.to_string()).await;
        self.given = fence::now();
        removed
    }

    async fn release(&self, address: &Address) {
        let (way, released) = (self.way.clone(), address.clone());
        match blocking(move || way.release(&released)).await {
            Ok(()) => {
                tracing::info!(address = %address.ip, "this server does not have the virtual address any more")
            }
            Err(error) => {
                tracing::error!(%error, address = %address.ip, "the virtual address is not removed from this host")
            }
        }
    }

    async fn renew(&mut self) {
        let seconds = self.seconds();
        if seconds == 0 {
            return;
        }
        for own in &mut self.own {
            let (way, address, tells) = (self.way.clone(), own.address.clone(), own.told < TOLD);
            own.told = own.told.saturating_add(1);
            if let Err(error) = blocking(move || way.renew(&address, seconds, tells)).await {
                tracing::error!(%error, address = %own.address.ip, "the virtual address is not renewed on this host");
            }
        }
    }

    /// How long the kernel keeps an address: until this server may not answer any more.
    fn seconds(&self) -> u32 {
        u32::try_from(self.shared.fence.left().as_millis().div_ceil(1000)).unwrap_or(0)
    }
}

async fn blocking(task: impl FnOnce() -> std::io::Result<()> + Send + 'static) -> std::io::Result<()> {
    tokio::task::spawn_blocking(task).await.unwrap_or_else(|error| Err(error.into()))
}
