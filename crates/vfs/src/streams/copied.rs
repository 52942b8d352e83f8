//! Streams in a copy of a share's folder whose files are new files of the host: a snapshot made of
//! clones. Sidecars and folders of the store name their files by the host's keys, and those of the
//! copies are others. So they get the keys of the copies, before the copy is used.

use std::collections::HashMap;
use std::sync::Arc;

use super::store::{STORE, folder_key, folder_name, names};
use super::{OWNER, SIDECAR, found};
use crate::backend::{Backend, Object, RenameMode, XattrMode};
use crate::caller::server;
use crate::mac::layout::{is_sidecar_name, sidecar_owner};
use crate::{HostKey, Kind, Result};

/// A live folder, and its copy.
type Pair = (Arc<dyn Object>, Arc<dyn Object>);

/// Gives the sidecars and the store of a copy the keys of the copied files. What belongs to a file
/// that was moved or removed meanwhile stays as it is, and is not found in the copy.
pub fn rekey_copy(live: &dyn Backend, copy: &dyn Backend) -> Result<()> {
    let (live, copy) = (live.root()?.object, copy.root()?.object);
    let store = found(copy.lookup(server(), STORE))?.filter(|store| store.attributes.kind == Kind::Folder);
    let mut stored = HashMap::new();
    if let Some(store) = &store {
        let keys = names(&*store.object)?.into_iter().filter_map(|name| folder_key(&name));
        stored.extend(keys.map(|key| (key, None)));
    }
    let mut folders: Vec<Pair> = vec![(live, copy)];
    while let Some((live, copy)) = folders.pop() {
        for (name, kind) in entries(&*copy)? {
            if kind == Some(Kind::Folder) || kind.is_none() {
                folders.extend(inner(&*live, &*copy, &name)?);
            }
            if is_sidecar_name(&name) {
                sidecar(&*live, &*copy, &name)?;
            }
            if !stored.is_empty()
                && let Some((was, _)) = found(live.entry(server(), &name))?
                && let Some(now) = stored.get_mut(&was.local())
            {
                *now = found(copy.entry(server(), &name))?.map(|(key, _)| key.local());
            }
        }
    }
    let Some(store) = store.map(|store| store.object) else { return Ok(()) };
    for (was, now) in stored {
        if let Some(now) = now {
            store.rename(server(), &folder_name(&was), &*store, &folder_name(&now), RenameMode::Keep)?;
        }
    }
    Ok(())
}

/// The entries of a folder, without the server's own store.
fn entries(folder: &dyn Object) -> Result<Vec<(Vec<u8>, Option<Kind>)>> {
    let mut entries = Vec::new();
    folder.list(0, &mut |entry| {
        if !matches!(entry.name, b"." | b"..") && entry.name != STORE {
            entries.push((entry.name.to_vec(), entry.kind));
        }
        true
    })?;
    Ok(entries)
}

/// A folder of the same name in both, on the file system of the folder that it is in.
fn inner(live: &dyn Object, copy: &dyn Object, name: &[u8]) -> Result<Option<Pair>> {
    let both = found(live.lookup(server(), name))?.zip(found(copy.lookup(server(), name))?);
    let Some((inner, copied)) = both else { return Ok(None) };
    let are_folders = inner.attributes.kind == Kind::Folder && copied.attributes.kind == Kind::Folder;
    let is_here = inner.object.id().device == live.id().device;
    Ok((are_folders && is_here).then_some((inner.object, copied.object)))
}

/// The sidecar of a file names the copy of the file.
fn sidecar(live: &dyn Object, copy: &dyn Object, name: &[u8]) -> Result<()> {
    let Some(owner) = sidecar_owner(name) else { return Ok(()) };
    let Some(sidecar) = found(copy.lookup(server(), name))? else { return Ok(()) };
    let Some(key) = found(sidecar.object.xattr(OWNER))?.and_then(|key| HostKey::new(&key)) else {
        return Ok(());
    };
    let is_of = found(live.entry(server(), owner))?.is_some_and(|(owner, _)| owner.local() == key);
    let Some(owner) = found(copy.lookup(server(), owner))?.filter(|_| is_of) else { return Ok(()) };
    let set = |of: &dyn Object, name, key: HostKey| {
        of.set_xattr(server(), name, key.local().as_bytes(), XattrMode::Set)
    };
    set(&*sidecar.object, OWNER, owner.object.key())?;
    match found(owner.object.xattr(SIDECAR))? {
        Some(_) => set(&*owner.object, SIDECAR, sidecar.object.key()),
        None => Ok(()),
    }
}
