//! Membership: a lease of each server in etcd, and the list of members, which the members change.
//!
//! ```text
//! fourfold/CLUSTER/members/NUMBER   who it is; with the lease of the server
//! fourfold/CLUSTER/view             the epoch and its members
//! fourfold/CLUSTER/numbers          the last number of a server
//! fourfold/CLUSTER/trees/KEY        the number of the file system whose root has this key
//! fourfold/CLUSTER/grace            the lost servers whose clients may have something to reclaim
//! fourfold/CLUSTER/addresses/IP     the number of the server with a virtual address; with the lease of the server
//! fourfold/CLUSTER/luns             changed with the table of LUNs (common.rs)
//! fourfold/CLUSTER/drain/NUMBER     this server is to stop; with a lease of the command that ordered it
//! fourfold/CLUSTER/left/NUMBER      this server has left in order; with a lease of its own
//! fourfold/CLUSTER/reclaims         the same; clients may reclaim as long as it is there
//! ```
//!
//! A server may answer until its lease can have ended, less a margin: the clock is read *before* a
//! request to renew is sent, and etcd counts from when it gets it. A member is taken out of the view by
//! another member that sees in one answer of etcd that its key is gone, so after that time. If clients of the server may
//! reclaim something, the grace period begins in the same transaction: no server sees the one without the other. Its two
//! keys have leases of their own. `reclaims` ends earlier, by more than the time in which a server that does not hear from
//! etcd ends itself. So no server lets a client reclaim when another one grants the same to others.
//!
//! If the shares are in stores that can evict a client, a lost server stays in the view until that is done (`evictions.rs`). One that
//! has left in order has written all, and is not evicted.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use crate::View;
use crate::etcd::{Endpoints, Error, Etcd, Pair, Put};
use crate::evictions::{Evictions, Stores};
use crate::fence::{self, Fence};
use crate::records::Records;

/// How long a lease lasts without being renewed, in seconds.
pub const LEASE_SECONDS: u64 = 5;
/// How much earlier a server stops to answer: more than what clocks differ by in the time of a lease.
const MARGIN: Duration = Duration::from_millis(1_000);
/// How often a lease is renewed.
pub(crate) const RENEW_EVERY: Duration = Duration::from_millis(1_000);
/// How often the members are looked at.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How much longer others wait than clients may reclaim, in seconds: longer than a server answers that does not hear from etcd.
const ENDING_SECONDS: u64 = LEASE_SECONDS;
/// How long it is known that a server has left in order, in seconds: longer than the others need to see it.
const LEFT_SECONDS: u64 = 60;
/// How long a server waits for an earlier one of its name to go.
const WAIT_FOR_NAME: Duration = Duration::from_secs(3 * LEASE_SECONDS);

/// A server, as others know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its number, which no server has had before.
    pub number: u16,
    /// Its name, which is in its certificate.
    pub name: String,
    /// The address and port for other servers.
    pub address: String,
    /// It takes virtual addresses.
    #[serde(default)]
    pub addresses: bool,
    /// Its own addresses, at which clients reach it.
    #[serde(default)]
    pub own: Vec<IpAddr>,
    /// It is a witness for clients of other servers (MS-SWN).
    #[serde(default)]
    pub witness: bool,
    /// How the stores of the shares know it. Empty: they do not.
    #[serde(default)]
    pub stores: String,
    /// The number of its port of the targets of iSCSI, which no server of another name has. 0: it has none.
    #[serde(default)]
    pub port: u16,
    /// Where initiators reach that port.
    #[serde(default)]
    pub portals: Vec<SocketAddr>,
}

/// The list of members as it is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Members {
    /// Counts up with each change.
    pub epoch: u64,
    /// By their numbers, ascending.
    pub members: Vec<Member>,
}

impl Members {
    /// What the [`Node`](crate::Node) wants to know of it.
    #[must_use]
    pub fn view(&self) -> View {
        View { epoch: self.epoch, members: self.members.iter().map(|member| member.number).collect() }
    }
}

/// The grace period after the loss of servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GracePeriod {
    /// The numbers of the lost servers.
    pub lost: Vec<u16>,
    /// Their clients may still reclaim.
    pub reclaims: bool,
}

/// What one answer of etcd says.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The members.
    pub members: Members,
    /// The grace period, if there is one.
    pub grace: Option<GracePeriod>,
    /// The virtual addresses, each with the number of its server.
    pub addresses: Vec<(IpAddr, u16)>,
    /// The servers that were ordered to stop.
    pub drained: Vec<u16>,
    /// The revision of the last change of the table of LUNs.
    pub luns: u64,
}

/// Why a server cannot join.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// etcd cannot be used.
    #[error(transparent)]
    Etcd(#[from] Error),
    /// The name is taken.
    #[error("a server with the name {0} is a member already")]
    NameTaken(String),
    /// No number is left.
    #[error("65,535 servers have joined this cluster so far: give it another `cluster-name`")]
    NoNumber,
    /// The lease has ended while the server was joining.
    #[error("etcd was too slow: the lease of this server has ended already")]
    TooSlow,
}

/// This server's part in a cluster.
pub struct Membership {
    etcd: Etcd,
    prefix: String,
    lease: u64,
    records: Records,
    evictions: Evictions,
    grace_seconds: u64,
    /// This server.
    pub me: Member,
}

impl Membership {
    /// The next request is sent over a new connection, which belongs to the runtime of its caller.
    pub(crate) fn connect_anew(&mut self) {
        self.etcd.disconnect();
    }

    /// The lease of this server.
    pub(crate) fn lease(&self) -> u64 {
        self.lease
    }

    /// Takes a lease, and a number for `me`, which has none yet. From then on `fence` says how long the server may answer.
    ///
    /// # Errors
    /// See [`JoinError`].
    pub async fn join(
        endpoints: Endpoints,
        cluster: &str,
        me: Member,
        grace: Duration,
        (fence, stores): (&Fence, Arc<dyn Stores>),
    ) -> Result<Self, JoinError> {
        let mut etcd = Etcd::new(endpoints);
        let prefix = prefix(cluster);
        wait_for_name(&mut etcd, &prefix, &me.name).await?;
        let number = etcd.count(&format!("{prefix}numbers")).await?;
        let number = u16::try_from(number).map_err(|_| JoinError::NoNumber)?;
        let before = fence::now();
        let lease = etcd.grant(LEASE_SECONDS).await?;
        let me = Member { number, stores: stores.identity(), ..me };
        let value = serde_json::to_string(&me).unwrap_or_default();
        if !etcd.swap(&format!("{prefix}members/{number}"), 0, &value, Some(lease)).await? {
            return Err(JoinError::TooSlow);
        }
        fence.extend(before + Duration::from_secs(LEASE_SECONDS) - MARGIN);
        let (records, evictions) = (Records::of(cluster), Evictions::of(stores));
        Ok(Self { etcd, prefix, lease, records, evictions, grace_seconds: grace.as_secs(), me })
    }

    /// Renews the lease. If it has ended, the fence is closed.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub async fn renew(&mut self, fence: &Fence) -> Result<(), Error> {
        let before = fence::now();
        match self.etcd.renew(self.lease).await? {
            true => fence.extend(before + Duration::from_secs(LEASE_SECONDS) - MARGIN),
            false => fence.close(),
        }
        Ok(())
    }

    /// The members. If they are not those with leases, the list is changed.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub async fn look(&mut self) -> Result<Seen, Error> {
        let found = self.etcd.list(&self.prefix).await?;
        let drained = parse_drained(&self.prefix, &found);
        let (members, revision, mut alive) = parse(&self.prefix, &found);
        let (grace, addresses) = (parse_grace(&self.prefix, &found), parse_addresses(&self.prefix, &found));
        let marker = format!("{}luns", self.prefix);
        let luns = found.iter().find(|pair| pair.key == marker).map_or(0, |pair| pair.revision);
        if members.members == alive || !alive.contains(&self.me) {
            return Ok(Seen { members, grace, addresses, luns, drained });
        }
        let mut lost = gone(&members.members, &alive);
        lost.retain(|member| !has_left(&self.prefix, &found, member.number));
        alive.extend(self.evictions.pending(fence::now(), &lost).into_iter().cloned());
        alive.sort_by_key(|member| member.number);
        if members.members == alive {
            return Ok(Seen { members, grace, addresses, luns, drained });
        }
        let next = Members { epoch: members.epoch + 1, members: alive };
        let lost = self.lost(&members, &next, grace.as_ref()).await?;
        let (view, value) = (format!("{}view", self.prefix), json(&next));
        let mut puts = vec![Put { key: &view, value: &value, lease: None }];
        let keys = ["reclaims", "grace"].map(|key| format!("{}{key}", self.prefix));
        let lost_value = json(&lost);
        if !lost.is_empty() {
            for (key, more) in keys.iter().zip([0, ENDING_SECONDS]) {
                let lease = self.etcd.grant(self.grace_seconds + more).await?;
                puts.push(Put { key, value: &lost_value, lease: Some(lease) });
            }
        }
        match self.etcd.swap_with((&view, revision), &puts).await? {
            true if lost.is_empty() => Ok(Seen { members: next, grace, addresses, luns, drained }),
            true => {
                let grace = Some(GracePeriod { lost, reclaims: true });
                Ok(Seen { members: next, grace, addresses, luns, drained })
            }
            false => Ok(Seen { members, grace, addresses, luns, drained }), // another member was faster: the next look shows it
        }
    }

    /// The lost servers for which a grace period begins now; empty: none begins.
    async fn lost(
        &mut self,
        before: &Members,
        next: &Members,
        grace: Option<&GracePeriod>,
    ) -> Result<Vec<u16>, Error> {
        let mut lost = Vec::new();
        for member in gone(&before.members, &next.members) {
            if self.grace_seconds == 0 {
                self.records.forget(&mut self.etcd, member.number).await?;
            } else if self.records.has(&mut self.etcd, member.number).await? {
                lost.push(member.number);
            }
        }
        if let (false, Some(grace)) = (lost.is_empty(), grace) {
            lost.extend(&grace.lost); // it begins anew for all
        }
        Ok(lost)
    }

    /// The number of a file system in the cluster, by the key of its root. `known`: the number that it has by another root.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub async fn tree(&mut self, key: &str, known: Option<u32>) -> Result<u32, Error> {
        let name = format!("{}trees/{key}", self.prefix);
        loop {
            let found = self.etcd.list(&name).await?;
            if let Some(pair) = found.iter().find(|pair| pair.key == name) {
                return pair.value.parse().map_err(|_| Error::Refused(format!("{name} is not a number")));
            }
            let number = match known {
                Some(number) => u64::from(number),
                None => self.etcd.count(&format!("{}next-tree", self.prefix)).await?,
            };
            self.etcd.swap(&name, 0, &number.to_string(), None).await?;
        }
    }

    /// Leaves the cluster: others take over at once. `is_flushed`: the stores of the shares have all that clients have written.
    ///
    /// # Errors
    /// etcd cannot be used; then they take over when the lease ends.
    pub async fn leave(&mut self, fence: &Fence, is_flushed: bool) -> Result<(), Error> {
        fence.close();
        if is_flushed {
            let lease = self.etcd.grant(LEFT_SECONDS).await?;
            self.etcd.swap(&left_key(&self.prefix, self.me.number), 0, "", Some(lease)).await?;
        }
        self.etcd.revoke(self.lease).await
    }
}

/// The members that are not among these any more.
fn gone<'a>(before: &'a [Member], now: &[Member]) -> Vec<&'a Member> {
    before.iter().filter(|member| now.iter().all(|other| other.number != member.number)).collect()
}

fn left_key(prefix: &str, number: u16) -> String {
    format!("{prefix}left/{number}")
}

fn has_left(prefix: &str, found: &[Pair], number: u16) -> bool {
    let key = left_key(prefix, number);
    found.iter().any(|pair| pair.key == key)
}

fn drain_key(prefix: &str, number: u16) -> String {
    format!("{prefix}drain/{number}")
}

/// Orders a server to stop, and waits until it has left the cluster.
///
/// # Errors
/// etcd cannot be used, or [`DrainError`].
pub async fn drain(
    endpoints: Endpoints,
    cluster: &str,
    name: &str,
    within: Duration,
) -> Result<Vec<Member>, DrainError> {
    let (mut etcd, prefix, until) = (Etcd::new(endpoints), prefix(cluster), Instant::now() + within);
    let (_, _, alive) = parse(&prefix, &etcd.list(&prefix).await?);
    let Some(member) = alive.iter().find(|member| member.name == name) else {
        return Err(DrainError::NotThere(alive.into_iter().map(|member| member.name).collect()));
    };
    if alive.len() == 1 {
        return Err(DrainError::TheOnlyOne);
    }
    let lease = etcd.grant(within.as_secs().max(LEASE_SECONDS)).await?;
    let key = drain_key(&prefix, member.number);
    etcd.swap(&key, 0, "", Some(lease)).await?; // if it is there, it was ordered before
    loop {
        let (members, _, alive) = parse(&prefix, &etcd.list(&prefix).await?);
        if !members.members.contains(member) && !alive.contains(member) {
            etcd.revoke(lease).await?;
            return Ok(alive);
        }
        if Instant::now() >= until {
            return Err(DrainError::StillThere(within.as_secs()));
        }
        sleep(LOOK_EVERY).await;
    }
}

/// Why a server was not drained.
#[derive(Debug, thiserror::Error)]
pub enum DrainError {
    /// etcd cannot be used.
    #[error(transparent)]
    Etcd(#[from] Error),
    /// No such server runs.
    #[error("no server of this name runs in the cluster; these do: {}", .0.join(", "))]
    NotThere(Vec<String>),
    /// No other server could take over.
    #[error("it is the only server of the cluster; stop it as any other server")]
    TheOnlyOne,
    /// It has not ended in time.
    #[error("it has not left the cluster after {0} s; it may still be stopping")]
    StillThere(u64),
}

/// The key that is changed with the table of LUNs.
pub(crate) fn luns_key(cluster: &str) -> String {
    format!("{}luns", prefix(cluster))
}

/// The key of a virtual address.
pub(crate) fn address_key(cluster: &str, ip: IpAddr) -> String {
    format!("{}addresses/{ip}", prefix(cluster))
}

fn parse_addresses(prefix: &str, found: &[Pair]) -> Vec<(IpAddr, u16)> {
    let of = |pair: &Pair| {
        let ip = pair.key.strip_prefix(prefix)?.strip_prefix("addresses/")?;
        Some((ip.parse().ok()?, pair.value.parse().ok()?))
    };
    found.iter().filter_map(of).collect()
}

fn parse_drained(prefix: &str, found: &[Pair]) -> Vec<u16> {
    let of = |pair: &Pair| pair.key.strip_prefix(prefix)?.strip_prefix("drain/")?.parse().ok();
    found.iter().filter_map(of).collect()
}

/// A cluster, as a machine that is not a member sees it.
#[derive(Debug, Clone, Default)]
pub struct Overview {
    /// The list of members.
    pub members: Members,
    /// The servers with a lease.
    pub alive: Vec<Member>,
    /// The virtual addresses that a server has, each with the number of the server.
    pub addresses: Vec<(IpAddr, u16)>,
}

/// Asks etcd for the members of a cluster.
///
/// # Errors
/// etcd cannot be used.
pub async fn overview(endpoints: Endpoints, cluster: &str) -> Result<Overview, Error> {
    let prefix = prefix(cluster);
    let found = Etcd::new(endpoints).list(&prefix).await?;
    let (members, _, alive) = parse(&prefix, &found);
    Ok(Overview { members, alive, addresses: parse_addresses(&prefix, &found) })
}

fn prefix(cluster: &str) -> String {
    format!("fourfold/{cluster}/")
}

/// A server that was restarted waits until the lease of the one before has ended, as that one may still answer.
async fn wait_for_name(etcd: &mut Etcd, prefix: &str, name: &str) -> Result<(), JoinError> {
    let until = Instant::now() + WAIT_FOR_NAME;
    loop {
        let (_, _, alive) = parse(prefix, &etcd.list(prefix).await?);
        if alive.iter().all(|member| member.name != name) {
            return Ok(());
        }
        if Instant::now() >= until {
            return Err(JoinError::NameTaken(name.to_owned()));
        }
        sleep(LOOK_EVERY).await;
    }
}

/// The list of members, the revision of that, and the members that have a lease.
fn parse(prefix: &str, found: &[Pair]) -> (Members, u64, Vec<Member>) {
    let view = found.iter().find(|pair| pair.key == format!("{prefix}view"));
    let members = view.and_then(|pair| serde_json::from_str(&pair.value).ok()).unwrap_or_default();
    let alive = found.iter().filter(|pair| pair.key.starts_with(&format!("{prefix}members/")));
    let alive = alive.filter_map(|pair| serde_json::from_str::<Member>(&pair.value).ok());
    let alive: BTreeMap<u16, Member> = alive.map(|member| (member.number, member)).collect();
    (members, view.map_or(0, |pair| pair.revision), alive.into_values().collect())
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default() // of numbers and texts: it does not fail
}

fn parse_grace(prefix: &str, found: &[Pair]) -> Option<GracePeriod> {
    let of = |key: &str| found.iter().find(|pair| pair.key.strip_prefix(prefix) == Some(key));
    let lost = serde_json::from_str(&of("grace")?.value).ok()?;
    Some(GracePeriod { lost, reclaims: of("reclaims").is_some() })
}

/// The clients of lost servers have reclaimed all: the grace period ends before its time.
pub(crate) async fn end_grace(etcd: &mut Etcd, cluster: &str) -> Result<(), Error> {
    for key in ["reclaims", "grace"] {
        etcd.remove(&format!("{}{key}", prefix(cluster))).await?;
    }
    Ok(())
}
