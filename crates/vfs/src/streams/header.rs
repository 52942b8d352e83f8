//! Netatalk's header files, `.AppleDouble/name`: Finder info, comment, dates, attributes and resource fork. Netatalk 2 makes them, and
//! later versions with `ea = ad`; DSM of Synology has the same in `@eaDir/name@SynoResource`. They are read and written where they
//! are, so that these servers still read them.

use std::sync::Arc;

use super::fork::Fork;
use super::server_folders::OtherServers;
use super::sidecar::{self, Sidecar, dress_as};
use super::style::Info;
use super::{File, Streams, found, metadata};
use crate::backend::{Backend, Found, NewKind, Object, RenameMode, Stability};
use crate::mac::layout::{
    NETATALK2_FOLDER, NETATALK2_PARENT, SYNOLOGY_ATTRIBUTES, SYNOLOGY_FOLDER, SYNOLOGY_HEADER,
};
use crate::mac::{Metadata, netatalk, netatalk_list};
use crate::{Access, Attributes, Caller, Error, HostKey, Kind, Result, SetAttributes};

/// What the name of a file begins with that is not whole. Names that begin so are the server's own at any place.
pub(super) const UNFINISHED: &str = ".fourfold-new-";

/// Whose files beside a file these are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeaderOwner {
    Netatalk,
    /// DSM of Synology.
    Synology,
}

impl HeaderOwner {
    /// The folder that they are in.
    pub(super) fn folder_name(self) -> &'static [u8] {
        match self {
            Self::Netatalk => NETATALK2_FOLDER,
            Self::Synology => SYNOLOGY_FOLDER,
        }
    }

    /// How the names of the file with attributes, or their list, and of the header go on behind the name of the file.
    pub(super) fn ends(self) -> [&'static [u8]; 2] {
        match self {
            Self::Netatalk => [netatalk_list::SUFFIX, b""],
            Self::Synology => [SYNOLOGY_ATTRIBUTES, SYNOLOGY_HEADER],
        }
    }
}

/// Where another server's files of a file are.
#[derive(Clone)]
pub(super) struct Books {
    pub(super) keeper: HeaderOwner,
    /// The folder `.AppleDouble` or `@eaDir`.
    pub(super) folder: Arc<dyn Object>,
    /// What the names of these files begin with.
    pub(super) name: Vec<u8>,
}

impl Books {
    /// The name of the list of attributes, or of the file that has them.
    pub(super) fn list(&self) -> Vec<u8> {
        [&self.name[..], self.keeper.ends()[0]].concat()
    }

    /// The name of the header.
    pub(super) fn header(&self) -> Vec<u8> {
        [&self.name[..], self.keeper.ends()[1]].concat()
    }
}

/// The files that other servers keep beside the files of a volume.
#[derive(Clone, Copy)]
pub(super) struct ServerFiles<'a> {
    pub(super) backend: &'a dyn Backend,
    pub(super) others: OtherServers<'a>,
}

impl ServerFiles<'_> {
    /// Where Netatalk's files of a file are, if there are such files in its folder.
    pub(super) fn books(&self, file: &File<'_>) -> Result<Option<Books>> {
        let (folder, name) = books_place(file);
        if !self.others.in_folder(folder)?.netatalk {
            return Ok(None);
        }
        let there = found(folder.lookup(&Caller::root(), NETATALK2_FOLDER))?;
        let there = there.filter(|there| there.attributes.kind == Kind::Folder);
        Ok(there.map(|there| Books {
            keeper: HeaderOwner::Netatalk,
            folder: there.object,
            name: name.to_vec(),
        }))
    }

    /// Where DSM's files of a file are, if there are such files in its folder.
    pub(super) fn synology(&self, file: &File<'_>) -> Result<Option<Books>> {
        if !self.others.in_folder(file.folder)?.synology {
            return Ok(None);
        }
        let there = found(file.folder.lookup(&Caller::root(), SYNOLOGY_FOLDER))?;
        let there = there.filter(|there| there.attributes.kind == Kind::Folder);
        let name = file.name.to_vec();
        Ok(there.map(|there| Books { keeper: HeaderOwner::Synology, folder: there.object, name }))
    }

    /// The header file of a file, Netatalk's or else DSM's, and where it is.
    pub(super) fn header_place(&self, file: &File<'_>) -> Result<Option<(Books, Sidecar)>> {
        if let Some(header) = self.netatalk_header(file)? {
            return Ok(self.books(file)?.map(|books| (books, header)));
        }
        let Some(books) = self.synology(file)? else { return Ok(None) };
        let mut there = books.own(&books.header(), &file.key())?;
        if there.is_none() && self.mend_books(file)? {
            there = books.own(&books.header(), &file.key())?;
        }
        there.map(|there| Ok((books, sidecar::read(there, false)?))).transpose()
    }

    /// The same, with a new folder if need be.
    pub(super) fn books_or_new(&self, file: &File<'_>) -> Result<Books> {
        let (folder, name) = books_place(file);
        let folder = self.find_or_make_books(folder)?;
        Ok(Books { keeper: HeaderOwner::Netatalk, folder, name: name.to_vec() })
    }

    /// The folder `.AppleDouble` in this one, which is made if need be.
    fn find_or_make_books(&self, folder: &dyn Object) -> Result<Arc<dyn Object>> {
        self.find_or_make_folder_of(HeaderOwner::Netatalk, folder)
    }

    /// The same of either server.
    pub(super) fn find_or_make_folder_of(
        &self,
        keeper: HeaderOwner,
        folder: &dyn Object,
    ) -> Result<Arc<dyn Object>> {
        let name = keeper.folder_name();
        let books = find_or_make_store(folder, name)?;
        let there = self.others.in_folder(folder)?;
        let is_known = match keeper {
            HeaderOwner::Netatalk => there.netatalk,
            HeaderOwner::Synology => there.synology,
        };
        if !is_known {
            self.others.note_folder(folder, name);
        }
        Ok(books)
    }

    /// Netatalk's header file of a file. If a crash left it behind, it is moved to the file first.
    pub(super) fn netatalk_header(&self, file: &File<'_>) -> Result<Option<Sidecar>> {
        let header = |books: Option<Books>| match books {
            Some(books) => books.own(&books.name, &file.key()),
            None => Ok(None),
        };
        let mut there = header(self.books(file)?)?;
        if there.is_none() && self.mend_books(file)? {
            there = header(self.books(file)?)?;
        }
        there.map(|there| sidecar::read(there, false)).transpose()
    }

    /// Whether Netatalk keeps what describes a file in files beside it: then this server does so, too.
    pub(super) fn has_books(&self, file: &File<'_>) -> Result<bool> {
        let has_header = self.netatalk_header(file)?.is_some_and(|header| is_usable(&header));
        Ok(has_header || self.netatalk_list(file)?.is_some())
    }

    /// Whether Netatalk has files in a folder's `.AppleDouble`. What it has there of the share's own folder does not count: it
    /// stays when the share gets another layout.
    pub(super) fn is_netatalks(&self, folder: &dyn Object) -> Result<bool> {
        if !self.others.in_folder(folder)?.netatalk {
            return Ok(false);
        }
        let there = found(folder.lookup(&Caller::root(), NETATALK2_FOLDER))?;
        let Some(there) = there.filter(|there| there.attributes.kind == Kind::Folder) else {
            return Ok(false);
        };
        let (mut of_file, mut of_folder) = (false, false);
        there.object.list(0, &mut |entry| {
            of_folder |= entry.name.starts_with(NETATALK2_PARENT);
            of_file = !entry.name.starts_with(NETATALK2_PARENT) && !matches!(entry.name, b"." | b"..");
            !of_file
        })?;
        Ok(of_file || of_folder && folder.key() != self.backend.root()?.object.key())
    }

    /// Writes the model into the header file of a file, which is made if need be.
    pub(super) fn put_header(&self, file: &File<'_>, model: &Metadata) -> Result<()> {
        let model = metadata::dated(model, file.object)?;
        let Some((books, old)) = self.header_place(file)? else {
            let books = self.books_for_new(file)?;
            return new_header_file(file, &books, &model.to_netatalk2(file.name, 0), None).map(drop);
        };
        match model.update_netatalk2(&old.head) {
            Some(head) if old.head.starts_with(&head) => Ok(()),
            Some(head) => {
                old.write(0, &head)?;
                touch(file.object)
            }
            None => {
                let header = model.to_netatalk2(file.name, 0);
                new_header_file(file, &books, &header, Some(old)).map(drop)
            }
        }
    }

    /// Where a file gets its first files of another server: as those beside it.
    fn books_for_new(&self, file: &File<'_>) -> Result<Books> {
        match self.synology(file)? {
            Some(books) if self.books(file)?.is_none() => Ok(books),
            _ => self.books_or_new(file),
        }
    }

    /// After the file's mode or owner was changed: changes those of Netatalk's files, too.
    pub(super) fn dress_books(&self, file: &File<'_>) -> Result<()> {
        for books in [self.books(file)?, self.synology(file)?].into_iter().flatten() {
            Self::dress_all(file, &books)?;
        }
        Ok(())
    }

    fn dress_all(file: &File<'_>, books: &Books) -> Result<()> {
        for name in Self::names_of_books(file, books)? {
            if let Some(there) = books.own(&name, &file.key())? {
                dress_book(&*there.object, file)?;
            }
        }
        Ok(())
    }
}

impl Streams {
    /// Makes the header file of a new file, if its folder has this layout.
    pub(crate) fn give_header(&self, file: &File<'_>) -> Result<()> {
        if !self.others().may_have_headers()
            || self.style(file, &metadata::names(file.object)?)?.info != Info::AppleDouble
        {
            return Ok(());
        }
        match found(file.folder.lookup(&Caller::root(), file.name))? {
            Some(there) if there.object.key() == file.key() => {
                self.server_files().put_header(file, &self.load(file)?.0)
            }
            _ => Ok(()), // it has got another name
        }
    }

    /// The resource fork in the header file of a file, to be written there. `None` if it belongs elsewhere.
    pub(super) fn header_fork(&self, file: &File<'_>) -> Result<Option<Fork>> {
        let there = self.server_files().header_place(file)?;
        let header = match there {
            Some((_, header)) if header.layout().is_some_and(|layout| layout.len_at.is_some()) => header,
            Some((_, header)) if !is_usable(&header) => return Ok(None),
            None if !self.others().looks_for_other_files() => return Ok(None),
            None if self.style(file, &metadata::names(file.object)?)?.fork.is_beside() => {
                return Ok(None);
            }
            old => {
                let model = metadata::dated(&self.load(file)?.0, file.object)?;
                let (books, old) = match old {
                    Some((books, header)) => (books, Some(header)),
                    None => (self.server_files().books_for_new(file)?, None),
                };
                new_header_file(file, &books, &model.to_netatalk2(file.name, 0), old)?
            }
        };
        header.open_for(Access::READ.union(Access::WRITE))?;
        let size = header.attributes.size;
        let mut fork = Fork::in_file(header).ok_or(Error::Io)?;
        fork.set_end_at(size)?;
        Ok(Some(fork))
    }

    /// As [`Streams::header_fork`], if the file has a header file.
    pub(super) fn header_fork_if_any(&self, file: &File<'_>) -> Result<Option<Fork>> {
        if self.server_files().header_place(file)?.is_some() { self.header_fork(file) } else { Ok(None) }
    }
}

impl Books {
    /// A file in the folder, unless it names another file as the one it belongs to, or has other names: then it could be
    /// one that the owner of this folder may not read.
    pub(super) fn own(&self, name: &[u8], key: &HostKey) -> Result<Option<Found>> {
        let there = found(self.folder.lookup(&Caller::root(), name))?;
        let is_plain = |there: &Found| there.attributes.kind == Kind::File && there.attributes.links == 1;
        let Some(there) = there.filter(is_plain) else { return Ok(None) };
        let owner = sidecar::owner(&*there.object)?;
        Ok(owner.is_none_or(|owner| owner.local() == key.local()).then_some(there))
    }

    /// A new file of no bytes, which is not seen yet.
    pub(super) fn unfinished(&self, key: &HostKey) -> Result<Found> {
        let (root, name) = (Caller::root(), unfinished(key));
        found(self.folder.remove(&root, &name))?;
        self.folder.create(&root, &name, NewKind::File, 0o600)
    }

    /// Makes it appear in this place.
    pub(super) fn finish(&self, new: &dyn Object, file: &File<'_>, name: &[u8]) -> Result<()> {
        dress_book(new, file)?;
        new.sync(Stability::File)?; // what it replaces must not be all there was
        let unfinished = unfinished(&file.key());
        self.folder.rename(&Caller::root(), &unfinished, &*self.folder, name, RenameMode::Replace)
    }
}

/// Makes a header file appear whole, with the fork of the old one.
fn new_header_file(file: &File<'_>, books: &Books, header: &[u8], old: Option<Sidecar>) -> Result<Sidecar> {
    let new = books.unfinished(&file.key())?;
    let mut new = Sidecar { object: new.object, attributes: new.attributes, owned: false, head: vec![] };
    new.write(0, header)?;
    new = new.again()?;
    if let Some(from) = old.and_then(Fork::in_file).filter(|fork| fork.len() > 0) {
        let mut fork = Fork::in_file(new).ok_or(Error::Io)?;
        fork.copy(&from)?;
        new = fork.into_file().ok_or(Error::Io)?.again()?;
    }
    books.finish(&*new.object, file, &books.header())?;
    touch(file.object)?;
    new.again()
}

/// Gives one of Netatalk's files the owner and mode of its file. The owner may always write it, as with Netatalk, which locks
/// ranges of it.
fn dress_book(book: &dyn Object, file: &File<'_>) -> Result<()> {
    let like = file.object.attributes()?;
    dress_as(book, file.object, &Attributes { mode: like.mode | 0o600, ..like })
}

/// The name in `.AppleDouble` of something of this file that is not whole, or that waits to be moved.
pub(super) fn unfinished(key: &HostKey) -> Vec<u8> {
    let mut hasher = siphasher::sip::SipHasher24::new();
    std::hash::Hasher::write(&mut hasher, key.local().as_bytes());
    format!("{UNFINISHED}{:016x}", std::hash::Hasher::finish(&hasher)).into_bytes()
}

/// Whether a header file can be written: it is one, or will be.
pub(super) fn is_usable(header: &Sidecar) -> bool {
    header.parsed().is_some() || header.attributes.size == 0
}

/// The folder in which `.AppleDouble` is, and the name of the header there. Those of a folder are in the folder.
pub(super) fn books_place<'a>(file: &File<'a>) -> (&'a dyn Object, &'a [u8]) {
    match file.object.kind() {
        Kind::Folder => (file.object, NETATALK2_PARENT),
        _ => (file.folder, file.name),
    }
}

/// The folder `.AppleDouble` in this one. A new one has its owner and mode, so that afpd may write there as its user.
fn find_or_make_store(folder: &dyn Object, name: &[u8]) -> Result<Arc<dyn Object>> {
    let root = Caller::root();
    if let Some(there) = found(folder.lookup(&root, name))? {
        return if there.attributes.kind == Kind::Folder {
            Ok(there.object)
        } else {
            Err(Error::NotPermitted)
        };
    }
    let like = folder.attributes()?;
    let made = folder.create(&root, name, NewKind::Folder, like.mode & 0o777)?.object;
    let ids = SetAttributes { uid: Some(like.uid), gid: Some(like.gid), ..SetAttributes::default() };
    match made.set_attributes(&root, &ids) {
        Ok(()) | Err(Error::NotPermitted) => {}
        Err(other) => return Err(other),
    }
    let mode = SetAttributes { mode: Some(like.mode & 0o2777), ..SetAttributes::default() };
    made.set_attributes(&root, &mode)?;
    Ok(made)
}

/// Sets the time of change of a file, by which others know that what describes it has changed.
pub(super) fn touch(object: &dyn Object) -> Result<()> {
    let mode = object.attributes()?.mode & 0o7777;
    object.set_attributes(&Caller::root(), &SetAttributes { mode: Some(mode), ..SetAttributes::default() })
}

/// Writes the name of a file into its header file, if there is one.
pub(super) fn put_name(header: Found, name: &[u8]) -> Result<()> {
    let header = sidecar::read(header, false)?;
    match netatalk::with_name(&header.head, name) {
        Some(head) => header.write(0, &head),
        None => Ok(()),
    }
}
