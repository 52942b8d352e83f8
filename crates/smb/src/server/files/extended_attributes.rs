//! Extended attributes, which come from OS/2: a few small name and value pairs. Names keep their case and are compared
//! without it. (What Macs call extended attributes are named streams.)

use std::cmp::Reverse;

use vfs::backend::Found;
use vfs::{Error, Result, Volume, Xattr, XattrChange};

use crate::wire::Status;
use crate::wire::fscc::ea::FullEa;

/// The most bytes that a file's names and values may have together.
const MAX_BYTES: usize = 64 * 1024 - 1;

/// A file's extended attributes, by name. Of names that differ in case only, the one with small letters counts: a crash can
/// leave both.
pub(in crate::server) fn of(volume: &Volume, file: &Found) -> Result<Vec<Xattr>> {
    let mut all = in_order(volume.xattrs(file)?);
    all.dedup_by(|later, earlier| later.name.eq_ignore_ascii_case(&earlier.name));
    Ok(all)
}

/// Sets some of a file's extended attributes; an empty value removes one. If one change is not possible, none is made.
pub(in crate::server) async fn set(open: &vfs::Open, changes: &[FullEa]) -> std::result::Result<(), Status> {
    let result = open.change_xattrs(|before| steps(in_order(before), changes)).await;
    result.map_err(|error| match error {
        Error::InvalidName | Error::NameTooLong => Status::INVALID_EA_NAME,
        Error::TooMany | Error::NoRoomForAttribute | Error::FileTooLarge => Status::EA_TOO_LARGE,
        other => other.into(),
    })
}

/// Sorted by the names without case; of names that differ in case only, the one with small letters comes first.
fn in_order(mut all: Vec<Xattr>) -> Vec<Xattr> {
    all.sort_by_cached_key(|one| (one.name.to_ascii_uppercase(), Reverse(one.name.clone())));
    all
}

/// The changes to make. Removals come first, because they make room; but an attribute that changes the case of its name is
/// set before its old name is removed, so that a failure in between loses no value.
fn steps(before: Vec<Xattr>, changes: &[FullEa]) -> Result<Vec<XattrChange>> {
    let mut all = before.clone();
    for FullEa { name: set, value, .. } in changes {
        Xattr::check_name(set)?;
        let is_it = |one: &Xattr| one.name.eq_ignore_ascii_case(set);
        let known = all.iter().find(|one| is_it(one) && one.name.iter().any(u8::is_ascii_lowercase));
        // The name of an attribute that is set again stays. A name in capitals only does not, because it says nothing about
        // case: earlier versions of this server and many programs for Windows write every name so.
        let name = known.map_or(set, |one| &one.name).clone();
        all.retain(|one| !is_it(one));
        if !value.is_empty() {
            all.push(Xattr { name, value: value.clone() });
        }
    }
    if all.iter().map(|one| one.name.len() + one.value.len()).sum::<usize>() > MAX_BYTES {
        return Err(Error::TooMany);
    }
    let names_gone = before.iter().filter(|one| all.iter().all(|kept| kept.name != one.name));
    let (cased, gone): (Vec<&Xattr>, Vec<&Xattr>) =
        names_gone.partition(|one| all.iter().any(|kept| kept.name.eq_ignore_ascii_case(&one.name)));
    let removal = |one: &&Xattr| (one.name.clone(), None);
    let mut steps: Vec<XattrChange> = gone.iter().map(removal).collect();
    let new = all.into_iter().filter(|one| !before.contains(one));
    steps.extend(new.map(|one| (one.name, Some(one.value))));
    steps.extend(cased.iter().map(removal));
    Ok(steps)
}

#[cfg(test)]
mod tests;
