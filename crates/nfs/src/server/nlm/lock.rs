//! TEST, LOCK, CANCEL and UNLOCK.

use vfs::Error;
use vfs::state::{Cause, Flavour, Lock, LockKind, LockRefusal};

use super::asked::{LockSubject, LockTarget, svid_and_owner};
use super::{Call, NlmResults, NlmStat, blocked};
use crate::server::recalling::LIMIT;
use crate::wire::nlm::{
    CancelRequest, Holder, LockRequest, NetObj, TestReply, TestRequest, TestRes, UnlockRequest,
};

/// How a client learns that it got a lock after a wait. It depends on the form of its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Back {
    /// By GRANTED.
    Call,
    /// By GRANTED_MSG.
    Message,
}

/// The differences between the procedures that lock.
#[derive(Debug, Clone, Copy)]
pub(super) struct LockProcedure {
    /// The host is told when this server restarts.
    pub(super) monitored: bool,
    pub(super) back: Back,
}

/// TEST: whether the lock is available. If not, returns the conflicting lock and its owner.
pub(super) async fn test(call: &Call<'_>, request: &TestRequest<'_>) -> NlmResults {
    let conflict = conflict(call, request).await;
    let (stat, reply) = match &conflict {
        Ok(Some(held)) => (NlmStat::DENIED, TestReply::Denied(holder(held))),
        Ok(None) => (NlmStat::GRANTED, TestReply::Other(NlmStat::GRANTED)),
        Err(stat) => (*stat, TestReply::Other(*stat)),
    };
    NlmResults::of(stat, &TestRes { cookie: request.cookie, reply })
}

async fn conflict(call: &Call<'_>, request: &TestRequest<'_>) -> Result<Option<Lock>, NlmStat> {
    let LockTarget { subject, lock } = LockTarget::of(call, &request.lock, request.exclusive)?;
    if !call.service.may_grant(subject.state(), subject.file()) {
        return Err(NlmStat::DENIED_GRACE_PERIOD);
    }
    let permitted = subject.permit_test()?;
    subject.recall(&permitted, Cause::Lock).await?;
    subject.state().test(subject.file(), &subject.stream, &lock).map_err(|_| NlmStat::DENIED_GRACE_PERIOD)
}

fn holder(held: &Lock) -> Holder<'_> {
    let (svid, owner) = svid_and_owner(&held.owner);
    Holder {
        exclusive: held.kind == LockKind::Exclusive,
        svid,
        owner: NetObj::new(owner),
        offset: held.range.start(),
        len: held.range.length().unwrap_or(0),
    }
}

/// LOCK and NM_LOCK.
pub(super) async fn lock(call: &Call<'_>, request: &LockRequest<'_>, how: LockProcedure) -> NlmStat {
    match ask(call, request, how).await {
        Ok(stat) | Err(stat) => stat,
    }
}

async fn ask(call: &Call<'_>, request: &LockRequest<'_>, how: LockProcedure) -> Result<NlmStat, NlmStat> {
    let asked = LockTarget::of(call, &request.lock, request.exclusive)?;
    let permitted = asked.permit()?;
    in_its_time(call, &asked.subject, request.reclaim)?;
    let (service, host, subject) = (call.service, call.origin.address, &asked.subject);
    service.locks.hosts.saw(host, request.state);
    if how.monitored {
        let watched = service.monitor.watch(host, &request.lock.caller_name).await;
        watched.map_err(|()| NlmStat::DENIED_NOLOCKS)?;
    }
    subject.recall(&permitted, Cause::Lock).await?;
    subject.hold(call)?;
    let stat = if request.block {
        blocked::wait(call, &asked, request, how.back)
    } else {
        // The state of the file may have gone to another server again.
        let lock = || match subject.state().lock(subject.file(), &subject.stream, asked.lock.clone()) {
            Err(LockRefusal::Elsewhere(file)) => Err(Error::LeaseRecall(file)),
            other => Ok(other),
        };
        match subject.export.volume.once_recalled(LIMIT, lock).await {
            Ok(Ok(())) => NlmStat::GRANTED,
            Ok(Err(refused)) => refused.into(),
            Err(_) => NlmStat::DENIED_GRACE_PERIOD,
        }
    };
    subject.settle(call);
    Ok(stat)
}

/// During the grace period only reclaims are granted, and after it no reclaims.
pub(super) fn in_its_time(call: &Call<'_>, subject: &LockSubject, reclaim: bool) -> Result<(), NlmStat> {
    let service = call.service;
    let in_time = match reclaim {
        true => service.monitor.may_reclaim(call.origin.address),
        false => service.may_grant(subject.state(), subject.file()),
    };
    if !in_time {
        return Err(NlmStat::DENIED_GRACE_PERIOD);
    }
    if reclaim {
        service.monitor.note_reclaim();
    }
    Ok(())
}

/// CANCEL: the client does not wait any more. DENIED if it did not wait, or has already got the
/// lock.
pub(super) async fn cancel(call: &Call<'_>, request: &CancelRequest<'_>) -> NlmStat {
    match LockTarget::of(call, &request.lock, request.exclusive) {
        Ok(asked) => {
            asked.subject.state().bring(asked.subject.file()).await;
            let cancelled = blocked::cancel(call, &asked);
            asked.subject.settle(call);
            if cancelled { NlmStat::GRANTED } else { NlmStat::DENIED }
        }
        Err(stat) => stat,
    }
}

/// UNLOCK. Unlocking a range without locks is no error.
pub(super) async fn unlock(call: &Call<'_>, request: &UnlockRequest<'_>) -> NlmStat {
    let (subject, lock) = match LockTarget::of(call, &request.lock, true) {
        Ok(LockTarget { subject, lock }) => (subject, lock),
        Err(stat) => return stat,
    };
    let Lock { owner, range, .. } = lock;
    let (state, file) = (subject.state(), subject.file());
    let unlock = || state.unlock(file, &subject.stream, &owner, range, Flavour::Advisory);
    let unlocked = subject.export.volume.settled(unlock).await;
    subject.settle(call);
    if unlocked.is_ok() { NlmStat::GRANTED } else { NlmStat::DENIED_NOLOCKS }
}

impl From<LockRefusal> for NlmStat {
    fn from(refused: LockRefusal) -> Self {
        match refused {
            LockRefusal::Blocked(_) => Self::DENIED,
            LockRefusal::TooMany => Self::DENIED_NOLOCKS,
            LockRefusal::Elsewhere(_) => Self::DENIED_GRACE_PERIOD,
        }
    }
}
