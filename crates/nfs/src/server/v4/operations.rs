//! The operations of a COMPOUND, one after another.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};
use vfs::state::Party;
use vfs::{FileId, Payload, Volume};
use wire::{Reader, Writer};

use super::compound::Compound;
use super::fail::{self, Fail};
use super::place::HandleTarget;
use super::reserving::MOST_RESULTS;
use super::{
    asking, changing, copying, data, delegations, exchanging, gone, listing, locks, looking, named, opens,
    ranges, reclaiming, referrals, registering, sequencing, wanting, xattrs,
};
use crate::server::answer::{Answer, AnswerStatus, CallResult};
use crate::server::call::Call;
use crate::server::recalling::{LIMIT, PAUSE};
use crate::wire::rpc::Outcome;
use crate::wire::v4::types::Status;
use crate::wire::v4::{COMPOUND, CompoundOperation, Head, OperationNumber, ReplyHead};
use crate::wire::xdr::{Decode, Encode, padding};

/// The longest results of an operation without data, with its number and status.
const LONGEST: usize = 8 * 1024;
/// How often an operation is tried that meets leases of other clients: they may have got leases again.
const MOST_TRIES: u32 = 8;

/// Runs the procedure that a call names.
pub(in crate::server) async fn dispatch(call: &Call<'_>, w: &mut Writer) -> CallResult {
    match call.header.procedure {
        0 => call.no_arguments().map(|()| Answer::default()),
        COMPOUND => compound(call, w).await,
        _ => Err(Outcome::ProcUnavail),
    }
}

async fn compound(call: &Call<'_>, w: &mut Writer) -> CallResult {
    let r = &mut Reader::new(call.arguments);
    let head = Head::decode(r).map_err(|_| Outcome::GarbageArgs)?;
    let is_spoken = call.service.speaks_minor(head.minor);
    let refusal = if is_spoken { head.refusal() } else { Some(Status::MINOR_VERS_MISMATCH) };
    let refusal = refusal.or_else(|| std::str::from_utf8(&head.tag).err().map(|_| Status::INVAL));
    let start = w.len();
    let mut status = refusal.unwrap_or(Status::OK);
    let reply = ReplyHead { status, tag: head.tag, results: 0 };
    reply.encode(w);
    if refusal.is_some() {
        return Ok(Answer::of(AnswerStatus::V4(status)));
    }
    let count_at = w.len() - 4;
    let mut compound = Compound::new(call, &head, start);
    if head.minor == 0
        && let Some(client) = call.service.nfs4.back.client_of(call.origin)
    {
        let _ = call.party.set(Party::client(client.party)); // nothing has set it
    }
    if head.minor > 0 {
        compound.digest = sequencing::digest(call, r.clone().rest());
    }
    for done in 1..=head.operations {
        compound.is_last = done == head.operations;
        status = compound.next(r, done, w).await;
        if let Some(repeated) = compound.repeated.take() {
            w.truncate(start);
            let status = sequencing::put_with_tag(&reply, &repeated, w);
            return Ok(Answer::of(AnswerStatus::V4(status)));
        }
        w.patch_u32_be(count_at, done);
        w.patch_u32_be(start, status.0);
        if status != Status::OK {
            break;
        }
    }
    Ok(Answer { data: compound.end(&reply, w), ..Answer::of(AnswerStatus::V4(status)) })
}

impl Compound<'_> {
    /// Keeps the reply in the slot of the request. Returns the data that follow it.
    fn end(self, reply: &ReplyHead<'_>, w: &Writer) -> Option<Payload> {
        if let Some(sequenced) = self.sequenced {
            let results = sequencing::without_tag(reply, &w.as_bytes()[self.start..]);
            sequenced.end(self.payload.is_none().then_some(results));
        }
        self.payload
    }

    /// Reads and executes one operation, and writes its result.
    async fn next(&mut self, r: &mut Reader<'_>, done: u32, w: &mut Writer) -> Status {
        let number = OperationNumber::decode(r).ok();
        let known = number.filter(|number| number.is_of(self.minor));
        known.unwrap_or(OperationNumber::ILLEGAL).encode(w);
        let status_at = w.len();
        Status::OK.encode(w);
        let result = match (number, known) {
            (None, _) => Err(Status::BADXDR.into()),
            (Some(_), None) => Err(Status::OP_ILLEGAL.into()),
            _ if self.minor == 0 && self.room(w) == 0 => Err(Status::RESOURCE.into()),
            (_, Some(number)) => match CompoundOperation::of(number, r) {
                Ok(operation) if self.minor == 0 => self.patiently(&operation, w).await,
                Ok(operation) => self.in_order((number, done), &operation, w).await,
                Err(_) => Err(Status::BADXDR.into()),
            },
        };
        match result {
            Ok(()) => Status::OK,
            Err(fail) => {
                w.truncate(status_at);
                self.payload = None;
                let status = fail::in_minor(fail.status, self.minor, known);
                status.encode(w);
                w.put(&fail.body);
                status
            }
        }
    }

    /// Executes an operation of minor version 1, if it may stand at its place and its results fit.
    async fn in_order(
        &mut self,
        (number, done): (OperationNumber, u32),
        operation: &CompoundOperation<'_>,
        w: &mut Writer,
    ) -> Result<(), Fail> {
        sequencing::check_place(number, done, self.operations)?;
        self.check_room(may_change(operation), w)?;
        let results_at = w.len();
        self.patiently(operation, w).await?;
        let data = self.payload.as_ref().map_or(0, |data| data.len() + padding(data.len()));
        self.check_length(data, w)?;
        self.note_state(operation, results_at, w);
        Ok(())
    }

    /// How many bytes an operation may still answer.
    pub(super) fn room(&self, w: &Writer) -> usize {
        if self.minor > 0 {
            return self.room_in_session(w);
        }
        MOST_RESULTS.saturating_sub(w.len() - self.start + LONGEST)
    }

    /// Executes an operation, again after other clients have given back leases that are in its way.
    async fn patiently(&mut self, operation: &CompoundOperation<'_>, w: &mut Writer) -> Result<(), Fail> {
        let start = w.len();
        let mut patience = Patience::default();
        loop {
            let result = self.execute(operation, w).await;
            match &result {
                Err(fail) if patience.again(self, fail).await => w.truncate(start),
                _ => return result,
            }
        }
    }

    /// Executes an operation. What follows its status is in `w`, and counts only without a failure.
    async fn execute(&mut self, operation: &CompoundOperation<'_>, w: &mut Writer) -> Result<(), Fail> {
        if referrals::needs_presence(operation)
            && let Some(current) = &self.current
            && referrals::of_place(self.call, current).is_some()
        {
            return Err(Status::MOVED.into());
        }
        if let CompoundOperation::Read(request) = operation {
            return data::read(self, request, w).await;
        }
        let done = self.execute_one(operation, w).await;
        self.changed |= may_change(operation);
        done
    }

    async fn execute_one(&mut self, operation: &CompoundOperation<'_>, w: &mut Writer) -> Result<(), Fail> {
        match operation {
            CompoundOperation::GetAttr(wanted) => asking::get(self, wanted, w).await,
            CompoundOperation::Verify(sent) => asking::compare(self, sent, true).await,
            CompoundOperation::DiffersFrom(sent) => asking::compare(self, sent, false).await,
            CompoundOperation::Write(request) => data::write(self, request, w).await,
            CompoundOperation::Commit(request) => data::commit(self, request, w).await,
            CompoundOperation::Open(request) => opens::open(self, request, w).await,
            CompoundOperation::OpenConfirm(request) if self.minor == 0 => {
                opens::confirm(self, request, w).await
            }
            CompoundOperation::OpenDowngrade(request) => opens::downgrade(self, request, w).await,
            CompoundOperation::Close(request) => opens::close(self, request, w).await,
            CompoundOperation::Lock(request) => locks::lock(self, request, w).await,
            CompoundOperation::Seek(request) => ranges::seek(self, request, w).await,
            CompoundOperation::Allocate(request) => ranges::allocate(self, request).await,
            CompoundOperation::Deallocate(request) => ranges::deallocate(self, request).await,
            CompoundOperation::ReadPlus(request) => ranges::read(self, request, w).await,
            CompoundOperation::Copy(request) => copying::copy(self, request, w).await,
            CompoundOperation::Clone(request) => ranges::clone(self, request).await,
            CompoundOperation::WantDelegation(request) => wanting::want(self, request, w).await,
            CompoundOperation::DirectoryDelegation(request) => {
                wanting::want_directory(self, request, w).await
            }
            CompoundOperation::LockTest(request) => locks::test(self, request).await,
            CompoundOperation::Unlock(request) => locks::unlock(self, request, w).await,
            CompoundOperation::OpenAttributes(create) => named::open_folder(self, *create),
            CompoundOperation::SetAttr(request) if self.is_at_attributes() => {
                named::set(self, request, w).await
            }
            CompoundOperation::Remove(name) if self.is_at_attributes() => named::remove(self, name, w).await,
            CompoundOperation::Rename(request) if self.is_at_attributes() => {
                named::rename(self, request, w).await
            }
            CompoundOperation::ReleaseLockOwner(owner) if self.minor == 0 => {
                locks::release(self, owner).await
            }
            _ => self.execute_at_once(operation, w),
        }
    }

    /// Executes an operation that never waits.
    fn execute_at_once(&mut self, operation: &CompoundOperation<'_>, w: &mut Writer) -> Result<(), Fail> {
        match operation {
            CompoundOperation::PutRoot(()) | CompoundOperation::PutPublic(()) => {
                self.current = Some(Arc::new(HandleTarget::root()));
            }
            CompoundOperation::PutHandle(handle) => gone::put_handle(self, handle)?,
            CompoundOperation::GetHandle(()) => self.current()?.put_handle(self.call, w)?,
            CompoundOperation::Save(()) => self.saved = Some(self.current()?.clone()),
            CompoundOperation::Restore(()) => {
                self.current = Some(self.saved.clone().ok_or(Status::RESTOREFH)?);
            }
            CompoundOperation::LookUp(name) => {
                self.current = Some(Arc::new(looking::child(self.call, self.current()?, name)?));
            }
            CompoundOperation::LookUpParent(()) => {
                self.current = Some(Arc::new(self.current()?.parent()?));
            }
            CompoundOperation::Access(asked) => looking::access(self.minor, self.refreshed()?, *asked, w)?,
            CompoundOperation::ReadLink(()) => looking::read_link(self.current()?, w)?,
            CompoundOperation::ReadDir(request) => {
                listing::list(self.call, &self.refreshed()?.clone(), request, w)?
            }
            CompoundOperation::SecInfo(name) => looking::security(self, name, w)?,
            CompoundOperation::Create(request) => changing::create(self, request, w)?,
            CompoundOperation::Remove(name) => changing::remove(self, name, w)?,
            CompoundOperation::Rename(request) => changing::rename(self, request, w)?,
            CompoundOperation::Link(name) => changing::link(self, name, w)?,
            CompoundOperation::SetAttr(request) => changing::set_attributes(self, request, w)?,
            CompoundOperation::ReturnDelegation(state) => delegations::give_back(self, state)?,
            _ if self.minor == 0 => self.execute_first_minor(operation, w)?,
            _ => self.execute_in_session(operation, w)?,
        }
        Ok(())
    }

    /// Executes an operation that only minor version 0 has, RFC 8881 17.
    fn execute_first_minor(&mut self, operation: &CompoundOperation<'_>, w: &mut Writer) -> Result<(), Fail> {
        match operation {
            CompoundOperation::SetClientId(request) => registering::set_client_id(self.call, request, w),
            CompoundOperation::SetClientIdConfirm(request) => registering::confirm(self.call, request),
            CompoundOperation::Renew(client) => registering::renew(self.call, *client),
            _ => Err(Status::NOTSUPP.into()),
        }
    }

    /// Executes an operation that minor version 1 has added.
    fn execute_in_session(&mut self, operation: &CompoundOperation<'_>, w: &mut Writer) -> Result<(), Fail> {
        match operation {
            CompoundOperation::Sequence(request) => Ok(self.sequence(request, w)?),
            CompoundOperation::ExchangeId(request) => exchanging::exchange_id(self.call, request, w),
            CompoundOperation::CreateSession(request) => exchanging::create_session(self.call, request, w),
            CompoundOperation::DestroySession(session) => exchanging::destroy_session(self.call, session),
            CompoundOperation::DestroyClientId(client) => exchanging::destroy_client(self.call, *client),
            CompoundOperation::BindConnection(request) => exchanging::bind(self.call, request, w),
            CompoundOperation::BackChannel(request) => exchanging::back_channel(self, request),
            CompoundOperation::ReclaimComplete(one) => reclaiming::complete(self, *one),
            CompoundOperation::FreeStateId(state) => reclaiming::free(self, state),
            CompoundOperation::TestStateIds(states) => {
                reclaiming::test(self, states, w);
                Ok(())
            }
            CompoundOperation::SecInfoNoName(style) => Ok(looking::security_of_place(self, *style, w)?),
            CompoundOperation::Advise(request) => ranges::advise(self, request, w),
            CompoundOperation::GetXattr(name) => xattrs::get(self, name, w),
            CompoundOperation::SetXattr(request) => xattrs::set(self, request, w),
            CompoundOperation::ListXattrs(request) => xattrs::list(self, request, w),
            CompoundOperation::RemoveXattr(name) => xattrs::remove(self, name, w),
            CompoundOperation::CancelOffload(state) => copying::cancel(self, state),
            CompoundOperation::OffloadStatus(state) => copying::status(self, state, w),
            // Only for SP4_SSV, which no client has: RFC 8881 18.47.3.
            CompoundOperation::SetSsv(_) => Err(Status::INVAL.into()),
            _ => Err(Status::NOTSUPP.into()),
        }
    }
}

/// Whether an operation may change attributes.
fn may_change(operation: &CompoundOperation<'_>) -> bool {
    matches!(
        operation,
        CompoundOperation::Write(_)
            | CompoundOperation::Open(_)
            | CompoundOperation::Close(_)
            | CompoundOperation::Create(_)
            | CompoundOperation::Remove(_)
            | CompoundOperation::Rename(_)
            | CompoundOperation::Link(_)
            | CompoundOperation::SetAttr(_)
            | CompoundOperation::Allocate(_)
            | CompoundOperation::Deallocate(_)
            | CompoundOperation::Copy(_)
            | CompoundOperation::Clone(_)
            | CompoundOperation::SetXattr(_)
            | CompoundOperation::RemoveXattr(_)
    )
}

/// How long one operation waits for leases of other clients.
#[derive(Default)]
struct Patience {
    deadline: Option<Instant>,
    tried: u32,
}

impl Patience {
    /// After a failure: waits until the lease that caused it is given back. Answers whether to try again.
    async fn again(&mut self, compound: &Compound<'_>, fail: &Fail) -> bool {
        let Some(volume) = compound.volume().cloned() else { return false };
        let is_joined = volume.state().is_joined();
        self.tried += 1;
        match fail.recalling {
            Some(file) => (is_joined || self.tried < MOST_TRIES) && self.recalled(&volume, file, LIMIT).await,
            None if is_joined && fail.status == Status::DELAY => {
                let deadline = *self.deadline.get_or_insert_with(|| Instant::now() + LIMIT);
                sleep(PAUSE).await;
                Instant::now() < deadline
            }
            None => false,
        }
    }

    async fn recalled(&mut self, volume: &Volume, file: FileId, limit: Duration) -> bool {
        let deadline = *self.deadline.get_or_insert_with(|| Instant::now() + limit);
        Instant::now() < deadline && timeout_at(deadline, volume.stateless().recalled(file)).await.is_ok()
    }
}
