//! Entries with long names, in the folders of the backend below.

use std::hash::{BuildHasher, Hasher, RandomState};

use crate::backend::{Found, ListEntry, NewKind, Object, RenameMode, XattrMode};
use crate::caller::server;
use crate::names::long::{self, ATTRIBUTE, MAX_NAMES, NUMBERS, is_long, is_of, shortened};
use crate::names::own::UNFINISHED;
use crate::{Access, Caller, Error, Kind, Result, SetAttributes};

/// How often a move is tried again if others make and remove the entry at its target meanwhile.
const MOST_TRIES: usize = 8;

/// The whole name of the entry `host` of a folder; `None` if that is its own name.
pub(super) fn whole_name(folder: &dyn Object, host: &[u8]) -> Option<Vec<u8>> {
    let value = folder.glance_xattr(server(), host, ATTRIBUTE).ok()?;
    long::whole_name(host, &value).map(<[u8]>::to_vec)
}

/// The entry of a long name, and its name on the host.
pub(super) fn find(folder: &dyn Object, caller: &Caller, name: &[u8]) -> Result<Option<(Vec<u8>, Found)>> {
    long::check_long(name)?;
    for number in 0..NUMBERS {
        let host = shortened(name, number);
        match folder.lookup(caller, &host) {
            Ok(found) if names_of(&*found.object)?.iter().any(|one| one == name) => {
                return Ok(Some((host, found)));
            }
            Ok(_) | Err(Error::NotFound) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(None)
}

/// Makes a file or folder. Others cannot have a long name, as they have no attributes.
pub(super) fn create(
    folder: &dyn Object,
    caller: &Caller,
    name: &[u8],
    (new, mode): (NewKind<'_>, u32),
) -> Result<(Vec<u8>, Found)> {
    let is_folder = matches!(new, NewKind::Folder);
    if !is_folder && !matches!(new, NewKind::File) {
        return Err(Error::NameTooLong);
    }
    if find(folder, caller, name)?.is_some() {
        return Err(Error::Exists);
    }
    let unfinished = unfinished();
    // A server that is not root can set attributes only of a file that its owner may write.
    let mut found = folder.create(caller, &unfinished, new, mode | 0o200)?;
    let named = name_new(folder, caller, (&unfinished, &found), (name, mode));
    let host = named.inspect_err(|_| {
        let (object, by) = (&*found.object, server());
        let removed = match is_folder {
            true => folder.remove_folder(by, &unfinished),
            false => folder.remove_found(by, &unfinished, Some(object)),
        };
        if let Err(error) = removed {
            tracing::warn!(%error, "an unfinished file was not removed");
        }
    })?;
    found.attributes = found.object.attributes()?;
    Ok((host, found))
}

/// Gives a new file its attribute, its mode and then its name.
fn name_new(
    folder: &dyn Object,
    caller: &Caller,
    (unfinished, found): (&[u8], &Found),
    (name, mode): (&[u8], u32),
) -> Result<Vec<u8>> {
    set_names(&*found.object, &[name.to_vec()])?;
    if mode & 0o200 == 0 {
        let mode = SetAttributes { mode: Some(mode), ..SetAttributes::default() };
        found.object.set_attributes(server(), &mode)?;
    }
    for host in free_names(folder, name) {
        match folder.rename(caller, unfinished, folder, &host, RenameMode::Keep) {
            Ok(()) => return Ok(host),
            Err(Error::Exists) if find(folder, caller, name)?.is_none() => {}
            Err(other) => return Err(other),
        }
    }
    Err(Error::Exists)
}

/// Makes another name of a file.
pub(super) fn link(
    folder: &dyn Object,
    caller: &Caller,
    target: &dyn Object,
    name: &[u8],
) -> Result<Vec<u8>> {
    if target.kind() != Kind::File {
        return Err(Error::NameTooLong);
    }
    if find(folder, caller, name)?.is_some() {
        return Err(Error::Exists);
    }
    may_change(folder, caller)?;
    let before = add_name(target, None, name)?;
    let linked = free_names(folder, name).find_map(|host| match folder.link(caller, target, &host) {
        Ok(()) => Some(Ok(host)),
        Err(Error::Exists) if find(folder, caller, name).is_ok_and(|found| found.is_none()) => None,
        Err(other) => Some(Err(other)),
    });
    linked.unwrap_or(Err(Error::Exists)).inspect_err(|_| put_back(target, &before))
}

/// Removes an empty folder: also one in which nothing is but files that were never finished.
pub(super) fn remove_folder(folder: &dyn Object, caller: &Caller, host: &[u8]) -> Result<()> {
    match folder.remove_folder(caller, host) {
        Err(Error::NotEmpty) => {
            let going = folder.lookup(server(), host)?.object;
            let mut left: Vec<(Vec<u8>, Option<Kind>)> = Vec::new();
            going.list(0, &mut |ListEntry { name, kind, .. }| {
                let is_unfinished = name.starts_with(UNFINISHED);
                if is_unfinished {
                    left.push((name.to_vec(), kind));
                } else if !matches!(name, b"." | b"..") {
                    left.clear();
                    return false;
                }
                true
            })?;
            if left.is_empty() {
                return Err(Error::NotEmpty);
            }
            for (name, kind) in left {
                match kind {
                    Some(Kind::Folder) => going.remove_folder(caller, &name)?,
                    _ => going.remove(caller, &name)?,
                }
            }
            folder.remove_folder(caller, host)
        }
        other => other,
    }
}

/// An entry that is moved: its folder, its name, and its name on the host.
type From<'a> = (&'a dyn Object, &'a [u8], &'a [u8]);

/// Moves an entry if one of the two names is long. Returns the new name on the host.
pub(super) fn rename(
    caller: &Caller,
    from: From<'_>,
    to: (&dyn Object, &[u8]),
    mode: RenameMode,
) -> Result<Vec<u8>> {
    if mode == RenameMode::Exchange {
        return exchange(caller, from, to);
    }
    let (folder, _, host) = from;
    if !is_long(to.1) {
        folder.rename(caller, host, to.0, to.1, mode)?;
        settle(to.0, to.1);
        return Ok(to.1.to_vec());
    }
    // Before anything is changed.
    long::check_long(to.1)?;
    let moving = folder.lookup(caller, host)?.object;
    may_change(folder, caller)?;
    may_change(to.0, caller)?;
    let before = add_name(&*moving, Some(host), to.1)?;
    let moved = rename_to_long(caller, (folder, host), to, mode);
    match moved {
        Ok(new_host) => {
            settle(to.0, &new_host);
            Ok(new_host)
        }
        Err(error) => {
            put_back(&*moving, &before);
            Err(error)
        }
    }
}

fn rename_to_long(
    caller: &Caller,
    (folder, host): (&dyn Object, &[u8]),
    to: (&dyn Object, &[u8]),
    mode: RenameMode,
) -> Result<Vec<u8>> {
    for _ in 0..MOST_TRIES {
        if let Some((there, _)) = find(to.0, caller, to.1)? {
            folder.rename(caller, host, to.0, &there, mode)?;
            return Ok(there);
        }
        for free in free_names(to.0, to.1) {
            match folder.rename(caller, host, to.0, &free, RenameMode::Keep) {
                Ok(()) => return Ok(free),
                Err(Error::Exists) => {}
                Err(other) => return Err(other),
            }
        }
    }
    Err(Error::Exists)
}

fn exchange(caller: &Caller, (folder, name, host): From<'_>, to: (&dyn Object, &[u8])) -> Result<Vec<u8>> {
    let mine = folder.lookup(caller, host)?.object;
    let (there, theirs) = match is_long(to.1) {
        true => find(to.0, caller, to.1)?.ok_or(Error::NotFound)?,
        false => (to.1.to_vec(), to.0.lookup(caller, to.1)?),
    };
    may_change(folder, caller)?;
    may_change(to.0, caller)?;
    let add = |object: &dyn Object, host: &[u8], name: &[u8]| {
        if is_long(name) { add_name(object, Some(host), name).map(Some) } else { Ok(None) }
    };
    let before = add(&*mine, host, to.1)?;
    let exchanged = add(&*theirs.object, &there, name).and_then(|of_theirs| {
        let moved = folder.rename(caller, host, to.0, &there, RenameMode::Exchange);
        moved.inspect_err(|_| of_theirs.iter().for_each(|before| put_back(&*theirs.object, before)))
    });
    if let Err(error) = exchanged {
        before.iter().for_each(|before| put_back(&*mine, before));
        return Err(error);
    }
    settle(to.0, &there);
    settle(folder, host);
    Ok(there)
}

/// The attribute of a file is changed by the server before the host checks whether the caller may move the file.
fn may_change(folder: &dyn Object, caller: &Caller) -> Result<()> {
    let want = Access::WRITE.union(Access::EXECUTE);
    let granted = folder.access(caller, &folder.attributes()?, want)?;
    if granted.contains(want) { Ok(()) } else { Err(Error::AccessDenied) }
}

/// The shortened names of a name that are not taken. Its sidecar gets the number of the file, if it can.
fn free_names<'a>(folder: &'a dyn Object, name: &'a [u8]) -> impl Iterator<Item = Vec<u8>> + use<'a> {
    let of_file = crate::mac::layout::sidecar_owner(name).filter(|owner| is_long(owner));
    let of_file = of_file.and_then(|owner| find(folder, server(), owner).ok().flatten());
    let beside = of_file.map(|(host, _)| crate::mac::layout::sidecar_name(&host));
    let others = (0..NUMBERS).map(|number| shortened(name, number));
    let first = beside.clone().into_iter();
    first.chain(others.filter(move |host| Some(host) != beside.as_ref()))
}

/// The name of a file that is not finished.
fn unfinished() -> Vec<u8> {
    let random = RandomState::new().build_hasher().finish();
    [UNFINISHED, format!("{random:016x}").as_bytes()].concat()
}

/// The whole names that a file has. A malformed attribute has none.
fn names_of(object: &dyn Object) -> Result<Vec<Vec<u8>>> {
    match object.xattr(ATTRIBUTE) {
        Ok(value) => Ok(long::decode(&value).unwrap_or_default().into_iter().map(<[u8]>::to_vec).collect()),
        Err(Error::NoSuchAttribute | Error::NotSupported) => Ok(Vec::new()),
        Err(other) => Err(other),
    }
}

fn set_names(object: &dyn Object, names: &[Vec<u8>]) -> Result<()> {
    let set = match names {
        [] => object.remove_xattr(server(), ATTRIBUTE),
        _ => {
            let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
            object.set_xattr(server(), ATTRIBUTE, &long::encode(&names), XattrMode::Set)
        }
    };
    match set {
        Err(Error::NotSupported) => Err(Error::NameTooLong),
        Err(Error::NoSuchAttribute) => Ok(()),
        other => other,
    }
}

/// Adds a whole name to those of a file, and returns those that it had. If it has one link only, which is `host`, names of
/// others are stale and are dropped.
fn add_name(object: &dyn Object, host: Option<&[u8]>, name: &[u8]) -> Result<Vec<Vec<u8>>> {
    if !matches!(object.kind(), Kind::File | Kind::Folder) {
        return Err(Error::NameTooLong);
    }
    let before = names_of(object)?;
    if before.iter().any(|one| one == name) {
        return Ok(before);
    }
    let mut names = before.clone();
    if let Some(host) = host.filter(|_| has_one_link(object)) {
        names.retain(|one| is_of(one, host));
    }
    if names.len() >= MAX_NAMES {
        return Err(Error::TooManyLinks);
    }
    names.push(name.to_vec());
    set_names(object, &names)?;
    Ok(before)
}

fn has_one_link(object: &dyn Object) -> bool {
    object.kind() == Kind::Folder || object.attributes().is_ok_and(|attributes| attributes.links == 1)
}

/// Drops the names that a file with one link has besides that of `host`. They have no effect, so a failure does not matter.
fn settle(folder: &dyn Object, host: &[u8]) {
    let settled = folder.lookup(server(), host).and_then(|found| {
        let object = &*found.object;
        let before = names_of(object)?;
        if before.is_empty() || !has_one_link(object) {
            return Ok(());
        }
        let mut names = before.clone();
        names.retain(|one| is_of(one, host));
        if names == before { Ok(()) } else { set_names(object, &names) }
    });
    if let Err(error) = settled {
        tracing::debug!(%error, "a file keeps a former long name in its attribute");
    }
}

/// After a failure.
fn put_back(object: &dyn Object, names: &[Vec<u8>]) {
    if let Err(error) = set_names(object, names) {
        tracing::debug!(%error, "a file keeps a long name that it did not get in its attribute");
    }
}
