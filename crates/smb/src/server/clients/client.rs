//! The machine at the other end, whichever connection it uses: MS-SMB2 3.3.1.16.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use lock::Mutex;
use tokio::sync::mpsc;
use vfs::state::{BreakNotice, ClientId};

use super::durable::Durables;
use super::leases::{Key, LeaseCache};
use super::replay::Creations;
use super::session::Session;
use crate::ranks;

/// The client must have the answer to its CREATE before it is told that a lease of that open
/// breaks. The server waits for that answer this many times, for this long each time.
const MOST_WAITS: usize = 50;
const WAIT: Duration = Duration::from_millis(2);

type Notices = Mutex<mpsc::UnboundedReceiver<BreakNotice>, ranks::SmbNotices>;

/// A client, identified by the GUID that it sends.
pub(in crate::server) struct Client {
    /// Its id in the tree's tables.
    pub(in crate::server) id: ClientId,
    /// What it says that it is.
    pub(in crate::server) guid: [u8; 16],
    /// What it may keep in its caches: the lease table of MS-SMB2 3.3.1.11, and oplocks beside.
    caches: Mutex<HashMap<Key, Weak<LeaseCache>>, ranks::SmbCaches>,
    /// Its sessions, the oldest first.
    sessions: Mutex<Vec<Weak<Session>>, ranks::SmbClientSessions>,
    /// The outcomes of its numbered CREATEs.
    pub(in crate::server) creations: Creations,
    /// Opens that have lost their session.
    pub(in crate::server) durables: Arc<Durables>,
    /// Lease breaks from the tree. A task receives them once the client caches something.
    notices: OnceLock<(mpsc::UnboundedSender<BreakNotice>, Arc<Notices>)>,
}

impl Client {
    /// A client that has not been seen.
    pub(in crate::server) fn new(guid: [u8; 16], durables: Arc<Durables>) -> Arc<Self> {
        Arc::new(Self {
            id: ClientId::unused(),
            guid,
            caches: Mutex::default(),
            sessions: Mutex::default(),
            creations: Creations::default(),
            durables,
            notices: OnceLock::new(),
        })
    }

    /// It has another session.
    pub(in crate::server) fn add_session(&self, session: &Arc<Session>) {
        let mut sessions = self.sessions.lock();
        sessions.retain(|session| session.strong_count() > 0);
        sessions.push(Arc::downgrade(session));
    }

    /// Its sessions, the oldest first.
    pub(in crate::server) fn sessions(&self) -> Vec<Arc<Session>> {
        self.sessions.lock().iter().filter_map(Weak::upgrade).collect()
    }

    /// Where to tell it of breaks.
    pub(in crate::server) fn notices(self: &Arc<Self>) -> mpsc::UnboundedSender<BreakNotice> {
        let listen = || {
            let (sender, receiver) = mpsc::unbounded_channel();
            let receiver = Arc::new(Mutex::new(receiver));
            tokio::spawn(listen(Arc::downgrade(self), receiver.clone()));
            (sender, receiver)
        };
        self.notices.get_or_init(listen).0.clone()
    }

    /// The cache of this name.
    pub(in crate::server) fn cache(&self, key: &Key) -> Option<Arc<LeaseCache>> {
        self.caches.lock().get(key).and_then(Weak::upgrade)
    }

    /// The cache of this name, made when there is none.
    pub(in crate::server) fn cache_or(&self, key: Key, make: impl FnOnce() -> LeaseCache) -> Arc<LeaseCache> {
        let mut caches = self.caches.lock();
        if let Some(cache) = caches.get(&key).and_then(Weak::upgrade) {
            return cache;
        }
        let cache = Arc::new(make());
        caches.insert(key, Arc::downgrade(&cache));
        cache
    }

    /// Forgets a cache if no open has it any more.
    pub(in crate::server) fn forget_cache(&self, key: &Key) {
        let mut caches = self.caches.lock();
        if caches.get(key).is_some_and(|cache| cache.strong_count() == 0) {
            caches.remove(key);
        }
    }
}

/// Passes on lease breaks from the tree until the client and all its caches are gone.
async fn listen(client: Weak<Client>, notices: Arc<Notices>) {
    let pass_on = |context: &mut Context<'_>| {
        let Some(client) = client.upgrade() else { return Poll::Ready(None) };
        let mut notices = notices.lock();
        notices.poll_recv(context).map(|notice| notice.map(|notice| client.pass_on(notice)))
    };
    while poll_fn(pass_on).await.is_some() {}
}

impl Client {
    /// Passes on all lease breaks that the tree has reported so far. Called before the answer of an operation that may have
    /// caused some, so that they arrive first. The lock is held until they are in the queue of the connection, here and in
    /// [`listen`].
    pub(in crate::server) fn deliver(self: &Arc<Self>) {
        let Some((_, notices)) = self.notices.get() else { return };
        let mut notices = notices.lock();
        while let Ok(notice) = notices.try_recv() {
            self.pass_on(notice);
        }
    }

    fn pass_on(self: &Arc<Self>, notice: BreakNotice) {
        let Some(cache) = notice.party.key.and_then(|key| self.cache(&key)) else { return };
        if !cache.is_unheard_of() {
            return cache.told(&notice, &self.durables);
        }
        let durables = self.durables.clone();
        tokio::spawn(async move {
            for _ in 0..MOST_WAITS {
                tokio::time::sleep(WAIT).await;
                if !cache.is_unheard_of() {
                    break;
                }
            }
            cache.told(&notice, &durables);
        });
    }
}
