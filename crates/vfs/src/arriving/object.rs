//! A file or folder that may not be here yet.

use std::any::Any;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use auth::Grant;

use super::ArrivalState;
use super::file::{Fetch, FetchCell};
use crate::backend::forest::{Hidden, TeamGate};
use crate::backend::{Call, Found, Glance, ListEntry, NewKind, Object, RenameMode, Stability, Wait};
use crate::names::own::is_own_name;
use crate::{Attributes, Caller, Error, FileId, HostKey, Kind, Result, SetAttributes};

pub(super) struct ArrivingObject {
    shared: Arc<ArrivalState>,
    inner: Arc<dyn Object>,
    fetch: FetchCell,
}

/// The object of the backend below.
pub(super) fn inner_of(object: &dyn Object) -> &dyn Object {
    arriving(object).map_or(object, |arriving| &*arriving.inner)
}

/// Objects of the host are there, too: the server's own folders do not arrive.
fn arriving(object: &dyn Object) -> Option<&ArrivingObject> {
    (object as &dyn Any).downcast_ref()
}

impl ArrivingObject {
    pub(super) fn new(shared: Arc<ArrivalState>, inner: Arc<dyn Object>) -> Self {
        Self { shared, inner, fetch: FetchCell::new() }
    }

    fn found(&self, found: Found) -> Found {
        self.shared.wrapped(found)
    }

    /// The arrival of this file; `None` if its data are here.
    fn fetch(&self) -> Result<Option<&Arc<Fetch>>> {
        let known = match self.fetch.get() {
            Some(known) => known,
            None => {
                let found = self.shared.fetch(&self.inner)?;
                self.fetch.get_or_init(|| found)
            }
        };
        Ok(known.as_ref().filter(|fetch| fetch.is_under_way()))
    }

    /// Brings all data of this file.
    fn whole(&self) -> Result<()> {
        match self.fetch()? {
            Some(fetch) => fetch.whole(&self.shared, &*self.inner, &|| false),
            None => Ok(()),
        }
    }

    /// Brings the entries of this folder, which are needed to say anything of a name.
    fn listed(&self, name: &[u8]) -> Result<()> {
        if is_own_name(name) { Ok(()) } else { self.shared.list(&self.inner) }
    }

    /// A folder that is to be removed or replaced is empty only if nothing of it is still to come.
    fn listed_below(&self, caller: &Caller, name: &[u8]) -> Result<()> {
        if self.shared.is_done() {
            return Ok(());
        }
        match self.inner.lookup(caller, name) {
            Ok(there) if there.attributes.kind == Kind::Folder => self.shared.list(&there.object),
            _ => Ok(()),
        }
    }
}

impl Object for ArrivingObject {
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

    fn set_attributes(&self, caller: &Caller, changes: &SetAttributes) -> Result<()> {
        let change = || self.inner.set_attributes(caller, changes);
        match (self.fetch()?, changes.size) {
            (None, _) => change(),
            (Some(fetch), None) => fetch.between(change),
            (Some(fetch), Some(0)) => fetch.instead(&self.shared, &*self.inner, change),
            (Some(_), Some(_)) => {
                self.whole()?;
                change()
            }
        }
    }

    fn lookup(&self, caller: &Caller, name: &[u8]) -> Result<Found> {
        self.listed(name)?;
        Ok(self.found(self.inner.lookup(caller, name)?))
    }

    fn glance(&self, caller: &Caller, name: &[u8]) -> Result<Glance> {
        self.listed(name)?;
        self.inner.glance(caller, name)
    }

    fn entry(&self, caller: &Caller, name: &[u8]) -> Result<(HostKey, Attributes)> {
        self.listed(name)?;
        self.inner.entry(caller, name)
    }

    fn entry_attributes(&self, caller: &Caller, name: &[u8]) -> Result<Attributes> {
        self.listed(name)?;
        self.inner.entry_attributes(caller, name)
    }

    fn glance_xattr(&self, caller: &Caller, name: &[u8], xattr: &[u8]) -> Result<Vec<u8>> {
        self.listed(name)?;
        self.inner.glance_xattr(caller, name, xattr)
    }

    fn may_have(&self, name: &[u8]) -> bool {
        self.listed(name).is_err() || self.inner.may_have(name)
    }

    fn parent(&self) -> Result<Found> {
        Ok(self.found(self.inner.parent()?))
    }

    fn create(&self, caller: &Caller, name: &[u8], new: NewKind<'_>, mode: u32) -> Result<Found> {
        self.listed(name)?;
        Ok(self.found(self.inner.create(caller, name, new, mode)?))
    }

    fn link(&self, caller: &Caller, target: &dyn Object, name: &[u8]) -> Result<()> {
        self.listed(name)?;
        self.inner.link(caller, inner_of(target), name)
    }

    fn remove(&self, caller: &Caller, name: &[u8]) -> Result<()> {
        self.listed(name)?;
        self.inner.remove(caller, name)
    }

    fn remove_folder(&self, caller: &Caller, name: &[u8]) -> Result<()> {
        self.listed(name)?;
        self.listed_below(caller, name)?;
        self.inner.remove_folder(caller, name)
    }

    fn remove_found(&self, caller: &Caller, name: &[u8], found: Option<&dyn Object>) -> Result<()> {
        self.listed(name)?;
        self.inner.remove_found(caller, name, found.map(inner_of))
    }

    fn rename(
        &self,
        caller: &Caller,
        name: &[u8],
        to: &dyn Object,
        new_name: &[u8],
        mode: RenameMode,
    ) -> Result<()> {
        self.listed(name)?;
        if let Some(to) = arriving(to) {
            to.listed(new_name)?;
            to.listed_below(caller, new_name)?;
        }
        self.inner.rename(caller, name, inner_of(to), new_name, mode)
    }

    fn list(&self, cookie: u64, sink: &mut dyn FnMut(ListEntry<'_>) -> bool) -> Result<bool> {
        self.shared.list(&self.inner)?;
        self.inner.list(cookie, sink)
    }

    fn unlisted_name(&self, entry: &dyn Object) -> Option<Vec<u8>> {
        self.inner.unlisted_name(inner_of(entry))
    }

    fn name_on_host(&self, name: &[u8]) -> Option<Vec<u8>> {
        self.inner.name_on_host(name)
    }

    fn read_at(&self, offset: u64, length: usize, into: &mut Vec<u8>, wait: Wait) -> Result<usize> {
        if let Some(fetch) = self.fetch()? {
            if wait == Wait::Never {
                return Err(Error::WouldBlock);
            }
            fetch.range(&self.shared, &*self.inner, offset, length as u64)?;
        }
        self.inner.read_at(offset, length, into, wait)
    }

    fn write_at(&self, caller: &Caller, offset: u64, data: &[u8], stability: Stability) -> Result<()> {
        self.whole()?;
        self.inner.write_at(caller, offset, data, stability)
    }

    fn truncate(&self, caller: &Caller, size: u64) -> Result<()> {
        let cut = || self.inner.truncate(caller, size);
        match self.fetch()? {
            Some(fetch) if size == 0 => fetch.instead(&self.shared, &*self.inner, cut),
            _ => {
                self.whole()?;
                cut()
            }
        }
    }

    fn allocate(&self, caller: &Caller, length: u64) -> Result<()> {
        self.whole()?;
        self.inner.allocate(caller, length)
    }

    fn reserve(&self, caller: &Caller, offset: u64, length: u64) -> Result<()> {
        self.whole()?;
        self.inner.reserve(caller, offset, length)
    }

    fn punch(&self, caller: &Caller, offset: u64, length: u64) -> Result<()> {
        self.whole()?;
        self.inner.punch(caller, offset, length)
    }

    /// What is not here counts as data.
    fn seek(&self, offset: u64, data: bool) -> Result<Option<u64>> {
        if self.fetch()?.is_none() {
            return self.inner.seek(offset, data);
        }
        let size = self.inner.attributes()?.size;
        Ok((offset < size).then_some(if data { offset } else { size }))
    }

    fn copy_range(
        &self,
        caller: &Caller,
        source: &dyn Object,
        from: u64,
        to: u64,
        length: u64,
    ) -> Result<u64> {
        self.whole()?;
        arriving(source).map_or(Ok(()), Self::whole)?;
        self.inner.copy_range(caller, inner_of(source), from, to, length)
    }

    fn clone_range(
        &self,
        caller: &Caller,
        source: &dyn Object,
        from: u64,
        to: u64,
        length: u64,
    ) -> Result<()> {
        self.whole()?;
        arriving(source).map_or(Ok(()), Self::whole)?;
        self.inner.clone_range(caller, inner_of(source), from, to, length)
    }

    fn resident(&self, offset: u64, length: u64) -> Option<Arc<OwnedFd>> {
        match self.fetch() {
            Ok(None) => self.inner.resident(offset, length),
            _ => None,
        }
    }

    fn is_heard(&self) -> bool {
        self.inner.is_heard()
    }

    /// A write waits for the other server as long as the file is not here.
    fn is_remote(&self) -> bool {
        !matches!(self.fetch(), Ok(None)) || self.inner.is_remote()
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
        Ok(inner_of(other))
    }

    /// The host, and other volumes of it, must find their own kind of object.
    fn as_any(&self) -> &dyn Any {
        self.inner.as_any()
    }
}
