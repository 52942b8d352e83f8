//! Resource forks and metadata in the places that other servers use: read where they are, moved
//! when they change.
//!
//! Netatalk 2's `.AppleDouble/` is looked for only where the volume was told to ([`Streams::with_netatalk2`]), as it
//! costs a look-up for each file.

use std::sync::Arc;

use super::sidecar::{Sidecar, read};
use super::{File, Streams, Style, found};
use crate::backend::{Object, XattrMode};
use crate::mac::layout::{
    APPLE_RESOURCE, NETATALK_RESOURCE, NETATALK2_FOLDER, NETATALK2_PARENT, RESOURCE_STREAM,
    is_resource_stream,
};
use crate::mac::{resource, samba};
use crate::{Caller, Error, Kind, Result};

/// A folder, and a name in it.
type Place = (Arc<dyn Object>, Vec<u8>);

/// A resource fork in an attribute.
pub(super) struct InAttribute {
    /// The attribute.
    pub(super) name: Vec<u8>,
    pub(super) fork: Vec<u8>,
    /// What another server has appended: nothing, or Samba's byte.
    appended: &'static [u8],
}

impl InAttribute {
    /// A new one, as Samba makes it.
    pub(super) fn new() -> Self {
        Self { name: samba::stream_attribute(RESOURCE_STREAM), fork: Vec::new(), appended: b"\0" }
    }

    /// Takes the fork of this attribute's value.
    fn of(name: &[u8], value: Vec<u8>) -> Self {
        let is_samba = samba::stream_name(name).is_some();
        // Without Samba's prefix the fork itself tells whether a byte was appended to it.
        let is_longer =
            || value.last() == Some(&0) && resource::whole_len(&value) == Some(value.len() as u64 - 1);
        let (len, appended): (usize, &[u8]) = match is_samba {
            true => match samba::stream_data(&value) {
                (data, true) => (data.len(), b"\0"),
                (data, false) => (data.len(), b""),
            },
            false if is_longer() => (value.len() - 1, b"\0"),
            false => (value.len(), b""),
        };
        let mut fork = value;
        fork.truncate(len);
        Self { name: name.to_vec(), fork, appended }
    }

    /// Writes the attribute. `false` if the host has no room for it.
    pub(super) fn put(&self, object: &dyn Object) -> Result<bool> {
        let value = [&self.fork, self.appended].concat();
        match object.set_xattr(&Caller::root(), &self.name, &value, XattrMode::Set) {
            Ok(()) => Ok(true),
            Err(Error::FileTooLarge | Error::NoSpace | Error::TooMany | Error::NotSupported) => Ok(false),
            Err(other) => Err(other),
        }
    }
}

/// The resource fork in an attribute: Netatalk's, Samba's with `fruit:resource = stream`, that of Windows' Services for
/// Macintosh, or a Mac's own.
pub(super) fn attribute(object: &dyn Object, names: &[Vec<u8>]) -> Result<Option<InAttribute>> {
    Ok(attributes(object, names)?.into_iter().find(|there| !there.fork.is_empty()))
}

/// The same with an attribute of an empty fork, which tells where the fork belongs.
pub(super) fn place(object: &dyn Object, names: &[Vec<u8>]) -> Result<Option<InAttribute>> {
    Ok(attribute(object, names)?.or(attributes(object, names)?.into_iter().next()))
}

fn attributes(object: &dyn Object, names: &[Vec<u8>]) -> Result<Vec<InAttribute>> {
    let mut all = Vec::new();
    for name in names.iter().filter(|name| is_fork(name)) {
        all.extend(found(object.xattr(name))?.map(|value| InAttribute::of(name, value)));
    }
    Ok(all)
}

/// Whether an attribute is a resource fork.
pub(super) fn is_fork(name: &[u8]) -> bool {
    name == NETATALK_RESOURCE || name == APPLE_RESOURCE || is_resource_stream(name)
}

/// After the fork has moved into a sidecar.
pub(super) fn drop_attribute(object: &dyn Object) -> Result<()> {
    let names = found(object.list_xattrs())?.unwrap_or_default();
    let mut forks = names.iter().filter(|name| is_fork(name));
    forks.try_for_each(|name| found(object.remove_xattr(&Caller::root(), name)).map(drop))
}

impl Streams {
    /// Also looks for Netatalk 2's header files.
    #[must_use]
    pub fn with_netatalk2(self) -> Self {
        Self { netatalk2: true, ..self }
    }

    /// New things get this layout, where neither their file nor its folder tells one.
    #[must_use]
    pub fn with_style(self, style: Style) -> Self {
        Self { style, ..self }
    }

    /// Looks for Netatalk 2's header files if that server has served the folder: it makes its folder
    /// at the root first.
    pub(crate) fn with_what_is_there(self) -> Self {
        let root = self.backend.root();
        let store = root.and_then(|root| root.object.lookup(&Caller::root(), NETATALK2_FOLDER));
        match store.is_ok_and(|store| store.attributes.kind == Kind::Folder) {
            true => self.with_netatalk2(),
            false => self,
        }
    }

    /// Whether a file may have such a header file.
    pub(crate) fn looks_for_header_files(&self) -> bool {
        self.netatalk2
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
