//! What commands do with a cluster, on any machine: no server need run there.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::common::{Common, Text};
use crate::drain::{DrainError, drain};
use crate::etcd::{Endpoints, Error, Etcd, EtcdPair};
use crate::membership::{LEASE_SECONDS, LOOK_EVERY, prefix};
use crate::seen::{EtcdState, parse};

/// How long the others may take to take over from a server that is lost.
const TAKEN_OVER_WITHIN: Duration = Duration::from_secs(3 * LEASE_SECONDS);

/// A text that the servers have in common, and its revision; `None`: it was never written.
///
/// # Errors
/// etcd cannot be used.
pub async fn text(endpoints: Endpoints, cluster: &str, text: Text) -> Result<Option<(String, u64)>, Error> {
    Common::new(endpoints, cluster).text(text).await
}

/// Replaces a text if it is still of this revision (0: it was never written). Returns whether it was.
///
/// # Errors
/// etcd cannot be used. The text may have been replaced.
pub async fn swap_text(
    endpoints: Endpoints,
    cluster: &str,
    (text, revision): (Text, u64),
    value: &str,
) -> Result<bool, Error> {
    Common::new(endpoints, cluster).swap(text, revision, value).await
}

/// The names of the servers that run, and of those of which something is kept for good.
///
/// # Errors
/// etcd cannot be used.
pub async fn names(endpoints: Endpoints, cluster: &str) -> Result<Vec<String>, Error> {
    let prefix = prefix(cluster);
    let (_, _, alive) = parse(&prefix, &Etcd::new(endpoints.clone()).list(&prefix).await?);
    let mut names = Common::new(endpoints, cluster).names().await?;
    names.extend(alive.into_iter().map(|member| member.name));
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// What was removed of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerRemoval {
    /// It has run, and was drained.
    pub was_drained: bool,
    /// The number of its ports of iSCSI is free.
    pub had_port: bool,
    /// How many records of clients of NFS were removed that no server takes over any more, of any earlier server.
    pub records: usize,
}

/// Takes a server out of a cluster for good. If it runs, it is drained first.
///
/// # Errors
/// etcd cannot be used, or [`RemoveError`].
pub async fn remove(
    endpoints: Endpoints,
    cluster: &str,
    name: &str,
    within: Duration,
) -> Result<ServerRemoval, RemoveError> {
    let prefix = prefix(cluster);
    let known = names(endpoints.clone(), cluster).await?;
    let mut etcd = Etcd::new(endpoints.clone());
    let (members, _, alive) = parse(&prefix, &etcd.list(&prefix).await?);
    let is_listed = members.members.iter().any(|member| member.name == name);
    if !is_listed && !known.iter().any(|other| other == name) {
        return Err(RemoveError::Unknown(known));
    }
    let was_drained = alive.iter().any(|member| member.name == name);
    if was_drained {
        drain(endpoints.clone(), cluster, name, within).await?;
    }
    let until = Instant::now() + TAKEN_OVER_WITHIN;
    loop {
        let (members, _, alive) = parse(&prefix, &etcd.list(&prefix).await?);
        if members.members.iter().all(|member| member.name != name) {
            break;
        }
        if alive.is_empty() {
            return Err(RemoveError::NoServer);
        }
        if Instant::now() >= until {
            return Err(RemoveError::NotTakenOver);
        }
        sleep(LOOK_EVERY).await;
    }
    let mut common = Common::new(endpoints, cluster);
    let had_port = common.forget(name).await?;
    // Looked for first: a server that has one by now, and has joined meanwhile, is seen after that.
    let recorded = common.records.counts(&mut common.etcd).await?;
    let over = over(recorded, &prefix, &etcd.list(&prefix).await?);
    for server in over.keys() {
        common.records.forget(&mut common.etcd, *server).await?;
    }
    Ok(ServerRemoval { was_drained, had_port, records: over.values().sum() })
}

/// Those of these servers with records that no server takes over any more: they have neither a lease nor clients that may reclaim.
fn over(mut recorded: BTreeMap<u16, usize>, prefix: &str, found: &[EtcdPair]) -> BTreeMap<u16, usize> {
    let (members, _, alive) = parse(prefix, found);
    let listed: Vec<u16> = members.members.iter().chain(&alive).map(|member| member.number).collect();
    let lost = EtcdState::of(prefix, found, members).grace.map(|grace| grace.lost).unwrap_or_default();
    recorded.retain(|server, _| !listed.contains(server) && !lost.contains(server));
    recorded
}

/// Why a server was not removed.
#[derive(Debug, thiserror::Error)]
pub enum RemoveError {
    /// etcd cannot be used.
    #[error(transparent)]
    Etcd(#[from] Error),
    /// It runs, and was not drained.
    #[error(transparent)]
    Drain(#[from] DrainError),
    /// No such server is known.
    #[error("the cluster knows no server of this name; it knows {}", .0.join(", "))]
    Unknown(Vec<String>),
    /// No server runs that could take over.
    #[error(
        "no server of the cluster runs; start another one, which takes over what clients of this one have"
    )]
    NoServer,
    /// The others have not taken over.
    #[error("the others have not taken over from it yet; try again")]
    NotTakenOver,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::membership::{Member, Members, json};

    #[test]
    fn records_of_servers_that_run_or_whose_clients_may_reclaim_stay() {
        let pair =
            |key: &str, value: String| EtcdPair { key: format!("fourfold/home/{key}"), value, revision: 1 };
        let member = |number| Member { number, ..Member::default() };
        let found = [
            pair("view", json(&Members { epoch: 7, members: vec![member(3)] })),
            pair("members/5", json(&member(5))), // it joins
            pair("grace", json(&[4_u16])),
        ];
        let recorded = (1..=5).map(|number| (number, usize::from(number))).collect();
        assert_eq!(over(recorded, "fourfold/home/", &found), BTreeMap::from([(1, 1), (2, 2)]));
    }
}
