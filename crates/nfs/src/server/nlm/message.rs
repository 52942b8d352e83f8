//! The procedures that come as messages. The reply is empty and sent at once. The results go to the
//! client in a second message.

use std::sync::Arc;

use tokio::sync::Semaphore;
use wire::Writer;

use super::Call;
use super::granted::manager_of;
use crate::server::outgoing;
use crate::wire::nlm::{self, Procedure};
use crate::wire::xdr::Encode;

/// The most answers in flight. The server drops further answers, and the client repeats its
/// request.
const AT_ONCE: usize = 256;

/// Permits for answers in flight.
pub(super) struct Room(Arc<Semaphore>);

impl Default for Room {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

/// A procedure that came as a message, and the message that answers it.
pub(super) struct MessagePair {
    pub(super) procedure: Procedure,
    pub(super) answer: Procedure,
}

impl MessagePair {
    pub(super) fn of(message: Procedure) -> Option<Self> {
        let (procedure, answer) = match message {
            Procedure::TEST_MSG => (Procedure::TEST, Procedure::TEST_RES),
            Procedure::LOCK_MSG => (Procedure::LOCK, Procedure::LOCK_RES),
            Procedure::CANCEL_MSG => (Procedure::CANCEL, Procedure::CANCEL_RES),
            Procedure::UNLOCK_MSG => (Procedure::UNLOCK, Procedure::UNLOCK_RES),
            _ => return None,
        };
        Some(Self { procedure, answer })
    }
}

/// Bytes that are already encoded.
struct EncodedResults(Vec<u8>);

impl Encode for EncodedResults {
    fn encode(&self, w: &mut Writer) {
        w.put(&self.0);
    }
}

/// Sends results to the lock manager of the caller.
pub(super) fn send(call: &Call<'_>, answer: Procedure, results: Vec<u8>) {
    let Ok(permit) = call.service.locks.messages.0.clone().try_acquire_owned() else { return };
    let (service, origin, results) = (call.service.clone(), call.origin, EncodedResults(results));
    tokio::spawn(async move {
        let _permit = permit;
        let procedure = (nlm::PROGRAM, nlm::VERSION, answer.0);
        let sent = match manager_of(&service, origin.address, origin.datagram).await {
            Ok(to) => outgoing::call(service.network(), &to, procedure, &results).await.map(drop),
            Err(error) => Err(error),
        };
        if let Err(error) = sent {
            tracing::debug!(client = %origin.address, %error, "the answer to a message was not heard");
        }
    });
}
