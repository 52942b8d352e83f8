//! Whether the files that keys name exist.
//!
//! Where the host opens files by their keys, it knows. Where it does not (the server of an ordinary user), the tree is walked
//! twice before the scrub: once for the keys that are of interest, once for the files that have them.

use std::collections::HashMap;

use super::walk::{self, Visitor};
use crate::backend::Node;
use crate::backend::{Backend, Finds, Found};
use crate::caller::server;
use crate::mac::layout::is_sidecar_name;
use crate::names::own::is_own_name;
use crate::streams::{MOVING, OWNER, pair, store};
use crate::{Error, HostKey, Kind, Result};

/// Keys that are looked for by a walk. With more, what is not seen is unknown.
const MOST: usize = 1 << 20;

/// A file that a key names.
pub(super) enum Living {
    /// It exists; its path, if that is known.
    Alive(Found, Option<Vec<Vec<u8>>>),
    /// It does not exist.
    Gone,
    /// That cannot be told.
    Unknown,
}

/// What a walk has found.
pub(super) struct Census {
    /// The keys of interest, with the paths of the files that have them.
    paths: HashMap<HostKey, Option<Vec<Vec<u8>>>>,
    /// All files of the share were seen.
    complete: bool,
}

impl Census {
    /// Walks the tree, if that is needed. `goes_on` answers false if the scrub is to end.
    pub(super) fn new(backend: &dyn Backend, goes_on: &mut dyn FnMut() -> bool) -> Result<Self> {
        let root = backend.root()?.object;
        let mut census = Self { paths: HashMap::new(), complete: true };
        if backend.finds(&root.key()) == Finds::Always {
            return Ok(census);
        }
        if let Ok(store) = root.lookup(server(), store::STORE) {
            let keys = store::names(&*store.object)?;
            census
                .paths
                .extend(keys.iter().filter_map(|name| store::folder_key(name)).map(|key| (key, None)));
        }
        for searches in [false, true] {
            walk::tree(root.clone(), Vec::new(), &mut Taker { census: &mut census, searches, goes_on });
        }
        if let Some(path) = census.paths.get_mut(&root.key().local()) {
            *path = Some(Vec::new());
        }
        Ok(census)
    }

    /// The file that has this key.
    pub(super) fn find(&self, backend: &dyn Backend, key: &HostKey) -> Result<Living> {
        match backend.finds(key) {
            Finds::Always => match backend.by_key(key) {
                Ok(found) => {
                    let path = backend.path_hint(&*found.object);
                    Ok(Living::Alive(found, path))
                }
                Err(Error::Stale) => Ok(Living::Gone),
                Err(other) => Err(other),
            },
            Finds::IfSeen => self.seen(backend, key),
            Finds::Never => Ok(Living::Unknown),
        }
    }

    fn seen(&self, backend: &dyn Backend, key: &HostKey) -> Result<Living> {
        let Some(path) = self.paths.get(&key.local()) else { return Ok(Living::Unknown) };
        let Some(path) = path else {
            return Ok(if self.complete { Living::Gone } else { Living::Unknown });
        };
        let root = backend.root()?;
        let names: Vec<&[u8]> = path.iter().map(|name| &name[..]).collect();
        let found = if names.is_empty() { Ok(root) } else { root.object.lookup_path(server(), &names) };
        // It may have moved since the walk.
        Ok(match found {
            Ok(found) if found.object.key().local() == key.local() => {
                Living::Alive(found, Some(path.clone()))
            }
            _ => Living::Unknown,
        })
    }
}

/// The first walk takes the keys of interest, the second one searches for the files that have them.
struct Taker<'a> {
    census: &'a mut Census,
    searches: bool,
    goes_on: &'a mut dyn FnMut() -> bool,
}

impl Taker<'_> {
    fn take(&mut self, folder: &Node, name: &[u8], path: &[Vec<u8>]) -> Result<Kind> {
        if self.searches {
            let (key, attributes) = folder.entry(server(), name)?;
            if let Some(known) = self.census.paths.get_mut(&key.local()) {
                *known = Some([path, &[name.to_vec()]].concat());
            }
            return Ok(attributes.kind);
        }
        let glance = folder.glance(server(), name)?;
        let has = |xattr: &[u8]| glance.xattrs.iter().any(|name| name == xattr);
        let mut keys = Vec::new();
        if is_sidecar_name(name) && has(OWNER) {
            keys.extend(HostKey::new(&folder.glance_xattr(server(), name, OWNER)?));
        }
        if has(MOVING) {
            let mark = folder.glance_xattr(server(), name, MOVING)?;
            keys.extend(pair::unpack(&mark).map(|(folder, _)| folder));
        }
        for key in keys {
            if self.census.paths.len() < MOST {
                self.census.paths.entry(key).or_insert(None);
            } else {
                self.census.complete = false;
            }
        }
        Ok(glance.attributes.kind)
    }
}

impl Visitor for Taker<'_> {
    fn look(&mut self, folder: &Node, name: &[u8], path: &[Vec<u8>]) -> bool {
        match self.take(folder, name, path) {
            Ok(kind) => kind == Kind::Folder && !is_own_name(name),
            Err(Error::NotFound) => false,
            Err(_) => {
                self.census.complete = false;
                false
            }
        }
    }

    fn unreadable(&mut self, _: &[Vec<u8>], _: Error) {
        self.census.complete = false;
    }

    fn goes_on(&mut self) -> bool {
        let goes_on = (self.goes_on)();
        self.census.complete &= goes_on;
        goes_on
    }
}
