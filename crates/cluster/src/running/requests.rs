//! Requests to other servers that are not about the state of files (`node/calls.rs`).

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use super::{Cluster, RunContext};
use crate::fence;

/// The answer to a request, once it is there. `None`: it is refused, and nothing was done.
pub type Answering = Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send>>;

/// What answers requests of other servers.
pub trait PeerRequestHandler: Send + Sync {
    /// Answers a request, which has [`MAX_CALL`](crate::MAX_CALL) bytes at most.
    fn answer(&self, request: Vec<u8>) -> Answering;
}

/// Why a request has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// Nothing was done: there is no connection to the server, or it refuses the request.
    #[error("the other server cannot be asked")]
    Refused,
    /// The server is lost, or takes too long. It may have done what it was asked for.
    #[error("the other server has not answered")]
    Unanswered,
}

impl Cluster {
    /// What answers requests of other servers. Without it they are refused.
    pub fn set_answers(&self, answers: Arc<dyn PeerRequestHandler>) {
        let _ = self.shared.answers.set(answers); // it is called once
    }

    /// The other members.
    #[must_use]
    pub fn others(&self) -> Vec<u16> {
        let members = self.shared.members.borrow();
        members
            .members
            .iter()
            .map(|member| member.number)
            .filter(|number| *number != self.shared.me)
            .collect()
    }

    /// Asks another server, and waits for its answer.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn call(&self, server: u16, request: Vec<u8>, within: Duration) -> Result<Vec<u8>, CallError> {
        let (answer, answered) = oneshot::channel();
        if !self.shared.with(|node| node.call(server, request, answer)) {
            return Err(CallError::Refused);
        }
        match timeout(within, answered).await {
            Ok(Ok(Some(answer))) => Ok(answer),
            Ok(Ok(None)) => Err(CallError::Refused),
            Ok(Err(_)) | Err(_) => Err(CallError::Unanswered),
        }
    }
}

impl RunContext {
    /// Answers a request of another server.
    pub(super) fn answer(self: &Arc<Self>, from: u16, number: u64, request: Vec<u8>) {
        let (shared, answers) = (self.clone(), self.answers.get().cloned());
        self.runtime.spawn(async move {
            let answer = match answers {
                Some(answers) => answers.answer(request).await,
                None => None,
            };
            shared.with(|node| node.answer_call(fence::now(), from, number, answer));
        });
    }
}
