//! Looking at the tree for an index: whole folders, and entries that events were about.

use std::sync::Arc;

use vfs::backend::Found;
use vfs::{Caller, LastingKey, Surveyed, Volume};

use super::keeper::Keeper;
use super::store::Store;
use crate::contents::read_contents;
use crate::entry::{Contents, Entry, FolderKey, folder_key, nanoseconds};
use crate::error::IndexFailure;
use crate::segment::{GONE, UNLISTED};

/// A folder with an entry of this name, and all below it, is not indexed.
pub(crate) const NEVER: &[u8] = b".metadata_never_index";
/// The ends of names of folders whose insides say nothing to people: the bands of disk images.
const OPAQUE: [&[u8]; 2] = [b".sparsebundle", b".backupbundle"];
/// Whether what is in a folder of this name is left out.
pub(super) fn is_opaque(name: &[u8]) -> bool {
    OPAQUE.iter().any(|end| name.ends_with(end))
}

/// The deepest tree that is taken out of an index at once.
const DEEPEST: usize = vfs::MAX_PATH_DEPTH;

impl Keeper {
    /// Looks at what events were about.
    pub(super) fn look_at_changes(
        &mut self,
        volume: &Arc<Volume>,
        store: &Store,
    ) -> Result<(), IndexFailure> {
        let pending = self.shared.changes.take();
        if pending.lost {
            self.list_everything(store)?;
        }
        for folder in pending.gone {
            self.remove_folder(store, &folder)?;
        }
        let mut last: Option<(FolderKey, Option<Found>)> = None;
        for (folder, name) in pending.entries {
            if last.as_ref().is_none_or(|(known, _)| *known != folder) {
                let found = self.indexed(volume, store, &folder)?;
                last = Some((folder.clone(), found));
            }
            if let Some((_, Some(found))) = &last {
                self.look_at(volume, store, (&folder, found), name)?;
            }
            self.pace.rest();
        }
        Ok(())
    }

    /// The folder, if it is there and its entries are indexed.
    fn indexed(
        &mut self,
        volume: &Volume,
        store: &Store,
        folder: &FolderKey,
    ) -> Result<Option<Found>, IndexFailure> {
        if store.listed(folder)?.is_none_or(|listed| listed == GONE) {
            return Ok(None);
        }
        match found(volume, folder) {
            Some(found) => Ok(Some(found)),
            None => self.remove_folder(store, folder).map(|()| None),
        }
    }

    /// Changes were lost: each folder is listed.
    fn list_everything(&mut self, store: &Store) -> Result<(), IndexFailure> {
        let queue = &mut self.queue;
        queue.clear();
        store.each_folder(&mut |folder, _| {
            queue.push_back(folder.clone());
            true
        })
    }

    fn look_at(
        &mut self,
        volume: &Arc<Volume>,
        store: &Store,
        (key, folder): (&FolderKey, &Found),
        name: Vec<u8>,
    ) -> Result<(), IndexFailure> {
        if name == NEVER {
            self.queue.push_back(key.clone());
            return Ok(());
        }
        self.touched.insert(key.clone());
        match volume.searches().surveyed(folder, &name) {
            Ok(Some(surveyed)) => self.put(volume, store, (key, folder), surveyed),
            Ok(None) => {
                store.put(key, name, None);
                Ok(())
            }
            Err(error) => {
                tracing::debug!(%error, name = %name.escape_ascii(), "an entry is not indexed");
                Ok(())
            }
        }
    }

    fn put(
        &mut self,
        volume: &Arc<Volume>,
        store: &Store,
        (key, folder): (&FolderKey, &Found),
        surveyed: Surveyed,
    ) -> Result<(), IndexFailure> {
        let contents = self.contents(volume, folder, &surveyed);
        let entry = Entry::of(&surveyed, contents);
        let is_opaque = is_opaque(&surveyed.name);
        store.put(key, surveyed.name, Some(Arc::new(entry)));
        if let Some(below) = surveyed.folder.filter(|_| !is_opaque) {
            self.find_folder(store, &folder_key(&below))?;
        }
        Ok(())
    }

    /// A folder that is not indexed yet is to be listed.
    fn find_folder(&mut self, store: &Store, below: &FolderKey) -> Result<(), IndexFailure> {
        if store.listed(below)?.is_none_or(|listed| listed == GONE) {
            store.set_listed(below, UNLISTED);
            self.queue.push_back(below.clone());
        }
        Ok(())
    }

    fn contents(&self, volume: &Volume, folder: &Found, surveyed: &Surveyed) -> Option<Contents> {
        let reader = self.shared.options.contents.as_ref()?;
        let name = vfs::names::text_view(&surveyed.name);
        let is_file = surveyed.attributes.kind == vfs::Kind::File;
        if !is_file || !reader.is_of_interest(&name, surveyed.attributes.size) {
            return None;
        }
        read_contents(volume, &**reader, folder, &surveyed.name)
    }

    /// Lists a folder, and compares it with what is known.
    pub(super) fn list(
        &mut self,
        volume: &Arc<Volume>,
        store: &Store,
        key: &FolderKey,
    ) -> Result<(), IndexFailure> {
        let Some(folder) = found(volume, key) else { return self.remove_folder(store, key) };
        if folder.object.lookup(&Caller::root(), NEVER).is_ok() {
            return self.take_out(volume, store, (key, &folder), DEEPEST);
        }
        // From here on, events tell of changes.
        self.shared.changes.learn(folder.object.id(), key);
        self.watch(volume, key, &folder);
        let mut known = store.known(key)?;
        let mut failed = None;
        let surveyed = volume.searches().survey(&folder, &mut |surveyed| {
            let now = (surveyed.attributes.id.inode, nanoseconds(surveyed.attributes.changed));
            let added = match known.remove(&surveyed.name) {
                Some(before) if before == now && surveyed.folder.is_none() => Ok(()),
                _ => self.put(volume, store, (key, &folder), surveyed),
            };
            let full = added.and_then(|()| self.make_room(store));
            failed = full.err();
            self.pace.rest();
            failed.is_none() && !self.shared.alarm.is_stopped()
        });
        if let Some(error) = failed {
            return Err(error);
        }
        match surveyed {
            Ok(()) if !self.shared.alarm.is_stopped() => {
                known.into_keys().for_each(|name| store.put(key, name, None));
                store.set_listed(key, nanoseconds(folder.attributes.changed));
                self.touched.insert(key.clone());
            }
            Ok(()) => {}
            Err(error) => tracing::debug!(%error, "a folder is not indexed"),
        }
        Ok(())
    }

    fn make_room(&self, store: &Store) -> Result<(), IndexFailure> {
        if !self.shared.is_full(store) {
            return Ok(());
        }
        let alarm = &self.shared.alarm;
        store.flush(false, &|| !alarm.is_stopped())
    }

    /// A folder and all below it are not indexed any more.
    fn take_out(
        &mut self,
        volume: &Arc<Volume>,
        store: &Store,
        (key, folder): (&FolderKey, &Found),
        deepest: usize,
    ) -> Result<(), IndexFailure> {
        self.remove_folder(store, key)?;
        let mut below: Vec<LastingKey> = Vec::new();
        let listed = volume.searches().survey(folder, &mut |surveyed| {
            below.extend(surveyed.folder);
            true
        });
        if let Err(error) = listed {
            tracing::debug!(%error, "a folder that is not to be indexed cannot be listed");
        }
        for below in below {
            let key = folder_key(&below);
            let is_indexed = store.listed(&key)?.is_some_and(|listed| listed != GONE);
            if let Some(folder) = found(volume, &key).filter(|_| is_indexed && deepest > 0) {
                self.take_out(volume, store, (&key, &folder), deepest - 1)?;
            }
        }
        Ok(())
    }

    /// A folder is gone, or not indexed any more: so are its entries.
    pub(super) fn remove_folder(&mut self, store: &Store, key: &FolderKey) -> Result<(), IndexFailure> {
        for name in store.known(key)?.into_keys() {
            store.put(key, name, None);
        }
        store.set_listed(key, GONE);
        self.unwatch(key);
        Ok(())
    }
}

fn found(volume: &Volume, key: &FolderKey) -> Option<Found> {
    let key = LastingKey::from_bytes(key)?;
    volume.searches().by_lasting_key(&key).ok().filter(|found| found.attributes.kind == vfs::Kind::Folder)
}
