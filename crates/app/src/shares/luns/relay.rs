//! PERSISTENT RESERVE OUT between the servers of a cluster: from the server that an initiator has sent it to, to the one that
//! serves the unit; and back to all others, the unit attentions that it causes. What is in them is the matter of
//! `iscsi/server/scsi/relayed.rs`.
//!
//! ```text
//! kind: u8 (1 command, 2 unit attentions) │ NAA identifier: u64, big-endian │ the rest
//! ```

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use cluster::{Answering, CallError, Cluster, PeerRequestHandler};
use iscsi::server::LogicalUnit;
use tokio::time::{Instant, sleep};

use super::roles::Roles;

const COMMAND: u8 = 1;
const ATTENTIONS: u8 = 2;
/// How long a command may take until it is answered: a lost server is replaced in 5 to 8 s. Initiators wait for 30 s and more.
const WITHIN: Duration = Duration::from_secs(10);
/// How long after a server has refused a command it is asked again, or the next one.
const AGAIN_AFTER: Duration = Duration::from_millis(100);

/// Finds a unit of this server by its NAA identifier, with the numbers of its target's ports.
type Find = Box<dyn Fn(u64) -> Option<(Arc<LogicalUnit>, Vec<u16>)> + Send + Sync>;

/// The way to the other servers.
pub(crate) struct Relay {
    cluster: Arc<Cluster>,
    here: Arc<Here>,
}

/// The units of this server.
struct Here {
    find: OnceLock<Find>,
    /// It has this one, to answer other servers.
    cluster: Weak<Cluster>,
}

impl Relay {
    pub(super) fn new(cluster: Arc<Cluster>) -> Self {
        let here = Arc::new(Here { find: OnceLock::new(), cluster: Arc::downgrade(&cluster) });
        Self { cluster, here }
    }

    /// From now on commands of other servers are executed.
    pub(crate) fn begin(
        &self,
        find: impl Fn(u64) -> Option<(Arc<LogicalUnit>, Vec<u16>)> + Send + Sync + 'static,
    ) {
        let _ = self.here.find.set(Box::new(find)); // it is called once
        self.cluster.set_answers(Arc::new(Answerer(self.here.clone())));
    }

    /// Has the server that serves a unit execute a command, and returns its answer. `None`: no server has answered in time, and the command
    /// may have been executed.
    pub(super) async fn command(
        &self,
        roles: &Roles,
        target: &str,
        naa: u64,
        command: &[u8],
    ) -> Option<Vec<u8>> {
        let until = Instant::now() + WITHIN;
        loop {
            let answer = match roles.server(target) {
                Some(server) if server == roles.me() => {
                    self.here.execute(naa, command).await.ok_or(CallError::Refused)
                }
                Some(server) => {
                    let left = until.saturating_duration_since(Instant::now());
                    self.cluster.call(server, message(COMMAND, naa, command), left).await
                }
                None => Err(CallError::Refused),
            };
            match answer {
                Ok(answer) => return Some(answer),
                Err(CallError::Refused) if Instant::now() + AGAIN_AFTER < until => sleep(AGAIN_AFTER).await,
                Err(CallError::Refused | CallError::Unanswered) => return None,
            }
        }
    }

    /// Has all other servers raise unit attentions.
    pub(super) fn tell(&self, naa: u64, attentions: &[u8]) {
        tell(&self.cluster, naa, attentions);
    }
}

/// Servers that cannot be reached do not get them: unit attentions end with a session anyway.
fn tell(cluster: &Arc<Cluster>, naa: u64, attentions: &[u8]) {
    for server in cluster.others() {
        let (cluster, message) = (cluster.clone(), message(ATTENTIONS, naa, attentions));
        tokio::spawn(async move { cluster.call(server, message, WITHIN).await });
    }
}

impl Here {
    /// Executes a command, if this server serves the unit.
    async fn execute(&self, naa: u64, command: &[u8]) -> Option<Vec<u8>> {
        let (unit, ports) = self.find.get()?(naa)?;
        let relayed = unit.relayed(command, &ports).await?;
        if let Some(cluster) = self.cluster.upgrade() {
            relayed.attentions.iter().for_each(|message| tell(&cluster, naa, message));
        }
        Some(relayed.answer)
    }

    fn attend(&self, naa: u64, attentions: &[u8]) -> Option<Vec<u8>> {
        self.find.get()?(naa)?.0.attend(attentions);
        Some(Vec::new())
    }
}

/// Answers other servers.
struct Answerer(Arc<Here>);

impl PeerRequestHandler for Answerer {
    fn answer(&self, request: Vec<u8>) -> Answering {
        let here = self.0.clone();
        Box::pin(async move {
            let (kind, naa, rest) = parse(&request)?;
            match kind {
                COMMAND => here.execute(naa, rest).await,
                ATTENTIONS => here.attend(naa, rest),
                _ => None,
            }
        })
    }
}

fn message(kind: u8, naa: u64, rest: &[u8]) -> Vec<u8> {
    [&[kind][..], &naa.to_be_bytes(), rest].concat()
}

fn parse(message: &[u8]) -> Option<(u8, u64, &[u8])> {
    let (kind, rest) = message.split_first()?;
    let (naa, rest) = rest.split_first_chunk()?;
    Some((*kind, u64::from_be_bytes(*naa), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_parsed_as_it_was_made() {
        let made = message(COMMAND, 0x3000_0000_0000_0001, b"rest");
        assert_eq!(made, b"\x01\x30\0\0\0\0\0\0\x01rest");
        assert_eq!(parse(&made), Some((COMMAND, 0x3000_0000_0000_0001, &b"rest"[..])));
        assert_eq!((parse(b""), parse(&made[..8])), (None, None));
    }
}
