//! Extended attributes as the host keeps them with a file: the names have a prefix.

use crate::backend::{Object, XattrMode};
use crate::{Caller, Error, Result};

/// The prefix of their names on the host.
pub(crate) const PREFIX: &[u8] = b"user.fourfold.ea.";

/// An extended attribute of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Xattr {
    /// Its name, without the host's prefix.
    pub name: Vec<u8>,
    /// Its value.
    pub value: Vec<u8>,
}

impl Xattr {
    /// The longest name, in bytes: the host's limit without the prefix.
    pub const MAX_NAME: usize = 255 - PREFIX.len();

    /// Fails for a name that no attribute can have.
    pub fn check_name(name: &[u8]) -> Result<()> {
        match name.len() {
            0 => Err(Error::InvalidName),
            _ if name.contains(&0) => Err(Error::InvalidName),
            length if length > Self::MAX_NAME => Err(Error::NameTooLong),
            _ => Ok(()),
        }
    }
}

/// Gives a file exactly these extended attributes.
pub(crate) fn replace_xattrs(object: &dyn Object, all: &[Xattr]) -> Result<()> {
    let before = read(object)?;
    for gone in before.iter().filter(|one| all.iter().all(|other| other.name != one.name)) {
        object.remove_xattr(&Caller::root(), &[PREFIX, &gone.name].concat())?;
    }
    for one in all.iter().filter(|one| !before.contains(one)) {
        object.set_xattr(&Caller::root(), &[PREFIX, &one.name].concat(), &one.value, XattrMode::Set)?;
    }
    Ok(())
}

/// The extended attributes of a file, in no particular order.
pub(crate) fn read(object: &dyn Object) -> Result<Vec<Xattr>> {
    match object.list_xattrs() {
        Ok(names) => among(|name| object.xattr(name), &names),
        Err(Error::NotSupported) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// How many of the attributes that the host keeps with a file are extended attributes.
pub(crate) fn count(all: &[Vec<u8>]) -> usize {
    all.iter().filter(|stored| stored.starts_with(PREFIX)).count()
}

/// The extended attributes among all that the host keeps with a file. `read` returns the value of one.
pub(crate) fn among(read: impl Fn(&[u8]) -> Result<Vec<u8>>, all: &[Vec<u8>]) -> Result<Vec<Xattr>> {
    let mut xattrs = Vec::new();
    for (stored, name) in all.iter().filter_map(|stored| Some((stored, stored.strip_prefix(PREFIX)?))) {
        match read(stored) {
            Ok(value) => xattrs.push(Xattr { name: name.to_vec(), value }),
            Err(Error::NoSuchAttribute) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(xattrs)
}
