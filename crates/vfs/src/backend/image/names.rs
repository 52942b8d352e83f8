//! Names in an image as names of the tree, and back.
//!
//! The tree has composed names without `/` and NUL. Hosts, which the code above is made for, have names of at most 255 bytes: a
//! longer name is shortened, and the file has the whole one in an attribute (`backend::long_names`).

use std::borrow::Cow;

use images::tree::{Entry, FileSystem, NodeId};

use super::fact;
use crate::names::long::{is_long, is_shortened, shortened};
use crate::names::own::is_own_name;
use crate::names::{to_hfs_nfd, to_nfc};
use crate::{Error, Result};

/// Stands for a NUL, which HFS+ allows in names.
const NUL: char = '\u{2400}';
/// Entries that are read at once.
pub(super) const PAGE: usize = 256;

/// The whole name of an entry in the tree. `None`: no client can have it.
pub(super) fn whole(name: &str) -> Option<Vec<u8>> {
    let plain: Cow<'_, str> = match name.contains(['/', '\0']) {
        true => name.replace('/', ":").replace('\0', &NUL.to_string()).into(),
        false => name.into(),
    };
    let composed = to_nfc(plain.as_bytes()).into_owned();
    let is_none = composed.is_empty() || matches!(&composed[..], b"." | b"..") || is_own_name(&composed);
    (!is_none).then_some(composed)
}

/// The name of an entry as hosts have it, and the whole one if that is longer.
pub(super) fn stored(name: &str) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
    let whole = whole(name)?;
    Some(if is_long(&whole) { (shortened(&whole, 0), Some(whole)) } else { (whole, None) })
}

/// The entry of a folder with this name, and its whole name if that is longer.
pub(super) fn find(files: &dyn FileSystem, folder: NodeId, name: &[u8]) -> Result<(Entry, Option<Vec<u8>>)> {
    if is_shortened(name)
        && let Some(found) = find_shortened(files, folder, name)?
    {
        return Ok(found);
    }
    let text = std::str::from_utf8(name).map_err(|_| Error::NotFound)?;
    for candidate in candidates(text) {
        match files.lookup(folder, &candidate) {
            // The file system may ignore the case of letters; the tree decides about that itself.
            Ok(entry) if whole(&entry.name).as_deref() == Some(name) => return Ok((entry, None)),
            Ok(_) | Err(images::Error::NotFound) => {}
            Err(error) => return Err(fact(&error)),
        }
    }
    Err(Error::NotFound)
}

/// The forms in which the image can have a name.
fn candidates(name: &str) -> Vec<String> {
    let mut all = vec![name.to_owned()];
    let add = |other: String, all: &mut Vec<String>| {
        if !all.contains(&other) {
            all.push(other);
        }
    };
    if !name.is_ascii() {
        let decomposed = to_hfs_nfd(name.as_bytes()).into_owned();
        add(String::from_utf8_lossy(&decomposed).into_owned(), &mut all);
    }
    if name.contains(NUL) {
        for at in 0..all.len() {
            add(all[at].replace(NUL, "\0"), &mut all);
        }
    }
    all
}

fn find_shortened(
    files: &dyn FileSystem,
    folder: NodeId,
    name: &[u8],
) -> Result<Option<(Entry, Option<Vec<u8>>)>> {
    let mut after: Option<String> = None;
    loop {
        let page = files.entries(folder, after.as_deref(), PAGE).map_err(|error| fact(&error))?;
        for entry in page.entries {
            if let Some((host, Some(whole))) = stored(&entry.name)
                && host == name
            {
                return Ok(Some((entry, Some(whole))));
            }
        }
        match page.next {
            Some(next) if after.as_ref() != Some(&next) => after = Some(next),
            _ => return Ok(None),
        }
    }
}
