//! Notifications that clients have not requested: a shutdown, a message, a change of a volume.
//! Apple Filing Protocol Reference, DSIAttention.

use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use lock::Mutex;
use vfs::events::{Aspects, ChangeKind, Depth, Event, EventScope, Filter, Subscription};
use vfs::state::ClientId;
use vfs::{Caller, FileId, Volume, Watching};

use super::session::Session;
use crate::ranks;
use crate::server::config::Version;
use crate::server::connection::Connection;
use crate::server::service::{Service, SessionInfo};
use crate::wire::dsi::{Attention, Command};

/// The shortest time between two notifications of changes to a client.
const PAUSE: Duration = Duration::from_secs(1);
/// For this time after a client's change, changes without a known author may be the client's own.
const ECHO: Duration = Duration::from_secs(2);
/// Changes of a volume that wait to be processed; beyond that, they count as "something has
/// changed".
const QUEUE: usize = 1024;
/// How often a watcher of a volume checks whether a session still has it open.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// All visible changes of a volume, without reads.
const SEEN: Filter = Filter {
    aspects: Aspects(Aspects::ALL.0 & !Aspects::ACCESSED.0),
    except: None,
    identifies_removed: false,
};

/// When a session was last notified of changes, and when it made one.
#[derive(Default)]
pub(in crate::server) struct NoticeState(Mutex<News, ranks::AfpNotices>);

#[derive(Default)]
struct News {
    /// The time of its last notification.
    told: Option<Instant>,
    /// Something has changed since.
    owed: bool,
    /// The time of its own last change.
    changed: Option<Instant>,
    /// The administrator's last message, if it was to this session and not to all.
    message: Option<Arc<str>>,
}

impl NoticeState {
    /// Notes that the client changes something.
    pub(in crate::server) fn changes(&self, now: Instant) {
        self.0.lock().changed = Some(now);
    }

    /// Whether a change without a known author may be the client's own.
    fn may_be_its_own(&self, now: Instant) -> bool {
        self.0.lock().changed.is_some_and(|at| now.duration_since(at) < ECHO)
    }

    /// Whether to send a notification of changes now. If it is too soon, it is sent later.
    fn is_due(&self, now: Instant) -> bool {
        let mut news = self.0.lock();
        news.owed = news.told.is_some_and(|at| now.duration_since(at) < PAUSE);
        if !news.owed {
            news.told = Some(now);
        }
        !news.owed
    }

    /// The administrator's last message, if it was to this session and not to all.
    pub(in crate::server) fn message(&self) -> Option<Arc<str>> {
        self.0.lock().message.clone()
    }

    fn is_owed(&self) -> bool {
        self.0.lock().owed
    }
}

impl Session {
    /// Notifies the client, unless it is asleep or disconnected. Answers whether it was notified.
    pub(in crate::server) fn notice(&self, attention: u16) -> bool {
        let tell =
            |connection: Arc<Connection>| connection.tell(Command::ATTENTION, &attention.to_be_bytes());
        // Messages came with AFP 2.1: older clients take the bit for another.
        let is_known = attention & Attention::MESSAGE == 0 || self.version >= Version::V2_1;
        is_known && !self.life.is_asleep() && self.connection().is_some_and(tell)
    }

    /// Notifies the client of a change of a volume, as soon as the pause is over.
    fn tell_of_changes(&self, now: Instant) {
        if self.told.is_due(now) {
            self.notice(Attention::NOTIFY | Attention::VOLUME_CHANGED);
        }
    }
}

impl Service {
    /// Sends a message to all sessions, now. Answers how many clients were notified.
    pub fn say(&self, text: &str) -> usize {
        self.set_message(text);
        let sessions = self.all_sessions();
        sessions.iter().for_each(|session| session.told.0.lock().message = None);
        sessions.iter().filter(|session| session.notice(Attention::MESSAGE)).count()
    }

    /// Sends a message to some sessions, now. Answers how many clients were notified.
    pub fn say_where(&self, text: &str, which: impl Fn(&SessionInfo) -> bool) -> usize {
        let mut meant = self.all_sessions();
        meant.retain(|session| which(&session.info()));
        meant.iter().for_each(|session| session.told.0.lock().message = Some(text.into()));
        meant.iter().filter(|session| session.notice(Attention::MESSAGE)).count()
    }

    /// Stops the server: all clients are notified, and all sessions end.
    pub fn stop(&self) {
        self.refuse_sessions();
        self.all_sessions().iter().for_each(|session| self.disconnect(session, Attention::SHUTDOWN));
    }

    /// Ends sessions for the administrator. Answers how many.
    pub fn disconnect_where(&self, which: impl Fn(&SessionInfo) -> bool) -> usize {
        let mut meant = self.all_sessions();
        meant.retain(|session| which(&session.info()));
        meant
            .iter()
            .for_each(|session| self.disconnect(session, Attention::SHUTDOWN | Attention::DONT_RECONNECT));
        meant.len()
    }

    /// Closes all forks of a file for the administrator. Answers how many.
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

    /// Ends a session at once, and tells its client the reason.
    pub(in crate::server) fn disconnect(&self, session: &Arc<Session>, attention: u16) {
        session.notice(attention); // in 0 minutes
        self.end_session(session);
        session.close();
    }
}

/// Changes of a volume since the last check.
#[derive(Debug, Default)]
pub(in crate::server) struct VolumeChanges {
    /// The clients that made them.
    by: HashSet<ClientId>,
    /// Local processes have made or removed names.
    locally: bool,
    /// A change whose author is unknown.
    perhaps: bool,
}

impl VolumeChanges {
    /// Adds an event.
    pub(in crate::server) fn add(&mut self, event: &Event) {
        let Event::Changed(seen) = event else {
            self.perhaps = true;
            return;
        };
        match (seen.change.by, &seen.change.what) {
            (Some(client), _) => drop(self.by.insert(client)),
            (None, ChangeKind::Modified(_)) => self.perhaps = true,
            (None, _) => self.locally = true,
        }
    }

    /// Whether any change is not the session's own.
    fn concern(&self, session: &Session, now: Instant) -> bool {
        let others = self.by.iter().any(|client| *client != session.client);
        others || self.locally || (self.perhaps && !session.told.may_be_its_own(now))
    }
}

/// Called when the client has opened a volume: from now on it is notified of changes, if it
/// supports such notifications.
pub(in crate::server) fn volumes_opened(session: &Arc<Session>) {
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

/// Volumes that are watched for sessions that have them open.
#[derive(Default)]
pub(in crate::server) struct VolumeWatches(Mutex<Vec<Weak<Volume>>, ranks::AfpWatched>);

impl VolumeWatches {
    /// Begins a watch. Answers false if the volume is already watched.
    fn begin(&self, volume: &Arc<Volume>) -> bool {
        let mut watched = self.0.lock();
        let is_new = !watched.iter().any(|other| other.as_ptr() == Arc::as_ptr(volume));
        if is_new {
            watched.push(Arc::downgrade(volume));
        }
        is_new
    }

    /// Ends the watch if `is_unused` says so. It is called under the lock, so that no watch begins
    /// meanwhile.
    fn end(&self, volume: &Weak<Volume>, is_unused: impl FnOnce() -> bool) -> bool {
        let mut watched = self.0.lock();
        let ends = is_unused();
        if ends {
            watched.retain(|other| !other.ptr_eq(volume));
        }
        ends
    }
}

/// Watches a volume for as long as a session that supports notifications has it open.
async fn watch(service: Weak<Service>, volume: Weak<Volume>) {
    let begun = {
        let volume = volume.clone();
        tokio::task::spawn_blocking(move || VolumeWatch::begin(&volume.upgrade()?)).await.ok().flatten()
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

/// The watch of a volume.
struct VolumeWatch {
    /// Changes by all clients, in the whole volume.
    changes: Subscription,
    /// Asks the host for changes by local processes, which `changes` then receives, too.
    _local: Option<Watching>,
}

impl VolumeWatch {
    /// Begins a watch. It takes a while if there are many folders.
    fn begin(volume: &Arc<Volume>) -> Option<Self> {
        let changes = volume.subscribe(EventScope::Volume, SEEN, QUEUE).ok()?;
        let root = volume.root().ok()?;
        let nothing = Filter { aspects: Aspects(0), except: None, identifies_removed: false };
        let local = volume.watch(&Caller::root(), &root, Depth::Below, nothing, 1);
        Some(Self { changes, _local: local.ok() })
    }
}

fn unwatch(service: &Weak<Service>, volume: &Weak<Volume>) {
    if let Some(service) = service.upgrade() {
        service.watched.end(volume, || true);
    }
}

/// Notifies the sessions of new changes. Answers whether no session needs the watch any more.
fn look(
    service: &Weak<Service>,
    volume: &Weak<Volume>,
    watching: &mut VolumeWatch,
    first: Option<Event>,
) -> bool {
    let Some(service) = service.upgrade() else { return true };
    if service.watched.end(volume, || service.with_volume(volume).is_empty()) {
        return true;
    }
    let mut changes = VolumeChanges::default();
    first.iter().for_each(|event| changes.add(event));
    while let Some(event) = watching.changes.try_next() {
        changes.add(&event);
    }
    tell(&service.with_volume(volume), &changes, Instant::now());
    false
}

/// Notifies the sessions that the changes concern.
pub(in crate::server) fn tell(sessions: &[Arc<Session>], changes: &VolumeChanges, now: Instant) {
    let concerned = sessions.iter().filter(|session| changes.concern(session, now));
    concerned.for_each(|session| session.tell_of_changes(now));
}

fn tell_owed(service: &Weak<Service>, volume: &Weak<Volume>) {
    let Some(service) = service.upgrade() else { return };
    let owed = service.with_volume(volume).into_iter().filter(|session| session.told.is_owed());
    owed.for_each(|session| session.tell_of_changes(Instant::now()));
}

impl Service {
    /// The sessions that have a volume open and support notifications.
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
