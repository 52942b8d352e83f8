//! An object that asks the plan before each call, and keeps back writes that are not synced.

use std::any::Any;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::FaultState;
use crate::backend::{Call, Found, NewKind, Object, Stability, Wait};
use crate::{Attributes, Caller, Error, FileId, HostKey, Kind, Result, SetAttributes, SetTime};

pub(super) struct FaultyObject {
    pub(super) shared: Arc<FaultState>,
    pub(super) inner: Arc<dyn Object>,
}

impl FaultyObject {
    fn enter(&self, call: Call) -> Result<()> {
        self.shared.plan.enter(call, Some(self.inner.id()))
    }

    fn flush(&self) -> Result<()> {
        self.shared.unsynced.as_ref().map_or(Ok(()), |unsynced| unsynced.flush(&*self.inner))
    }

    fn flush_both(&self, source: &dyn Object) -> Result<()> {
        let source: &Self = source.as_any().downcast_ref().ok_or(Error::CrossVolume)?;
        source.flush()?;
        self.flush()
    }

    fn write(&self, caller: &Caller, offset: u64, data: &[u8], stability: Stability) -> Result<()> {
        match &self.shared.unsynced {
            Some(unsynced) if stability == Stability::Unstable => {
                // The time of a write is metadata; it also finds out whether the volume is read-only.
                let touch = SetAttributes { modified: SetTime::Now, ..SetAttributes::default() };
                self.inner.set_attributes(&Caller::root(), &touch)?;
                unsynced.write(self.inner.key(), offset, data);
                Ok(())
            }
            _ => {
                self.flush()?;
                self.inner.write_at(caller, offset, data, stability)
            }
        }
    }
}

/// The object that a faulty one wraps.
pub(super) fn inner_of(other: &dyn Object) -> Result<&dyn Object> {
    let other: &FaultyObject = other.as_any().downcast_ref().ok_or(Error::CrossVolume)?;
    Ok(&*other.inner)
}

impl Object for FaultyObject {
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
        self.enter(Call::Attributes)?;
        let mut attributes = self.inner.attributes()?;
        if let Some(unsynced) = &self.shared.unsynced {
            unsynced.cover(&self.inner.key(), &mut attributes);
        }
        Ok(attributes)
    }

    fn set_attributes(&self, caller: &Caller, changes: &SetAttributes) -> Result<()> {
        self.enter(Call::SetAttributes)?;
        self.inner.set_attributes(caller, changes)?;
        if let (Some(unsynced), Some(size)) = (&self.shared.unsynced, changes.size) {
            unsynced.truncate(&self.inner.key(), size);
        }
        Ok(())
    }

    fn parent(&self) -> Result<Found> {
        self.enter(Call::Lookup)?;
        Ok(self.shared.found(self.inner.parent()?))
    }

    fn lookup(&self, caller: &Caller, name: &[u8]) -> Result<Found> {
        self.enter(Call::Lookup)?;
        Ok(self.shared.found(self.inner.lookup(caller, name)?))
    }

    fn create(&self, caller: &Caller, name: &[u8], new: NewKind<'_>, mode: u32) -> Result<Found> {
        self.enter(Call::Create)?;
        Ok(self.shared.found(self.inner.create(caller, name, new, mode)?))
    }

    fn read_at(&self, offset: u64, length: usize, into: &mut Vec<u8>, wait: Wait) -> Result<usize> {
        if wait == Wait::Never && self.shared.plan.stalls(self.id()) {
            return Err(Error::WouldBlock);
        }
        self.enter(Call::ReadAt)?;
        let from = into.len();
        self.inner.read_at(offset, length, into, wait)?;
        if let Some(unsynced) = &self.shared.unsynced {
            unsynced.read(&self.inner.key(), offset, length, from, into);
        }
        Ok(into.len() - from)
    }

    fn write_at(&self, caller: &Caller, offset: u64, data: &[u8], stability: Stability) -> Result<()> {
        self.enter(Call::WriteAt)?;
        self.write(caller, offset, data, stability)
    }

    fn truncate(&self, caller: &Caller, size: u64) -> Result<()> {
        self.enter(Call::Truncate)?;
        self.inner.truncate(caller, size)?;
        if let Some(unsynced) = &self.shared.unsynced {
            unsynced.truncate(&self.inner.key(), size);
        }
        Ok(())
    }

    fn copy_range(
        &self,
        caller: &Caller,
        source: &dyn Object,
        from: u64,
        to: u64,
        length: u64,
    ) -> Result<u64> {
        self.enter(Call::CopyRange)?;
        self.flush_both(source)?;
        self.inner.copy_range(caller, inner_of(source)?, from, to, length)
    }

    fn clone_range(
        &self,
        caller: &Caller,
        source: &dyn Object,
        from: u64,
        to: u64,
        length: u64,
    ) -> Result<()> {
        self.enter(Call::CloneRange)?;
        self.flush_both(source)?;
        self.inner.clone_range(caller, inner_of(source)?, from, to, length)
    }

    fn resident(&self, offset: u64, length: u64) -> Option<Arc<OwnedFd>> {
        if self.shared.plan.stalls(self.id()) {
            return None;
        }
        self.enter(Call::Resident).ok()?;
        let held_back = self.shared.unsynced.as_ref().is_some_and(|unsynced| unsynced.has(&self.inner.key()));
        if held_back { None } else { self.inner.resident(offset, length) }
    }

    fn sync(&self, stability: Stability) -> Result<()> {
        self.enter(Call::Sync)?;
        if stability != Stability::Unstable {
            self.flush()?;
        }
        self.inner.sync(stability)
    }

    fn punch(&self, caller: &Caller, offset: u64, length: u64) -> Result<()> {
        self.enter(Call::Punch)?;
        self.flush()?; // earlier writes must not cover the hole
        self.inner.punch(caller, offset, length)
    }

    fn seek(&self, offset: u64, data: bool) -> Result<Option<u64>> {
        self.enter(Call::Seek)?;
        let Some(unsynced) = &self.shared.unsynced else { return self.inner.seek(offset, data) };
        if !data && unsynced.has(&self.inner.key()) {
            return Ok(None); // what is not on the disk yet counts as data
        }
        let first = unsynced.first_data(&self.inner.key(), offset).filter(|_| data);
        let found = self.inner.seek(offset, data)?;
        Ok(found.into_iter().chain(first).min())
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

    fn through(&self, call: Call) -> Result<&dyn Object> {
        self.enter(call)?;
        Ok(&*self.inner)
    }

    /// No call of its own: plans count those of before.
    fn lends_data(&self) -> bool {
        self.inner.lends_data()
    }

    fn has_room_for(&self, offset: u64, length: u64) -> Result<()> {
        self.inner.has_room_for(offset, length)
    }

    fn peer<'a>(&self, other: &'a dyn Object) -> Result<&'a dyn Object> {
        inner_of(other)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
