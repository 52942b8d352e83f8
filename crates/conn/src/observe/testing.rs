//! An observer that keeps operations in memory, for session tests of the protocols.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::{EndedOperation, Observer, set};

/// An operation with texts of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in Operation")]
pub struct RecordedOperation {
    pub protocol: &'static str,
    pub client: SocketAddr,
    pub user: String,
    pub share: String,
    pub command: String,
    pub result: String,
    pub failed: bool,
    pub bytes_in: usize,
    pub bytes_out: usize,
}

/// All operations of this process since the first use.
#[derive(Default)]
pub struct Recorder(Mutex<Vec<RecordedOperation>>);

struct Forward(&'static Recorder);

impl Recorder {
    /// The observer of this process.
    pub fn start() -> &'static Self {
        static RECORDER: OnceLock<&'static Recorder> = OnceLock::new();
        RECORDER.get_or_init(|| {
            let recorder: &'static Self = Box::leak(Box::default());
            assert!(set(Box::new(Forward(recorder))), "there are too many observers");
            recorder
        })
    }

    /// The operations of a client.
    pub fn of(&self, client: SocketAddr) -> Vec<RecordedOperation> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().filter(|operation| operation.client == client).cloned().collect()
    }

    /// How many operations a client had on each share, with each result: protocol, user, share, command, result.
    pub fn counts(&self, client: SocketAddr) -> BTreeMap<[String; 5], usize> {
        let mut counts = BTreeMap::new();
        for RecordedOperation { protocol, user, share, command, result, .. } in self.of(client) {
            *counts.entry([protocol.into(), user, share, command, result]).or_default() += 1;
        }
        counts
    }
}

impl Observer for Forward {
    fn ended(&self, operation: &EndedOperation<'_>, _took: Duration) {
        let outcome = &operation.outcome;
        let kept = RecordedOperation {
            protocol: operation.protocol,
            client: operation.client,
            user: outcome.user.into(),
            share: outcome.share.into(),
            command: operation.command.into(),
            result: outcome.result.into(),
            failed: outcome.failed,
            bytes_in: outcome.bytes_in,
            bytes_out: outcome.bytes_out,
        };
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).push(kept);
    }
}
