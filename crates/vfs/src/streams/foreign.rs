//! Named streams in files of other servers beside a file: Netatalk's with `ea = ad` in `.AppleDouble`, which are written there, too,
//! and those of DSM of Synology in `@eaDir`. When one of the latter changes, all of the file move to where this server keeps streams.

use std::sync::Arc;

use super::listed::plain_file;
use super::places::Home;
use super::sidecar::{self, Sidecar};
use super::{File, Streams, found};
use crate::backend::Object;
use crate::mac::attr::MAX_VALUES;
use crate::mac::layout::{SYNOLOGY_ATTRIBUTES, SYNOLOGY_FOLDER, stored_xattr};
use crate::{Caller, Kind, Result};

/// Folders at a share's root in which Synology's is looked for.
const LOOKED_AT: usize = 64;

/// A folder, and a name in it.
type Place = (Arc<dyn Object>, Vec<u8>);
/// A stream: its name and its value.
type Stream = (Vec<u8>, Vec<u8>);

impl Streams {
    /// Also looks for files of DSM.
    #[must_use]
    pub fn with_synology(self) -> Self {
        Self { synology: true, ..self }
    }

    /// Whether other servers may keep something of files in files beside them.
    pub(super) fn looks_beside(&self) -> bool {
        self.netatalk2 || self.synology
    }

    /// Whether a folder or one of those in it has a folder of DSM.
    pub(super) fn has_synology(root: &dyn Object) -> Result<bool> {
        any_folder(root, &|folder| {
            let there = found(folder.lookup(&Caller::root(), SYNOLOGY_FOLDER))?;
            Ok(there.is_some_and(|there| there.attributes.kind == Kind::Folder))
        })
    }

    /// Whether a file has streams in files of other servers.
    pub(crate) fn has_foreign(&self, file: &File<'_>) -> Result<bool> {
        Ok(!self.depot_streams(file.object)?.is_empty() || !self.foreign(file)?.is_empty())
    }

    /// The streams of a file that are in files beside it.
    pub(super) fn foreign(&self, file: &File<'_>) -> Result<Vec<Stream>> {
        let mut streams = self.listed(file)?;
        let mut room = MAX_VALUES;
        if let Some(there) = self.synology_attributes(file)? {
            for attr in there.parsed().iter().flat_map(|head| &head.xattrs) {
                let is_known = streams.iter().any(|(known, _)| known == attr.name);
                let value = there.value(attr)?;
                if !is_known && stored_xattr(attr.name).is_some() && value.len() <= room {
                    room -= value.len();
                    streams.push((attr.name.to_vec(), value));
                }
            }
        }
        Ok(streams)
    }

    /// Moves these streams to attributes or the store, unless the file has streams of these names there already, and removes
    /// the files.
    pub(super) fn take_in(&self, file: &File<'_>) -> Result<()> {
        for (name, value) in self.listed(file)? {
            self.move_listed(file, &name, &value)?;
            self.drop_listed(file, &name)?;
        }
        self.take_in_synology(file)
    }

    /// The same for those of DSM alone.
    pub(super) fn take_in_synology(&self, file: &File<'_>) -> Result<()> {
        if self.synology_attributes(file)?.is_none() {
            return Ok(());
        }
        for (name, value) in self.foreign(file)? {
            self.absorb_stream(file, &name, &value, false)?;
        }
        if let Some((folder, name)) = self.synology_place(file, SYNOLOGY_ATTRIBUTES)? {
            found(folder.remove(&Caller::root(), &name))?;
        }
        Ok(())
    }

    fn move_listed(&self, file: &File<'_>, name: &[u8], value: &[u8]) -> Result<()> {
        let Some(stored) = stored_xattr(name) else { return Ok(()) };
        if !matches!(self.home(file, name)?, None | Some(Home::Listed(..))) {
            return Ok(());
        }
        let new = match self.new_home(file, name, stored.clone())? {
            Home::Listed(..) => Home::Xattr(stored, Vec::new()),
            other => other,
        };
        if self.put(file, &new, value)? { Ok(()) } else { self.spill(file, name, value, |_| Ok(())) }
    }

    /// A file of DSM for a file: the folder, and the name there.
    pub(super) fn synology_place(&self, file: &File<'_>, end: &[u8]) -> Result<Option<Place>> {
        if !self.synology {
            return Ok(None);
        }
        let store = found(file.folder.lookup(&Caller::root(), SYNOLOGY_FOLDER))?;
        let store = store.filter(|store| store.attributes.kind == Kind::Folder);
        Ok(store.map(|store| (store.object, [file.name, end].concat())))
    }

    /// DSM's file with the attributes of a file.
    pub(super) fn synology_attributes(&self, file: &File<'_>) -> Result<Option<Sidecar>> {
        let Some((folder, name)) = self.synology_place(file, SYNOLOGY_ATTRIBUTES)? else { return Ok(None) };
        match plain_file(&*folder, &name)? {
            Some(there) => Ok(Some(sidecar::read(there, false)?).filter(|there| there.parsed().is_some())),
            None => Ok(None),
        }
    }
}

/// Whether something holds for a folder or one of the first folders in it.
pub(super) fn any_folder(root: &dyn Object, holds: &dyn Fn(&dyn Object) -> Result<bool>) -> Result<bool> {
    if holds(root)? {
        return Ok(true);
    }
    let mut folders = Vec::new();
    root.list(0, &mut |entry| {
        let may_be_folder = entry.kind.is_none_or(|kind| kind == Kind::Folder);
        if may_be_folder && !matches!(entry.name, b"." | b"..") {
            folders.push(entry.name.to_vec());
        }
        folders.len() < LOOKED_AT
    })?;
    for name in folders {
        if let Some(folder) = found(root.lookup(&Caller::root(), &name))?
            && folder.attributes.kind == Kind::Folder
            && holds(&*folder.object)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}
