//! A folder whose entries may have long names.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

use auth::Grant;

use super::heard::HeardNames;
use super::{entries, wrapped};
use crate::backend::forest::{Hidden, TeamGate};
use crate::backend::{Call, Found, Glance, ListEntry, NewKind, NewOwner, Object, RenameMode, first_step};
use crate::caller::server;
use crate::names::long::{NUMBERS, is_long, is_shortened, shortened};
use crate::{Attributes, Caller, Error, FileId, HostKey, Kind, Result, SetAttributes};

/// Entries of a listing that are looked at together, from the first shortened one on.
const TOGETHER: usize = 256;

pub(super) struct LongFolder {
    heard: Arc<HeardNames>,
    inner: Arc<dyn Object>,
}

/// The object of the backend below.
pub(super) fn bare(object: &dyn Object) -> &dyn Object {
    (object as &dyn Any).downcast_ref::<LongFolder>().map_or(object, |folder| &*folder.inner)
}

impl LongFolder {
    pub(super) fn new(heard: Arc<HeardNames>, inner: Arc<dyn Object>) -> Self {
        Self { heard, inner }
    }

    pub(super) fn inner(&self) -> &Arc<dyn Object> {
        &self.inner
    }

    fn found(&self, found: Found) -> Found {
        wrapped(&self.heard, found)
    }

    /// The name of an entry on the host.
    #[inline]
    fn on_host<'a>(&self, caller: &Caller, name: &'a [u8]) -> Result<Cow<'a, [u8]>> {
        if is_long(name) {
            self.find(caller, name).map(|(host, _)| Cow::Owned(host))
        } else {
            Ok(name.into())
        }
    }

    /// The entry of a long name, and its name on the host.
    fn find(&self, caller: &Caller, name: &[u8]) -> Result<(Vec<u8>, Found)> {
        let (host, found) = entries::find(&*self.inner, caller, name)?.ok_or(Error::NotFound)?;
        self.heard.remember(self.inner.id(), &host, Some(name));
        Ok((host, found))
    }

    /// An entry has got this name.
    fn came(&self, folder: &dyn Object, host: &[u8], name: &[u8]) {
        self.heard.remember(folder.id(), host, Some(name));
    }

    /// Entries that were put aside in a listing, with their whole names. False if the listing is not to go on.
    fn list_aside(&self, aside: Vec<Aside>, sink: &mut dyn FnMut(ListEntry<'_>) -> bool) -> bool {
        aside.into_iter().all(|Aside { name, id, kind, cookie }| {
            let whole = if is_shortened(&name) { entries::whole_name(&*self.inner, &name) } else { None };
            if is_shortened(&name) {
                self.heard.remember(self.inner.id(), &name, whole.as_deref());
            }
            sink(ListEntry { name: whole.as_deref().unwrap_or(&name), id, kind, cookie })
        })
    }
}

/// An entry of a listing.
struct Aside {
    name: Vec<u8>,
    id: FileId,
    kind: Option<Kind>,
    cookie: u64,
}

impl Object for LongFolder {
    fn id(&self) -> FileId {
        self.inner.id()
    }

    fn key(&self) -> HostKey {
        self.inner.key()
    }

    fn kind(&self) -> Kind {
        self.inner.kind()
    }

    fn attributes(&self) -> Result<Attributes> {
        self.inner.attributes()
    }

    fn lookup(&self, caller: &Caller, name: &[u8]) -> Result<Found> {
        match is_long(name) {
            true => self.find(caller, name).map(|(_, found)| self.found(found)),
            false => Ok(self.found(self.inner.lookup(caller, name)?)),
        }
    }

    fn glance(&self, caller: &Caller, name: &[u8]) -> Result<Glance> {
        self.inner.glance(caller, &self.on_host(caller, name)?)
    }

    fn entry(&self, caller: &Caller, name: &[u8]) -> Result<(HostKey, Attributes)> {
        self.inner.entry(caller, &self.on_host(caller, name)?)
    }

    fn entry_attributes(&self, caller: &Caller, name: &[u8]) -> Result<Attributes> {
        self.inner.entry_attributes(caller, &self.on_host(caller, name)?)
    }

    fn glance_xattr(&self, caller: &Caller, name: &[u8], xattr: &[u8]) -> Result<Vec<u8>> {
        self.inner.glance_xattr(caller, &self.on_host(caller, name)?, xattr)
    }

    fn may_have(&self, name: &[u8]) -> bool {
        match is_long(name) {
            true => (0..NUMBERS).any(|number| self.inner.may_have(&shortened(name, number))),
            false => self.inner.may_have(name),
        }
    }

    fn lookup_path(&self, caller: &Caller, path: &[&[u8]]) -> Result<Found> {
        // The backend below follows a path without long names in one step.
        if !path.iter().any(|name| is_long(name)) {
            return Ok(self.found(self.inner.lookup_path(caller, path)?));
        }
        first_step(self, caller, path)
    }

    fn parent(&self) -> Result<Found> {
        Ok(self.found(self.inner.parent()?))
    }

    fn create(&self, caller: &Caller, name: &[u8], new: NewKind<'_>, mode: u32) -> Result<Found> {
        if !is_long(name) {
            return Ok(self.found(self.inner.create(caller, name, new, mode)?));
        }
        let (host, found) = entries::create(&*self.inner, caller, name, (new, mode))?;
        self.came(&*self.inner, &host, name);
        Ok(self.found(found))
    }

    fn create_owned(&self, name: &[u8], new: NewKind<'_>, mode: u32, owner: NewOwner<'_>) -> Result<Found> {
        if !is_long(name) {
            return Ok(self.found(self.inner.create_owned(name, new, mode, owner)?));
        }
        let made = self.create(server(), name, new, mode)?;
        let ids = SetAttributes { uid: Some(owner.caller.uid), gid: owner.gid, ..SetAttributes::default() };
        made.object.set_attributes(server(), &ids)?;
        Ok(Found { attributes: made.object.attributes()?, object: made.object })
    }

    fn link(&self, caller: &Caller, target: &dyn Object, name: &[u8]) -> Result<()> {
        if !is_long(name) {
            return self.inner.link(caller, bare(target), name);
        }
        let host = entries::link(&*self.inner, caller, bare(target), name)?;
        self.came(&*self.inner, &host, name);
        Ok(())
    }

    fn remove(&self, caller: &Caller, name: &[u8]) -> Result<()> {
        self.inner.remove(caller, &self.on_host(caller, name)?)
    }

    fn remove_found(&self, caller: &Caller, name: &[u8], found: Option<&dyn Object>) -> Result<()> {
        self.inner.remove_found(caller, &self.on_host(caller, name)?, found.map(bare))
    }

    fn remove_folder(&self, caller: &Caller, name: &[u8]) -> Result<()> {
        entries::remove_folder(&*self.inner, caller, &self.on_host(caller, name)?)
    }

    fn rename(
        &self,
        caller: &Caller,
        name: &[u8],
        to: &dyn Object,
        new_name: &[u8],
        mode: RenameMode,
    ) -> Result<()> {
        let to = bare(to);
        if !is_long(name) && !is_long(new_name) {
            return self.inner.rename(caller, name, to, new_name, mode);
        }
        let from = self.on_host(caller, name)?;
        let host = entries::rename(caller, (&*self.inner, name, &from), (to, new_name), mode)?;
        if is_long(new_name) {
            self.came(to, &host, new_name);
        }
        if is_long(name) && mode == RenameMode::Exchange {
            self.came(&*self.inner, &from, name);
        }
        Ok(())
    }

    fn list(&self, cookie: u64, sink: &mut dyn FnMut(ListEntry<'_>) -> bool) -> Result<bool> {
        let mut from = cookie;
        loop {
            let mut aside: Vec<Aside> = Vec::new();
            let mut is_full = false;
            // The host is in the middle of a listing, so it is not asked for attributes until that stops.
            let ended = self.inner.list(from, &mut |entry| {
                if aside.is_empty() && !is_shortened(entry.name) {
                    return sink(entry);
                }
                let ListEntry { name, id, kind, cookie } = entry;
                aside.push(Aside { name: name.to_vec(), id, kind, cookie });
                is_full = aside.len() >= TOGETHER;
                !is_full
            })?;
            from = aside.last().map_or(from, |last| last.cookie);
            if !self.list_aside(aside, sink) {
                return Ok(false);
            }
            if !is_full || ended {
                return Ok(ended);
            }
        }
    }

    fn unlisted_name(&self, entry: &dyn Object) -> Option<Vec<u8>> {
        self.inner.unlisted_name(bare(entry))
    }

    fn name_on_host(&self, name: &[u8]) -> Option<Vec<u8>> {
        if is_long(name) { self.find(server(), name).ok().map(|(host, _)| host) } else { None }
    }

    fn is_heard(&self) -> bool {
        self.inner.is_heard()
    }

    fn is_remote(&self) -> bool {
        self.inner.is_remote()
    }

    fn is_read_only(&self) -> bool {
        self.inner.is_read_only()
    }

    fn admits(&self, caller: &Caller) -> Option<Grant> {
        self.inner.admits(caller)
    }

    fn gate(&self) -> Option<TeamGate> {
        self.inner.gate()
    }

    fn hidden(&self) -> Option<Arc<Hidden>> {
        self.inner.hidden()
    }

    fn through(&self, _: Call) -> Result<&dyn Object> {
        Ok(&*self.inner)
    }

    fn peer<'a>(&self, other: &'a dyn Object) -> Result<&'a dyn Object> {
        Ok(bare(other))
    }

    /// The backend below, and other volumes of it, must find their own kind of object.
    fn as_any(&self) -> &dyn Any {
        self.inner.as_any()
    }
}
