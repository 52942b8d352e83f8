//! Requests that wait: each once, however often its client asks for it again.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lock::{Mutex, rank};
use tokio::sync::watch;
use vfs::FileId;
use vfs::state::{ClientId, Flavour, LockKind, LockOwner, Locked, Range, Stream, Waiter};

use super::asked::Asked;
use super::granted::{Callback, deliver};
use super::lock::Back;
use super::{Call, Stat};
use crate::server::Service;
use crate::wire::nlm::LockRequest;

/// What makes two requests the same one.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    tag: u32,
    file: FileId,
    stream: Stream,
    owner: LockOwner,
    range: Range,
    kind: LockKind,
}

/// A request that waits, or was granted and its client has not said yet that it knows.
pub(super) struct Blocked {
    /// By this the client's answer finds it.
    pub(super) cookie: u64,
    pub(super) callback: Callback,
    /// The lock is held.
    held: AtomicBool,
    /// What the client said to the grant, or what it did instead.
    said: watch::Sender<Option<bool>>,
}

impl Blocked {
    /// The client has the lock (true), or does not want it.
    pub(super) fn settle(&self, has: bool) {
        self.said.send_if_modified(|said| said.is_none() && said.replace(has).is_none());
    }

    /// Waits for that.
    pub(super) async fn settled(&self) -> bool {
        let mut said = self.said.subscribe();
        let settled = said.wait_for(Option::is_some).await.map(|said| *said);
        settled.ok().flatten().unwrap_or(false)
    }
}

/// All of them.
#[derive(Default)]
pub(super) struct BlockedTable {
    all: Mutex<HashMap<Key, Arc<Blocked>>, rank::NlmBlocked>,
    cookies: AtomicU64,
}

impl BlockedTable {
    /// The request with this cookie, of this client.
    pub(super) fn by_cookie(&self, cookie: u64, client: ClientId) -> Option<Arc<Blocked>> {
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

/// Takes a lock, or waits for it in the background: then the client hears of it by GRANTED.
pub(super) fn wait(call: &Call<'_>, asked: &Asked, request: &LockRequest<'_>, back: Back) -> Stat {
    let (table, key) = (&call.service.locks.blocked, key(asked));
    let mut all = table.all.lock();
    if let Some(blocked) = all.get(&key) {
        if !blocked.held.load(Ordering::Acquire) {
            return Stat::BLOCKED;
        }
        blocked.settle(true); // this answer says it
        all.remove(&key); // and should it come after all attempts to say it, the lock stays
        return Stat::GRANTED;
    }
    let waiter = match asked.subject.state().wait_lock(key.file, &key.stream, asked.lock.clone()) {
        Ok(Locked::Now) => return Stat::GRANTED,
        Ok(Locked::Later(waiter)) => waiter,
        Err(refused) => return refused.into(),
    };
    let blocked = Arc::new(Blocked {
        cookie: table.cookies.fetch_add(1, Ordering::Relaxed),
        callback: Callback::new(call, request, back),
        held: AtomicBool::new(false),
        said: watch::channel(None).0,
    });
    all.insert(key.clone(), blocked.clone());
    let waiting = Waiting { service: call.service.clone(), key, blocked, host_key: asked.subject.key() };
    tokio::spawn(waiting.see_through(waiter));
    Stat::BLOCKED
}

/// Calls off a request, or gives back what it got while its client does not know of it. Answers whether there was one.
pub(super) fn cancel(call: &Call<'_>, asked: &Asked) -> bool {
    let key = key(asked);
    let Some(blocked) = call.service.locks.blocked.all.lock().remove(&key) else { return false };
    blocked.settle(false);
    let state = asked.subject.state();
    if !state.cancel_wait(key.file, &key.stream, &key.owner, key.range) {
        // Granted a moment ago. It can only fail by cutting a merged lock in two, and then more stays than should.
        let _ = state.unlock(key.file, &key.stream, &key.owner, key.range, Flavour::Advisory);
    }
    true
}

fn key(asked: &Asked) -> Key {
    let Asked { subject, lock } = asked;
    Key {
        tag: subject.export.tag,
        file: subject.file(),
        stream: subject.stream.clone(),
        owner: lock.owner.clone(),
        range: lock.range,
        kind: lock.kind,
    }
}

/// A request on its way from the queue to its client.
struct Waiting {
    service: Arc<Service>,
    key: Key,
    blocked: Arc<Blocked>,
    host_key: vfs::HostKey,
}

impl Waiting {
    async fn see_through(self, waiter: Waiter) {
        let granted = waiter.await.is_ok();
        if granted {
            self.blocked.held.store(true, Ordering::Release);
            let has = deliver(&self.service, &self.blocked).await;
            self.blocked.settle(has); // unless the client has said otherwise meanwhile
        }
        let has = granted && self.blocked.settled_as() == Some(true);
        self.end(granted && !has);
    }

    /// Takes the request out of the table, and gives the lock back if its client does not want it.
    fn end(self, give_back: bool) {
        let Key { tag, file, ref stream, ref owner, range, .. } = self.key;
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

impl Blocked {
    fn settled_as(&self) -> Option<bool> {
        *self.said.borrow()
    }
}
