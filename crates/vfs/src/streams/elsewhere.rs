//! Resource forks and metadata in the places that other servers use: read where they are, moved
//! when they change.
//!
//! Netatalk 2's `.AppleDouble/` is looked for only where the volume was told to ([`Streams::with_netatalk2`]), as it
//! costs a look-up for each file.

use std::sync::Arc;

use super::sidecar::{Sidecar, read};
use super::{File, Streams, found};
use crate::backend::Object;
use crate::mac::layout::{NETATALK_RESOURCE, NETATALK2_FOLDER, NETATALK2_PARENT, RESOURCE_STREAM};
use crate::mac::samba;
use crate::{Caller, Kind, Result};

/// A folder, and a name in it.
type Place = (Arc<dyn Object>, Vec<u8>);

/// The attribute that holds a resource fork, and the fork: Netatalk's, or Samba's with `fruit:resource = stream`.
pub(super) fn attribute(object: &dyn Object, names: &[Vec<u8>]) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
    for name in names {
        if !is_fork(name) {
            continue;
        }
        let from_samba = name != NETATALK_RESOURCE;
        if let Some(value) = found(object.xattr(name))? {
            let fork = if from_samba { samba::stream_data(&value).0.to_vec() } else { value };
            return Ok(Some((name.clone(), fork)).filter(|(_, fork)| !fork.is_empty()));
        }
    }
    Ok(None)
}

/// Whether an attribute is a resource fork.
pub(super) fn is_fork(name: &[u8]) -> bool {
    name == NETATALK_RESOURCE || samba::stream_name(name) == Some(RESOURCE_STREAM)
}

/// After the fork has moved into a sidecar.
pub(super) fn drop_attribute(object: &dyn Object) -> Result<()> {
    let names = found(object.list_xattrs())?.unwrap_or_default();
    match attribute(object, &names)? {
        Some((name, _)) => found(object.remove_xattr(&Caller::root(), &name)).map(drop),
        None => Ok(()),
    }
}

impl Streams {
    /// Also looks for Netatalk 2's header files.
    #[must_use]
    pub fn with_netatalk2(mut self) -> Self {
        self.netatalk2 = true;
        self
    }

    /// Netatalk 2's header file of a file: its folder, its name there, and itself.
    fn header_place(&self, file: &File<'_>) -> Result<Option<Place>> {
        if !self.netatalk2 {
            return Ok(None);
        }
        let (folder, name) = match file.object.kind() {
            Kind::Folder => (file.object, NETATALK2_PARENT),
            _ => (file.folder, file.name),
        };
        let store = found(folder.lookup(&Caller::root(), NETATALK2_FOLDER))?;
        Ok(store.map(|store| (store.object, name.to_vec())))
    }

    pub(super) fn header_file(&self, file: &File<'_>) -> Result<Option<Sidecar>> {
        let Some((folder, name)) = self.header_place(file)? else { return Ok(None) };
        let there = found(folder.lookup(&Caller::root(), &name))?;
        match there.filter(|there| there.attributes.kind == Kind::File) {
            Some(there) => read(there, false).map(Some),
            None => Ok(None),
        }
    }

    /// Takes the contents of a header file into the model, and removes the file. Its fork has
    /// moved.
    pub(super) fn give_up_header_file(&self, file: &File<'_>) -> Result<()> {
        if self.header_file(file)?.is_none() {
            return Ok(());
        }
        let (metadata, _) = self.load(file)?;
        self.store_alone(&Caller::root(), file.object, &metadata)?;
        self.drop_header_file(file)
    }

    /// Removes the header file of a file that is gone, or has nothing in it any more.
    pub(super) fn drop_header_file(&self, file: &File<'_>) -> Result<()> {
        match self.header_place(file)? {
            Some((folder, name)) => found(folder.remove(&Caller::root(), &name)).map(drop),
            None => Ok(()),
        }
    }
}
