//! Names longer than those of the host, on top of any backend.
//!
//! ```text
//! Volume ── whole names ──► LongNames ── names of at most 255 bytes ──► host, forest, memory
//! ```
//!
//! Above this backend a name has up to 255 UTF-16 units, and everything (sidecars, listings, events, opens) knows whole
//! names only. Below it the entry of a long name has a shortened name, and the file has the whole one in an attribute
//! ([`names::long`](crate::names::long)). Only folders have wrappers, as only they have entries. A name that the host can
//! hold is passed on as it is, after one comparison of its length. Listings and events look for the form of shortened
//! names, and only for an entry of that form the host is asked for the attribute. So a volume without long names costs no
//! call to the host, and needs no note that it has none.
//!
//! The shortened name, too, leads to the entry: it is what local programs use, and clients that cannot hold longer names.
//!
//! # Order of steps
//!
//! An attribute may have names that do not count, as each counts only for its own shortened name. So a new name is added
//! to the attribute before the entry gets it, and old names are removed after that. If the server stops in between, the
//! entry has either its old or its new name. A new file has a name of the server's own until it has the attribute.

mod entries;
mod folder;
mod heard;

use std::sync::Arc;

use self::folder::{LongFolder, bare};
use self::heard::HeardNames;
use super::{Backend, DataNotice, Found, Limits, Object, Space, WatchEvent, WatchId};
use crate::caller::server;
use crate::names::long::is_shortened;
use crate::{HostKey, Kind, Result};

/// A backend with long names.
pub(crate) struct LongNames {
    inner: Arc<dyn Backend>,
    heard: Arc<HeardNames>,
}

impl LongNames {
    /// `inner`, whose names have at most 255 bytes, with longer ones.
    pub(crate) fn over(inner: Arc<dyn Backend>) -> Self {
        Self { inner, heard: Arc::default() }
    }

    fn found(&self, found: Found) -> Found {
        wrapped(&self.heard, found)
    }

    /// Something may be moved from there to a long name.
    fn folder(&self, folder: Arc<dyn Object>) -> Arc<dyn Object> {
        Arc::new(LongFolder::new(self.heard.clone(), folder))
    }

    /// A path of names on the host as whole names.
    fn whole_path(&self, mut path: Vec<Vec<u8>>) -> Option<Vec<Vec<u8>>> {
        if !path.iter().any(|name| is_shortened(name)) {
            return Some(path);
        }
        let mut folder = self.inner.root().ok()?.object;
        let last = path.len() - 1;
        for (at, name) in path.iter_mut().enumerate() {
            let next = if at < last { Some(folder.lookup(server(), name).ok()?.object) } else { None };
            if let Some(whole) = entries::whole_name(&*folder, name) {
                *name = whole;
            }
            folder = next.unwrap_or(folder);
        }
        Some(path)
    }
}

/// A folder with its long names; anything else as it is.
fn wrapped(heard: &Arc<HeardNames>, Found { object, attributes }: Found) -> Found {
    let object = match attributes.kind {
        Kind::Folder => Arc::new(LongFolder::new(heard.clone(), object)),
        _ => object,
    };
    Found { object, attributes }
}

impl Backend for LongNames {
    fn behind(&self) -> Option<&dyn Backend> {
        Some(&*self.inner)
    }

    fn root(&self) -> Result<Found> {
        Ok(self.found(self.inner.root()?))
    }

    fn by_key(&self, key: &HostKey) -> Result<Found> {
        Ok(self.found(self.inner.by_key(key)?))
    }

    fn path_hint(&self, object: &dyn Object) -> Option<Vec<Vec<u8>>> {
        self.whole_path(self.inner.path_hint(bare(object))?)
    }

    fn homes(&self, key: &HostKey) -> Result<Vec<Arc<dyn Object>>> {
        Ok(self.inner.homes(key)?.into_iter().map(|home| self.folder(home)).collect())
    }

    fn above(&self) -> Vec<Arc<dyn Object>> {
        self.inner.above().into_iter().map(|above| self.folder(above)).collect()
    }

    fn has_mounts(&self) -> bool {
        self.inner.has_mounts()
    }

    fn space(&self, at: &dyn Object) -> Result<Space> {
        self.inner.space(bare(at))
    }

    fn limits(&self) -> Limits {
        self.inner.limits()
    }

    fn watch(&self, folder: &dyn Object, data: DataNotice) -> Option<WatchId> {
        let watch = self.inner.watch(bare(folder), data)?;
        if let Some(folder) = (folder as &dyn std::any::Any).downcast_ref::<LongFolder>() {
            self.heard.watched(watch, folder.inner());
        }
        Some(watch)
    }

    fn unwatch(&self, watch: WatchId, data: DataNotice) {
        self.heard.unwatched(watch);
        self.inner.unwatch(watch, data);
    }

    fn watch_events(&self, sink: &mut dyn FnMut(WatchEvent)) {
        let mut events = Vec::new();
        self.inner.watch_events(&mut |event| events.push(event));
        events.into_iter().for_each(|event| self.heard.tell(event, sink));
    }

    fn sync(&self) -> Result<()> {
        self.inner.sync()
    }
}
