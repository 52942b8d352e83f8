//! Lock requests that wait. Each is there once, however often its client repeats it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lock::Mutex;
use tokio::sync::watch;
use vfs::FileId;
use vfs::state::{ClientId, Flavour, LockKind, LockOutcome, LockOwner, Range, Stream, Waiter};

use super::asked::LockTarget;
use super::granted::{GrantedCallback, deliver};
use super::lock::Back;
use super::{Call, NlmStat};
use crate::ranks;
use crate::server::Service;
use crate::wire::nlm::LockRequest;

/// Two requests with the same key are the same request.
#[derive(Clone, PartialEq, Eq, Hash)]
struct BlockedKey {
    tag: u32,
    file: FileId,
    stream: Stream,
    owner: LockOwner,
    range: Range,
    kind: LockKind,
}

/// A request that waits, or whose lock was granted but not yet accepted by the client.
pub(super) struct BlockedLock {
    /// The client's answer has the same cookie.
    pub(super) cookie: u64,
    pub(super) callback: GrantedCallback,
    /// The lock is held.
    held: AtomicBool,
    /// The client's answer to the grant, or the result of a later request of the client.
    said: watch::Sender<Option<bool>>,
}

impl BlockedLock {
    /// The client has accepted the lock (true), or does not want it.
    pub(super) fn settle(&self, has: bool) {
        self.said.send_if_modified(|said| said.is_none() && said.replace(has).is_none());
    }

    /// Waits for the client's decision.
    pub(super) async fn settled(&self) -> bool {
        let mut said = self.said.subscribe();
        let settled = said.wait_for(Option::is_some).await.map(|said| *said);
        settled.ok().flatten().unwrap_or(false)
    }
}

#[derive(Default)]
pub(super) struct BlockedTable {
    all: Mutex<HashMap<BlockedKey, Arc<BlockedLock>>, ranks::NlmBlocked>,
    cookies: AtomicU64,
}

impl BlockedTable {
    /// The request with this cookie, of this client.
    pub(super) fn by_cookie(&self, cookie: u64, client: ClientId) -> Option<Arc<BlockedLock>> {
        let all = self.all.lock();
        let found = all.iter().find(|(key, blocked)| blocked.cookie == cookie && key.owner.client == client);
        found.map(|(_, blocked)| blocked.clone())
    }

    /// Forgets requests by the tag of their export and by their client. Their locks are released otherwise.
    pub(super) fn forget(&self, is_over: impl Fn(u32, ClientId) -> bool) {
        self.all.lock().retain(|key, blocked| {
            let stays = !is_over(key.tag, key.owner.client);
            if !stays {
                blocked.settle(false);
            }
            stays
        });
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.all.lock().len()
    }
}

/// Takes a lock, or waits for it in the background. In that case the client learns of it by
/// GRANTED.
pub(super) fn wait(call: &Call<'_>, asked: &LockTarget, request: &LockRequest<'_>, back: Back) -> NlmStat {
    let (table, key) = (&call.service.locks.blocked, key(asked));
    let mut all = table.all.lock();
    if let Some(blocked) = all.get(&key) {
        if !blocked.held.load(Ordering::Acquire) {
            return NlmStat::BLOCKED;
        }
        blocked.settle(true); // this answer tells the client
        // Without the entry the lock stays, also if all attempts to send GRANTED have failed by
        // now.
        all.remove(&key);
        return NlmStat::GRANTED;
    }
    let waiter = match asked.subject.state().wait_lock(key.file, &key.stream, asked.lock.clone()) {
        Ok(LockOutcome::Now) => return NlmStat::GRANTED,
        Ok(LockOutcome::Later(waiter)) => waiter,
        Err(refused) => return refused.into(),
    };
    let blocked = Arc::new(BlockedLock {
        cookie: table.cookies.fetch_add(1, Ordering::Relaxed),
        callback: GrantedCallback::new(call, request, back),
        held: AtomicBool::new(false),
        said: watch::channel(None).0,
    });
    all.insert(key.clone(), blocked.clone());
    let waiting = BlockedTask { service: call.service.clone(), key, blocked, host_key: asked.subject.key() };
    tokio::spawn(waiting.see_through(waiter));
    NlmStat::BLOCKED
}

/// Cancels a request. If its lock was granted but the client does not know it yet, releases the
/// lock. Returns whether there was a request.
pub(super) fn cancel(call: &Call<'_>, asked: &LockTarget) -> bool {
    let key = key(asked);
    let Some(blocked) = call.service.locks.blocked.all.lock().remove(&key) else { return false };
    blocked.settle(false);
    let state = asked.subject.state();
    if let Ok(false) = state.cancel_wait(key.file, &key.stream, &key.owner, key.range) {
        // The lock was granted a moment ago. The unlock fails only if it would split a merged lock.
        // Then too much stays locked.
        let _ = state.unlock(key.file, &key.stream, &key.owner, key.range, Flavour::Advisory);
    }
    true
}

fn key(asked: &LockTarget) -> BlockedKey {
    let LockTarget { subject, lock } = asked;
    BlockedKey {
        tag: subject.export.tag,
        file: subject.file(),
        stream: subject.stream.clone(),
        owner: lock.owner.clone(),
        range: lock.range,
        kind: lock.kind,
    }
}

/// The background task of a waiting request.
struct BlockedTask {
    service: Arc<Service>,
    key: BlockedKey,
    blocked: Arc<BlockedLock>,
    host_key: vfs::HostKey,
}

impl BlockedTask {
    async fn see_through(self, waiter: Waiter) {
        let granted = waiter.await.is_ok();
        if granted {
            self.blocked.held.store(true, Ordering::Release);
            let has = deliver(&self.service, &self.blocked).await;
            self.blocked.settle(has); // keeps the client's own decision if there is one
        }
        let has = granted && self.blocked.settled_as() == Some(true);
        if let Some(export) = self.service.export_tagged(self.key.tag) {
            export.volume.state().bring(self.key.file).await;
        }
        self.end(granted && !has);
    }

    /// Removes the request from the table. Releases the lock if its client does not want it.
    fn end(self, give_back: bool) {
        let BlockedKey { tag, file, ref stream, ref owner, range, .. } = self.key;
        let locks = &self.service.locks;
        let Some(export) = self.service.export_tagged(tag) else { return };
        let state = export.volume.state();
        let mut all = locks.blocked.all.lock();
        if all.get(&self.key).is_some_and(|blocked| Arc::ptr_eq(blocked, &self.blocked)) {
            all.remove(&self.key);
            if give_back {
                tracing::warn!(client = %self.blocked.callback.host, "a lock that was waited for is not wanted any more");
                let _ = state.unlock(file, stream, owner, range, Flavour::Advisory); // as in `cancel`
            }
        }
        drop(all);
        let holds = || state.concerns(file, owner.client);
        locks.files.let_go(tag, self.host_key, owner.client, holds);
    }
}

impl BlockedLock {
    fn settled_as(&self) -> Option<bool> {
        *self.said.borrow()
    }
}
