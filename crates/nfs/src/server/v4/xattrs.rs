//! GETXATTR, SETXATTR, LISTXATTRS and REMOVEXATTR, RFC 8276: the attributes that SMB calls extended, by their exact names.

use vfs::backend::Found;
use vfs::{Access, Error, Kind, Xattr, XattrChange};
use wire::Writer;

use super::attributes::change;
use super::compound::Compound;
use super::data::changeable;
use super::fail::Fail;
use super::place::HandleTarget;
use crate::server::v3::Target;
use crate::wire::v4::types::{ChangeInfo, Name, Status, XattrValue};
use crate::wire::v4::xattrs::{ListXattrs, SetOption, SetXattr};
use crate::wire::xdr::{Encode, opaque_size};

/// The most bytes that a file's names and values may have together, as over SMB.
const MOST: usize = 64 * 1024 - 1;
/// The cookie, the number of names, and the flag of the end.
const LIST_HEAD: usize = 8 + 4 + 4;

/// The file or folder whose attributes are meant.
pub(super) fn described(place: &HandleTarget) -> Result<&Target, Status> {
    match place {
        HandleTarget::File(target) if target.sidecar.is_none() => match target.found.attributes.kind {
            Kind::File | Kind::Folder => Ok(target),
            _ => Err(Status::WRONG_TYPE),
        },
        _ => Err(Status::NOTSUPP),
    }
}

/// Its attributes, if the caller may read them: as its data.
fn readable(target: &Target) -> Result<Vec<Xattr>, Fail> {
    let volume = &target.export.volume;
    let granted = volume.access(&target.actor.caller, &target.found, Access::READ)?;
    if !granted.contains(Access::READ) {
        return Err(Status::ACCESS.into());
    }
    Ok(volume.xattrs(&target.found)?)
}

/// GETXATTR.
pub(super) fn get(compound: &Compound<'_>, name: &[u8], w: &mut Writer) -> Result<(), Fail> {
    let target = described(compound.current()?)?;
    let all = readable(target)?;
    let found = all.iter().find(|one| one.name == name).ok_or(Status::NOXATTR)?;
    if found.value.len() > XattrValue::LIMIT {
        return Err(Status::XATTR2BIG.into());
    }
    XattrValue::new(&found.value).encode(w);
    Ok(())
}

/// SETXATTR.
pub(super) fn set(compound: &mut Compound<'_>, request: &SetXattr<'_>, w: &mut Writer) -> Result<(), Fail> {
    let (name, value) = (&*request.name, &*request.value);
    let option = match request.option {
        option @ (SetOption::EITHER | SetOption::CREATE | SetOption::REPLACE) => option,
        _ => return Err(Status::INVAL.into()),
    };
    changed(compound, w, |all| {
        let known = all.iter().any(|one| one.name == name);
        match option {
            SetOption::CREATE if known => return Err(Error::Exists),
            SetOption::REPLACE if !known => return Err(Error::NoSuchAttribute),
            _ => {}
        }
        let others = all.iter().filter(|one| one.name != name);
        let size: usize = others.map(|one| one.name.len() + one.value.len()).sum();
        if size + name.len() + value.len() > MOST {
            return Err(Error::TooMany);
        }
        Ok(vec![(name.to_vec(), Some(value.to_vec()))])
    })
}

/// REMOVEXATTR.
pub(super) fn remove(compound: &mut Compound<'_>, name: &Name<'_>, w: &mut Writer) -> Result<(), Fail> {
    let name = &**name;
    changed(compound, w, |all| match all.iter().any(|one| one.name == name) {
        true => Ok(vec![(name.to_vec(), None)]),
        false => Err(Error::NoSuchAttribute),
    })
}

/// Makes the changes that `plan` derives from the present attributes, and writes what they did to the change attribute.
fn changed(
    compound: &mut Compound<'_>,
    w: &mut Writer,
    plan: impl Fn(Vec<Xattr>) -> vfs::Result<Vec<XattrChange>>,
) -> Result<(), Fail> {
    let current = compound.refreshed()?.clone();
    let target = described(&current)?;
    changeable(target)?;
    if target.is_locked()? {
        return Err(Status::PERM.into());
    }
    let volume = &target.export.volume;
    let granted = volume.access(&target.actor.caller, &target.found, Access::WRITE)?;
    if !granted.contains(Access::WRITE) {
        return Err(Status::ACCESS.into());
    }
    volume.change_xattrs(&target.actor, &target.found, None, plan).map_err(status)?;
    let before = change(target.found.attributes.changed);
    let Found { object, .. } = &target.found;
    ChangeInfo { atomic: false, before, after: change(object.attributes()?.changed) }.encode(w);
    Ok(())
}

/// The statuses that only these operations have, RFC 8276 8.4.
fn status(error: Error) -> Fail {
    match error {
        Error::NoSuchAttribute => Status::NOXATTR.into(),
        Error::TooMany | Error::NoRoomForAttribute | Error::FileTooLarge => Status::XATTR2BIG.into(),
        Error::InvalidName => Status::INVAL.into(),
        other => other.into(),
    }
}

/// LISTXATTRS: the names in their order. The cookie is the number of names before.
pub(super) fn list(compound: &Compound<'_>, request: &ListXattrs, w: &mut Writer) -> Result<(), Fail> {
    let target = described(compound.current()?)?;
    let mut names: Vec<Vec<u8>> = readable(target)?.into_iter().map(|one| one.name).collect();
    names.sort();
    let first = usize::try_from(request.cookie).ok().filter(|first| *first <= names.len());
    let rest = &names[first.ok_or(Status::BAD_COOKIE)?..];
    let mut room = (request.max_count as usize).min(compound.room(w));
    room = room.checked_sub(LIST_HEAD).ok_or(Status::TOOSMALL)?;
    let fitting = rest.iter().take_while(|name| {
        let left = room.checked_sub(opaque_size(name.len()));
        room = left.unwrap_or(0);
        left.is_some()
    });
    let fitting: Vec<_> = fitting.collect();
    if fitting.is_empty() && !rest.is_empty() {
        return Err(Status::TOOSMALL.into());
    }
    (request.cookie + fitting.len() as u64).encode(w);
    (fitting.len() as u32).encode(w);
    fitting.iter().for_each(|name| Name::new(name).encode(w));
    (fitting.len() == rest.len()).encode(w);
    Ok(())
}
