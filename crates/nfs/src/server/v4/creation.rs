//! The order of a client's CREATE_SESSION, RFC 8881 18.36.4: a reply cache with one slot, which exists before any session.

use std::sync::Arc;

use lock::{Mutex, MutexGuard};

use crate::ranks;
use crate::wire::v4::types::Status;

/// The progress of one client.
pub(super) struct ClientCreation(Mutex<CreationProgress, ranks::Nfs4Creation>);

#[derive(Default)]
struct CreationProgress {
    /// The number of the last request that was executed.
    last: u32,
    /// What followed its status, which was OK. `None`: there was none.
    reply: Option<Vec<u8>>,
    /// The request after it has failed. Some clients count such a request, and some repeat its number.
    has_failed: bool,
}

/// A request that is being executed. The next one waits.
pub(super) struct CreationTurn<'a> {
    progress: MutexGuard<'a, CreationProgress, ranks::Nfs4Creation>,
    sequence: u32,
}

/// What to do with a request.
pub(super) enum CreationRequestState<'a> {
    New(CreationTurn<'a>),
    /// It was executed. This followed its status.
    Repeated(Vec<u8>),
}

impl ClientCreation {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::default()))
    }

    /// The number of the next request.
    pub(super) fn expected(&self) -> u32 {
        self.0.lock().last.wrapping_add(1)
    }

    /// Begins a request: SEQ_MISORDERED if it is neither the next nor the last one.
    pub(super) fn begin(&self, sequence: u32) -> Result<CreationRequestState<'_>, Status> {
        let progress = self.0.lock();
        let ahead = sequence.wrapping_sub(progress.last);
        match (ahead, &progress.reply) {
            (0, Some(reply)) => Ok(CreationRequestState::Repeated(reply.clone())),
            (1, _) => Ok(CreationRequestState::New(CreationTurn { progress, sequence })),
            (2, _) if progress.has_failed => {
                Ok(CreationRequestState::New(CreationTurn { progress, sequence }))
            }
            _ => Err(Status::SEQ_MISORDERED),
        }
    }
}

impl CreationTurn<'_> {
    /// Ends the request. `reply` is what follows the status OK.
    pub(super) fn end(mut self, reply: Result<&[u8], Status>) {
        match reply {
            Ok(reply) => {
                *self.progress =
                    CreationProgress { last: self.sequence, reply: Some(reply.to_vec()), has_failed: false };
            }
            Err(_) if self.sequence == self.progress.last.wrapping_add(1) => self.progress.has_failed = true,
            // The second failure: the client has counted the first one.
            Err(_) => {
                *self.progress =
                    CreationProgress { last: self.sequence.wrapping_sub(1), reply: None, has_failed: true };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(creation: &ClientCreation, sequence: u32) -> CreationTurn<'_> {
        match creation.begin(sequence) {
            Ok(CreationRequestState::New(creating)) => creating,
            _ => panic!("request {sequence} is not the next one"),
        }
    }

    #[test]
    fn the_last_request_is_repeated_and_others_are_out_of_order() {
        let creation = ClientCreation::new();
        assert_eq!(creation.expected(), 1);
        assert_eq!(creation.begin(0).err(), Some(Status::SEQ_MISORDERED)); // RFC 8881 18.36.4: a contrived result
        new(&creation, 1).end(Ok(b"one"));
        assert!(matches!(creation.begin(1), Ok(CreationRequestState::Repeated(reply)) if reply == b"one"));
        for sequence in [0, 3, u32::MAX] {
            assert_eq!(creation.begin(sequence).err(), Some(Status::SEQ_MISORDERED));
        }
    }

    #[test]
    fn a_failed_request_may_be_counted_or_not() {
        let creation = ClientCreation::new();
        new(&creation, 1).end(Err(Status::TOOSMALL));
        new(&creation, 1).end(Err(Status::TOOSMALL));
        new(&creation, 2).end(Err(Status::TOOSMALL));
        new(&creation, 3).end(Ok(b"three"));
        assert_eq!(creation.begin(5).err(), Some(Status::SEQ_MISORDERED));
        assert_eq!(creation.expected(), 4);
    }
}
