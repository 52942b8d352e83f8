//! The host's watches, kept on the folders that have subscribers while folders come, move and go.

use super::Locals;
use super::tree::{HostWatch, UnusedWatches, WatchAddition, WatchUser};
use crate::backend::{Backend, DataNotice, Found};
use crate::events::{Change, ChangeKind, Depth, Name};
use crate::names::own::is_own_name;
use crate::{Caller, FileId, Kind};

/// The folders of a volume that the host watches.
#[derive(Clone, Copy)]
pub(crate) struct WatchedFolders<'a> {
    pub(super) backend: &'a dyn Backend,
    pub(super) locals: &'a Locals,
}

impl WatchedFolders<'_> {
    /// Watches a folder for one more user; `false` if the host cannot watch it.
    pub(super) fn hold(&self, folder: &Found, user: WatchUser) -> bool {
        let root = self.backend.root().ok().map(|root| root.object.id());
        self.locals.with_tree(|tree| tree.root = root);
        let held = self.add(folder, None, Some(user));
        if held && user == WatchUser::Subscription(Depth::Below) {
            self.watch_below(folder);
        }
        held
    }

    fn add(&self, folder: &Found, above: Option<(FileId, Name)>, hold: Option<WatchUser>) -> bool {
        let data =
            if hold == Some(WatchUser::Closings) { DataNotice::AtClose } else { DataNotice::EachWrite };
        let Some(id) = self.backend.watch(folder.object.as_ref(), data) else {
            self.locals.with_tree(|tree| tree.miss(hold));
            return false;
        };
        let (watch, id) = (HostWatch { id, data }, folder.object.id());
        let added = self.locals.with_tree(|tree| {
            let added = tree.add(folder, watch, above);
            match hold {
                Some(_) if added == WatchAddition::Full => tree.miss(hold),
                Some(user) => tree.hold(id, user),
                None => {}
            }
            added
        });
        if data == DataNotice::EachWrite {
            self.locals.counts.delivered(); // the next write by a client announces its echo
        }
        match added {
            WatchAddition::New => {}
            WatchAddition::Known(other) => self.backend.unwatch(other.id, other.data),
            WatchAddition::Full => self.backend.unwatch(watch.id, watch.data),
        }
        added != WatchAddition::Full
    }

    /// Watches all folders below one, as far as the limit goes.
    pub(super) fn watch_below(&self, top: &Found) {
        let mut waiting = vec![top.clone()];
        while let Some(folder) = waiting.pop() {
            for (name, kind) in entries_of(&folder) {
                if kind.is_some_and(|kind| kind != Kind::Folder) {
                    continue;
                }
                let Ok(found) = folder.object.lookup(&Caller::root(), &name) else { continue };
                if found.attributes.kind == Kind::Folder {
                    if !self.add(&found, Some((folder.object.id(), name)), None) {
                        return;
                    }
                    waiting.push(found);
                }
            }
        }
    }

    /// A user is gone; `held`: the folder is watched for it.
    pub(super) fn release(&self, folder: FileId, user: WatchUser, held: bool) {
        self.unwatch(self.locals.with_tree(|tree| tree.release(folder, user, held)));
    }

    fn unwatch(&self, unused: UnusedWatches) {
        unused.idle.into_iter().for_each(|watch| self.backend.unwatch(watch.id, watch.data));
        unused.calmed.into_iter().for_each(|folder| self.calm(folder));
    }

    /// Tells the host that no event of each write is needed of this folder any more.
    fn calm(&self, folder: FileId) {
        let Some(found) = self.found(folder) else { return };
        let data = DataNotice::AtClose;
        let Some(id) = self.backend.watch(found.object.as_ref(), data) else { return };
        let Some(before) = self.locals.with_tree(|tree| tree.calm(folder, HostWatch { id, data })) else {
            return self.backend.unwatch(id, data);
        };
        self.backend.unwatch(before.id, before.data);
        // Being asked anew, the host takes what is needed now.
        if let Some(again) = self.backend.watch(found.object.as_ref(), data) {
            self.backend.unwatch(again, data);
        }
    }

    /// Follows folders that come, move and go, so that the right ones are watched.
    pub(crate) fn follow(&self, change: &Change, found: Option<&Found>) {
        if change.of != Kind::Folder || !self.locals.any() {
            return;
        }
        let place = (change.folder, change.name.clone());
        let below = self.locals.tree.lock().is_below(change.folder);
        let known = match &change.what {
            ChangeKind::Renamed { old_folder, old_name } => self.locals.tree.lock().at(*old_folder, old_name),
            ChangeKind::Removed => self.locals.tree.lock().at(place.0, &place.1),
            ChangeKind::Created => None,
            ChangeKind::Modified(_) => return,
        };
        let comes = change.what != ChangeKind::Removed && below;
        if let Some(known) = known {
            self.unwatch(self.locals.with_tree(|tree| tree.moved(known, comes.then_some(place))));
        } else if comes
            && let Some(found) = found
            && self.add(found, Some(place), None)
        {
            self.watch_below(found);
        }
    }

    /// A folder, if it is watched.
    pub(super) fn found(&self, folder: FileId) -> Option<Found> {
        let key = self.locals.tree.lock().key(folder)?;
        self.backend.by_key(&key).ok()
    }
}

/// The entries of a folder, as far as it can be listed.
pub(super) fn entries_of(folder: &Found) -> Vec<(Name, Option<Kind>)> {
    let mut entries = Vec::new();
    let _ = folder.object.list(0, &mut |entry| {
        if !matches!(entry.name, b"." | b"..") && !is_own_name(entry.name) {
            entries.push((Name::from(entry.name), entry.kind));
        }
        true
    });
    entries
}
