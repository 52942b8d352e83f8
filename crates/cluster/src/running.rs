//! A server of a cluster, running: the membership, the connections, and the [`Node`] between them.

mod accepting;
mod addresses;
mod below;
mod calling;
mod common;
mod config;
mod grace;
mod ids;
mod luns;
mod requests;
mod schedules;
mod stream;
mod successors;
mod sums;
mod thread;

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, mpsc as blocking};
use std::time::Duration;

use coherence::served::ServedTree;
use coherence::state::{ChangeNotice, Successor};
use coherence::state::{Limits, Policy, State};
use formats::HostKey;
use lock::Mutex;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::common::Common;
use crate::evictions::Stores;
use crate::fence::{self, Fence};
use crate::membership::{EtcdState, JoinError, LOOK_EVERY, Member, Members, Membership, RENEW_EVERY};
use crate::ranks;
use crate::tls::Tls;
use crate::{Address, Effect, Node, NodeCounts, StatePort, Trees};
use addresses::{EtcdAddresses, Keeping};
use thread::{OrderReceivers, Orders};

pub use config::ClusterConfig;
pub use grace::{Grace, LostRecords};
pub use luns::UnitPlaces;
pub use requests::{Answering, CallError, PeerRequestHandler};
pub use sums::Counting;

/// How many changes may wait to be told to this server's subscribers.
const MOST_TOLD: usize = 65_536;
/// How often it is looked whether the server may still answer.
const WATCH_EVERY: Duration = Duration::from_millis(20);
/// How long etcd may take to number a file system.
const NUMBER_WITHIN: Duration = Duration::from_secs(10);

/// Why a server does not run in its cluster.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The certificate cannot be used, or the address.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It cannot become a member.
    #[error(transparent)]
    Join(#[from] JoinError),
}

/// A number for a file system is wanted.
struct Numbering {
    key: String,
    known: Option<u32>,
    answer: blocking::Sender<Result<u32, String>>,
}

/// What all tasks of a running server use.
struct RunContext {
    node: Mutex<Node, ranks::ClusterNode>,
    port: Arc<StatePort>,
    /// The frames to each server with a connection.
    ways: Mutex<HashMap<u16, mpsc::UnboundedSender<Vec<u8>>>, ranks::ClusterWays>,
    told: mpsc::Sender<ChangeNotice>,
    tree: Arc<dyn ServedTree>,
    runtime: tokio::runtime::Handle,
    /// The thread for all that asks etcd.
    etcd: tokio::runtime::Handle,
    fence: Arc<Fence>,
    grace: Grace,
    /// The quotas that the servers count together.
    sums: sums::SharedSums,
    /// What takes over opens of lost servers.
    taker: OnceLock<Arc<dyn Successor>>,
    /// What answers requests of other servers.
    answers: OnceLock<Arc<dyn PeerRequestHandler>>,
    /// Permits to look what is open inside a folder that another server moves.
    looks_below: Arc<Semaphore>,
    /// The stores of the shares have all that clients have written.
    is_flushed: AtomicBool,
    members: watch::Sender<Members>,
    topology: watch::Sender<Topology>,
    config: ClusterConfig,
    tls: Tls,
    me: u16,
}

/// A server of a cluster.
pub struct Cluster {
    shared: Arc<RunContext>,
    kept: Arc<common::CommonCache>,
    orders: Orders,
    stop: watch::Sender<bool>,
    keeping: Keeping,
    drained: watch::Receiver<bool>,
    places: watch::Receiver<UnitPlaces>,
    membership: Mutex<Option<JoinHandle<()>>, ranks::ClusterWays>,
    _thread: thread::Thread,
}

/// Which servers there are and where clients find them, as etcd said last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topology {
    /// The members.
    pub members: Vec<Member>,
    /// The virtual addresses that a server has, each with the number of the server.
    pub addresses: Vec<(IpAddr, u16)>,
    /// The servers that were ordered to stop.
    pub drained: Vec<u16>,
}

/// A server's view of its cluster, for people.
#[derive(Debug, Clone)]
pub struct ClusterStatus {
    /// The number of this server.
    pub me: u16,
    /// The members.
    pub members: Members,
    /// The members to which there is a connection.
    pub connected: Vec<u16>,
    /// What this server has.
    pub counts: NodeCounts,
    /// How long it may answer without hearing from etcd.
    pub left: Duration,
}

impl Cluster {
    /// Becomes a member. `stores` evict lost servers. `tree` makes the tree of this server, whose clients use this
    /// state. `lost` is called, on a thread of its own, when the server may not answer any more:
    /// it must end the process.
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn start(
        config: ClusterConfig,
        stores: Arc<dyn Stores>,
        tree: impl FnOnce(State) -> Arc<dyn ServedTree>,
        lost: impl FnOnce() + Send + 'static,
    ) -> Result<Self, StartError> {
        let tls = Tls::load(&config.files, &config.name)?;
        let listener = TcpListener::bind(config.listen).await?;
        let fence = Arc::new(Fence::new());
        let address = listener.local_addr()?.to_string();
        let mut common = Common::new(config.etcd.clone(), &config.cluster);
        let port = common.port(&config.name).await.map_err(JoinError::from)?;
        common.etcd.disconnect(); // the next request is of another thread
        let me = config.member(address, port);
        let membership =
            Membership::join(config.etcd.clone(), &config.cluster, me, config.grace, (&*fence, stores))
                .await?;
        let (me, (etcd, thread)) = (membership.me.number, thread::begin()?);
        let kept = Arc::new(common::CommonCache::new(common));
        coherence::state::ClientId::begin_with(me);
        let port = StatePort::new(Trees::default(), fence.clone());
        let state = State::joined(Policy::default(), Limits::default(), me, port.clone());
        let tree = tree(state.clone());
        let node = Mutex::new(Node::new(me, state, port.clone()));
        let (told, to_tell) = mpsc::channel(MOST_TOLD);
        let runtime = tokio::runtime::Handle::current();
        let members = watch::Sender::new(Members::default());
        let topology = watch::Sender::new(Topology::default());
        let (ways, grace) = (Mutex::default(), Grace::default());
        let (taker, answers, is_flushed) = (OnceLock::new(), OnceLock::new(), AtomicBool::new(false));
        let looks_below = Arc::new(Semaphore::new(below::MOST_LOOKS));
        let shared = RunContext {
            node,
            port,
            ways,
            told,
            tree,
            runtime,
            etcd,
            fence,
            grace,
            sums: sums::SharedSums::new(me),
            taker,
            answers,
            looks_below,
            is_flushed,
            members,
            topology,
            config,
            tls,
            me,
        };
        let shared = Arc::new(shared);
        let (stop, stopping) = watch::channel(false);
        let (orders, ordered) = thread::orders();
        watch_fence(shared.fence.clone(), stopping.clone(), lost)?;
        tokio::spawn(tell(shared.tree.clone(), to_tell));
        tokio::spawn(shared.clone().drive());
        tokio::spawn(accepting::accept(shared.clone(), listener));
        tokio::spawn(calling::call_members(shared.clone()));
        let (order, drained) = watch::channel(false);
        let (looks, keeping) = Keeping::start(&shared, membership.lease());
        let (moved, places) = watch::channel(UnitPlaces::default());
        let membership = (membership, looks, order, moved);
        let membership = shared.etcd.spawn(keep(shared.clone(), membership, ordered, stopping));
        let membership = Mutex::new(Some(membership));
        Ok(Self { shared, kept, orders, stop, keeping, drained, places, membership, _thread: thread })
    }

    /// Whether this server may answer clients.
    #[must_use]
    pub fn fence(&self) -> &Arc<Fence> {
        &self.shared.fence
    }

    /// A folder is shared: its file system gets its number in the cluster. Waits for etcd; not to be called by a task.
    ///
    /// # Errors
    /// etcd cannot be used, or the file system has another number by another share already.
    pub fn share(&self, device: u32, root: &HostKey) -> Result<(), String> {
        let known = self.shared.port.trees.number(device);
        let key = wire::hex::encode(root.as_bytes());
        let (answer, answered) = blocking::channel();
        let wanted = Numbering { key, known, answer };
        self.orders.numbering.try_send(wanted).map_err(|_| "the cluster is busy or over".to_owned())?;
        let number = answered.recv_timeout(NUMBER_WITHIN).map_err(|_| "etcd takes too long".to_owned())??;
        if known.is_some_and(|known| known != number) {
            return Err("other servers share two folders of this file system as two file systems: \
                        share both from the first server on"
                .to_owned());
        }
        self.shared.port.trees.add(device, number);
        Ok(())
    }

    /// Waits until this server knows what the others have.
    pub async fn ready(&self, within: Duration) -> bool {
        let until = tokio::time::Instant::now() + within;
        while tokio::time::Instant::now() < until {
            if self.shared.node.lock().counts().is_ready && self.shared.members.borrow().epoch > 0 {
                return true;
            }
            sleep(Duration::from_millis(10)).await;
        }
        false
    }

    /// For people.
    #[must_use]
    pub fn status(&self) -> ClusterStatus {
        let shared = &self.shared;
        let counts = shared.node.lock().counts();
        let mut connected: Vec<u16> = shared.ways.lock().keys().copied().collect();
        connected.sort_unstable();
        let (members, left) = (shared.members.borrow().clone(), shared.fence.left());
        ClusterStatus { me: shared.me, members, connected, counts, left }
    }

    /// True once this server was ordered to stop (`fourfold cluster drain`).
    #[must_use]
    pub fn drained(&self) -> watch::Receiver<bool> {
        self.drained.clone()
    }

    /// The servers and their addresses, whenever that changes. Empty before this server is a member.
    #[must_use]
    pub fn topology(&self) -> watch::Receiver<Topology> {
        self.shared.topology.subscribe()
    }

    /// The name of this server.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.config.name
    }

    /// The name of the cluster.
    #[must_use]
    pub fn cluster(&self) -> &str {
        &self.shared.config.cluster
    }

    /// Whether this server is a witness for clients of others.
    #[must_use]
    pub fn is_witness(&self) -> bool {
        self.shared.config.witness
    }

    /// The virtual addresses of the cluster.
    #[must_use]
    pub fn addresses(&self) -> &[Address] {
        &self.shared.config.addresses
    }

    /// Leaves the cluster. Nothing may be answered after this. `is_flushed`: the stores of the shares have all that clients have
    /// written, so they need not evict this server.
    pub async fn leave(&self, is_flushed: bool) {
        self.keeping.end().await;
        self.end_sums();
        self.leave_to_successor().await;
        self.shared.is_flushed.store(is_flushed, Ordering::Release);
        self.stop.send_replace(true);
        let membership = self.membership.lock().take();
        if let Some(membership) = membership {
            let _ = membership.await; // a panic there was logged
        }
    }
}

impl RunContext {
    /// Calls the node whenever it may have something to do.
    async fn drive(self: Arc<Self>) {
        let mut members = self.members.subscribe();
        loop {
            let due = self.with(|node| {
                node.tick(fence::now());
                node.due()
            });
            // Without an order that waits, empty states are looked at now and then.
            let wait = due.map_or(Duration::from_secs(1), |due| due.saturating_sub(fence::now()));
            tokio::select! {
                () = self.port.called() => {}
                () = sleep(wait) => {}
                _ = members.changed() => {}
            }
        }
    }

    /// Calls the node, and does what it wants.
    fn with<R>(self: &Arc<Self>, call: impl FnOnce(&mut Node) -> R) -> R {
        let mut node = self.node.lock();
        let result = call(&mut node);
        // Under the lock: frames leave in the order of their numbers.
        node.effects().into_iter().for_each(|effect| self.perform(effect));
        result
    }

    fn perform(self: &Arc<Self>, effect: Effect) {
        match effect {
            Effect::Send(to, frame) => {
                if let Some(way) = self.ways.lock().get(&to) {
                    let _ = way.send(frame); // a connection that is over: it is sent again over the next one
                }
            }
            Effect::Remove(removing) => {
                let shared = self.clone();
                self.runtime.spawn_blocking(move || {
                    let done = removing.run();
                    shared.with(|node| node.removed(fence::now(), done));
                });
            }
            Effect::Told(told) => {
                self.tree.follow(&told);
                if self.told.try_send(told).is_err() {
                    self.hear_of_loss();
                }
            }
            Effect::Lost => self.hear_of_loss(),
            Effect::Inherit(lost, inherited) => self.inherit(lost, inherited),
            Effect::Call(from, number, request) => self.answer(from, number, request),
            Effect::Sums(from, epoch, message) => self.sums.hear(sums::ReceivedSums { epoch, from, message }),
            Effect::Below(below) => self.look_below(below),
            Effect::Removed => self.fence.close(),
        }
    }

    fn hear_of_loss(&self) {
        let tree = self.tree.clone();
        self.runtime.spawn_blocking(move || tree.hear_of_loss());
    }
}

/// Tells the subscribers of this server of changes by others.
async fn tell(tree: Arc<dyn ServedTree>, mut to_tell: mpsc::Receiver<ChangeNotice>) {
    while let Some(told) = to_tell.recv().await {
        let tree = tree.clone();
        let _ = tokio::task::spawn_blocking(move || tree.hear(&told)).await; // a panic there was logged
    }
}

/// Keeps the lease, and looks at the members.
async fn keep(
    shared: Arc<RunContext>,
    (mut membership, looks, order, moved): (
        Membership,
        watch::Sender<EtcdAddresses>,
        watch::Sender<bool>,
        watch::Sender<UnitPlaces>,
    ),
    OrderReceivers { mut numberings, mut backups }: OrderReceivers,
    mut stopping: watch::Receiver<bool>,
) {
    membership.connect_anew(); // from this thread
    let mut renew_at = tokio::time::Instant::now();
    while !*stopping.borrow() {
        if tokio::time::Instant::now() >= renew_at {
            match membership.renew(&shared.fence).await {
                Ok(()) => renew_at = tokio::time::Instant::now() + RENEW_EVERY,
                Err(error) => tracing::warn!(%error, "the lease of this server was not renewed"),
            }
        }
        let asked = fence::now();
        match membership.look().await {
            Ok(seen) => {
                looks.send_replace(EtcdAddresses::of(asked, &seen));
                let places = UnitPlaces::of(shared.me, &seen);
                moved.send_if_modified(|before| std::mem::replace(before, places.clone()) != places);
                let is_drained = seen.drained.contains(&shared.me);
                order.send_if_modified(|drained| is_drained && !std::mem::replace(drained, true));
                shared.tell_topology(&seen);
                shared.grace.see(asked, seen.grace.as_ref()); // before what lost servers had is taken away
                shared.adopt(seen.members);
            }
            Err(error) => tracing::warn!(%error, "the members of the cluster are not known"),
        }
        if backups.has_changed().unwrap_or(false) {
            let shares = backups.borrow_and_update().clone();
            if let Err(error) = membership.tell_backups(&shares).await {
                tracing::warn!(%error, "the other servers do not know of backups at this one");
                backups.mark_changed();
            }
        }
        tokio::select! {
            () = sleep(LOOK_EVERY) => {}
            _ = stopping.changed() => {}
            Some(Numbering { key, known, answer }) = numberings.recv() => {
                let number = membership.tree(&key, known).await.map_err(|error| error.to_string());
                let _ = answer.send(number); // the share has waited too long
            }
        }
    }
    if let Err(error) = membership.leave(&shared.fence, shared.is_flushed.load(Ordering::Acquire)).await {
        tracing::warn!(%error, "the other servers take over when the lease of this one has ended");
    }
}

impl RunContext {
    fn tell_topology(&self, seen: &EtcdState) {
        let members = seen.members.members.clone();
        if members.iter().all(|member| member.number != self.me) {
            return; // of a time before this server has joined
        }
        let now = Topology { members, addresses: seen.addresses.clone(), drained: seen.drained.clone() };
        self.topology.send_if_modified(|before| {
            let is_new = *before != now;
            *before = now;
            is_new
        });
    }

    fn adopt(self: &Arc<Self>, members: Members) {
        let known = self.members.borrow().epoch;
        let is_member = members.members.iter().any(|member| member.number == self.me);
        // The first views may be from before this server has joined.
        if members.epoch <= known || (known == 0 && !is_member) {
            return;
        }
        let names: Vec<&str> = members.members.iter().map(|member| member.name.as_str()).collect();
        tracing::info!(epoch = members.epoch, members = names.join(", "), "the members of the cluster");
        let view = members.view();
        self.with(|node| node.adopt(fence::now(), view));
        self.members.send_replace(members);
    }
}

/// Calls `lost` once the server may not answer any more, unless it is leaving. A thread of its own, as the others may
/// all be busy.
fn watch_fence(
    fence: Arc<Fence>,
    stopping: watch::Receiver<bool>,
    lost: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    let watch = move || {
        while !fence.is_over() {
            std::thread::sleep(WATCH_EVERY);
        }
        if !*stopping.borrow() {
            lost();
        }
    };
    std::thread::Builder::new().name("fence".into()).spawn(watch).map(drop)
}
