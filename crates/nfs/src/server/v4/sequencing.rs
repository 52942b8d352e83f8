//! The order of operations in a COMPOUND of minor version 1, and SEQUENCE, which most of them begin with: RFC 8881 2.10.6,
//! 16.2 and 18.46.

use std::hash::{DefaultHasher, Hash, Hasher};

use vfs::state::Party;
use wire::{Reader, Writer};

use super::compound::Compound;
use super::reserving::MOST_RESULTS;
use super::sessions::{RPC_REPLY_HEAD, SequencedCompound, SlotRequestState};
use crate::server::call::Call;
use crate::wire::v4::sessions::{Sequence, SequenceReply};
use crate::wire::v4::types::Status;
use crate::wire::v4::{OperationNumber, ReplyHead};
use crate::wire::xdr::{Decode, Encode, opaque_size};

/// How much of a request is compared to tell two requests with the same number.
const COMPARED: usize = 512;
/// The longest results of an operation that changes something, if it does not fail.
const LONGEST_CHANGE: usize = 256;
/// The results of an operation that fails: its number and its status.
const FAILURE: usize = 8;

/// Whether an operation may stand at this place, RFC 8881 18.34 to 18.37, 18.46 and 18.50.
pub(super) fn check_place(number: OperationNumber, done: u32, operations: u32) -> Result<(), Status> {
    use OperationNumber as Op;
    let is_first = done == 1;
    match number {
        Op::SEQUENCE if is_first => Ok(()),
        Op::SEQUENCE => Err(Status::SEQUENCE_POS),
        Op::BIND_CONN_TO_SESSION if operations > 1 => Err(Status::NOT_ONLY_OP),
        Op::DESTROY_SESSION if done < operations => Err(Status::NOT_ONLY_OP),
        Op::EXCHANGE_ID
        | Op::CREATE_SESSION
        | Op::DESTROY_SESSION
        | Op::BIND_CONN_TO_SESSION
        | Op::DESTROY_CLIENTID => {
            if is_first && operations > 1 {
                Err(Status::NOT_ONLY_OP)
            } else {
                Ok(())
            }
        }
        _ if is_first => Err(Status::OP_NOT_IN_SESSION),
        _ => Ok(()),
    }
}

impl Compound<'_> {
    /// SEQUENCE. A repeated request leaves its reply in `repeated`.
    pub(super) fn sequence(&mut self, request: &Sequence, w: &mut Writer) -> Result<(), Status> {
        let session = self.call.service.nfs4.sessions.named(&request.session)?;
        let fore = &session.fore;
        // The message has no record mark any more.
        if self.call.message.len() > fore.request_size as usize {
            return Err(Status::REQ_TOO_BIG);
        }
        if self.operations > fore.operations {
            return Err(Status::TOO_MANY_OPS);
        }
        let most = if request.cache {
            (fore.kept_size, Status::REP_TOO_BIG_TO_CACHE)
        } else {
            (fore.reply_size, Status::REP_TOO_BIG)
        };
        let most = (most.0.saturating_sub(RPC_REPLY_HEAD) as usize, most.1);
        let sequenced = SequenceReply {
            session: session.id,
            sequence: request.sequence,
            slot: request.slot,
            highest_slot: session.highest_slot(),
            target_highest_slot: session.highest_slot(),
            flags: super::delegations::flags(self.call.service, &session),
        };
        let highest = session.highest_slot();
        if request.slot <= highest && request.highest_slot > highest {
            return Err(Status::BAD_HIGH_SLOT);
        }
        let begun = session.begin(request.slot, request.sequence, self.digest)?;
        session.bind(self.call.origin, false);
        session.client.renew();
        match begun {
            SlotRequestState::Repeated(reply) => self.repeated = Some(reply),
            SlotRequestState::New(turn) => {
                sequenced.encode(w);
                if w.len() - self.start > most.0 {
                    turn.cancel(); // the client has not used the number
                    return Err(most.1);
                }
                let _ = self.call.party.set(Party::client(session.client.party)); // SEQUENCE comes once
                self.sequenced = Some(SequencedCompound { turn, wants_kept: request.cache, most });
            }
        }
        Ok(())
    }

    /// The bytes of results that a COMPOUND may still have.
    fn left(&self, w: &Writer) -> (usize, Status) {
        let (most, status) = match &self.sequenced {
            Some(sequenced) => sequenced.most,
            None => (MOST_RESULTS, Status::REP_TOO_BIG),
        };
        (most.min(MOST_RESULTS).saturating_sub(w.len() - self.start), status)
    }

    /// How many bytes of data the next operation may return.
    pub(super) fn room_in_session(&self, w: &Writer) -> usize {
        self.left(w).0.saturating_sub(FAILURE)
    }

    /// Whether the results of an operation that changes something will fit: afterwards it is too late.
    pub(super) fn check_room(&self, changes: bool, w: &Writer) -> Result<(), Status> {
        match self.left(w) {
            (left, status) if changes && left < LONGEST_CHANGE => Err(status),
            _ => Ok(()),
        }
    }

    /// Whether the results so far, and `more` bytes that follow them, are as short as the session demands.
    pub(super) fn check_length(&self, more: usize, w: &Writer) -> Result<(), Status> {
        match self.left(w) {
            (left, status) if left == 0 || left < more => Err(status),
            _ => Ok(()),
        }
    }
}

/// A number that stands for a request, to tell two with the same sequence number.
pub(super) fn digest(call: &Call<'_>, operations: &[u8]) -> u64 {
    let mut digest = DefaultHasher::new();
    operations.len().hash(&mut digest);
    operations[..operations.len().min(COMPARED)].hash(&mut digest);
    (call.identity.uid, call.identity.gid, call.identity.nobody, call.principal_hash()).hash(&mut digest);
    digest.finish()
}

/// What stands before and after the tag of a reply. Both are kept, because each request has its own tag.
pub(super) fn without_tag<'a>(head: &ReplyHead<'_>, reply: &'a [u8]) -> [&'a [u8]; 2] {
    let (status, rest) = reply.split_at(4);
    [status, &rest[opaque_size(head.tag.len())..]]
}

/// Writes a reply that was kept, with the tag of this request. Returns its status.
pub(super) fn put_with_tag(head: &ReplyHead<'_>, kept: &[u8], w: &mut Writer) -> Status {
    let mut r = Reader::new(kept);
    let status = Status::decode(&mut r).expect("a reply that was kept begins with its status");
    status.encode(w);
    head.tag.encode(w);
    w.put(r.rest());
    status
}
