//! Named streams in files of other servers beside a file: Netatalk's with `ea = ad` in `.AppleDouble`, and those of DSM of Synology in
//! `@eaDir`, one file for all. They are written where they are.

use super::header::{Books, ServerFiles, touch};
use super::places::Home;
use super::sidecar::{self, Sidecar};
use super::{File, Streams, found, listed};
use crate::backend::Object;
use crate::mac::attr::MAX_VALUES;
use crate::mac::layout::{SYNOLOGY_ATTRIBUTES, SYNOLOGY_FOLDER, SYNOLOGY_HEADER, stored_xattr};
use crate::mac::{FinderInfo, sidecar as mac_sidecar};
use crate::{Caller, Error, Kind, Result};

/// Entries of `@eaDir` that are looked at.
const LISTED: usize = 256;
/// Folders at a share's root in which Synology's is looked for.
const LOOKED_AT: usize = 64;

/// A stream: its name and its value.
type Stream = (Vec<u8>, Vec<u8>);

impl Streams {
    /// Whether a file has streams in files of other servers.
    pub(crate) fn has_foreign(&self, file: &File<'_>) -> Result<bool> {
        Ok(!self.depots().streams(file.object)?.is_empty() || !self.server_files().streams(file)?.is_empty())
    }

    /// Moves the streams that are in other servers' files beside a file to attributes or the store, unless the file has streams
    /// of these names there already, and removes the files.
    pub(super) fn take_in(&self, file: &File<'_>) -> Result<()> {
        for (name, value) in self.server_files().listed(file)? {
            self.move_out(file, &name, &value)?;
            self.server_files().drop_listed(file, &name)?;
        }
        self.take_in_synology(file)
    }

    /// As [`Streams::take_in`], for the streams in DSM's file alone.
    pub(super) fn take_in_synology(&self, file: &File<'_>) -> Result<()> {
        let Some((books, _)) = self.server_files().synology_attributes(file)? else { return Ok(()) };
        for (name, value) in self.server_files().in_synology(file)? {
            self.move_out(file, &name, &value)?;
        }
        found(books.folder.remove(&Caller::root(), &books.list())).map(drop)
    }

    fn move_out(&self, file: &File<'_>, name: &[u8], value: &[u8]) -> Result<()> {
        let Some(stored) = stored_xattr(name) else { return Ok(()) };
        if !matches!(self.home(file, name)?, None | Some(Home::Listed(..) | Home::Synology(..))) {
            return Ok(());
        }
        let new = match self.new_home(file, name, stored.clone())? {
            Home::Listed(..) | Home::Synology(..) => Home::Xattr(stored, Vec::new()),
            other => other,
        };
        if self.put(file, &new, value)? { Ok(()) } else { self.spill(file, name, value, |_| Ok(())) }
    }
}

impl ServerFiles<'_> {
    /// The streams of a file that are in files beside it.
    pub(super) fn streams(&self, file: &File<'_>) -> Result<Vec<Stream>> {
        let mut streams = self.listed(file)?;
        for (name, value) in self.in_synology(file)? {
            if streams.iter().all(|(known, _)| *known != name) {
                streams.push((name, value));
            }
        }
        Ok(streams)
    }

    /// Those in DSM's file.
    pub(super) fn in_synology(&self, file: &File<'_>) -> Result<Vec<Stream>> {
        let Some((_, there)) = self.synology_attributes(file)? else { return Ok(Vec::new()) };
        let (mut streams, mut room): (Vec<Stream>, usize) = (Vec::new(), MAX_VALUES);
        for attr in there.parsed().iter().flat_map(|head| &head.xattrs) {
            let value = there.value(attr)?;
            if stored_xattr(attr.name).is_some() && value.len() <= room {
                room -= value.len();
                streams.push((attr.name.to_vec(), value));
            }
        }
        Ok(streams)
    }

    /// Whether a stream can be in DSM's file of a file: it is one, or there is none.
    pub(super) fn may_be_in_synology(&self, file: &File<'_>) -> Result<bool> {
        let Some(books) = self.synology(file)? else { return Ok(false) };
        Ok(books.own(&books.list(), &file.key())?.is_none() || self.synology_attributes(file)?.is_some())
    }

    /// Writes a stream into DSM's file, or removes it there. The file appears whole, with all that it had.
    pub(super) fn put_synology(&self, file: &File<'_>, name: &[u8], value: Option<&[u8]>) -> Result<()> {
        let Some(books) = self.synology(file)? else { return Err(Error::NotSupported) };
        let (mut all, mut info): (Vec<Stream>, FinderInfo) = (Vec::new(), FinderInfo::NONE);
        match self.synology_attributes(file)? {
            Some((_, there)) => {
                let head = there.parsed().ok_or(Error::Io)?;
                info = head.finder_info;
                for attr in &head.xattrs {
                    all.push((attr.name.to_vec(), there.value(attr)?));
                }
            }
            None if books.own(&books.list(), &file.key())?.is_some() => return Err(Error::NotSupported),
            None => {}
        }
        match (value, all.iter_mut().find(|(known, _)| known == name)) {
            (Some(value), Some((_, there))) => *there = value.to_vec(),
            (Some(value), None) => all.push((name.to_vec(), value.to_vec())),
            (None, _) => all.retain(|(known, _)| known != name),
        }
        if all.is_empty() && info.is_none() {
            found(books.folder.remove(&Caller::root(), &books.list()))?;
            return touch(file.object);
        }
        let attrs: Vec<(&[u8], &[u8])> = all.iter().map(|(name, value)| (&name[..], &value[..])).collect();
        let (bytes, problems) = mac_sidecar::synthesize(&info, &attrs, 0);
        if !problems.is_empty() {
            return Err(Error::NoRoomForAttribute); // something would be left out
        }
        listed::write(&books, file, &books.list(), &bytes)?;
        touch(file.object)
    }

    /// DSM's file with the attributes of a file, and where it is. A file with other names could be one that the owner of this
    /// folder may not read.
    fn synology_attributes(&self, file: &File<'_>) -> Result<Option<(Books, Sidecar)>> {
        let Some(books) = self.synology(file)? else { return Ok(None) };
        let mut there = books.own(&books.list(), &file.key())?;
        if there.is_none() && self.mend_books(file)? {
            there = books.own(&books.list(), &file.key())?;
        }
        let there = there.map(|there| sidecar::read(there, false)).transpose()?;
        Ok(there.filter(|there| there.parsed().is_some()).map(|there| (books, there)))
    }

    /// Whether DSM has header or attributes of files of a folder. Its folder alone does not tell: it has thumbnails there, too.
    pub(super) fn is_synologys(&self, folder: &dyn Object) -> Result<bool> {
        if !self.others.in_folder(folder)?.synology {
            return Ok(false);
        }
        let Some(there) = found(folder.lookup(&Caller::root(), SYNOLOGY_FOLDER))? else { return Ok(false) };
        let (mut is_it, mut looked) = (false, 0);
        there.object.list(0, &mut |entry| {
            looked += 1;
            is_it |= [SYNOLOGY_ATTRIBUTES, SYNOLOGY_HEADER].iter().any(|end| entry.name.ends_with(end));
            !is_it && looked < LISTED
        })?;
        Ok(is_it)
    }

    /// Whether DSM has something of a file.
    pub(super) fn has_synologys(&self, file: &File<'_>) -> Result<bool> {
        let Some(books) = self.synology(file)? else { return Ok(false) };
        Ok(!Self::names_of_books(file, &books)?.is_empty())
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
