//! Resource forks and metadata in the places that other servers use.
//!
//! Netatalk's `.AppleDouble/` and DSM's `@eaDir/` are looked for only where the volume was told to
//! ([`Streams::with_netatalk2`], [`Streams::with_synology`]), as they cost a look-up for each file.

use super::foreign::any_folder;
use super::sidecar::{Sidecar, read};
use super::style::ForkPlace;
use super::{File, Streams, Style, found};
use crate::backend::{Object, XattrMode};
use crate::mac::depot::DEPOT;
use crate::mac::layout::{
    APPLE_RESOURCE, NETATALK_RESOURCE, NETATALK2_FOLDER, PLAIN_RESOURCE, RESOURCE_STREAM, SYNOLOGY_HEADER,
    is_resource_stream,
};
use crate::mac::{resource, samba};
use crate::{Caller, Error, Kind, Result};

/// A resource fork in an attribute.
pub(super) struct InAttribute {
    /// The attribute.
    pub(super) name: Vec<u8>,
    pub(super) fork: Vec<u8>,
    /// What another server has appended: nothing, or Samba's byte.
    appended: &'static [u8],
}

impl InAttribute {
    /// A new one, as Samba makes it; `None`: not in an attribute.
    pub(super) fn new(place: ForkPlace) -> Option<Self> {
        let name = match place {
            ForkPlace::Sidecar | ForkPlace::AppleDouble => return None,
            ForkPlace::Stream => samba::stream_attribute(RESOURCE_STREAM),
            ForkPlace::PlainStream => PLAIN_RESOURCE.to_vec(),
        };
        Some(Self { name, fork: Vec::new(), appended: b"\0" })
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

    /// Whether other servers change the folder, too.
    #[must_use]
    pub fn shared(self, shared: bool) -> Self {
        Self { shared, ..self }
    }

    /// Looks for files of Netatalk 2, Samba's depot and DSM if these servers have served the folder: the first two make their
    /// folders at the root first.
    pub(crate) fn with_what_is_there(self) -> Self {
        let Ok(root) = self.backend.root() else { return self };
        let has = |name| {
            let there = root.object.lookup(&Caller::root(), name);
            there.is_ok_and(|there| there.attributes.kind == Kind::Folder)
        };
        let synology = Self::has_synology(&*root.object).unwrap_or(false);
        let (netatalk2, depot) = (has(NETATALK2_FOLDER), has(DEPOT));
        let is_netatalks = || any_folder(&*root.object, &|folder| self.is_netatalks(folder)).unwrap_or(false);
        let apple_double = netatalk2 && is_netatalks();
        Self { netatalk2, apple_double, depot, synology, ..self }
    }

    /// Whether something of a file may be in files of other servers.
    pub(crate) fn looks_for_other_files(&self) -> bool {
        self.looks_beside() || self.depot
    }

    /// The header file of a file, Netatalk's or else DSM's.
    pub(super) fn header_file(&self, file: &File<'_>) -> Result<Option<Sidecar>> {
        if let Some(header) = self.netatalk_header(file)? {
            return Ok(Some(header));
        }
        let Some((folder, name)) = self.synology_place(file, SYNOLOGY_HEADER)? else { return Ok(None) };
        let there = found(folder.lookup(&Caller::root(), &name))?;
        let there = there.filter(|there| there.attributes.kind == Kind::File);
        there.map(|there| read(there, false)).transpose()
    }

    /// Takes the contents of a header file into the model, and removes the file. Its fork has
    /// moved.
    pub(super) fn give_up_header_file(&self, file: &File<'_>) -> Result<()> {
        if self.header_file(file)?.is_none() {
            return self.take_in(file);
        }
        self.take_in(file)?;
        let (metadata, _) = self.load(file)?;
        self.store_alone(&Caller::root(), file.object, &metadata)?;
        self.drop_header_file(file)
    }

    /// Moves what DSM has of a file to where this server keeps it.
    pub(super) fn take_over_synology(&self, file: &File<'_>) -> Result<()> {
        let has_header = self.netatalk_header(file)?.is_none() && self.header_file(file)?.is_some();
        if has_header { self.take_over(file) } else { self.take_in_synology(file) }
    }

    /// Removes the header files of a file, which have nothing in them any more.
    pub(super) fn drop_header_file(&self, file: &File<'_>) -> Result<()> {
        let root = Caller::root();
        if self.netatalk_header(file)?.is_some()
            && let Some(books) = self.books(file)?
        {
            found(books.folder.remove(&root, &books.name))?;
        }
        match self.synology_place(file, SYNOLOGY_HEADER)? {
            Some((folder, name)) => found(folder.remove(&root, &name)).map(drop),
            None => Ok(()),
        }
    }
}
