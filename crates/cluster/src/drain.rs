//! A server that is ordered to stop, from any machine.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::etcd::{Endpoints, Error, Etcd};
use crate::membership::{LEASE_SECONDS, LOOK_EVERY, Member, prefix};
use crate::seen::parse;

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

fn drain_key(prefix: &str, number: u16) -> String {
    format!("{prefix}drain/{number}")
}
