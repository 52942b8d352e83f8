//! The folders that the host watches, and which of them contains which.

use std::collections::HashSet;

use crate::backend::{DataNotice, Found, WatchId};
use crate::events::{Above, Depth, MAX_DEPTH, Name};
use crate::{FileId, HostKey, IdMap};

/// The most folders of a volume that are watched at the host.
pub const MAX_WATCHED: usize = 16_384;

#[derive(Default)]
pub(super) struct Tree {
    folders: IdMap<FileId, WatchedFolder>,
    by_watch: IdMap<WatchId, FileId>,
    pub(super) root: Option<FileId>,
    /// There is a subscription to a subtree that has folders which are not watched.
    incomplete: bool,
    /// How many subscriptions are to subtrees that are not watched at all.
    blind: usize,
}

struct WatchedFolder {
    key: HostKey,
    watch: HostWatch,
    /// The folder that it lies in, if that is watched with the tree below.
    above: Option<(FileId, Name)>,
    /// How many users only hear of what is closed in it.
    closings: usize,
    /// How many subscriptions are to its entries.
    entries: usize,
    /// How many subscriptions are to it and everything below.
    below: usize,
}

/// A watch of the host, and when it tells of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HostWatch {
    pub(super) id: WatchId,
    pub(super) data: DataNotice,
}

/// What uses the watch of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WatchUser {
    /// A subscription.
    Subscription(Depth),
    /// A subscription to the volume that needs no event of each write.
    Closings,
}

/// Watches of the host that changed their use.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct UnusedWatches {
    /// They have no user any more.
    pub(super) idle: Vec<HostWatch>,
    /// No user of these folders needs events of each write any more.
    pub(super) calmed: Vec<FileId>,
}

/// The result of adding a folder to be watched.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WatchAddition {
    New,
    /// It was watched already; this one of the two watches must be released.
    Known(HostWatch),
    /// There are too many.
    Full,
}

impl Tree {
    pub(super) fn len(&self) -> usize {
        self.folders.len()
    }

    pub(super) fn has(&self, folder: FileId) -> bool {
        self.folders.contains_key(&folder)
    }

    pub(super) fn folder_of(&self, watch: WatchId) -> Option<FileId> {
        self.by_watch.get(&watch).copied()
    }

    /// Whether a user of the folder's watch needs an event of each write.
    pub(super) fn hears_writes(&self, folder: FileId) -> bool {
        self.folders.get(&folder).is_some_and(|watched| watched.entries > 0) || self.is_below(folder)
    }

    pub(super) fn key(&self, folder: FileId) -> Option<HostKey> {
        self.folders.get(&folder).map(|watched| watched.key)
    }

    /// Whether there is a subscription to this folder with the tree below it, or to such a folder
    /// above it.
    pub(super) fn is_below(&self, folder: FileId) -> bool {
        let mut here = folder;
        for _ in 0..MAX_DEPTH {
            match self.folders.get(&here) {
                Some(watched) if watched.below > 0 => return true,
                Some(WatchedFolder { above: Some((parent, _)), .. }) => here = *parent,
                _ => return false,
            }
        }
        false
    }

    /// A folder that is not watched lies in no watched subtree, unless there were too many folders.
    pub(super) fn above(&self, folder: FileId) -> Above {
        match self.folders.get(&folder) {
            Some(WatchedFolder { above: Some((parent, name)), .. }) => Above::Folder(*parent, name.clone()),
            None if (self.incomplete || self.blind > 0) && self.root != Some(folder) => Above::Unknown,
            _ => Above::Nothing,
        }
    }

    pub(super) fn add(
        &mut self,
        folder: &Found,
        watch: HostWatch,
        above: Option<(FileId, Name)>,
    ) -> WatchAddition {
        let (id, key) = (folder.object.id(), folder.object.key());
        if let Some(known) = self.folders.get_mut(&id)
            && known.key == key
            && known.watch.id == watch.id
        {
            known.above = above.or(known.above.take());
            let needs_writes = watch.data == DataNotice::EachWrite;
            let released = if needs_writes { std::mem::replace(&mut known.watch, watch) } else { watch };
            return WatchAddition::Known(released);
        }
        if self.folders.len() >= MAX_WATCHED {
            self.incomplete |= above.is_some();
            return WatchAddition::Full;
        }
        let new = WatchedFolder { key, watch, above, closings: 0, entries: 0, below: 0 };
        if let Some(old) = self.folders.insert(id, new) {
            self.by_watch.remove(&old.watch.id); // its folder is gone, and its number is used again
        }
        self.by_watch.insert(watch.id, id);
        WatchAddition::New
    }

    pub(super) fn hold(&mut self, folder: FileId, user: WatchUser) {
        if let Some(watched) = self.folders.get_mut(&folder) {
            *watched.users(user) += 1;
        }
    }

    /// A folder cannot be watched: one with a subscription, or one below it.
    pub(super) fn miss(&mut self, hold: Option<WatchUser>) {
        match hold {
            Some(WatchUser::Subscription(Depth::Entries) | WatchUser::Closings) => {}
            Some(WatchUser::Subscription(Depth::Below)) => self.blind += 1,
            None => self.incomplete = true,
        }
    }

    /// Ends a use. Returns the watches that are not needed any more.
    pub(super) fn release(&mut self, folder: FileId, user: WatchUser, held: bool) -> UnusedWatches {
        if !held {
            self.blind -= usize::from(user == WatchUser::Subscription(Depth::Below));
        } else if let Some(watched) = self.folders.get_mut(&folder) {
            let users = watched.users(user);
            *users = users.saturating_sub(1);
        }
        self.sweep()
    }

    /// A watched folder was moved to a place in a watched subtree, or to another place.
    pub(super) fn moved(&mut self, folder: FileId, above: Option<(FileId, Name)>) -> UnusedWatches {
        if above.is_some() {
            let replaced = self.folders.values_mut().filter(|watched| watched.above == above);
            replaced.for_each(|watched| watched.above = None);
        }
        if let Some(watched) = self.folders.get_mut(&folder) {
            watched.above = above;
        }
        self.sweep()
    }

    /// The watched folder at this place.
    pub(super) fn at(&self, parent: FileId, name: &[u8]) -> Option<FileId> {
        let here = |above: &Option<(FileId, Name)>| {
            above.as_ref().is_some_and(|(folder, known)| *folder == parent && **known == *name)
        };
        self.folders.iter().find(|(_, watched)| here(&watched.above)).map(|(id, _)| *id)
    }

    /// The host has ended a watch.
    pub(super) fn over(&mut self, watch: WatchId) {
        if let Some(folder) = self.by_watch.remove(&watch) {
            self.folders.remove(&folder);
        }
    }

    /// The top folders of the subtrees.
    pub(super) fn tops(&self) -> Vec<HostKey> {
        self.folders.values().filter(|watched| watched.below > 0).map(|watched| watched.key).collect()
    }

    /// A folder needs no events of each write any more: it has this watch, which replaces the one that is returned.
    pub(super) fn calm(&mut self, folder: FileId, watch: HostWatch) -> Option<HostWatch> {
        let needs_writes = self.hears_writes(folder);
        let watched = self.folders.get_mut(&folder).filter(|watched| watched.watch.id == watch.id)?;
        (!needs_writes).then(|| std::mem::replace(&mut watched.watch, watch))
    }

    fn sweep(&mut self) -> UnusedWatches {
        let below: HashSet<FileId> = self.folders.keys().copied().filter(|id| self.is_below(*id)).collect();
        let mut unused = UnusedWatches::default();
        self.folders.retain(|id, watched| {
            let needs_writes = watched.entries > 0 || below.contains(id);
            let stays = needs_writes || watched.closings > 0;
            if !stays {
                unused.idle.push(watched.watch);
            } else if !needs_writes && watched.watch.data == DataNotice::EachWrite {
                unused.calmed.push(*id);
            }
            stays
        });
        unused.idle.iter().for_each(|watch| _ = self.by_watch.remove(&watch.id));
        self.incomplete &= self.folders.values().any(|watched| watched.below > 0);
        unused
    }
}

impl WatchedFolder {
    fn users(&mut self, user: WatchUser) -> &mut usize {
        match user {
            WatchUser::Closings => &mut self.closings,
            WatchUser::Subscription(Depth::Entries) => &mut self.entries,
            WatchUser::Subscription(Depth::Below) => &mut self.below,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Caller;
    use crate::backend::memory::Memory;
    use crate::backend::{Backend, NewKind};

    const BELOW: WatchUser = WatchUser::Subscription(Depth::Below);
    const ENTRIES: WatchUser = WatchUser::Subscription(Depth::Entries);

    fn name(name: &str) -> Name {
        name.as_bytes().into()
    }

    fn watch(id: i32) -> HostWatch {
        HostWatch { id: WatchId(id), data: DataNotice::EachWrite }
    }

    /// The root with this many folders in it, and the tree of what is watched.
    fn folders(count: usize) -> (Found, Vec<Found>) {
        let root = Memory::ticking().root().unwrap();
        let make = |number: usize| {
            let name = format!("{number}").into_bytes();
            root.object.create(&Caller::root(), &name, NewKind::Folder, 0o755).unwrap()
        };
        let made = (0..count).map(make).collect();
        (root, made)
    }

    #[test]
    fn a_subtree_keeps_its_folders_watched_until_nobody_wants_it() {
        let (root, below) = folders(2);
        let (top, a, b) = (root.object.id(), below[0].object.id(), below[1].object.id());
        let mut tree = Tree { root: Some(top), ..Tree::default() };
        assert_eq!(tree.add(&root, watch(1), None), WatchAddition::New);
        tree.hold(top, BELOW);
        assert_eq!(tree.add(&below[0], watch(2), Some((top, name("0")))), WatchAddition::New);
        let again = tree.add(&below[0], watch(2), Some((top, name("0"))));
        assert_eq!(again, WatchAddition::Known(watch(2)));
        assert_eq!(tree.add(&below[1], watch(3), Some((a, name("1")))), WatchAddition::New);
        tree.hold(b, ENTRIES);
        assert_eq!(tree.above(b), Above::Folder(a, name("1")));
        assert_eq!((tree.above(a), tree.above(top)), (Above::Folder(top, name("0")), Above::Nothing));
        assert_eq!(tree.at(top, b"0"), Some(a));
        // It leaves the subtree. The folder below leaves it, too, but that has a subscriber of its
        // own.
        assert_eq!(tree.moved(a, None).idle, [watch(2)]);
        assert!(tree.has(b) && !tree.is_below(b));
        assert_eq!(tree.release(top, BELOW, true).idle, [watch(1)]);
        assert_eq!(tree.release(b, ENTRIES, true).idle, [watch(3)]);
        assert_eq!(tree.len(), 0);
    }

    #[test]
    fn writes_are_heard_while_a_subscription_needs_them() {
        let (root, below) = folders(1);
        let (top, a) = (root.object.id(), below[0].object.id());
        let at_close = |id| HostWatch { id: WatchId(id), data: DataNotice::AtClose };
        let mut tree = Tree { root: Some(top), ..Tree::default() };
        assert_eq!(tree.add(&below[0], at_close(1), None), WatchAddition::New);
        tree.hold(a, WatchUser::Closings);
        assert!(tree.has(a) && !tree.hears_writes(a));
        // A window of a client needs them.
        assert_eq!(tree.add(&below[0], watch(1), None), WatchAddition::Known(at_close(1)));
        tree.hold(a, ENTRIES);
        assert!(tree.hears_writes(a));
        let unused = tree.release(a, ENTRIES, true);
        assert_eq!(unused, UnusedWatches { idle: Vec::new(), calmed: vec![a] });
        assert_eq!(tree.calm(a, at_close(1)), Some(watch(1)));
        assert!(tree.has(a) && !tree.hears_writes(a));
        assert_eq!(tree.release(a, WatchUser::Closings, true).idle, [at_close(1)]);
    }

    #[test]
    fn beyond_the_limit_nobody_knows_where_a_folder_lies() {
        let (root, below) = folders(MAX_WATCHED);
        let top = root.object.id();
        let mut tree = Tree { root: Some(top), ..Tree::default() };
        tree.add(&root, watch(0), None);
        tree.hold(top, BELOW);
        for (at, folder) in below.iter().enumerate() {
            let added = tree.add(folder, watch(at as i32 + 1), Some((top, name("x"))));
            assert_eq!(added == WatchAddition::Full, at + 1 == MAX_WATCHED);
        }
        let last = below[MAX_WATCHED - 1].object.id();
        assert_eq!(
            (tree.len(), tree.above(last), tree.above(top)),
            (MAX_WATCHED, Above::Unknown, Above::Nothing)
        );
        assert_eq!(tree.release(top, BELOW, true).idle.len(), MAX_WATCHED);
        assert_eq!(tree.above(last), Above::Nothing);
    }
}
