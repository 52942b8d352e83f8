//! LOCK, MS-SMB2 3.3.5.14.

mod sequence;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use vfs::Kind;
use vfs::state::{LockKind, LockOutcome, LockRefusal, Range};

pub(in crate::server) use self::sequence::{COUNT, LockSequences};
use crate::server::clients::durable::inherited;
use crate::server::clients::open::{File, Open};
use crate::server::context::{Context, Outcome, Reply};
use crate::wire::Status;
use crate::wire::lock::{Element, Flags, Request, Response};
use crate::wire::values::Capabilities;

/// A requested lock.
struct RequestedLock {
    range: Range,
    kind: LockKind,
    /// The client waits for it.
    may_wait: bool,
}

pub(in crate::server) async fn run(context: &Context) -> Outcome {
    let request = Request::decode(&context.message)?;
    let open = context.open(request.file).await?;
    let key = open.key;
    if is_folder(open.file()?) {
        return Err(Status::INVALID_PARAMETER.into());
    }
    let first = request.locks.first().ok_or(Status::INVALID_PARAMETER)?;
    let sequence =
        Some((request.sequence_index, request.sequence_number)).filter(|_| sequences_count(context, &open));
    if sequence.is_some_and(|sequence| open.file().is_ok_and(|file| file.lock_sequences.is_replay(sequence)))
    {
        inherited::keep_now(context, &open).await; // the first request may still wait for that
        return Ok(Reply { file: Some(key), ..Reply::encoded(|w| Response.encode(w)) });
    }
    let done = match first.flags.contains(Flags::UNLOCK) {
        true => unlock(open.file()?, &request.locks).await,
        false => lock(context, open, &request.locks).await,
    };
    if let Ok(open) = context.open(request.file).await {
        // Before the successor is told: the client may repeat the request there.
        if let (Some(sequence), true) = (sequence, done.is_ok()) {
            open.file()?.lock_sequences.answered(sequence);
        }
        inherited::keep_now(context, &open).await; // some of several ranges may have changed
    }
    done?;
    Ok(Reply { file: Some(key), ..Reply::encoded(|w| Response.encode(w)) })
}

fn is_folder(file: &File) -> bool {
    file.open.node().kind() == Kind::Folder && file.open.is_data()
}

/// Whether lock sequences count: the client may repeat a LOCK when it does not know whether it was
/// executed.
fn sequences_count(context: &Context, open: &Open) -> bool {
    let Some(negotiated) = context.connection.negotiated() else { return false };
    let multi_channel = negotiated.server_capabilities.contains(Capabilities::MULTI_CHANNEL);
    open.durable.get().is_some()
        || open.resilience().is_some()
        || (negotiated.dialect.is_v3() && multi_channel)
}

/// MS-SMB2 3.3.5.14.1: unlocks one range after another. Ranges stay unlocked when a later one
/// fails.
async fn unlock(file: &File, elements: &[Element]) -> Result<(), Status> {
    for element in elements {
        if element.flags != Flags::UNLOCK {
            return Err(Status::INVALID_PARAMETER);
        }
        if !file.open.unlock(range(element)?).await? {
            return Err(Status::RANGE_NOT_LOCKED);
        }
    }
    Ok(())
}

/// MS-SMB2 3.3.5.14.2: locks all ranges or none.
async fn lock(context: &Context, open: Arc<Open>, elements: &[Element]) -> Result<(), Status> {
    let wanted = elements.iter().map(wanted).collect::<Result<Vec<_>, _>>()?;
    if let [one] = &wanted[..]
        && one.may_wait
    {
        return wait(context, open, one).await;
    }
    if wanted.iter().any(|wanted| wanted.may_wait) {
        return Err(Status::INVALID_PARAMETER);
    }
    let file = open.file()?;
    for (taken, one) in wanted.iter().enumerate() {
        if let Err(refused) = context.wait(file.open.lock(one.range, one.kind)).await? {
            for earlier in wanted[..taken].iter().rev() {
                file.open.unlock(earlier.range).await?;
            }
            return Err(refusal(&refused));
        }
    }
    Ok(())
}

/// The wait holds no reference to the open. Closing the open cancels the lock.
async fn wait(context: &Context, open: Arc<Open>, wanted: &RequestedLock) -> Result<(), Status> {
    let locked = context.wait(open.file()?.open.wait_lock(wanted.range, wanted.kind)).await?;
    drop(open);
    match locked {
        Ok(LockOutcome::Now) => Ok(()),
        Ok(LockOutcome::Later(waiter)) => context.wait(waiter).await?.map_err(|_| Status::RANGE_NOT_LOCKED),
        Err(refused) => Err(refusal(&refused)),
    }
}

fn wanted(element: &Element) -> Result<RequestedLock, Status> {
    let may_wait = !element.flags.contains(Flags::FAIL_IMMEDIATELY);
    let kind = match Flags(element.flags.0 & !Flags::FAIL_IMMEDIATELY.0) {
        Flags::SHARED => LockKind::Shared,
        Flags::EXCLUSIVE => LockKind::Exclusive,
        _ => return Err(Status::INVALID_PARAMETER),
    };
    Ok(RequestedLock { range: range(element)?, kind, may_wait })
}

/// MS-FSA 2.1.5.8: a range of no bytes is allowed. A range that passes the last offset is not.
fn range(element: &Element) -> Result<Range, Status> {
    match element.length {
        0 => Ok(Range::empty(element.offset)),
        length => Range::new(element.offset, length).ok_or(Status::INVALID_LOCK_RANGE),
    }
}

fn refusal(refused: &LockRefusal) -> Status {
    match refused {
        LockRefusal::Blocked(_) => Status::LOCK_NOT_GRANTED,
        LockRefusal::Elsewhere(_) => Status::RETRY,
        LockRefusal::TooMany => Status::INSUFFICIENT_RESOURCES,
    }
}
