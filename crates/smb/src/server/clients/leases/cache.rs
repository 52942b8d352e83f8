//! One cache of a client: a lease, or the oplock of one open.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use lock::Mutex;
use vfs::FileId;
use vfs::state::{BreakNotice, Caching, Lease, Stream};

use super::{level, state};
use crate::ranks;
use crate::server::clients::client::Client;
use crate::server::clients::durable::Durables;
use crate::server::clients::open::Open;
use crate::server::clients::session::Session;
use crate::server::context::Reply;
use crate::server::output::ChainOutput;
use crate::wire::Status;
use crate::wire::create_context::values;
use crate::wire::header::{Command, Flags, Header};
use crate::wire::oplock_break::{LeaseNotification, Notification, NotificationFlags, Oplock};
use crate::wire::values::LeaseKey;

/// How long the opens of a lost session may take to be closed, before a break goes on without them.
const LOSS: Duration = Duration::from_secs(1);
/// Closed opens are removed only from this many opens on.
const CLEAR_AT: usize = 16;

/// The key of a cache in its client's table: the lease key, or a generated one for an open without
/// a lease.
pub(in crate::server) type Key = [u8; 16];

/// The file or stream that is cached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) struct Of {
    /// The address of the volume. The cache's opens keep the volume at it.
    pub(super) volume: usize,
    pub(super) file: FileId,
    pub(super) stream: Stream,
}

/// The name by which the client knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) enum Kind {
    Oplock,
    Lease {
        /// The client asked for it with an epoch. Notifications then carry one.
        version2: bool,
        parent: Option<LeaseKey>,
    },
}

/// A cache, MS-SMB2 3.3.1.12. `vfs` knows what may be in it, and whether that is being given back.
pub(in crate::server) struct LeaseCache {
    key: Key,
    of: Of,
    kind: Kind,
    client: Weak<Client>,
    changing: Mutex<CacheState, ranks::SmbCache>,
}

struct CacheState {
    /// Counts the changes of a lease of version 2.
    epoch: u16,
    /// The opens that share it, in the order in which they came. Some may be closed.
    opens: VecDeque<Weak<Open>>,
    /// From this many opens on the closed ones are removed.
    clear_at: usize,
}

/// An open's part in a cache. The last part gives the cache back.
pub(in crate::server) struct CacheReference {
    /// Given back before the cache is forgotten.
    pub(in crate::server) lease: Lease,
    pub(in crate::server) cache: Arc<LeaseCache>,
    /// The client to notify. It lives as long as anything is in its caches.
    pub(in crate::server) client: Arc<Client>,
}

impl LeaseCache {
    pub(super) fn new(
        key: Key,
        of: Of,
        kind: Kind,
        asked: Option<values::Lease>,
        client: Weak<Client>,
    ) -> Self {
        let epoch = asked.and_then(|lease| lease.v2).map_or(0, |v2| v2.epoch);
        Self {
            key,
            of,
            kind,
            client,
            changing: Mutex::new(CacheState { epoch, opens: VecDeque::new(), clear_at: 0 }),
        }
    }

    /// A cache of a client whose server is lost.
    pub(in crate::server) fn restored(
        key: Key,
        of: Of,
        kind: Kind,
        epoch: u16,
        client: Weak<Client>,
    ) -> Self {
        let changing = CacheState { epoch, opens: VecDeque::new(), clear_at: 0 };
        Self { key, of, kind, client, changing: Mutex::new(changing) }
    }

    pub(in crate::server) fn key(&self) -> Key {
        self.key
    }

    pub(in crate::server) fn kind(&self) -> Kind {
        self.kind
    }

    pub(in crate::server) fn epoch(&self) -> u16 {
        self.changing.lock().epoch
    }

    pub(in crate::server) fn is_of(&self, of: &Of) -> bool {
        self.of == *of
    }

    /// Adds an open to the cache. Asks the tree for the caching, or for more of it, and counts that
    /// as a change.
    pub(super) fn grant(
        &self,
        open: &Arc<Open>,
        ask: impl FnOnce() -> vfs::Result<Lease>,
    ) -> vfs::Result<Lease> {
        let mut changing = self.changing.lock();
        let before = caching(&changing.opens);
        let lease = ask()?;
        if lease.caching() != before {
            changing.epoch = changing.epoch.wrapping_add(1);
        }
        changing.add(open);
        Ok(lease)
    }

    /// Adds an open that its client has reconnected to.
    pub(in crate::server) fn add(&self, open: &Arc<Open>) {
        self.changing.lock().add(open);
    }

    /// The opens that share it.
    pub(in crate::server) fn opens(&self) -> Vec<Arc<Open>> {
        self.changing.lock().opens.iter().filter_map(Weak::upgrade).collect()
    }

    /// Whether the client has no answer yet to any CREATE of the cache.
    pub(in crate::server) fn is_unheard_of(&self) -> bool {
        let opens = self.opens();
        !opens.is_empty() && opens.iter().all(|open| open.sequence.lock().is_unborn())
    }

    /// The tree says that something must be given back. Notifies the client, MS-SMB2 3.3.4.6 and
    /// 3.3.4.7. If the client cannot be notified, its opens are closed, as it cannot give back what
    /// it caches. Persistent ones stay: their client is told when it comes back.
    pub(in crate::server) fn told(&self, notice: &BreakNotice, durables: &Durables) {
        if notice.revoked {
            return; // the client learns that when it acknowledges
        }
        let epoch = {
            let mut changing = self.changing.lock();
            changing.epoch = changing.epoch.wrapping_add(u16::from(!notice.further));
            changing.epoch
        };
        let opens = self.opens();
        let tell = |open: &Arc<Open>| self.tell(open, &self.notification(open, notice, epoch));
        if opens.iter().any(tell) || !notice.needs_ack {
            return;
        }
        let closed = opens.iter().filter(|open| !open.is_persistent() && !durables.forget(open));
        closed.for_each(unreachable);
    }

    /// Notifies the client. An oplock's notification goes through the session of the open. A
    /// lease's goes over the client's oldest connection: the lease belongs to the client, whichever
    /// sessions share it. False if the client cannot be reached.
    fn tell(&self, open: &Open, notification: &Notification) -> bool {
        let tell = |session: Arc<Session>| {
            send(&session, session.requires_encryption() || open.tree.require_encryption, notification)
        };
        let Some(session) = open.session.upgrade().filter(|session| session.is_connected()) else {
            return false;
        };
        match (self.kind, self.client.upgrade()) {
            (Kind::Lease { .. }, Some(client)) => client.sessions().into_iter().any(tell),
            _ => tell(session),
        }
    }

    fn notification(&self, open: &Open, notice: &BreakNotice, epoch: u16) -> Notification {
        match self.kind {
            Kind::Oplock => Notification::Oplock(Oplock { level: level(notice.to), file: open.key }),
            Kind::Lease { version2, .. } => Notification::Lease(LeaseNotification {
                new_epoch: if version2 { epoch } else { 0 },
                flags: match notice.needs_ack {
                    true => NotificationFlags::ACK_REQUIRED,
                    false => NotificationFlags::NONE,
                },
                key: LeaseKey(self.key),
                current_state: state(notice.from),
                new_state: state(notice.to),
            }),
        }
    }
}

impl CacheState {
    fn add(&mut self, open: &Arc<Open>) {
        while self.opens.pop_front_if(|open| open.strong_count() == 0).is_some() {}
        // Not for each open: with many opens of one file that would take quadratic time.
        if self.opens.len() >= self.clear_at {
            self.opens.retain(|open| open.strong_count() > 0);
            self.clear_at = CLEAR_AT.max(self.opens.len() * 2);
        }
        self.opens.push_back(Arc::downgrade(open));
    }
}

/// An open caches nothing any more, as its client cannot be notified. If its session is lost, it is about to be closed, or
/// is on its way to those that wait for their client, which closes it: its caching ends then.
fn unreachable(open: &Arc<Open>) {
    // If another open was first, it has already acknowledged.
    let end = |open: &Open| open.held.get().iter().for_each(|held| held.lease.drop_caching());
    let is_lost = open.session.upgrade().is_none_or(|session| !session.is_connected());
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) if is_lost => {
            let open = Arc::downgrade(open);
            runtime.spawn(async move {
                tokio::time::sleep(LOSS).await; // a command that waits for its disk may hold it
                open.upgrade().iter().for_each(|open| end(open));
            });
        }
        _ => end(open),
    }
}

fn caching(opens: &VecDeque<Weak<Open>>) -> Caching {
    let held = |open: Arc<Open>| open.held.get().map(|held| held.lease.caching());
    opens.iter().filter_map(Weak::upgrade).find_map(held).unwrap_or_default()
}

impl Drop for LeaseCache {
    fn drop(&mut self) {
        if let Some(client) = self.client.upgrade() {
            client.forget_cache(&self.key);
        }
    }
}

/// Sends a notification over one of a session's connections. False when it has none.
fn send(session: &Session, sealed: bool, notification: &Notification) -> bool {
    let header = Header {
        status: Status::SUCCESS,
        credit_charge: 0,
        credits: 0,
        flags: Flags::RESPONSE,
        ..Header::request(Command::OPLOCK_BREAK, Notification::MESSAGE_ID)
    };
    let body = Reply::encoded(|w| notification.encode(w)).body;
    session.connections().iter().any(|connection| {
        let Some(channel) = connection.channel(session.id) else { return false };
        let mut output = ChainOutput::new(Some(channel).filter(|_| sealed));
        output.push(&header, &body, None, None);
        connection.send(output)
    })
}
