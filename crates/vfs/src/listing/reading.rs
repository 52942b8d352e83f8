//! Reading what is to be kept of a folder.

use super::names::{Name, Names};
use crate::backend::Node;
use crate::backend::{Backend, DataNotice, ListEntry, WatchId};
use crate::names::{Folding, folds_alike};
use crate::{Attributes, Result};

/// A watch on a folder, if it is not too small to be worth one.
pub(super) fn watch(backend: &dyn Backend, folder: &Node, attributes: &Attributes) -> Option<WatchId> {
    let is_small = attributes.size <= 4096 && attributes.allocated != 0;
    if is_small { None } else { backend.watch(folder.as_ref(), DataNotice::EachWrite) }
}

/// All names of a folder, sidecars and the server's own included. `None` when they take more than so many bytes.
pub(super) fn read_names(folder: &Node, most: usize) -> Result<Option<Names>> {
    let mut names = Names::default();
    let complete = folder.list(0, &mut |entry: ListEntry<'_>| {
        if !matches!(entry.name, b"." | b"..") {
            names.add(entry.name);
        }
        names.bytes() <= most
    })?;
    Ok(complete.then_some(names))
}

/// The names that are the same, by a walk through the folder.
pub(super) fn names_among(folder: &Node, name: &[u8], folding: Folding) -> Result<Vec<Name>> {
    let mut alike: Vec<Name> = Vec::new();
    folder.list(0, &mut |entry: ListEntry<'_>| {
        if !matches!(entry.name, b"." | b"..") && folds_alike(entry.name, name, folding) {
            alike.push(entry.name.into());
        }
        true
    })?;
    alike.sort();
    Ok(alike)
}
