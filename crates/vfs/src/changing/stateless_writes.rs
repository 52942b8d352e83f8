//! Writes of data without an open, told to subscribers: [`StatelessWrites`].
//!
//! Such a write knows its file, and no name of it. Where a subscription needs an event of each write, the host tells of it. In other
//! folders the first write after each delivery looks for the name. It asks the host for nothing if a client has the file open, or
//! has made or moved it since the last delivery: that is what an NFSv3 client does that copies files.

use std::array;

use lock::Mutex;

use crate::backend::{Found, Node};
use crate::events::{Change, ChangeKind, Deliveries, Name, PublishedMark};
use crate::local::DATA;
use crate::{Actor, FileId, HostKey, Kind, Volume, ranks};

/// Files that are remembered. If two files have the same slot, each of their writes is told.
const FILES: usize = 256;

/// The files of which subscribers have a write in their queues, and the places of new ones.
pub(crate) struct StatelessWrites([Mutex<RecentFile, ranks::StatelessWrites>; FILES]);

/// A file that was written without an open, made or moved.
#[derive(Default)]
struct RecentFile {
    file: Option<FileId>,
    told: PublishedMark,
    place: Option<RecentPlace>,
}

/// Where a client has put a file. Local programs may have moved it since. Within one delivery this does no harm: subscribers have
/// not looked at the old place yet, and hear of the new one later.
struct RecentPlace {
    folder: HostKey,
    name: Name,
    since: Deliveries,
}

impl Default for StatelessWrites {
    fn default() -> Self {
        Self(array::from_fn(|_| Mutex::default()))
    }
}

impl RecentFile {
    /// What is known of this file, and of no other.
    fn of(&mut self, file: FileId) -> &mut Self {
        if self.file != Some(file) {
            *self = Self { file: Some(file), ..Self::default() };
        }
        self
    }
}

impl StatelessWrites {
    fn slot(&self, file: FileId) -> &Mutex<RecentFile, ranks::StatelessWrites> {
        &self.0[file.inode as usize % FILES]
    }

    /// A client has done something to an entry, which subscribers were told of after `since`. A file with one name is at this
    /// place now, unless the entry was removed.
    pub(crate) fn note(
        &self,
        (folder, name): (&Node, &Name),
        file: &Found,
        what: &ChangeKind,
        since: Deliveries,
    ) {
        let is_here = matches!(what, ChangeKind::Created | ChangeKind::Renamed { .. });
        let has_one_name = file.attributes.kind == Kind::File && file.attributes.links == 1;
        let here = || RecentPlace { folder: folder.key(), name: name.clone(), since };
        let id = file.object.id();
        self.slot(id).lock().of(id).place = (is_here && has_one_name).then(here);
    }

    /// A file has more than one name now.
    pub(crate) fn forget_place(&self, file: FileId) {
        self.slot(file).lock().of(file).place = None;
    }

    /// Whether subscribers have not been told yet of a write to this file. They count as told then.
    fn is_news(&self, file: FileId, now: Deliveries) -> bool {
        let mut slot = self.slot(file).lock();
        let recent = slot.of(file);
        let is_news = !recent.told.is_current(now);
        recent.told.set(now);
        is_news
    }

    /// Where a client has put this file since the last delivery.
    fn place_of(&self, file: FileId, now: Deliveries) -> Option<(HostKey, Name)> {
        let mut slot = self.slot(file).lock();
        let place = slot.of(file).place.as_ref().filter(|place| place.since == now)?;
        Some((place.folder, place.name.clone()))
    }
}

/// Tells the subscribers of volumes of a write without an open that was made.
pub(crate) fn tell_stateless(volume: &Volume, actor: &Actor, file: &Node) {
    let site = &volume.site;
    let before = site.subscriptions.deliveries();
    if !site.listens() || !site.stateless_writes.is_news(file.id(), before) {
        return;
    }
    let recent = site.stateless_writes.place_of(file.id(), before);
    let recent = recent.and_then(|(folder, name)| Some((volume.backend.by_key(&folder).ok()?.object, name)));
    let Some((folder, name)) = recent.or_else(|| place_of(volume, file)) else { return };
    let change = Change {
        folder: folder.id(),
        name,
        file: Some(file.id()),
        of: file.kind(),
        what: ChangeKind::Modified(DATA),
        by: Some(actor.party.client),
    };
    volume.publish_unheard(&*folder, &change);
}

/// Where a file is. If a client has it open, this asks the host for nothing.
fn place_of(volume: &Volume, file: &Node) -> Option<(Node, Name)> {
    volume.site.places.place_of(file.id()).or_else(|| {
        let found = Found { object: file.clone(), attributes: file.attributes().ok()? };
        let (folder, name) = volume.place_search().hint(&found)?;
        Some((folder.object, name.into()))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;

    use super::*;
    use crate::backend::memory::Memory;
    use crate::backend::{NewKind, RenameMode, Stability};
    use crate::events::{Event, EventScope, Filter, HubCounts, Subscription};
    use crate::state::{ClientId, Party};
    use crate::{Caller, VolumeOptions};

    #[test]
    fn a_write_is_news_once_until_a_subscriber_took_an_event() {
        let (writes, counts) = (StatelessWrites::default(), HubCounts::default());
        let (file, same_slot) = (FileId::new(1, 7), FileId::new(1, 7 + FILES as u64));
        let is_news = |file| writes.is_news(file, counts.deliveries());
        assert!(is_news(file) && !is_news(file));
        counts.delivered();
        assert!(is_news(file) && !is_news(file));
        assert!(is_news(same_slot) && is_news(file));
    }

    /// The names of the files that were written, as the subscriber hears of them.
    fn written(events: &mut Subscription) -> Vec<String> {
        let name = |event: Event| match event {
            Event::Changed(seen) if matches!(seen.change.what, ChangeKind::Modified(_)) => {
                Some(String::from_utf8_lossy(&seen.change.name).into_owned())
            }
            _ => None,
        };
        events.take_all().into_iter().filter_map(name).collect()
    }

    /// The backend in memory gives no hint of a file's place.
    #[test]
    fn a_write_to_a_new_file_asks_the_host_for_no_place() {
        let volume = Arc::new(Volume::new(Arc::new(Memory::ticking()), VolumeOptions::default()));
        let me = Actor::new(Caller::root(), Party::client(ClientId(1)));
        let root = volume.root().unwrap();
        let mut events = volume.subscribe(EventScope::Volume, Filter::ALL, 16).unwrap();
        // A request finds the folder anew, and drops it at its end.
        let make = |name: &[u8]| {
            let folder = volume.backend.by_key(&root.object.key()).unwrap();
            volume.create(&me, &folder, name, NewKind::File, 0o644).unwrap().found
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let write = |file: &Found| {
            let data = Bytes::from_static(b"x");
            runtime.block_on(volume.stateless().write(&me, file, 0, data, Stability::Unstable)).unwrap();
        };
        let (a, linked) = (make(b"a"), make(b"linked"));
        volume.link(&me, &linked, &root, b"other").unwrap();
        (0..2).for_each(|_| [&a, &linked].into_iter().for_each(write));
        assert_eq!(written(&mut events), ["a"], "a file with two names is at neither");
        volume.rename(&me, (&root, b"a"), (&root, b"b"), RenameMode::Replace).unwrap();
        write(&a);
        assert_eq!(written(&mut events), ["b"]);
        write(&a);
        assert!(written(&mut events).is_empty(), "a local program may have moved it since the last delivery");
    }
}
