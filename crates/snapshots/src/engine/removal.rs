//! The removal of trees however deep they are: with two descriptors, and no stack.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, openat, unlinkat};
use rustix::io::Errno;

use super::tree::FOLDER_FLAGS;

/// Removes a file, or a folder with all that is in it, if it exists. The tree must be one that only
/// the server changes: the way up is by `..`.
pub(crate) fn remove(path: &Path) -> Result<(), Errno> {
    match unlinkat(CWD, path, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(Errno::NOENT) => return Ok(()),
        removed => return removed,
    }
    let mut folder = openat(CWD, path, FOLDER_FLAGS, Mode::empty())?;
    let mut names: Vec<CString> = Vec::new();
    loop {
        match emptied(&folder)? {
            Some(inner) => {
                folder = openat(&folder, &inner, FOLDER_FLAGS, Mode::empty())?;
                names.push(inner);
            }
            None => {
                let Some(name) = names.pop() else { break };
                folder = openat(&folder, "..", FOLDER_FLAGS, Mode::empty())?;
                unlinkat(&folder, &name, AtFlags::REMOVEDIR)?;
            }
        }
    }
    unlinkat(CWD, path, AtFlags::REMOVEDIR)
}

/// Removes the files of a folder, and the folders that are empty. Returns the first other folder.
fn emptied(folder: impl std::os::fd::AsFd) -> Result<Option<CString>, Errno> {
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if [".", ".."].contains(&OsStr::from_bytes(name.to_bytes()).to_str().unwrap_or_default()) {
            continue;
        }
        match unlinkat(&folder, name, AtFlags::empty()) {
            Err(Errno::ISDIR | Errno::PERM) => match unlinkat(&folder, name, AtFlags::REMOVEDIR) {
                Err(Errno::NOTEMPTY | Errno::EXIST) => return Ok(Some(name.to_owned())),
                removed => removed?,
            },
            removed => removed?,
        }
    }
    Ok(None)
}
