//! Owners of opens and locks, and the order of their requests: RFC 7530 9.1.7 to 9.1.9.
//!
//! An owner sends one request after another, each with the next sequence number. A request with the number of the last one
//! is that request again: it gets the same reply and is not executed. From minor version 1 on, the slots of sessions do
//! that (`sessions.rs`), and the requests of an owner have no number: they are only executed one after another.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{Mutex, MutexGuard};
use wire::Writer;

use super::fail::Fail;
use crate::wire::v4::OperationNumber;
use crate::wire::v4::types::Status;

/// An owner of opens or of locks.
pub(super) struct StateOwner {
    pub(super) name: Arc<[u8]>,
    /// An owner of opens has confirmed that its first OPEN was no old one that the network has repeated.
    confirmed: AtomicBool,
    order: Mutex<RequestOrder>,
}

#[derive(Default)]
struct RequestOrder {
    /// The number of the next request; `None`: any.
    next: Option<u32>,
    last: Option<LastRequest>,
}

/// The last request of an owner.
struct LastRequest {
    operation: OperationNumber,
    status: Status,
    /// What followed the status.
    body: Vec<u8>,
    /// The current handle after it, if it has changed.
    handle: Option<Vec<u8>>,
}

/// An owner whose request is being executed. The next one waits.
pub(super) struct OwnerTurn<'a> {
    order: MutexGuard<'a, RequestOrder>,
    operation: OperationNumber,
    /// `None`: the owner does not count it.
    sequence: Option<u32>,
}

/// A request that was answered before.
pub(super) struct OwnerReplay {
    status: Status,
    body: Vec<u8>,
    pub(super) handle: Option<Vec<u8>>,
}

/// What to do with a request.
pub(super) enum OwnerRequestState<'a> {
    New(OwnerTurn<'a>),
    Repeated(OwnerReplay),
}

impl StateOwner {
    pub(super) fn new(name: &[u8]) -> Arc<Self> {
        Arc::new(Self { name: name.into(), confirmed: AtomicBool::new(false), order: Mutex::default() })
    }

    pub(super) fn is_confirmed(&self) -> bool {
        self.confirmed.load(Ordering::Acquire)
    }

    pub(super) fn confirm(&self) {
        self.confirmed.store(true, Ordering::Release);
    }

    /// Waits until earlier requests are answered. BAD_SEQID if this one is neither the next nor the last one. `None`: a
    /// session counts it.
    pub(super) async fn begin(
        &self,
        operation: OperationNumber,
        sequence: Option<u32>,
    ) -> Result<OwnerRequestState<'_>, Status> {
        let order = self.order.lock().await;
        let Some(sequence) = sequence.filter(|&sequence| order.next.is_some_and(|next| next != sequence))
        else {
            return Ok(OwnerRequestState::New(OwnerTurn { order, operation, sequence }));
        };
        match &order.last {
            Some(last) if order.next == Some(sequence.wrapping_add(1)) && last.operation == operation => {
                let LastRequest { status, body, handle, .. } = last;
                Ok(OwnerRequestState::Repeated(OwnerReplay {
                    status: *status,
                    body: body.clone(),
                    handle: handle.clone(),
                }))
            }
            _ => Err(Status::BAD_SEQID),
        }
    }
}

impl OwnerReplay {
    /// The reply of the first time.
    pub(super) fn answer(self, w: &mut Writer) -> Result<(), Fail> {
        if self.status == Status::OK {
            w.put(&self.body);
            return Ok(());
        }
        Err(Fail::with(self.status, self.body))
    }
}

impl OwnerTurn<'_> {
    /// Ends the request with its result, of which `body` is what follows the status if it did not fail.
    pub(super) fn end(mut self, result: &Result<(), Fail>, body: &[u8], handle: Option<Vec<u8>>) {
        let (status, body) = match result {
            Ok(()) => (Status::OK, body),
            Err(fail) => (fail.status, &*fail.body),
        };
        let Some(sequence) = self.sequence.filter(|_| advances(status)) else { return };
        self.order.next = Some(sequence.wrapping_add(1));
        self.order.last =
            Some(LastRequest { operation: self.operation, status, body: body.to_vec(), handle });
    }
}

/// Whether a request with this result counts, RFC 7530 9.1.7.
fn advances(status: Status) -> bool {
    !matches!(
        status,
        Status::STALE_CLIENTID
            | Status::STALE_STATEID
            | Status::BAD_STATEID
            | Status::BAD_SEQID
            | Status::BADXDR
            | Status::RESOURCE
            | Status::NOFILEHANDLE
            | Status::MOVED
    )
}
