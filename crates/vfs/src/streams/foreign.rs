//! Named streams in files of other servers beside a file: Netatalk's with `ea = ad` in `.AppleDouble`, and those of DSM of
//! Synology in `@eaDir`. They are read where they are. When one of them changes, all of the file move to where this server
//! keeps streams.

use std::sync::Arc;

use super::sidecar::{self, Sidecar};
use super::{File, Streams, found};
use crate::backend::{Found, Object, Wait};
use crate::mac::attr::MAX_VALUES;
use crate::mac::layout::{
    NETATALK2_FOLDER, NETATALK2_PARENT, SYNOLOGY_ATTRIBUTES, SYNOLOGY_FOLDER, stored_xattr,
};
use crate::mac::netatalk_list::{self, Listed};
use crate::{Access, Caller, Kind, Result};

/// Folders at a share's root in which Synology's is looked for.
const LOOKED_AT: usize = 64;

/// A folder, and a name in it.
type Place = (Arc<dyn Object>, Vec<u8>);
/// A stream: its name and its value.
type Stream = (Vec<u8>, Vec<u8>);
/// A list of Netatalk: its folder, its name there, and the attributes in it.
pub(super) type List = (Arc<dyn Object>, Vec<u8>, Vec<Listed>);

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
        let has = |folder: &dyn Object| -> Result<bool> {
            let there = found(folder.lookup(&Caller::root(), SYNOLOGY_FOLDER))?;
            Ok(there.is_some_and(|there| there.attributes.kind == Kind::Folder))
        };
        if has(root)? {
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
                && has(&*folder.object)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a file has streams in files of other servers.
    pub(crate) fn has_foreign(&self, file: &File<'_>) -> Result<bool> {
        Ok(!self.depot_streams(file.object)?.is_empty() || !self.foreign(file)?.is_empty())
    }

    /// The streams of a file that are in files beside it.
    pub(super) fn foreign(&self, file: &File<'_>) -> Result<Vec<Stream>> {
        if !self.looks_beside() {
            return Ok(Vec::new());
        }
        let (mut streams, mut room): (Vec<Stream>, usize) = (Vec::new(), MAX_VALUES);
        let mut add = |name: &[u8], value: Vec<u8>| {
            let is_known = streams.iter().any(|(known, _)| known == name);
            if !is_known && stored_xattr(name).is_some() && value.len() <= room {
                room -= value.len();
                streams.push((name.to_vec(), value));
            }
        };
        if let Some((folder, list, attributes)) = self.netatalk_list(file)? {
            for Listed { name, len } in attributes {
                if let Some((there, _)) = value_file(&*folder, &list, &name)? {
                    add(&name, beginning(&there, len as usize)?);
                }
            }
        }
        if let Some(there) = self.synology_attributes(file)? {
            for attr in there.parsed().iter().flat_map(|head| &head.xattrs) {
                add(attr.name, there.value(attr)?);
            }
        }
        Ok(streams)
    }

    /// Moves these streams to where this server keeps streams, unless the file has streams of these names already, and removes
    /// the files.
    pub(super) fn take_in(&self, file: &File<'_>) -> Result<()> {
        if !self.looks_beside() {
            return Ok(());
        }
        for (name, value) in self.foreign(file)? {
            self.absorb_stream(file, &name, &value, false)?;
        }
        self.drop_foreign(file)
    }

    /// Removes the files beside a file that have its streams.
    pub(super) fn drop_foreign(&self, file: &File<'_>) -> Result<()> {
        let root = Caller::root();
        if let Some((folder, list, attributes)) = self.netatalk_list(file)? {
            for Listed { name, .. } in attributes {
                if let Some((_, value)) = value_file(&*folder, &list, &name)? {
                    found(folder.remove(&root, &value))?;
                }
            }
            found(folder.remove(&root, &list))?;
        }
        if self.synology_attributes(file)?.is_some()
            && let Some((folder, name)) = self.synology_place(file, SYNOLOGY_ATTRIBUTES)?
        {
            found(folder.remove(&root, &name))?;
        }
        Ok(())
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

    /// Netatalk's list of the attributes of a file. A list that cannot be read stays as it is.
    pub(super) fn netatalk_list(&self, file: &File<'_>) -> Result<Option<List>> {
        if !self.netatalk2 {
            return Ok(None);
        }
        let (folder, name) = match file.object.kind() {
            Kind::Folder => (file.object, NETATALK2_PARENT),
            _ => (file.folder, file.name),
        };
        let Some(store) = found(folder.lookup(&Caller::root(), NETATALK2_FOLDER))? else { return Ok(None) };
        let list = [name, netatalk_list::SUFFIX].concat();
        if store.attributes.kind != Kind::Folder || !store.object.may_have(&list) {
            return Ok(None);
        }
        let Some(there) = plain_file(&*store.object, &list)? else { return Ok(None) };
        let attributes = netatalk_list::parse(&beginning(&there, netatalk_list::MAX_LEN)?);
        Ok(attributes.ok().map(|attributes| (store.object, list, attributes)))
    }
}

/// The file with the value of an attribute in a list of Netatalk, and its name.
fn value_file(folder: &dyn Object, list: &[u8], name: &[u8]) -> Result<Option<(Found, Vec<u8>)>> {
    for value in netatalk_list::value_files(list, name) {
        if let Some(there) = plain_file(folder, &value)? {
            return Ok(Some((there, value)));
        }
    }
    Ok(None)
}

/// A file with one name: a file with more could be one that the owner of this folder may not read.
fn plain_file(folder: &dyn Object, name: &[u8]) -> Result<Option<Found>> {
    let there = found(folder.lookup(&Caller::root(), name))?;
    Ok(there.filter(|there| there.attributes.kind == Kind::File && there.attributes.links == 1))
}

fn beginning(there: &Found, most: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let len = usize::try_from(there.attributes.size).unwrap_or(usize::MAX).min(most).min(MAX_VALUES);
    if len > 0 {
        there.object.prepare(&Caller::root(), &there.attributes, Access::READ, true)?;
        there.object.read_at(0, len, &mut bytes, Wait::Allowed)?;
    }
    Ok(bytes)
}
