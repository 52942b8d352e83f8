//! Named streams in Netatalk's files of a file, with `ea = ad`: a list, `.AppleDouble/name::EA`, and a file for the value of each
//! attribute, `name::EA::ATTRIBUTE`. They are read and written there.

use std::sync::Arc;

use super::header::{Books, HeaderOwner, ServerFiles, books_place, touch};
use super::{File, found};
use crate::backend::{Found, Object, Stability, Wait};
use crate::mac::attr::MAX_VALUES;
use crate::mac::layout::stored_xattr;
use crate::mac::netatalk_list::{self, NetatalkAttribute};
use crate::{Access, Caller, Error, Kind, Result};

/// The longest name of a file, on any host.
const LONGEST_FILE: usize = 255;

/// A stream: its name and its value.
type Stream = (Vec<u8>, Vec<u8>);
/// A list of Netatalk: its folder, its name there, and the attributes in it.
pub(super) type List = (Arc<dyn Object>, Vec<u8>, Vec<NetatalkAttribute>);

/// What there is of a list.
enum There {
    Nothing(Books),
    List(Books, Vec<NetatalkAttribute>),
    /// It cannot be read, and stays as it is.
    Damaged,
}

impl ServerFiles<'_> {
    /// Netatalk's list of the attributes of a file. A list that cannot be read stays as it is.
    pub(super) fn netatalk_list(&self, file: &File<'_>) -> Result<Option<List>> {
        let Some(books) = self.books(file)? else { return Ok(None) };
        let there = match look(file, books)? {
            There::Nothing(_) if self.mend_books(file)? => match self.books(file)? {
                Some(books) => look(file, books)?,
                None => There::Damaged,
            },
            there => there,
        };
        Ok(match there {
            There::List(books, listed) => {
                let list = books.list();
                Some((books.folder, list, listed))
            }
            There::Nothing(_) | There::Damaged => None,
        })
    }

    /// The streams of a file that are in such files.
    pub(super) fn listed(&self, file: &File<'_>) -> Result<Vec<Stream>> {
        let (mut streams, mut room): (Vec<Stream>, usize) = (Vec::new(), MAX_VALUES);
        let Some((folder, list, attributes)) = self.netatalk_list(file)? else { return Ok(streams) };
        for NetatalkAttribute { name, .. } in attributes {
            let is_known = streams.iter().any(|(known, _)| *known == name);
            if is_known || stored_xattr(&name).is_none() {
                continue;
            }
            let Some((there, _)) = value_file(&*folder, &list, &name)? else { continue };
            if there.attributes.size <= room as u64 {
                let value = beginning(&there, MAX_VALUES)?;
                room -= value.len();
                streams.push((name, value));
            }
        }
        Ok(streams)
    }

    /// The value of one of them.
    pub(super) fn listed_value(&self, file: &File<'_>, name: &[u8]) -> Result<Option<Vec<u8>>> {
        let Some((folder, list, attributes)) = self.netatalk_list(file)? else { return Ok(None) };
        if stored_xattr(name).is_none() || attributes.iter().all(|listed| listed.name != name) {
            return Ok(None);
        }
        let there = value_file(&*folder, &list, name)?;
        there.map(|(there, _)| beginning(&there, MAX_VALUES)).transpose()
    }

    /// Whether a stream of this name can be in such a file.
    pub(super) fn may_list(&self, file: &File<'_>, name: &[u8]) -> Result<bool> {
        let list = [books_place(file).1, netatalk_list::SUFFIX].concat();
        let is_damaged = match self.books(file)? {
            Some(books) => matches!(look(file, books)?, There::Damaged),
            None => false,
        };
        Ok(netatalk_list::value_file(&list, name).len() <= LONGEST_FILE && !is_damaged)
    }

    /// Writes the value of one: first the value, then the list, so that the list never names what is not there.
    pub(super) fn put_listed(&self, file: &File<'_>, name: &[u8], value: &[u8]) -> Result<()> {
        let mut books = self.books_or_new(file)?;
        let list = books.list();
        let place = match value_file(&*books.folder, &list, name)? {
            Some((_, place)) => place,
            None => netatalk_list::value_file(&list, name),
        };
        write(&books, file, &place, value)?;
        let mut listed = match look(file, books)? {
            There::List(there, listed) => {
                books = there;
                listed
            }
            There::Nothing(there) => {
                books = there;
                Vec::new()
            }
            There::Damaged => return Err(Error::NotSupported),
        };
        let len = u32::try_from(value.len()).map_err(|_| Error::FileTooLarge)?;
        match listed.iter_mut().find(|listed| listed.name == name) {
            Some(listed) if listed.len == len => return touch(file.object),
            Some(listed) => listed.len = len,
            None => listed.push(NetatalkAttribute { name: name.to_vec(), len }),
        }
        let bytes = netatalk_list::build(&listed).ok_or(Error::FileTooLarge)?;
        write(&books, file, &list, &bytes)?;
        touch(file.object)
    }

    /// Removes one: first from the list, then its value.
    pub(super) fn drop_listed(&self, file: &File<'_>, name: &[u8]) -> Result<()> {
        let Some((folder, list, mut listed)) = self.netatalk_list(file)? else { return Ok(()) };
        listed.retain(|listed| listed.name != name);
        let (root, value) = (Caller::root(), value_file(&*folder, &list, name)?);
        let name = list[..list.len() - netatalk_list::SUFFIX.len()].to_vec();
        let books = Books { keeper: HeaderOwner::Netatalk, folder, name };
        match listed.is_empty() {
            true => drop(found(books.folder.remove(&root, &list))?),
            false => {
                let bytes = netatalk_list::build(&listed).ok_or(Error::FileTooLarge)?;
                write(&books, file, &list, &bytes)?;
            }
        }
        if let Some((_, value)) = value {
            found(books.folder.remove(&root, &value))?;
        }
        touch(file.object)
    }

    /// The attributes in the list at this place, as far as it is this file's.
    pub(super) fn listed_at(file: &File<'_>, books: &Books) -> Result<Vec<NetatalkAttribute>> {
        match look(file, books.clone())? {
            There::List(_, listed) => Ok(listed),
            There::Nothing(_) | There::Damaged => Ok(Vec::new()),
        }
    }

    /// The names of Netatalk's files of a file that are there: values, then the list, then the header.
    pub(super) fn names_of_books(file: &File<'_>, books: &Books) -> Result<Vec<Vec<u8>>> {
        let (list, mut names) = (books.list(), Vec::new());
        let listed = match books.keeper {
            HeaderOwner::Netatalk => Self::listed_at(file, books)?,
            HeaderOwner::Synology => Vec::new(), // one file has them all
        };
        for listed in listed {
            names.extend(value_file(&*books.folder, &list, &listed.name)?.map(|(_, name)| name));
        }
        if books.own(&list, &file.key())?.is_some() {
            names.push(list);
        }
        let header = books.header();
        if books.own(&header, &file.key())?.is_some() {
            names.push(header);
        }
        Ok(names)
    }
}

fn look(file: &File<'_>, books: Books) -> Result<There> {
    let list = books.list();
    if !books.folder.may_have(&list) {
        return Ok(There::Nothing(books));
    }
    let Some(there) = books.own(&list, &file.key())? else { return Ok(There::Nothing(books)) };
    Ok(match netatalk_list::parse(&beginning(&there, netatalk_list::MAX_LEN)?) {
        Ok(listed) => There::List(books, listed),
        Err(_) => There::Damaged,
    })
}

/// Makes a file with these bytes appear whole.
pub(super) fn write(books: &Books, file: &File<'_>, name: &[u8], bytes: &[u8]) -> Result<()> {
    let new = books.unfinished(&file.key())?;
    if !bytes.is_empty() {
        let root = Caller::root();
        new.object.prepare(&root, &new.attributes, Access::WRITE, true)?;
        new.object.write_at(&root, 0, bytes, Stability::Unstable)?;
    }
    books.finish(&*new.object, file, name)
}

/// The file with the value of an attribute in a list of Netatalk, and its name.
pub(super) fn value_file(folder: &dyn Object, list: &[u8], name: &[u8]) -> Result<Option<(Found, Vec<u8>)>> {
    for value in netatalk_list::value_files(list, name) {
        if let Some(there) = plain_file(folder, &value)? {
            return Ok(Some((there, value)));
        }
    }
    Ok(None)
}

/// A file with one name: a file with more could be one that the owner of this folder may not read.
pub(super) fn plain_file(folder: &dyn Object, name: &[u8]) -> Result<Option<Found>> {
    let there = found(folder.lookup(&Caller::root(), name))?;
    Ok(there.filter(|there| there.attributes.kind == Kind::File && there.attributes.links == 1))
}

pub(super) fn beginning(there: &Found, most: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let len = usize::try_from(there.attributes.size).unwrap_or(usize::MAX).min(most).min(MAX_VALUES);
    if len > 0 {
        there.object.prepare(&Caller::root(), &there.attributes, Access::READ, true)?;
        there.object.read_at(0, len, &mut bytes, Wait::Allowed)?;
    }
    Ok(bytes)
}
