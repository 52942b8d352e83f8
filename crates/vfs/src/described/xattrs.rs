//! Extended attributes by name, which protocols keep with a file besides its streams. Names are compared byte by byte, and
//! values have no meaning here. (What Macs call extended attributes are named streams.)

use crate::acl::Rights;
use crate::backend::{Found, Object, XattrMode};
use crate::changing::permitted::Plan;
use crate::events::Aspects;
use crate::{Actor, Beside, Caller, Error, Result, Volume};

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

/// The new value of the attribute with this name; `None` removes it.
pub type XattrChange = (Vec<u8>, Option<Vec<u8>>);

impl Volume {
    /// A file's extended attributes, in no particular order.
    pub fn xattrs(&self, of: &Found) -> Result<Vec<Xattr>> {
        read(&*of.object)
    }

    /// Makes the changes that `plan` derives from the present attributes, in their order. No other client changes the file's
    /// attributes in between.
    pub fn change_xattrs(
        &self,
        actor: &Actor,
        of: &Found,
        place: Option<Beside<'_>>,
        plan: impl FnOnce(Vec<Xattr>) -> Result<Vec<XattrChange>>,
    ) -> Result<()> {
        let permitted = self.permit(actor, Plan::Describe(of, Rights::WRITE_NAMED))?;
        let _changing = self.claim(of, place)?;
        let changes = plan(read(&*of.object)?)?;
        changes.iter().try_for_each(|(name, _)| Xattr::check_name(name))?;
        if changes.is_empty() {
            return Ok(());
        }
        self.describe(&permitted, of, place, Aspects::XATTR, || {
            changes.iter().try_for_each(|(name, value)| {
                let stored = [PREFIX, name].concat();
                match value {
                    Some(value) => of.object.set_xattr(&Caller::root(), &stored, value, XattrMode::Set),
                    None => of.object.remove_xattr(&Caller::root(), &stored),
                }
            })
        })
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

fn read(object: &dyn Object) -> Result<Vec<Xattr>> {
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
