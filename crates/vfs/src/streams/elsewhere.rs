//! Resource forks and metadata in the places that other servers use.
//!
//! Netatalk's `.AppleDouble/` and DSM's `@eaDir/` are looked for in each folder (`server_folders`).

use super::foreign::any_folder;
use super::header::ServerFiles;
use super::places::{is_marked, mark_terminated};
use super::sidecar::Sidecar;
use super::style::ForkPlace;
use super::{File, Streams, Style, found};
use crate::backend::{Object, XattrMode};
use crate::mac::layout::{
    APPLE_RESOURCE, NETATALK_RESOURCE, PLAIN_RESOURCE, RESOURCE_STREAM, is_resource_stream,
};
use crate::mac::{resource, samba};
use crate::{Caller, Result};

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
            ForkPlace::Sidecar | ForkPlace::AppleDouble | ForkPlace::Synology => return None,
            ForkPlace::Stream | ForkPlace::Ksmbd => samba::stream_attribute(RESOURCE_STREAM),
            ForkPlace::PlainStream | ForkPlace::ServicesForMacintosh => PLAIN_RESOURCE.to_vec(),
            ForkPlace::MacCopy => APPLE_RESOURCE.to_vec(),
        };
        let has_byte = matches!(place, ForkPlace::Stream | ForkPlace::PlainStream);
        Some(Self { name, fork: Vec::new(), appended: if has_byte { b"\0" } else { b"" } })
    }

    /// Takes the fork of this attribute's value.
    fn of(object: &dyn Object, name: &[u8], value: Vec<u8>) -> Result<Self> {
        let has_byte = match samba::stream_name(name) {
            Some(_) => samba::stream_data(&value).1,
            None => resource::is_terminated(&value) || Self::is_cut_before_byte(object, name, &value)?,
        };
        let mut fork = value;
        fork.truncate(fork.len() - usize::from(has_byte));
        Ok(Self { name: name.to_vec(), fork, appended: if has_byte { b"\0" } else { b"" } })
    }

    /// Whether Samba's byte follows a fork without Samba's prefix that does not tell it, as it is not whole: a client has cut it off, or
    /// has not written all of it yet. Then the file tells it.
    fn is_cut_before_byte(object: &dyn Object, name: &[u8], value: &[u8]) -> Result<bool> {
        let is_whole = resource::whole_len(value) == Some(value.len() as u64);
        Ok(name == PLAIN_RESOURCE && value.last() == Some(&0) && !is_whole && is_marked(object)?)
    }

    /// Writes the attribute. `false` if the host has no room for it.
    pub(super) fn put(&self, object: &dyn Object) -> Result<bool> {
        // A zero byte at the end would be taken for Samba's.
        let ends_in_zero = samba::stream_name(&self.name).is_some() && self.fork.last() == Some(&0);
        let appended = if ends_in_zero { b"\0" } else { self.appended };
        let value = [&self.fork, appended].concat();
        if self.name == PLAIN_RESOURCE && !appended.is_empty() && !resource::is_terminated(&value) {
            mark_terminated(object, &self.name)?;
        }
        match object.set_xattr(&Caller::root(), &self.name, &value, XattrMode::Set) {
            Ok(()) => Ok(true),
            Err(error) if error.is_no_place_for_attribute() => Ok(false),
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
        if let Some(value) = found(object.xattr(name))? {
            all.push(InAttribute::of(object, name, value)?);
        }
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
    /// New things get this layout, where neither their file nor its folder tells one.
    #[must_use]
    pub fn with_style(self, style: Style) -> Self {
        Self { style, ..self }
    }

    /// Whether other servers change the folder, too.
    #[must_use]
    pub fn shared(mut self, shared: bool) -> Self {
        self.own_store.shared = shared;
        self
    }

    /// Looks at the root and the first folders in it, so that what other servers have there counts from the beginning on.
    pub(crate) fn with_what_is_there(self) -> Self {
        let Ok(root) = self.backend.root() else { return self };
        let _ = any_folder(&*root.object, &|folder| self.others().in_folder(folder).map(|_| false));
        let is_netatalks =
            || any_folder(&*root.object, &|folder| self.server_files().is_netatalks(folder)).unwrap_or(false);
        let has_netatalks = self.others().in_folder(&*root.object).is_ok_and(|there| there.netatalk);
        let apple_double = has_netatalks && is_netatalks();
        Self { apple_double, ..self }
    }

    /// Takes the contents of a header file into the model, and removes the file. Its fork has
    /// moved.
    pub(super) fn give_up_header_file(&self, file: &File<'_>) -> Result<()> {
        if self.server_files().header_file(file)?.is_none() {
            return self.take_in(file);
        }
        self.take_in(file)?;
        let (metadata, _) = self.load(file)?;
        self.store_alone(&Caller::root(), file.object, &metadata)?;
        self.server_files().drop_header_file(file)
    }
}

impl ServerFiles<'_> {
    /// The header file of a file, Netatalk's or else DSM's.
    pub(super) fn header_file(&self, file: &File<'_>) -> Result<Option<Sidecar>> {
        Ok(self.header_place(file)?.map(|(_, header)| header))
    }

    /// Removes the header files of a file, which have nothing in them any more.
    pub(super) fn drop_header_file(&self, file: &File<'_>) -> Result<()> {
        let root = Caller::root();
        if self.netatalk_header(file)?.is_some()
            && let Some(books) = self.books(file)?
        {
            found(books.folder.remove(&root, &books.name))?;
        }
        match self.synology(file)? {
            Some(books) => found(books.folder.remove(&root, &books.header())).map(drop),
            None => Ok(()),
        }
    }
}
