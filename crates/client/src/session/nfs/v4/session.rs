//! The session of a client, RFC 8881 2.10: its beginning, and requests in its slots.

use ::nfs::wire::rpc::xid;
use ::nfs::wire::v4::OperationNumber as Number;
use ::nfs::wire::v4::files::CompoundOperation;
use ::nfs::wire::v4::sessions::{
    CallbackSecurity, ChannelAttributes, CreateSession, CreatedSession, ExchangeId, ExchangedId,
    Implementation, Sequence, StateProtect,
};
use ::nfs::wire::xdr::Opaque;

use super::Nfs4;
use super::compound::{Compound, CompoundResults, asks_again};
use crate::{Error, Result};

/// The program and version of NFS, RFC 7530.
pub(super) const NFS: (u32, u32) = (100_003, 4);
/// COMPOUND.
pub(super) const COMPOUND: u32 = 1;
/// The most bytes of a read or a write.
const LARGEST: u32 = 1 << 20;
/// What the heads of a request and of a reply take.
const HEADS: u32 = 4096;
/// Requests in flight that the client asks for.
const REQUESTS: u32 = 128;
/// How often a request is sent again that the server wants to get later, and the pause before it.
const MOST_TRIES: u32 = 200;
const PAUSE: std::time::Duration = std::time::Duration::from_millis(100);

/// A slot of the session.
#[derive(Default)]
pub(super) struct SlotState {
    pub(super) sequence: u32,
    pub(super) is_used: bool,
}

impl Nfs4 {
    /// EXCHANGE_ID, CREATE_SESSION and RECLAIM_COMPLETE, RFC 8881 2.10 and 8.4.2.1.
    pub(super) fn begin_session(&mut self) -> Result<()> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| Error::Other(error.to_string()))?;
        let name = [&b"fourfold-bench "[..], &random].concat();
        let mut verifier = [0; 8];
        verifier.copy_from_slice(&random[..8]);
        let exchange = CompoundOperation::ExchangeId(ExchangeId {
            verifier,
            name: Opaque::new(&name),
            flags: 0,
            protect: StateProtect::None,
            implementation: Implementation,
        });
        let answer = self.call_alone(exchange)?;
        let exchanged: ExchangedId<'_> =
            CompoundResults::of(&answer, "the client")?.take(Number::EXCHANGE_ID)?;
        let (client, sequence) = (exchanged.client, exchanged.sequence);
        let channel = |size, operations, requests| ChannelAttributes {
            header_padding: 0,
            request_size: size,
            reply_size: size,
            kept_size: HEADS,
            operations,
            requests,
            inbound_reads: None,
        };
        let create = CompoundOperation::CreateSession(CreateSession {
            client,
            sequence,
            flags: 0,
            fore: channel(LARGEST + HEADS, 32, REQUESTS),
            back: channel(HEADS, 2, 1),
            program: 0x4000_0000, // of the range for such programs, RFC 5531 8.2: the server never calls it
            security: CallbackSecurity { none: true, ..CallbackSecurity::default() },
        });
        let answer = self.call_alone(create)?;
        let created: CreatedSession =
            CompoundResults::of(&answer, "the session")?.take(Number::CREATE_SESSION)?;
        self.client = client;
        self.session = created.session;
        let slots = created.fore.requests.clamp(1, REQUESTS);
        self.slots.resize_with(slots as usize, SlotState::default);
        let size = created.fore.request_size.min(created.fore.reply_size);
        self.largest = size.saturating_sub(HEADS).min(LARGEST) as usize;
        let answer = self.call(&[CompoundOperation::ReclaimComplete(false)], "the session")?;
        CompoundResults::of(&answer, "the session")?.skip(Number::RECLAIM_COMPLETE)
    }

    /// A call outside a session.
    pub(super) fn call_alone(&mut self, operation: CompoundOperation<'_>) -> Result<Vec<u8>> {
        self.rpc.call(
            NFS,
            COMPOUND,
            &Compound { minor: self.minor, sequence: None, operations: &[operation] },
        )
    }

    /// A call in the session; returns the results after that of SEQUENCE. No transfer is in flight.
    pub(super) fn call(&mut self, operations: &[CompoundOperation<'_>], path: &str) -> Result<Vec<u8>> {
        for _ in 0..MOST_TRIES {
            let sequence = self.sequence(0);
            let request = Compound { minor: self.minor, sequence: Some(sequence), operations };
            let answer = self.rpc.call(NFS, COMPOUND, &request)?;
            if !asks_again(&answer, path)? {
                return Ok(answer);
            }
            std::thread::sleep(PAUSE);
        }
        Err(Error::Other(format!("{path}: the server wants to be asked later, again and again")))
    }

    /// The next request of a slot.
    pub(super) fn sequence(&mut self, slot: usize) -> Sequence {
        self.slots[slot].sequence = self.slots[slot].sequence.wrapping_add(1);
        Sequence {
            session: self.session,
            sequence: self.slots[slot].sequence,
            slot: slot as u32,
            highest_slot: self.slots.len() as u32 - 1,
            cache: false,
        }
    }

    /// A slot without a request in flight; if all slots are in use, it waits for a reply.
    pub(super) fn free_slot(&mut self) -> Result<usize> {
        if let Some(free) = self.slots.iter().position(|slot| !slot.is_used) {
            return Ok(free);
        }
        let record = self.rpc.receive()?;
        let number = xid(&record);
        let flight = self.flights.iter().find(|flight| flight.xid == number);
        let slot = flight.ok_or_else(|| Error::Other("an answer to another call".into()))?.slot;
        self.arrived.push_back(record);
        self.slots[slot].is_used = false;
        Ok(slot)
    }
}
