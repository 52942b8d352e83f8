//! Look-up of a whole path, for protocols whose clients name files by paths.

use super::entry_name::EntryNames;
use crate::backend::{Found, MAX_PATH_DEPTH, Node, name_in};
use crate::names::Folding;
use crate::names::own::refuse_own;
use crate::{Caller, Error, Kind, Result, Volume};

/// The entry that a path leads to.
#[derive(Clone)]
pub struct ResolvedPath {
    /// The entry; `None` when only the last name is missing.
    pub found: Option<Found>,
    /// The stored name of the entry, or the name as given, which a new entry would get. Empty for an empty
    /// path.
    pub name: Vec<u8>,
    /// The folder that the entry is in, or would be in.
    pub parent: Found,
}

/// Why a path leads nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathError {
    /// At which component, from 0.
    pub at: usize,
    /// `NotFound`: a folder on the way is missing. `NotFolder`: what is there is no folder. `IsLink`: it is a link, which
    /// is for the protocol to follow.
    pub why: Error,
}

impl Volume {
    /// The stored names from the share's folder down to this folder, of which there are none for that folder itself.
    pub fn path_of(&self, folder: &Node) -> Result<Vec<Vec<u8>>> {
        let root = self.root()?;
        let mut path = Vec::new();
        let mut at = Found { object: folder.clone(), attributes: folder.attributes()? };
        while at.object.key() != root.object.key() {
            if path.len() >= MAX_PATH_DEPTH {
                return Err(Error::NameTooLong);
            }
            let above = at.object.parent()?;
            path.push(name_in(&above.object, &at.object)?);
            at = above;
        }
        path.reverse();
        Ok(path)
    }

    /// Follows a path from a folder; `.` and `..` are not among the names. Names are looked up as
    /// [`MacTree::lookup_folded`](crate::MacTree::lookup_folded) does. If all of them are exact, the folders on the way are one
    /// look-up. An empty path leads to the folder itself.
    pub fn lookup_path(
        &self,
        caller: &Caller,
        from: &Found,
        components: &[&[u8]],
        folding: Folding,
    ) -> std::result::Result<ResolvedPath, PathError> {
        if components.len() > MAX_PATH_DEPTH {
            return Err(PathError { at: MAX_PATH_DEPTH, why: Error::NameTooLong });
        }
        for (at, name) in components.iter().enumerate() {
            check(name).map_err(|why| PathError { at, why })?;
        }
        let Some((last, above)) = components.split_last() else {
            let (found, parent) = (Some(from.clone()), from.clone());
            return Ok(ResolvedPath { found, name: Vec::new(), parent });
        };
        // A stored ACL on the way decides which callers may pass, and the host does not know it.
        let in_one = !self.permissions().has_acls().map_err(|why| PathError { at: 0, why })?;
        let exact = match above {
            _ if !in_one => None,
            [] => Some(from.clone()),
            above => from.object.lookup_path(caller, above).ok(),
        };
        let exact = exact.filter(|found| found.attributes.kind == Kind::Folder);
        let mut is_missing = false;
        if let Some(parent) = &exact {
            match parent.object.lookup(caller, last) {
                Ok(found) => {
                    let (name, parent) = (last.to_vec(), parent.clone());
                    return Ok(ResolvedPath { found: Some(found), name, parent });
                }
                Err(error) => is_missing = error == Error::NotFound,
            }
        }
        self.names().lookup_steps(caller, (from, exact), (above, last), (folding, is_missing))
    }
}

impl EntryNames<'_> {
    /// Follows a path folder by folder, or from the last folder, if that was found. `is_missing`: there is no entry of exactly
    /// this path.
    fn lookup_steps(
        &self,
        caller: &Caller,
        (from, exact): (&Found, Option<Found>),
        (above, last): (&[&[u8]], &[u8]),
        (folding, is_missing): (Folding, bool),
    ) -> std::result::Result<ResolvedPath, PathError> {
        let mut parent = from.clone();
        let mut stored = Vec::with_capacity(above.len());
        match exact {
            Some(found) => {
                parent = found;
                stored = above.iter().map(|name| name.to_vec()).collect();
            }
            None => {
                for (at, name) in above.iter().enumerate() {
                    let failed = |why| PathError { at, why };
                    let (name, found) = self.lookup_folded(caller, &parent, name, folding).map_err(failed)?;
                    parent = folder(found).map_err(failed)?;
                    stored.push(name);
                }
            }
        }
        let found = match is_missing && stored == above {
            true => self.lookup_other_form(caller, &parent, last, folding),
            false => self.lookup_folded(caller, &parent, last, folding),
        };
        let (name, found) = match found {
            Ok((name, found)) => (name, Some(found)),
            Err(Error::NotFound) => (last.to_vec(), None),
            Err(why) => return Err(PathError { at: above.len(), why }),
        };
        Ok(ResolvedPath { found, name, parent })
    }
}

/// A folder to go on from.
fn folder(found: Found) -> Result<Found> {
    match found.attributes.kind {
        Kind::Folder => Ok(found),
        Kind::Link => Err(Error::IsLink),
        _ => Err(Error::NotFolder),
    }
}

/// A component that the host may be asked for in a path.
fn check(name: &[u8]) -> Result<()> {
    let is_path = matches!(name, b"" | b"." | b"..") || name.iter().any(|byte| matches!(byte, b'/' | 0));
    if is_path { Err(Error::InvalidName) } else { refuse_own(name) }
}
