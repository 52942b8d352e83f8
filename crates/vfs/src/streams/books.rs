//! The folders in which other servers keep what they know of the files beside them. Clients do not
//! see them in listings, so a folder in which nothing else is left is empty to them.

use super::header::UNFINISHED;
use super::{sidecar, store};
use crate::backend::{Found, Object};
use crate::mac::layout::{NETATALK2_FOLDER, SYNOLOGY_FOLDER};
use crate::{Caller, Error, Kind, Result};

/// How deep such a folder may be: DSM makes a folder for each file in `@eaDir`.
const DEEPEST: usize = 3;

/// Files that are looked at in such a folder. A folder with more is not empty.
const MOST: usize = 10_000;
/// How names of Netatalk's files of attributes end (`ea = ad`), and the names that such a file has
/// for each attribute continue.
const NETATALK_ATTRIBUTES: &[u8] = b"::EA";
/// How the names of DSM's own files begin, and how those of its attributes go on.
const SYNOLOGY_FILES: &[u8] = b"SYNO";
const SYNOLOGY_ATTRIBUTES: &[u8] = b"@Syno";

/// Removes what other servers know of the files of a folder, as the caller. `false` if there is
/// anything else in it, or in these folders: then nothing is removed. Clients of NFS see these
/// folders, and people may keep files in them.
pub(super) fn remove_books(caller: &Caller, folder: &dyn Object) -> Result<bool> {
    let names = store::names(folder)?;
    let mut left = MOST;
    for name in &names {
        if !is_book(caller, folder, name, &mut left)? {
            return Ok(false);
        }
    }
    for name in &names {
        remove_all(caller, folder, name, DEEPEST)?;
    }
    Ok(!names.is_empty())
}

/// Whether an entry is such a folder with nothing but that server's own files.
fn is_book(caller: &Caller, folder: &dyn Object, name: &[u8], left: &mut usize) -> Result<bool> {
    let is_own: fn(&[u8], Found) -> Result<bool> = match name {
        NETATALK2_FOLDER => is_of_netatalk,
        SYNOLOGY_FOLDER => is_of_synology,
        _ => return Ok(false),
    };
    let there = folder.lookup(caller, name)?;
    has_only(caller, there, DEEPEST, &is_own, left)
}

fn has_only(
    caller: &Caller,
    folder: Found,
    deep: usize,
    is_own: &dyn Fn(&[u8], Found) -> Result<bool>,
    left: &mut usize,
) -> Result<bool> {
    if folder.attributes.kind != Kind::Folder || deep == 0 {
        return Ok(false);
    }
    for name in store::names(&*folder.object)? {
        let Some(rest) = left.checked_sub(1) else { return Ok(false) };
        *left = rest;
        let there = folder.object.lookup(caller, &name)?;
        let may_go = match there.attributes.kind {
            Kind::Folder => has_only(caller, there, deep - 1, is_own, left)?,
            Kind::File => is_own(&name, there)?,
            _ => false,
        };
        if !may_go {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A header file, which may be empty, or a file of attributes, or one of this server that a crash has left.
fn is_of_netatalk(name: &[u8], there: Found) -> Result<bool> {
    let is_empty = there.attributes.size == 0 || name.starts_with(UNFINISHED.as_bytes());
    Ok(is_empty || has(name, NETATALK_ATTRIBUTES) || sidecar::read(there, false)?.parsed().is_some())
}

fn is_of_synology(name: &[u8], _: Found) -> Result<bool> {
    Ok(name.starts_with(SYNOLOGY_FILES) || has(name, SYNOLOGY_ATTRIBUTES))
}

fn has(name: &[u8], part: &[u8]) -> bool {
    name.windows(part.len()).any(|window| window == part)
}

/// Removes a file, or a folder that is at most `deep` folders deep.
fn remove_all(caller: &Caller, folder: &dyn Object, name: &[u8], deep: usize) -> Result<()> {
    let there = folder.lookup(caller, name)?;
    if there.attributes.kind != Kind::Folder {
        return folder.remove(caller, name);
    }
    if deep == 0 {
        return Err(Error::NotEmpty);
    }
    for inner in store::names(&*there.object)? {
        remove_all(caller, &*there.object, &inner, deep - 1)?;
    }
    folder.remove_folder(caller, name)
}
