//! Membership: a lease of each server in etcd, and the list of members, which the members change.
//!
//! ```text
//! fourfold/CLUSTER/members/NUMBER   who it is; with the lease of the server
//! fourfold/CLUSTER/view             the epoch and its members
//! fourfold/CLUSTER/numbers          the last number of a server
//! fourfold/CLUSTER/trees/KEY        the number of the file system whose root has this key
//! fourfold/CLUSTER/grace            the lost servers whose clients may have something to reclaim
//! fourfold/CLUSTER/addresses/IP     the number of the server with a virtual address; with the lease of the server
//! fourfold/CLUSTER/luns, accounts, settings   changed with a text that the servers have in common (common.rs)
//! fourfold/CLUSTER/schedules        the number of the server that keeps the schedules; with the lease of the server
//! fourfold/CLUSTER/backups/NUMBER   the shares with running backups of Macs at this server; with the lease of the server
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
//! If the shares are in stores that can evict a client, a lost server stays in the view until that is done (`evictions.rs`), and the
//! view does not change: a server that joins waits for that, too. One that has left in order has written all, and is not evicted.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use crate::View;
use crate::etcd::{Endpoints, Error, Etcd, EtcdPair, Put};
use crate::evictions::{Evictions, Stores};
use crate::fence::{self, Fence};
use crate::records::Records;
pub use crate::seen::{EtcdState, GracePeriod};
use crate::seen::{backups_key, parse, parse_addresses, schedules_key};

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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    pub async fn look(&mut self) -> Result<EtcdState, Error> {
        let found = self.etcd.list(&self.prefix).await?;
        let (members, revision, alive) = parse(&self.prefix, &found);
        let mut seen = EtcdState::of(&self.prefix, &found, members.clone());
        if members.members == alive || !alive.contains(&self.me) {
            self.take_schedules(&mut seen).await?;
            return Ok(seen);
        }
        let mut lost = gone(&members.members, &alive);
        lost.retain(|member| !has_left(&self.prefix, &found, member.number));
        let pending = self.evictions.pending(fence::now(), &lost);
        let Some(next) = next_view(&members, alive, &pending) else { return Ok(seen) };
        let lost = self.lost(&members, &next, seen.grace.as_ref()).await?;
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
        // Otherwise another member was faster: the next look shows it.
        if self.etcd.swap_with((&view, revision), &puts).await? {
            seen.members = next;
            if !lost.is_empty() {
                seen.grace = Some(GracePeriod { lost, reclaims: true });
            }
        }
        Ok(seen)
    }

    /// Keeps the schedules of the cluster from now on, if no other server does. The key has the lease of this server: another one
    /// can take it only when this one may not answer any more.
    async fn take_schedules(&mut self, seen: &mut EtcdState) -> Result<(), Error> {
        let me = self.me.number;
        let is_member = seen.members.members.contains(&self.me);
        if seen.schedules.is_some() || !is_member || seen.drained.contains(&me) {
            return Ok(());
        }
        let key = schedules_key(&self.prefix);
        if self.etcd.swap(&key, 0, &me.to_string(), Some(self.lease)).await? {
            tracing::info!("this server keeps the schedules of the cluster");
            seen.schedules = Some(me);
        }
        Ok(())
    }

    /// Tells the other servers in which shares clients of this one make backups.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub(crate) async fn tell_backups(&mut self, shares: &[String]) -> Result<(), Error> {
        let key = backups_key(&self.prefix, self.me.number);
        match shares {
            [] => self.etcd.remove(&key).await,
            some => self.etcd.put(&key, &json(&some), Some(self.lease)).await,
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

/// The view that follows when these servers have a lease. `None`: it stays as it is, as long as a lost server may still write to a store
/// (`pending`). A new epoch with that server in it would wait for its report, and no state could move.
fn next_view(before: &Members, alive: Vec<Member>, pending: &[&Member]) -> Option<Members> {
    pending.is_empty().then(|| Members { epoch: before.epoch + 1, members: alive })
}

/// The members that are not among these any more.
fn gone<'a>(before: &'a [Member], now: &[Member]) -> Vec<&'a Member> {
    before.iter().filter(|member| now.iter().all(|other| other.number != member.number)).collect()
}

fn left_key(prefix: &str, number: u16) -> String {
    format!("{prefix}left/{number}")
}

fn has_left(prefix: &str, found: &[EtcdPair], number: u16) -> bool {
    let key = left_key(prefix, number);
    found.iter().any(|pair| pair.key == key)
}

/// The key of a virtual address.
pub(crate) fn address_key(cluster: &str, ip: IpAddr) -> String {
    format!("{}addresses/{ip}", prefix(cluster))
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

pub(crate) fn prefix(cluster: &str) -> String {
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

pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default() // of numbers and texts: it does not fail
}

/// The clients of lost servers have reclaimed all: the grace period ends before its time.
pub(crate) async fn end_grace(etcd: &mut Etcd, cluster: &str) -> Result<(), Error> {
    for key in ["reclaims", "grace"] {
        etcd.remove(&format!("{}{key}", prefix(cluster))).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn while_a_lost_server_may_write_no_other_joins_or_leaves() {
        let member = |number| Member { number, stores: format!("store {number}"), ..Member::default() };
        let before = Members { epoch: 7, members: vec![member(1), member(2), member(3)] };
        let lost = member(1);
        let alive = vec![member(3), member(4)]; // 2 has left, and 4 joins
        assert_eq!(next_view(&before, alive.clone(), &[&lost]), None);
        assert_eq!(next_view(&before, alive.clone(), &[]), Some(Members { epoch: 8, members: alive }));
    }
}
