//! Old extended attributes: a few small name and value pairs. Names keep their case and are compared without it. What
//! protocols today call extended attributes are named streams here.

use std::cmp::Reverse;

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
    /// Its name, in the case in which it was set.
    pub name: Vec<u8>,
    /// Its value, never empty.
    pub value: Vec<u8>,
}

/// Another value for the attribute of this name; `None`, or an empty one, removes it.
pub type EaChange<'a> = (&'a [u8], Option<&'a [u8]>);

impl Volume {
    /// A file's old extended attributes, by name.
    pub fn eas(&self, of: &Found) -> Result<Vec<Ea>> {
        read(&*of.object, self::of)
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
        let before = read(&*of.object, every)?;
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

/// What has to be done. Removals come first, because they make room; but an attribute that changes the case of its name is
/// set before its old name is removed, so that a failure in between loses no value.
fn steps(before: Vec<Ea>, changes: &[EaChange<'_>]) -> Result<Vec<Step>> {
    let mut all = before.clone();
    for (name, value) in changes {
        let set = checked(name)?;
        let is_it = |ea: &Ea| ea.name.eq_ignore_ascii_case(set);
        let known = all.iter().find(|ea| is_it(ea) && ea.name.iter().any(u8::is_ascii_lowercase));
        // The name of an attribute that is set again stays. A name in capitals only does not, because it says nothing about
        // case: earlier versions of this server and many programs for Windows write every name so.
        let name = known.map_or(set, |ea| &ea.name).to_vec();
        all.retain(|ea| !is_it(ea));
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            all.push(Ea { name, value: value.to_vec() });
        }
    }
    if all.iter().map(|ea| ea.name.len() + ea.value.len()).sum::<usize>() > MAX_EA_BYTES {
        return Err(Error::TooMany);
    }
    let names_gone = before.iter().filter(|ea| all.iter().all(|kept| kept.name != ea.name));
    let (cased, gone): (Vec<&Ea>, Vec<&Ea>) =
        names_gone.partition(|ea| all.iter().any(|kept| kept.name.eq_ignore_ascii_case(&ea.name)));
    let removal = |ea: &&Ea| (ea.name.clone(), None);
    let mut steps: Vec<Step> = gone.iter().map(removal).collect();
    steps.extend(all.into_iter().filter(|ea| !before.contains(ea)).map(|ea| (ea.name, Some(ea.value))));
    steps.extend(cased.iter().map(removal));
    Ok(steps)
}

fn checked(name: &[u8]) -> Result<&[u8]> {
    match name.len() {
        0 => Err(Error::InvalidName),
        _ if name.contains(&0) => Err(Error::InvalidName),
        length if length > MAX_EA_NAME => Err(Error::NameTooLong),
        _ => Ok(name),
    }
}

fn stored(name: &[u8]) -> Vec<u8> {
    [PREFIX, name].concat()
}

type Read<'a> = &'a dyn Fn(&[u8]) -> Result<Vec<u8>>;
type Which = fn(Read<'_>, &[Vec<u8>]) -> Result<Vec<Ea>>;

fn read(object: &dyn Object, which: Which) -> Result<Vec<Ea>> {
    match object.list_xattrs() {
        Ok(names) => which(&|name| object.xattr(name), &names),
        Err(Error::NotSupported) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Those among a file's attributes of the host, whose values `read` gives. Of names that differ in case only, the one with
/// small letters counts: a crash can leave both.
pub(crate) fn of(read: Read<'_>, xattrs: &[Vec<u8>]) -> Result<Vec<Ea>> {
    let mut eas = every(read, xattrs)?;
    eas.dedup_by(|later, earlier| later.name.eq_ignore_ascii_case(&earlier.name));
    Ok(eas)
}

/// The same with those that do not count, in the order of the names without case.
fn every(read: Read<'_>, xattrs: &[Vec<u8>]) -> Result<Vec<Ea>> {
    let mut eas = Vec::new();
    for (stored, name) in xattrs.iter().filter_map(|stored| Some((stored, stored.strip_prefix(PREFIX)?))) {
        match read(stored) {
            Ok(value) => eas.push(Ea { name: name.to_vec(), value }),
            Err(Error::NoSuchAttribute) => {}
            Err(error) => return Err(error),
        }
    }
    eas.sort_by_cached_key(|ea| (ea.name.to_ascii_uppercase(), Reverse(ea.name.clone())));
    Ok(eas)
}
