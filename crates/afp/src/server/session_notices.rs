//! What the server tells clients without being asked: that it goes down, that there is a message, that a volume has
//! changed. Apple Filing Protocol Reference, DSIAttention.

use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use lock::{Mutex, rank};
use vfs::events::{Aspects, Depth, Event, Filter, Happened, Scope, Subscription};
use vfs::state::ClientId;
use vfs::{Caller, FileId, Volume, Watching};

use super::connection::Connection;
use super::service::{Service, SessionInfo};
use super::session::Session;
use crate::wire::dsi::{Attention, Command};

/// How often a client is told at most that a volume has changed.
const PAUSE: Duration = Duration::from_secs(1);
/// For so long after a client has changed something, changes that are nobody's by name may be its own.
const ECHO: Duration = Duration::from_secs(2);
/// Changes of a volume that wait to be looked at; more are "something has changed".
const QUEUE: usize = 1024;
/// How often a watcher of a volume looks whether anybody still has it open.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// Whatever clients can see of a volume: not that somebody has read it.
const SEEN: Filter = Filter { aspects: Aspects(Aspects::ALL.0 & !Aspects::ACCESSED.0), except: None };

/// What a session has been told of changes, and when it made one.
#[derive(Default)]
pub(super) struct Told(Mutex<News, rank::AfpNotices>);

#[derive(Default)]
struct News {
    /// When it was last told that something has changed.
    told: Option<Instant>,
    /// Something has changed since.
    owed: bool,
    /// When it last changed something itself.
    changed: Option<Instant>,
}

impl Told {
    /// The client changes something.
    pub(super) fn changes(&self, now: Instant) {
        self.0.lock().changed = Some(now);
    }

    /// Whether a change that is nobody's by name may be its own.
    fn may_be_its_own(&self, now: Instant) -> bool {
        self.0.lock().changed.is_some_and(|at| now.duration_since(at) < ECHO)
    }

    /// Whether to say now that something has changed. If it is too soon, it is said later.
    fn is_due(&self, now: Instant) -> bool {
        let mut news = self.0.lock();
        news.owed = news.told.is_some_and(|at| now.duration_since(at) < PAUSE);
        if !news.owed {
            news.told = Some(now);
        }
        !news.owed
    }

    fn is_owed(&self) -> bool {
        self.0.lock().owed
    }
}

impl Session {
    /// Tells the client something, unless it is asleep or away. Answers whether it was told.
    pub(super) fn notice(&self, attention: u16) -> bool {
        let tell =
            |connection: Arc<Connection>| connection.tell(Command::ATTENTION, &attention.to_be_bytes());
        !self.life.is_asleep() && self.connection().is_some_and(tell)
    }

    /// Tells the client that a volume has changed, as soon as it may be told again.
    fn tell_of_changes(&self, now: Instant) {
        if self.told.is_due(now) {
            self.notice(Attention::NOTIFY | Attention::VOLUME_CHANGED);
        }
    }
}

impl Service {
    /// A message to everybody who is logged in, now. Answers how many were told.
    pub fn say(&self, text: &str) -> usize {
        self.set_message(text);
        let sessions = self.all_sessions();
        sessions.iter().filter(|session| session.notice(Attention::MESSAGE)).count()
    }

    /// The server stops: everybody is told, and every session ends.
    pub fn stop(&self) {
        self.refuse_sessions();
        self.all_sessions().iter().for_each(|session| self.disconnect(session, Attention::SHUTDOWN));
    }

    /// Ends sessions by the administrator's wish. Answers how many.
    pub fn disconnect_where(&self, which: impl Fn(&SessionInfo) -> bool) -> usize {
        let mut meant = self.all_sessions();
        meant.retain(|session| which(&session.info()));
        meant
            .iter()
            .for_each(|session| self.disconnect(session, Attention::SHUTDOWN | Attention::DONT_RECONNECT));
        meant.len()
    }

    /// Closes the forks that sessions have open of a file, by the administrator's wish. Answers how many.
    pub fn close_file(
        &self,
        volume: &Arc<Volume>,
        file: FileId,
        which: impl Fn(&SessionInfo) -> bool,
    ) -> usize {
        let mut meant = self.all_sessions();
        meant.retain(|session| which(&session.info()));
        meant.iter().map(|session| session.forks.close_file(volume, file)).sum()
    }

    /// Ends a session at once, and tells its client why.
    pub(super) fn disconnect(&self, session: &Arc<Session>, attention: u16) {
        session.notice(attention); // in no minutes
        self.end_session(session);
        session.close();
    }
}

/// Changes of a volume since the last look.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Whose they are.
    by: HashSet<ClientId>,
    /// Names came or went by local processes.
    locally: bool,
    /// Something that may be anybody's.
    perhaps: bool,
}

impl Changes {
    /// Takes an event in.
    pub(super) fn add(&mut self, event: &Event) {
        let Event::Changed(seen) = event else {
            self.perhaps = true;
            return;
        };
        match (seen.change.by, &seen.change.what) {
            (Some(client), _) => drop(self.by.insert(client)),
            (None, Happened::Modified(_)) => self.perhaps = true,
            (None, _) => self.locally = true,
        }
    }

    /// Whether any of them is not this session's own doing.
    fn concern(&self, session: &Session, now: Instant) -> bool {
        let others = self.by.iter().any(|client| *client != session.client);
        others || self.locally || (self.perhaps && !session.told.may_be_its_own(now))
    }
}

/// The client has opened a volume: from now on it is told of changes, if it knows of such notices.
pub(super) fn volumes_opened(session: &Arc<Session>) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    if !session.version.is_3() {
        return;
    }
    for volume in session.volumes.all() {
        if session.service.watched.begin(volume.tree()) {
            let (service, volume) = (Arc::downgrade(&session.service), Arc::downgrade(volume.tree()));
            runtime.spawn(watch(service, volume));
        }
    }
}

/// Volumes that are watched for those who have them open.
#[derive(Default)]
pub(super) struct Watched(Mutex<Vec<Weak<Volume>>, rank::AfpWatched>);

impl Watched {
    /// Answers whether nobody has watched this one.
    fn begin(&self, volume: &Arc<Volume>) -> bool {
        let mut watched = self.0.lock();
        let is_new = !watched.iter().any(|other| other.as_ptr() == Arc::as_ptr(volume));
        if is_new {
            watched.push(Arc::downgrade(volume));
        }
        is_new
    }

    /// Nobody watches this one any more, if `is_unused` says so: asked so that nobody begins meanwhile.
    fn end(&self, volume: &Weak<Volume>, is_unused: impl FnOnce() -> bool) -> bool {
        let mut watched = self.0.lock();
        let ends = is_unused();
        if ends {
            watched.retain(|other| !other.ptr_eq(volume));
        }
        ends
    }
}

/// Watches a volume for as long as somebody who can be told has it open.
async fn watch(service: Weak<Service>, volume: Weak<Volume>) {
    let begun = {
        let volume = volume.clone();
        tokio::task::spawn_blocking(move || Watch::begin(&volume.upgrade()?)).await.ok().flatten()
    };
    let mut watching = match begun {
        Some(watching) => watching,
        None => return unwatch(&service, &volume),
    };
    loop {
        let event = tokio::time::timeout(LOOK_EVERY, watching.changes.next()).await;
        if look(&service, &volume, &mut watching, event.ok()) {
            return;
        }
        tokio::time::sleep(PAUSE).await;
        tell_owed(&service, &volume);
    }
}

/// A volume being watched.
struct Watch {
    /// Changes by whomever, wherever in it.
    changes: Subscription,
    /// Asks the host for those by local processes, which `changes` then hears, too.
    _local: Option<Watching>,
}

impl Watch {
    /// Takes a while where there are many folders.
    fn begin(volume: &Arc<Volume>) -> Option<Self> {
        let changes = volume.subscribe(Scope::Volume, SEEN, QUEUE).ok()?;
        let root = volume.root().ok()?;
        let nothing = Filter { aspects: Aspects(0), except: None };
        let local = volume.watch(&Caller::root(), &root, Depth::Below, nothing, 1);
        Some(Self { changes, _local: local.ok() })
    }
}

fn unwatch(service: &Weak<Service>, volume: &Weak<Volume>) {
    if let Some(service) = service.upgrade() {
        service.watched.end(volume, || true);
    }
}

/// Tells of what has happened. Answers whether nobody wants to be told any more.
fn look(service: &Weak<Service>, volume: &Weak<Volume>, watching: &mut Watch, first: Option<Event>) -> bool {
    let Some(service) = service.upgrade() else { return true };
    if service.watched.end(volume, || service.with_volume(volume).is_empty()) {
        return true;
    }
    let mut changes = Changes::default();
    first.iter().for_each(|event| changes.add(event));
    while let Some(event) = watching.changes.try_next() {
        changes.add(&event);
    }
    tell(&service.with_volume(volume), &changes, Instant::now());
    false
}

/// Tells those who are concerned.
pub(super) fn tell(sessions: &[Arc<Session>], changes: &Changes, now: Instant) {
    let concerned = sessions.iter().filter(|session| changes.concern(session, now));
    concerned.for_each(|session| session.tell_of_changes(now));
}

fn tell_owed(service: &Weak<Service>, volume: &Weak<Volume>) {
    let Some(service) = service.upgrade() else { return };
    let owed = service.with_volume(volume).into_iter().filter(|session| session.told.is_owed());
    owed.for_each(|session| session.tell_of_changes(Instant::now()));
}

impl Service {
    /// The sessions that have a volume open and know of notices.
    fn with_volume(&self, volume: &Weak<Volume>) -> Vec<Arc<Session>> {
        let has_it = |session: &Arc<Session>| {
            let mut open = session.volumes.all().into_iter();
            session.version.is_3() && open.any(|open| Arc::as_ptr(open.tree()) == volume.as_ptr())
        };
        self.all_sessions().into_iter().filter(has_it).collect()
    }
}

#[cfg(test)]
mod tests;
