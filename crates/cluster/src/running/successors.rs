//! Opens that another server takes over if this one is lost, and those that this one takes over.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use coherence::state::{InheritedOpen, LeaseId, OpenGuard, OpenId, Replicas, Successor};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::{Cluster, RunContext};
use crate::membership::LOOK_EVERY;
use crate::node::ToKeep;
use crate::port::StateRequest;

/// How long the successor of a server that leaves may take to hear the last of it.
const ARRIVES_WITHIN: Duration = Duration::from_secs(2);

impl Cluster {
    /// What takes over opens of lost servers on this one. Without it their clients begin anew.
    pub fn set_successor(&self, successor: Arc<dyn Successor>) {
        let _ = self.shared.taker.set(successor.clone()); // it is called once
        self.shared.node.lock().set_successor(successor);
    }
}

impl Cluster {
    /// The server is about to leave: its successor has all that it was told, if it is there. A server that has just joined may be
    /// the successor, and not be known here yet.
    pub(super) async fn leave_to_successor(&self) {
        if self.shared.node.lock().lacks_successor() {
            sleep(2 * LOOK_EVERY).await;
        }
        let _late = timeout(ARRIVES_WITHIN, self.arrived()).await;
    }
}

impl Replicas for Cluster {
    fn server(&self) -> u16 {
        self.shared.me
    }

    fn keep(
        &self,
        guard: &OpenGuard,
        lease: Option<LeaseId>,
        client: [u8; 16],
        note: Vec<u8>,
        persistent: bool,
    ) {
        let (file, open, note) = (guard.file(), guard.id(), note.into());
        self.shared.port.want(StateRequest::Keep(ToKeep { file, open, lease, client, note, persistent }));
    }

    fn forget(&self, open: OpenId) {
        self.shared.port.want(StateRequest::Drop(open));
    }

    fn arrived(&self) -> oneshot::Receiver<Infallible> {
        let (waiter, arrived) = oneshot::channel();
        self.shared.port.want(StateRequest::Arrived(waiter));
        arrived
    }

    fn kept(&self, open: OpenId) -> oneshot::Receiver<bool> {
        let (waiter, kept) = oneshot::channel();
        self.shared.port.want(StateRequest::Kept(open, waiter));
        kept
    }

    fn has_others(&self) -> bool {
        self.shared.members.borrow().members.iter().any(|member| member.number != self.shared.me)
    }

    fn is_alive(&self, server: u16) -> bool {
        self.shared.members.borrow().members.iter().any(|member| member.number == server)
    }
}

impl RunContext {
    /// A server is lost, and this one has inherited these of its opens.
    pub(super) fn inherit(&self, lost: u16, inherited: Vec<(InheritedOpen, Arc<[u8]>)>) {
        match self.taker.get() {
            Some(taker) => taker.inherit(lost, inherited),
            None => debug_assert!(inherited.is_empty(), "nothing is inherited without it"),
        }
    }
}
