//! Which subscriptions get a change: those of its folder, of the folders above it, and of the volume.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::subscription::Sink;
use super::{Above, Change, ChangeKind, EventScope, Listeners, MAX_DEPTH, Name, ScopedChange};
use formats::{FileId, Kind};

/// The subscriptions that get one change, and where it happened relative to the folder of each.
struct Route<'a> {
    change: &'a Change,
    /// By the subscriptions' numbers.
    found: BTreeMap<u64, Recipient<'a>>,
    /// The parents of a folder are not known: each subscription to a subtree may have missed
    /// something.
    lost: bool,
}

/// A subscription that wants the change.
struct Recipient<'a> {
    sink: &'a Arc<Sink>,
    at: Option<Vec<Name>>,
    was: Option<Vec<Name>>,
}

/// The new or the old place of an entry.
#[derive(Clone, Copy)]
enum Place {
    New,
    Old,
}

impl<'a> Route<'a> {
    fn add(&mut self, sink: &'a Arc<Sink>, place: Place, path: &[Name]) {
        if !sink.wants(self.change) {
            return;
        }
        let path = path.iter().rev().cloned().collect();
        let found = self.found.entry(sink.id).or_insert(Recipient { sink, at: None, was: None });
        match place {
            Place::New => found.at = Some(path),
            Place::Old => found.was = Some(path),
        }
    }
}

impl Listeners {
    pub(super) fn publish(&self, above: &dyn Fn(FileId) -> Above, change: Arc<Change>) {
        let mut route = Route { change: &change, found: BTreeMap::new(), lost: false };
        for sink in self.volume.values() {
            route.add(sink, Place::New, &[]);
        }
        self.walk(&mut route, above, change.folder, Place::New);
        if let ChangeKind::Renamed { old_folder, .. } = &change.what {
            self.volume.values().for_each(|sink| route.add(sink, Place::Old, &[]));
            self.walk(&mut route, above, *old_folder, Place::Old);
        }
        if let (ChangeKind::Removed, Kind::Folder, Some(folder)) = (&change.what, change.of, change.file) {
            self.going(folder);
        }
        if route.lost {
            self.all()
                .filter(|sink| matches!(sink.scope, EventScope::Subtree(_)))
                .for_each(|sink| sink.overflow());
        }
        for Recipient { sink, at, was } in route.found.into_values() {
            sink.push(ScopedChange { change: Arc::clone(&change), at, was });
        }
    }

    pub(super) fn going(&self, folder: FileId) {
        self.folders.get(&folder).into_iter().flat_map(BTreeMap::values).for_each(|sink| sink.going());
    }

    /// Finds the subscriptions to this folder, and, going up, those to a subtree that it is in.
    fn walk<'a>(
        &'a self,
        route: &mut Route<'a>,
        above: &dyn Fn(FileId) -> Above,
        folder: FileId,
        place: Place,
    ) {
        let (mut here, mut names) = (folder, Vec::new());
        for depth in 0..MAX_DEPTH {
            for sink in self.folders.get(&here).into_iter().flat_map(BTreeMap::values) {
                if depth == 0 || matches!(sink.scope, EventScope::Subtree(_)) {
                    route.add(sink, place, &names);
                }
            }
            if self.subtrees == 0 {
                return;
            }
            match above(here) {
                Above::Nothing => return,
                Above::Unknown => break,
                Above::Folder(parent, name) => {
                    names.push(name);
                    here = parent;
                }
            }
        }
        route.lost = true;
    }
}
