//! The folders in which other servers keep what they know of the files beside them. Clients do not
//! see them in listings, so a folder in which nothing else is left is empty to them.

use super::{Streams, store};
use crate::backend::Object;
use crate::mac::layout::{NETATALK2_FOLDER, SYNOLOGY_FOLDER};
use crate::{Caller, Error, Kind, Result};

/// How deep such a folder may be: DSM makes a folder for each file in `@eaDir`.
const DEEPEST: usize = 3;

impl Streams {
    /// Removes what other servers know of the files of a folder, as the caller. `false` if there is
    /// anything else in it: then nothing is removed.
    pub(super) fn remove_books(&self, caller: &Caller, folder: &dyn Object) -> Result<bool> {
        let names = store::names(folder)?;
        if names.is_empty() || !names.iter().all(|name| is_book(name)) {
            return Ok(false);
        }
        for name in &names {
            remove_all(caller, folder, name, DEEPEST)?;
        }
        Ok(true)
    }
}

fn is_book(name: &[u8]) -> bool {
    [NETATALK2_FOLDER, SYNOLOGY_FOLDER].contains(&name)
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
