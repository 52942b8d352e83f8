//! Netatalk's files of a file, `.AppleDouble/name` and those whose names begin so, moved and removed with the file.
//!
//! They do not name the file they belong to, because other files must not keep Netatalk from them. While their file moves or
//! goes they do, so that a crash after any step is detected and repaired:
//!
//! ```text
//! claim    list and header name their file (OWNER): from here on they are never shown with another one
//! mark     the file names where they are (MOVING_BOOKS)
//! move     the file
//! follow   values, list, header
//! settle   the claims and the mark go
//! ```
//!
//! A marked file without a header or list looks for them at the marked place, and at the place where they wait while two
//! files exchange their names.

use std::sync::Arc;

use super::header::{Books, HeaderOwner, ServerFiles, put_name, unfinished};
use super::listed::{beginning, plain_file, value_file};
use super::{File, MOVING_BOOKS, OWNER, found, pair};
use crate::backend::{Finds, Object, RenameMode, XattrMode};
use crate::mac::netatalk_list;
use crate::{Caller, Error, HostKey, Kind, Result};

/// The longest name of a file, on any host.
const LONGEST_FILE: usize = 255;

/// A file that is about to move or to go, and Netatalk's files of it.
pub(super) struct Going {
    object: Arc<dyn Object>,
    books: Books,
    /// Their names, values first, then the list, then the header; and how each goes on behind the name of the file.
    names: Vec<(Vec<u8>, Vec<u8>)>,
}

/// A folder, and a name in it.
type At<'a> = (&'a dyn Object, &'a [u8]);

impl ServerFiles<'_> {
    /// The file there and Netatalk's files of it, if there are any. Those of a folder are in it.
    pub(super) fn going(&self, (folder, name): At<'_>) -> Result<Option<Going>> {
        let Some(there) = found(folder.lookup(&Caller::root(), name))? else { return Ok(None) };
        let file = File { folder, name, object: &*there.object };
        let books = match there.attributes.kind {
            Kind::File if self.has_books_of_any_kind(&file)? => self.books(&file)?,
            Kind::File | Kind::Folder if self.has_synologys(&file)? => self.synology(&file)?,
            _ => None,
        };
        let Some(books) = books else { return Ok(None) };
        let names = Self::names_of_books(&file, &books)?;
        Ok((!names.is_empty()).then(|| Going::new(there.object, books, names)))
    }

    /// The same whether they can be written or not. What a crash left elsewhere comes first.
    fn has_books_of_any_kind(&self, file: &File<'_>) -> Result<bool> {
        Ok(self.netatalk_header(file)?.is_some() || self.netatalk_list(file)?.is_some())
    }

    /// After the files have moved. What cannot follow now is found by the mark.
    pub(super) fn follow_with_books(
        &self,
        (from, source): (At<'_>, Option<Going>),
        (to, target): (At<'_>, Option<Going>),
        mode: RenameMode,
    ) -> Result<()> {
        if mode == RenameMode::Exchange {
            return self.exchange_books((from, source), (to, target));
        }
        if let Some(target) = target {
            target.remove()?;
        }
        match source {
            Some(source) => self.bring_books(&source, to),
            None => Ok(()),
        }
    }

    /// The first set waits under another name while the second goes to its place.
    fn exchange_books(
        &self,
        (from, source): (At<'_>, Option<Going>),
        (to, target): (At<'_>, Option<Going>),
    ) -> Result<()> {
        let waiting = match source {
            Some(source) => {
                let waiting = waiting(&source.object.key());
                Some(source.wait_as(waiting)?)
            }
            None => None,
        };
        if let Some(target) = target {
            self.bring_books(&target, from)?;
        }
        match waiting {
            Some(waiting) => self.bring_books(&waiting, to),
            None => Ok(()),
        }
    }

    /// Moves Netatalk's files to their file.
    fn bring_books(&self, going: &Going, to: At<'_>) -> Result<()> {
        let (keeper, key) = (going.books.keeper, going.object.key());
        let store = self.find_or_make_folder_of(keeper, to.0)?;
        let books = Books { keeper, folder: store, name: to.1.to_vec() };
        self.displace_books(&books, &key)?;
        rename_all(&going.books.folder, &going.names, (&books.folder, to.1))?;
        // DSM's headers have no names.
        if keeper == HeaderOwner::Netatalk
            && let Some(header) = books.own(to.1, &key)?
        {
            put_name(header, to.1)?;
        }
        release(&books.folder, going.telling(to.1))?;
        unmark(&*going.object)
    }

    /// Moves files that name another file out of the place where those of this one must go: that file finds them where they
    /// wait. If it is certainly gone, they are removed.
    fn displace_books(&self, books: &Books, key: &HostKey) -> Result<()> {
        let Some(other) = books.claimed_by()?.filter(|other| other.local() != key.local()) else {
            return Ok(());
        };
        let mut names = books.names()?;
        names.push((books.header(), books.keeper.ends()[1].to_vec()));
        let is_gone = self.backend.by_key(&other).err() == Some(Error::Stale)
            && self.backend.finds(&other) == Finds::Always;
        if is_gone {
            let mut names = names.iter().rev();
            return names
                .try_for_each(|(name, _)| found(books.folder.remove(&Caller::root(), name)).map(drop));
        }
        for name in &names {
            let moved =
                rename_all(&books.folder, std::slice::from_ref(name), (&books.folder, &waiting(&other)));
            found(moved)?;
        }
        Ok(())
    }

    /// Moves Netatalk's files to their file, if a crash left them behind. Returns whether it did.
    pub(super) fn mend_books(&self, file: &File<'_>) -> Result<bool> {
        if !self.others.looks_for_other_files() || !matches!(file.object.kind(), Kind::File | Kind::Folder) {
            return Ok(false);
        }
        let Some(mark) = found(file.object.xattr(MOVING_BOOKS))? else { return Ok(false) };
        let left = match unpack(&mark) {
            Some((folder, name)) => {
                let folder = folder.beside(&file.key());
                match self.left_behind(HeaderOwner::Netatalk, &folder, name.clone(), file)? {
                    Some(left) => Some(left),
                    None => self.left_behind(HeaderOwner::Synology, &folder, name, file)?,
                }
            }
            None => None,
        };
        match left {
            Some(left) => self.bring_books(&left, (file.folder, file.name)).map(|()| true),
            None => unmark(file.object).map(|()| false),
        }
    }

    /// Netatalk's files of a file at this place, or where they wait, if they name it.
    fn left_behind(
        &self,
        keeper: HeaderOwner,
        folder: &HostKey,
        name: Vec<u8>,
        file: &File<'_>,
    ) -> Result<Option<Going>> {
        let (root, key) = (Caller::root(), file.key());
        let folder = match self.backend.by_key(folder) {
            Err(Error::Stale) => return Ok(None),
            other => other?.object,
        };
        let Some(store) = found(folder.lookup(&root, keeper.folder_name()))? else { return Ok(None) };
        let places =
            [name.clone(), waiting(&key)].map(|name| Books { keeper, folder: store.object.clone(), name });
        let (mut values, mut telling) = (Vec::new(), Vec::new());
        for books in &places {
            for end in keeper.ends() {
                let name = [&books.name[..], end].concat();
                if books.is_claimed(&name, &key)? {
                    telling.push((name, end.to_vec()));
                }
            }
            if keeper != HeaderOwner::Netatalk || !books.is_claimed(&books.list(), &key)? {
                continue;
            }
            // Values go first: some may wait already while the list does not. If it waits, all do.
            let places = if books.name == name { &places[..] } else { &places[1..] };
            for listed in Self::listed_at(file, books)? {
                for books in places {
                    let place = value_file(&*store.object, &books.list(), &listed.name)?;
                    values.extend(place.map(|(_, name)| (name[books.name.len()..].to_vec(), name)));
                }
            }
        }
        if telling.is_empty() {
            return Ok(None);
        }
        let names = values.into_iter().map(|(rest, name)| (name, rest)).chain(telling).collect();
        let object = self.backend.by_key(&key)?.object;
        Ok(Some(Going { object, books: Books { keeper, folder: store.object, name }, names }))
    }

    /// Moves Netatalk's files to the file that a program on the host has moved from there.
    pub(super) fn bring_books_unowned(&self, from: At<'_>, file: &File<'_>) -> Result<()> {
        if !self.others.in_folder(from.0)?.netatalk
            || file.object.kind() != Kind::File
            || self.has_books_of_any_kind(file)?
        {
            return Ok(());
        }
        let there = File { folder: from.0, name: from.1, object: file.object };
        let Some(books) = self.books(&there)? else { return Ok(()) };
        let names = Self::names_of_books(&there, &books)?;
        if names.is_empty() {
            return Ok(());
        }
        let object = self.backend.by_key(&file.key())?.object;
        let going = Going::new(object, books, names);
        going.prepare(from.0)?;
        self.bring_books(&going, (file.folder, file.name))
    }
}

impl Going {
    fn new(object: Arc<dyn Object>, books: Books, names: Vec<Vec<u8>>) -> Self {
        let at = books.name.len();
        let names = names.into_iter().map(|name| (name.clone(), name[at..].to_vec())).collect();
        Self { object, books, names }
    }

    pub(super) fn is_netatalks(&self) -> bool {
        self.books.keeper == HeaderOwner::Netatalk
    }

    /// Whether they could not have their names beside this name of the file.
    pub(super) fn are_too_long(&self, name: &[u8]) -> bool {
        self.names.iter().any(|(_, rest)| rest.len() + name.len() > LONGEST_FILE)
    }

    pub(super) fn object(&self) -> &dyn Object {
        &*self.object
    }

    /// Whether both are of one file, which gets the name that it has.
    pub(super) fn is_of_same(&self, other: &Self) -> bool {
        self.object.key() == other.object.key()
    }

    /// They name their file, and the file names where they are. `folder`: that of the file.
    pub(super) fn prepare(&self, folder: &dyn Object) -> Result<()> {
        self.claim()?;
        let key = folder.key().local();
        let mut place = vec![key.as_bytes().len() as u8];
        place.extend_from_slice(key.as_bytes());
        place.extend_from_slice(&self.books.name);
        self.object.set_xattr(&Caller::root(), MOVING_BOOKS, &place, XattrMode::Set)
    }

    /// They name their file.
    pub(super) fn claim(&self) -> Result<()> {
        let (root, key) = (Caller::root(), self.object.key().local());
        for name in self.telling(&self.books.name) {
            if let Some(there) = found(self.books.folder.lookup(&root, &name))? {
                there.object.set_xattr(&root, OWNER, key.as_bytes(), XattrMode::Set)?;
            }
        }
        Ok(())
    }

    /// Takes the claims back, and the mark.
    pub(super) fn settle(&self) -> Result<()> {
        release(&self.books.folder, self.telling(&self.books.name))?;
        unmark(&*self.object)
    }

    /// The names of list and header beside this name of the file. Values are found by the list.
    fn telling(&self, name: &[u8]) -> Vec<Vec<u8>> {
        self.books.keeper.ends().map(|end| [name, end].concat()).to_vec()
    }

    /// Removes them: their file is gone.
    pub(super) fn remove(&self) -> Result<()> {
        let mut names = self.names.iter().rev();
        names.try_for_each(|(name, _)| found(self.books.folder.remove(&Caller::root(), name)).map(drop))
    }

    /// Moves them out of the way, in their folder.
    fn wait_as(self, waiting: Vec<u8>) -> Result<Self> {
        let Self { object, books, names } = self;
        let names = rename_all(&books.folder, &names, (&books.folder, &waiting))?;
        Ok(Self { object, books: Books { name: waiting, ..books }, names })
    }
}

/// Renames files that begin so to names that begin in another way. The new names.
fn rename_all(
    folder: &Arc<dyn Object>,
    names: &[(Vec<u8>, Vec<u8>)],
    (to, begin): (&Arc<dyn Object>, &[u8]),
) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut renamed = Vec::new();
    for (name, rest) in names {
        let new = [begin, rest].concat();
        folder.rename(&Caller::root(), name, &**to, &new, RenameMode::Replace)?;
        renamed.push((new, rest.clone()));
    }
    Ok(renamed)
}

impl Books {
    /// The file that list or header names.
    fn claimed_by(&self) -> Result<Option<HostKey>> {
        for name in [self.list(), self.header()] {
            if let Some(there) = found(self.folder.lookup(&Caller::root(), &name))?
                && let Some(owner) = super::sidecar::owner(&*there.object)?
            {
                return Ok(Some(owner));
            }
        }
        Ok(None)
    }

    /// Values and list, whosever they are: their names, and how these go on behind the name of the file.
    fn names(&self) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let (list, mut names) = (self.list(), Vec::<Vec<u8>>::new());
        let Some(there) = plain_file(&*self.folder, &list)? else { return Ok(Vec::new()) };
        if self.keeper == HeaderOwner::Synology {
            return Ok(vec![(list.clone(), list[self.name.len()..].to_vec())]);
        }
        let listed = netatalk_list::parse(&beginning(&there, netatalk_list::MAX_LEN)?).unwrap_or_default();
        for listed in listed {
            names.extend(value_file(&*self.folder, &list, &listed.name)?.map(|(_, name)| name));
        }
        names.push(list);
        Ok(names.into_iter().map(|name| (name.clone(), name[self.name.len()..].to_vec())).collect())
    }

    fn is_claimed(&self, name: &[u8], key: &HostKey) -> Result<bool> {
        let Some(there) = found(self.folder.lookup(&Caller::root(), name))? else { return Ok(false) };
        Ok(super::sidecar::owner(&*there.object)?.is_some_and(|owner| owner.local() == key.local()))
    }
}

/// The name under which Netatalk's files of a file wait while two files exchange their names.
fn waiting(key: &HostKey) -> Vec<u8> {
    [&unfinished(key)[..], b"-waiting"].concat()
}

fn release(folder: &Arc<dyn Object>, names: Vec<Vec<u8>>) -> Result<()> {
    for name in names {
        if let Some(there) = found(folder.lookup(&Caller::root(), &name))? {
            found(there.object.remove_xattr(&Caller::root(), OWNER))?;
        }
    }
    Ok(())
}

/// The folder and the name in a mark; `None` if it is no mark.
fn unpack(mark: &[u8]) -> Option<pair::Place> {
    let (&length, rest) = mark.split_first()?;
    let (key, name) = rest.split_at_checked(usize::from(length))?;
    (!name.is_empty() && !name.contains(&b'/')).then_some((HostKey::new(key)?, name.to_vec()))
}

fn unmark(object: &dyn Object) -> Result<()> {
    found(object.remove_xattr(&Caller::root(), MOVING_BOOKS)).map(drop)
}
