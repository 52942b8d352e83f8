//! Old extended attributes: a few small name and value pairs, whose names ignore case. What protocols today call extended
//! attributes are named streams here.

use crate::acl::Rights;
use crate::backend::{Found, Object, XattrMode};
use crate::events::Aspects;
use crate::{Actor, Beside, Caller, Error, Result, Volume};

/// What their names on the disk begin with.
pub(crate) const PREFIX: &[u8] = b"user.fourfold.ea.";
/// The longest name, in bytes: what a name of the host's leaves.
pub const MAX_EA_NAME: usize = 255 - PREFIX.len();
/// The most bytes that a file's names and values may have together.
pub const MAX_EA_BYTES: usize = 64 * 1024 - 1;

/// An old extended attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ea {
    /// Its name, in upper case.
    pub name: Vec<u8>,
    /// Its value, never empty.
    pub value: Vec<u8>,
}

/// Another value for the attribute of this name; `None`, or an empty one, removes it.
pub type EaChange<'a> = (&'a [u8], Option<&'a [u8]>);

impl Volume {
    /// A file's old extended attributes, by name.
    pub fn eas(&self, of: &Found) -> Result<Vec<Ea>> {
        read(&*of.object)
    }

    /// Changes some of them. All of the changes are looked at before the first is made.
    pub fn set_eas(
        &self,
        actor: &Actor,
        of: &Found,
        place: Option<Beside<'_>>,
        changes: &[EaChange<'_>],
    ) -> Result<()> {
        self.may_describe(actor, of, Rights::WRITE_NAMED)?;
        let _changing = self.claim(of, place);
        let before = read(&*of.object)?;
        let steps = steps(before, changes)?;
        if steps.is_empty() {
            return Ok(());
        }
        self.describe(actor, of, place, Aspects::XATTR, || {
            let object = &*of.object;
            steps.iter().try_for_each(|(name, value)| match value {
                Some(value) => object.set_xattr(&Caller::root(), &stored(name), value, XattrMode::Set),
                None => object.remove_xattr(&Caller::root(), &stored(name)),
            })
        })
    }
}

/// A name, and its new value if it is not to be removed.
type Step = (Vec<u8>, Option<Vec<u8>>);

/// What has to be done, removals first: they make room.
fn steps(mut all: Vec<Ea>, changes: &[EaChange<'_>]) -> Result<Vec<Step>> {
    let before = all.clone();
    for (name, value) in changes {
        let name = checked(name)?;
        all.retain(|ea| ea.name != name);
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            all.push(Ea { name, value: value.to_vec() });
        }
    }
    if all.iter().map(|ea| ea.name.len() + ea.value.len()).sum::<usize>() > MAX_EA_BYTES {
        return Err(Error::TooMany);
    }
    let gone = before.iter().filter(|ea| all.iter().all(|kept| kept.name != ea.name));
    let mut steps: Vec<_> = gone.map(|ea| (ea.name.clone(), None)).collect();
    let set = all.into_iter().filter(|ea| !before.contains(ea));
    steps.extend(set.map(|ea| (ea.name, Some(ea.value))));
    Ok(steps)
}

fn checked(name: &[u8]) -> Result<Vec<u8>> {
    match name.len() {
        0 => Err(Error::InvalidName),
        _ if name.contains(&0) => Err(Error::InvalidName),
        length if length > MAX_EA_NAME => Err(Error::NameTooLong),
        _ => Ok(name.to_ascii_uppercase()),
    }
}

fn stored(name: &[u8]) -> Vec<u8> {
    [PREFIX, name].concat()
}

fn read(object: &dyn Object) -> Result<Vec<Ea>> {
    match object.list_xattrs() {
        Ok(names) => of(&|name| object.xattr(name), &names),
        Err(Error::NotSupported) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Those among a file's attributes of the host, whose values `read` gives.
pub(crate) fn of(read: &dyn Fn(&[u8]) -> Result<Vec<u8>>, xattrs: &[Vec<u8>]) -> Result<Vec<Ea>> {
    let mut eas = Vec::new();
    for (stored, name) in xattrs.iter().filter_map(|stored| Some((stored, stored.strip_prefix(PREFIX)?))) {
        match read(stored) {
            Ok(value) => eas.push(Ea { name: name.to_vec(), value }),
            Err(Error::NoSuchAttribute) => {}
            Err(error) => return Err(error),
        }
    }
    eas.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(eas)
}
