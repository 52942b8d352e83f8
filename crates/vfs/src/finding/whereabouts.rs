//! The present place of a file: the folder that it is in and its name there, which hosts do not
//! tell.
//!
//! ```text
//! opens of the file ─► where it was last seen ─► the host's caches ─► kept listings ─► a search
//! ```
//!
//! Each of them is a hint: the name is looked up, and only a file that is found under it counts.
//! The search is the last resort. It notes all files that it sees, and pauses nine times as long as
//! it took before the next search.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use lock::Mutex;

use crate::backend::{Backend, Found, ListEntry, Node};
use crate::caller::server;
use crate::listing::Listings;
use crate::names::own::is_own_name;
use crate::open::Places;
use crate::ranks;
use crate::{Error, FileId, HostKey, IdMap, Kind, Result, Volume};

/// Files whose last place is remembered.
const MOST_SEEN: usize = 65_536;
/// Entries that one search looks at.
const MOST_SEARCHED: usize = 2_000_000;
/// A search may take one part in so many of the time.
const SEARCH_SHARE: u32 = 10;

/// The key of a folder, and a name in it.
type EntryKey = (HostKey, Box<[u8]>);

/// Where files were last seen.
#[derive(Default)]
pub(crate) struct Whereabouts {
    seen: Mutex<IdMap<FileId, EntryKey>, ranks::SeenPlaces>,
    /// The end of the last search, and the length of the pause after it. Locked during a search.
    searched: Mutex<Option<(Instant, Duration)>, ranks::SearchedPlaces>,
}

impl Whereabouts {
    pub(crate) fn of(&self, file: FileId) -> Option<EntryKey> {
        self.seen.lock().get(&file).cloned()
    }

    fn note(&self, file: FileId, folder: HostKey, name: &[u8]) {
        let mut seen = self.seen.lock();
        if seen.get(&file).is_some_and(|(was, old)| *was == folder && **old == *name) {
            return;
        }
        if seen.len() >= MOST_SEEN && !seen.contains_key(&file) {
            let some: Vec<FileId> = seen.keys().take(MOST_SEEN / 8).copied().collect();
            some.iter().for_each(|file| drop(seen.remove(file)));
        }
        seen.insert(file, (folder, name.into()));
    }
}

/// The search for the present place of a file of a volume.
pub(crate) struct PlaceSearch<'a> {
    backend: &'a dyn Backend,
    opens: &'a Places,
    listings: &'a Listings,
    whereabouts: &'a Whereabouts,
}

impl Volume {
    /// A file is there, as far as the caller knows: a hint for [`Volume::place_of`].
    pub fn saw(&self, file: FileId, folder: &Node, name: &[u8]) {
        self.whereabouts.note(file, folder.key(), name);
    }

    /// The folder that a file or folder is in, and its stored name there; of a file with several, one of them. `Stale`
    /// when it has no name any more, or is outside the share; `NotFound` for the share's own folder.
    pub fn place_of(&self, of: &Found) -> Result<(Found, Vec<u8>)> {
        self.place_search().place_of(of)
    }

    pub(crate) fn place_search(&self) -> PlaceSearch<'_> {
        let (backend, opens) = (self.backend.as_ref(), &self.site.places);
        PlaceSearch { backend, opens, listings: &self.listings, whereabouts: &self.whereabouts }
    }
}

impl PlaceSearch<'_> {
    fn place_of(&self, of: &Found) -> Result<(Found, Vec<u8>)> {
        if of.object.key() == self.backend.root()?.object.key() {
            return Err(Error::NotFound);
        }
        if of.object.attributes()?.links == 0 {
            return Err(Error::Stale);
        }
        if of.attributes.kind == Kind::Folder {
            return self.place_of_folder(of);
        }
        let opened = self.opens.place_of(of.object.id());
        let place = opened
            .and_then(|(folder, name)| self.confirmed(of, folder, name.to_vec()))
            .or_else(|| self.where_seen(of))
            .or_else(|| self.where_host_says(of))
            .or_else(|| self.where_listed(of));
        match place {
            Some(place) => Ok(place),
            None => {
                self.walk_for(of.object.id());
                self.where_seen(of).ok_or(Error::Stale)
            }
        }
    }

    /// The host knows the folder above. A name is searched among its entries.
    fn place_of_folder(&self, of: &Found) -> Result<(Found, Vec<u8>)> {
        let above = of.object.parent()?;
        if let Some((folder, name)) = self.whereabouts.of(of.object.id())
            && folder == above.object.key()
            && is_there(of, &above.object, &name)
        {
            return Ok((above, name.into()));
        }
        let name = crate::backend::name_in(&above.object, &of.object)?;
        self.whereabouts.note(of.object.id(), above.object.key(), &name);
        Ok((above, name))
    }

    /// A place, if the file is there and inside the share.
    fn confirmed(&self, file: &Found, folder: Node, name: Vec<u8>) -> Option<(Found, Vec<u8>)> {
        if !is_there(file, &folder, &name) || folder.parent().is_err() {
            return None;
        }
        self.whereabouts.note(file.object.id(), folder.key(), &name);
        let attributes = folder.attributes().ok()?;
        Some((Found { object: folder, attributes }, name))
    }

    /// The place of a file if it takes no search to find it.
    pub(crate) fn hint(&self, file: &Found) -> Option<(Found, Vec<u8>)> {
        self.where_seen(file).or_else(|| self.where_host_says(file))
    }

    fn where_seen(&self, file: &Found) -> Option<(Found, Vec<u8>)> {
        let (folder, name) = self.whereabouts.of(file.object.id())?;
        self.confirmed(file, self.backend.by_key(&folder).ok()?.object, name.into())
    }

    fn where_host_says(&self, file: &Found) -> Option<(Found, Vec<u8>)> {
        let mut path = self.backend.path_hint(&*file.object)?;
        let name = path.pop()?;
        let root = self.backend.root().ok()?.object;
        let names: Vec<&[u8]> = path.iter().map(Vec::as_slice).collect();
        let folder = if names.is_empty() { root } else { root.lookup_path(server(), &names).ok()?.object };
        self.confirmed(file, folder, name)
    }

    fn where_listed(&self, file: &Found) -> Option<(Found, Vec<u8>)> {
        let (folder, name) = self.listings.entry_of(file.object.id())?;
        self.confirmed(file, folder, name.to_vec())
    }

    /// Walks the tree, breadth first, and notes where each file is, as many as may be remembered, and `wanted` anyway.
    fn walk_for(&self, wanted: FileId) {
        let asked = Instant::now();
        let mut last = self.whereabouts.searched.lock();
        // A search by another thread that ended while this one waited is as good.
        if last.is_some_and(|(at, pause)| at >= asked || at.elapsed() < pause) {
            return;
        }
        let begun = Instant::now();
        tracing::info!(
            file = wanted.inode,
            "searching the share for a file that a client knows by its number"
        );
        let (mut left, mut noted) = (MOST_SEARCHED, 0);
        let mut folders: VecDeque<Node> = self.backend.root().map(|root| root.object).into_iter().collect();
        while let Some(folder) = folders.pop_front() {
            let mut below: Vec<Box<[u8]>> = Vec::new();
            let mut files: Vec<(FileId, Box<[u8]>)> = Vec::new();
            let _ = folder.list(0, &mut |entry: ListEntry<'_>| {
                left = left.saturating_sub(1);
                let may_be_folder = matches!(entry.kind, Some(Kind::Folder) | None);
                if may_be_folder && !matches!(entry.name, b"." | b"..") && !is_own_name(entry.name) {
                    below.push(entry.name.into());
                }
                if entry.kind != Some(Kind::Folder) && (entry.id == wanted || noted < MOST_SEEN / 2) {
                    noted += 1;
                    files.push((entry.id, entry.name.into()));
                }
                left > 0
            }); // a folder that we may not read hides nothing that we could serve
            files.iter().for_each(|(file, name)| self.whereabouts.note(*file, folder.key(), name));
            let found = below.iter().filter_map(|name| folder.lookup(server(), name).ok());
            folders.extend(
                found.filter(|found| found.attributes.kind == Kind::Folder).map(|found| found.object),
            );
        }
        *last = Some((Instant::now(), begun.elapsed() * (SEARCH_SHARE - 1)));
    }
}

fn is_there(file: &Found, folder: &Node, name: &[u8]) -> bool {
    folder.lookup(server(), name).is_ok_and(|found| found.object.key() == file.object.key())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::backend::memory::Memory;
    use crate::backend::{NewKind, RenameMode};
    use crate::state::{ClientId, Party};
    use crate::waiting::until;
    use crate::{Actor, Caller, VolumeOptions};

    struct Tree {
        volume: Volume,
        actor: Actor,
    }

    impl Tree {
        fn new() -> Self {
            let volume = Volume::new(Arc::new(Memory::ticking()), VolumeOptions::default());
            Self { volume, actor: Actor::new(Caller::root(), Party::client(ClientId(1))) }
        }

        fn make(&self, folder: &Found, name: &str, kind: NewKind<'_>) -> Found {
            self.volume.create(&self.actor, folder, name.as_bytes(), kind, 0o755).unwrap().found
        }

        fn place(&self, of: &Found) -> Result<(HostKey, String)> {
            let (folder, name) = self.volume.place_of(of)?;
            Ok((folder.object.key(), String::from_utf8(name).unwrap()))
        }
    }

    #[test]
    fn a_file_is_found_wherever_it_went_and_whoever_saw_it() {
        let tree = Tree::new();
        let root = tree.volume.root().unwrap();
        let (a, b) = (tree.make(&root, "a", NewKind::Folder), tree.make(&root, "b", NewKind::Folder));
        let file = tree.make(&a, "file", NewKind::File);
        assert_eq!(tree.place(&file), Ok((a.object.key(), "file".into())), "no place noted");
        a.object.rename(&Caller::root(), b"file", &*b.object, b"moved", RenameMode::Replace).unwrap();
        let moved = Ok((b.object.key(), "moved".into()));
        until("unheard", || tree.place(&file) == moved); // it pauses nine times as long as the first search took
        let other = tree.make(&b, "other", NewKind::File);
        tree.volume.saw(other.object.id(), &b.object, b"other");
        assert_eq!(tree.place(&other), Ok((b.object.key(), "other".into())));
        assert_eq!(tree.place(&b), Ok((root.object.key(), "b".into())));
        assert_eq!(tree.place(&root), Err(Error::NotFound));
        b.object.remove(&Caller::root(), b"other").unwrap();
        assert_eq!(tree.place(&other), Err(Error::Stale), "gone");
    }

    #[test]
    fn another_file_of_the_same_name_is_not_it() {
        let tree = Tree::new();
        let root = tree.volume.root().unwrap();
        let file = tree.make(&root, "file", NewKind::File);
        tree.volume.saw(file.object.id(), &root.object, b"file");
        root.object.rename(&Caller::root(), b"file", &*root.object, b"old", RenameMode::Replace).unwrap();
        let new = tree.make(&root, "file", NewKind::File);
        assert_eq!(tree.place(&file), Ok((root.object.key(), "old".into())));
        assert_eq!(tree.place(&new), Ok((root.object.key(), "file".into())));
    }
}
