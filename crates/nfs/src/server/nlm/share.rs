//! SHARE and UNSHARE: reservations that DOS and Windows clients make when they open a file.

use std::collections::HashMap;
use std::sync::Arc;

use lock::Mutex;
use vfs::state::{Cause, ClientId, LockOwner, Modes, OpenGuard, OpenRequest, Stream};
use vfs::{Access, Error, FileId};

use super::asked::{LockSubject, owner};
use super::lock::in_its_time;
use super::{Call, NlmResults, NlmStat};
use crate::ranks;
use crate::wire::nlm::{NetObj, Share, ShareRequest, ShareRes};

/// The reservations that clients hold.
#[derive(Default)]
pub(super) struct ReservationTable {
    held: Mutex<HashMap<ReservationKey, Arc<OpenGuard>>, ranks::NlmShares>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct ReservationKey {
    tag: u32,
    file: FileId,
    stream: Stream,
    owner: LockOwner,
}

impl ReservationTable {
    /// Gives back reservations by the tag of their export and by their client.
    pub(super) fn release(&self, is_over: impl Fn(u32, ClientId) -> bool) {
        let over: Vec<_> = self.held.lock().extract_if(|key, _| is_over(key.tag, key.owner.client)).collect();
        drop(over); // outside the lock
    }
}

/// SHARE. A second reservation by the same owner replaces the first.
pub(super) async fn share(call: &Call<'_>, request: &ShareRequest<'_>) -> NlmResults {
    let stat = reserve(call, request).await.map_or_else(|stat| stat, |()| NlmStat::GRANTED);
    answer(request.cookie, stat)
}

async fn reserve(call: &Call<'_>, request: &ShareRequest<'_>) -> Result<(), NlmStat> {
    let share = &request.share;
    let (access, deny) = (modes(share.access.0)?, modes(share.mode.0)?);
    let subject = LockSubject::of(call, &share.handle)?;
    let permitted = subject.permit(wanted(access))?;
    in_its_time(call, &subject, request.reclaim)?;
    let cause = if access.intersects(Modes::WRITE) { Cause::OpenWrite } else { Cause::OpenRead };
    subject.recall(&permitted, cause).await?;
    subject.hold(call)?;
    let taken = take(&call.service.locks.shares, key(share, &subject), &subject, (access, deny));
    subject.settle(call);
    taken.map_err(refused)
}

/// The lock is not held meanwhile: a silent client of NFSv4 may have to give way first, and is forgotten on the disk.
fn take(
    shares: &ReservationTable,
    key: ReservationKey,
    subject: &LockSubject,
    (access, deny): (Modes, Modes),
) -> vfs::Result<()> {
    let held = shares.held.lock().get(&key).cloned();
    if let Some(guard) = held {
        return guard.change(access, deny);
    }
    let wanted = OpenRequest::new(subject.actor.party, access, deny);
    let guard = subject.state().open(key.file, key.stream.clone(), wanted)?;
    let before = shares.held.lock().insert(key, Arc::new(guard));
    drop(before); // of the same owner, who asked twice at once
    Ok(())
}

/// UNSHARE. Releasing a reservation that does not exist is no error.
pub(super) fn unshare(call: &Call<'_>, request: &ShareRequest<'_>) -> NlmResults {
    let stat = match LockSubject::of(call, &request.share.handle) {
        Ok(subject) => {
            let key = key(&request.share, &subject);
            let held = call.service.locks.shares.held.lock().remove(&key);
            drop(held);
            subject.settle(call);
            NlmStat::GRANTED
        }
        Err(stat) => stat,
    };
    answer(request.cookie, stat)
}

fn answer(cookie: NetObj<'_>, stat: NlmStat) -> NlmResults {
    NlmResults::of(stat, &ShareRes { cookie, stat, sequence: 0 })
}

fn key(share: &Share<'_>, subject: &LockSubject) -> ReservationKey {
    let owner = owner(subject.client(), 0, &share.owner);
    ReservationKey { tag: subject.export.tag, file: subject.file(), stream: subject.stream.clone(), owner }
}

/// fsh4_access and fsh4_mode number their bits as the tree does: 1 to read, 2 to write.
fn modes(bits: u32) -> Result<Modes, NlmStat> {
    match bits {
        0..=3 => Ok(Modes(bits as u8)),
        _ => Err(NlmStat::FAILED),
    }
}

fn wanted(access: Modes) -> Access {
    let read = if access.intersects(Modes::READ) { Access::READ } else { Access::NONE };
    let write = if access.intersects(Modes::WRITE) { Access::WRITE } else { Access::NONE };
    read.union(write)
}

fn refused(error: Error) -> NlmStat {
    match error {
        Error::ShareConflict => NlmStat::DENIED,
        Error::TooMany | Error::Exhausted => NlmStat::DENIED_NOLOCKS,
        _ => NlmStat::FAILED,
    }
}
