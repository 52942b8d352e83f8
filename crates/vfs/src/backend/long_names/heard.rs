//! The names of entries in watched folders: an event says which name on the host it is about.

use std::collections::HashMap;
use std::sync::Arc;

use lock::Mutex;

use super::entries;
use crate::FileId;
use crate::backend::{Heard, Object, WatchEvent, WatchId};
use crate::names::long::is_shortened;
use crate::names::own::UNFINISHED;
use crate::ranks;

/// Most names that are remembered. With one more, all are forgotten.
const MOST_NAMES: usize = 65_536;
/// Most moves of unfinished files whose second half is awaited.
const MOST_MOVES: usize = 64;

/// Which whole names the shortened names in watched folders stand for, so that an event about a removed entry can say.
#[derive(Default)]
pub(super) struct HeardNames(Mutex<Table, ranks::HeardNames>);

#[derive(Default)]
struct Table {
    folders: HashMap<FileId, WatchedNames>,
    by_watch: HashMap<i32, FileId>,
    names: usize,
    /// The numbers of moves from an unfinished name.
    finishing: Vec<u32>,
}

struct WatchedNames {
    folder: Arc<dyn Object>,
    users: usize,
    /// By the name on the host; `None` if that is the entry's own name.
    names: HashMap<Box<[u8]>, Option<Box<[u8]>>>,
}

/// What is known of an entry's name.
enum Name {
    Known(Box<[u8]>),
    /// The entry has gone, and nobody has looked at it before.
    Unknown,
}

impl HeardNames {
    pub(super) fn watched(&self, watch: WatchId, folder: &Arc<dyn Object>) {
        let Table { folders, by_watch, .. } = &mut *self.0.lock();
        by_watch.insert(watch.0, folder.id());
        let new = || WatchedNames { folder: folder.clone(), users: 0, names: HashMap::new() };
        folders.entry(folder.id()).or_insert_with(new).users += 1;
    }

    pub(super) fn unwatched(&self, watch: WatchId) {
        let mut table = self.0.lock();
        let Some(id) = table.by_watch.get(&watch.0).copied() else { return };
        let left = table.folders.get_mut(&id).map_or(0, |watched| {
            watched.users -= 1;
            watched.users
        });
        if left == 0 {
            table.forget(watch);
        }
    }

    /// An entry of a folder has this whole name (or its name on the host is its own).
    pub(super) fn remember(&self, folder: FileId, host: &[u8], whole: Option<&[u8]>) {
        let mut table = self.0.lock();
        let full = table.names >= MOST_NAMES;
        if full {
            table.names = 0;
            table.folders.values_mut().for_each(|watched| watched.names.clear());
        }
        let Some(watched) = table.folders.get_mut(&folder) else { return };
        let is_new = watched.names.insert(host.into(), whole.map(Box::from)).is_none();
        table.names += usize::from(is_new);
    }

    /// Passes on an event, with whole names.
    pub(super) fn tell(&self, event: WatchEvent, sink: &mut dyn FnMut(WatchEvent)) {
        let WatchEvent::Entry { watch, name, what, of_folder } = event else {
            if let WatchEvent::Over(watch) = event {
                self.0.lock().forget(watch);
            }
            return sink(event);
        };
        if name.starts_with(UNFINISHED) {
            return self.finishing(what);
        }
        if !is_shortened(&name) {
            return sink(WatchEvent::Entry { watch, name, what, of_folder });
        }
        let what = self.finished(what);
        let entry = |name, what| WatchEvent::Entry { watch, name, what, of_folder };
        let before = self.known(watch, &name);
        match (self.named(watch, &name, what, before.clone()), before) {
            // A local program has changed the attribute.
            (Name::Known(now), Some(before)) if what == Heard::Attributes && now != before => {
                sink(entry(before, Heard::Removed));
                sink(entry(now, Heard::Created));
            }
            (Name::Known(now), _) => sink(entry(now, what)),
            (Name::Unknown, _) => sink(WatchEvent::Missed),
        }
    }

    /// The first half of a move is that of a file that gets its name now.
    fn finishing(&self, what: Heard) {
        if let Heard::MovedFrom(number) = what {
            let finishing = &mut self.0.lock().finishing;
            if finishing.len() >= MOST_MOVES {
                finishing.remove(0);
            }
            finishing.push(number);
        }
    }

    /// The second half of such a move makes an entry.
    fn finished(&self, what: Heard) -> Heard {
        let Heard::MovedTo(number) = what else { return what };
        let finishing = &mut self.0.lock().finishing;
        match finishing.iter().position(|one| *one == number) {
            Some(at) => {
                finishing.remove(at);
                Heard::Created
            }
            None => what,
        }
    }

    /// The name by which an entry was known.
    fn known(&self, watch: WatchId, host: &[u8]) -> Option<Box<[u8]>> {
        let table = self.0.lock();
        let known = table.folders.get(table.by_watch.get(&watch.0)?)?.names.get(host)?;
        Some(known.clone().unwrap_or_else(|| host.into()))
    }

    /// The name of the entry that an event is about.
    fn named(&self, watch: WatchId, host: &[u8], what: Heard, known: Option<Box<[u8]>>) -> Name {
        let folder = {
            let table = self.0.lock();
            let id = table.by_watch.get(&watch.0);
            id.and_then(|id| table.folders.get(id)).map(|watched| watched.folder.clone())
        };
        let Some(folder) = folder else { return Name::Known(host.into()) };
        match (what, known) {
            (Heard::Removed | Heard::MovedFrom(_), None) => return Name::Unknown,
            (Heard::Removed | Heard::MovedFrom(_) | Heard::Data | Heard::Closed, Some(known)) => {
                return Name::Known(known);
            }
            // It has gone since, and its next event says so.
            (_, Some(known)) if !folder.may_have(host) => return Name::Known(known),
            _ => {}
        }
        let whole = entries::whole_name(&*folder, host);
        self.remember(folder.id(), host, whole.as_deref());
        Name::Known(whole.map_or_else(|| host.into(), Into::into))
    }
}

impl Table {
    fn forget(&mut self, watch: WatchId) {
        let Some(id) = self.by_watch.remove(&watch.0) else { return };
        if let Some(watched) = self.folders.remove(&id) {
            self.names -= watched.names.len();
        }
    }
}
