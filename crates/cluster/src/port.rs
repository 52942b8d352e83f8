//! What the state of the files wants of the other servers.

use std::convert::Infallible;
use std::sync::Arc;

use coherence::state::{Back, ChangeNotice, Coordinator, Elsewhere, OpenId, Party};
use formats::FileId;
use lock::Mutex;
use tokio::sync::{Notify, oneshot};

use crate::fence::Fence;
use crate::node::{Question, ToKeep};
use crate::ranks;
use crate::trees::Trees;

/// Something that the state wants.
#[derive(Debug)]
pub(crate) enum StateRequest {
    Ask(FileId),
    Free(FileId),
    Hold(FileId),
    Back(u16, FileId, Back),
    Tell(ChangeNotice),
    Below(Question),
    BelowOver(u64),
    Keep(ToKeep),
    Drop(OpenId),
    Arrived(oneshot::Sender<Infallible>),
    Kept(OpenId, oneshot::Sender<bool>),
}

/// Takes what the state wants, and keeps it until the [`Node`](crate::Node) is called. Files have their numbers in the
/// cluster here. What waits is bounded: by the operations that wait for a state, by the leases and requests of a
/// state, by the folders that are being moved, and by `MOST_TOLD`.
pub struct StatePort {
    wanted: Mutex<Vec<StateRequest>, ranks::ClusterPort>,
    called: Notify,
    pub(crate) trees: Trees,
    fence: Arc<Fence>,
}

/// How many changes may wait. Those beyond it are lost, and the others are told so.
const MOST_TOLD: usize = 65_536;

impl StatePort {
    /// Nothing is wanted. The server is not a member any more when `fence` says so.
    pub fn new(trees: Trees, fence: Arc<Fence>) -> Arc<Self> {
        Arc::new(Self { wanted: Mutex::default(), called: Notify::new(), trees, fence })
    }

    /// Waits until something is wanted.
    pub(crate) async fn called(&self) {
        self.called.notified().await;
    }

    /// Has the node looked at, because an order has come that waits for the time.
    pub(crate) fn call(&self) {
        self.called.notify_one();
    }

    pub(crate) fn take(&self) -> Vec<StateRequest> {
        std::mem::take(&mut *self.wanted.lock())
    }

    pub(crate) fn want(&self, wanted: StateRequest) {
        self.wanted.lock().push(wanted);
        self.called.notify_one();
    }
}

impl Coordinator for StatePort {
    fn ask(&self, file: FileId) {
        match self.trees.out(file) {
            Some(file) => self.want(StateRequest::Ask(file)),
            None => tracing::error!(
                ?file,
                "the file is on a file system that the cluster does not know; it cannot be used"
            ),
        }
    }

    fn free(&self, file: FileId) {
        if let Some(file) = self.trees.out(file) {
            self.want(StateRequest::Free(file));
        }
    }

    fn hold(&self, file: FileId) {
        if let Some(file) = self.trees.out(file) {
            self.want(StateRequest::Hold(file));
        }
    }

    fn back(&self, server: u16, file: FileId, back: Back) {
        if let Some(file) = self.trees.out(file) {
            self.want(StateRequest::Back(server, file, back));
        }
    }

    fn hold_below(&self, folder: FileId, by: Party) -> oneshot::Receiver<Option<Elsewhere>> {
        let (answer, answered) = oneshot::channel();
        match self.trees.out(folder) {
            Some(folder) => self.want(StateRequest::Below(Question { folder, by, answer })),
            None => _ = answer.send(Some(Box::new(()))), // no other server has it
        }
        answered
    }

    fn tell(&self, told: ChangeNotice) {
        if let Some(told) = self.trees.told_out(told) {
            let mut wanted = self.wanted.lock();
            if wanted.len() < MOST_TOLD {
                wanted.push(StateRequest::Tell(told));
            }
            drop(wanted);
            self.called.notify_one();
        }
    }

    fn is_fenced(&self) -> bool {
        self.fence.is_over()
    }
}
