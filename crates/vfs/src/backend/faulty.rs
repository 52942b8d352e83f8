//! A backend that fails on demand: the Nth call, every call from then on, a file whose disk stalls, a power cut that
//! loses what was not synced. Around any other backend; for tests.
//!
//! The model of a power cut is that of a journaling file system with ordered metadata (ext4 `data=ordered`, XFS): names,
//! links, attributes, sizes set by truncation, holes punched and extended attributes are kept in the order they were
//! changed, and all of them that were answered are there afterwards. Bytes written but not synced are lost, and with
//! them the growth of the file they caused. [`Plan::fail_from`] followed by [`Faulty::crash`] is a power cut before the
//! Nth call.

mod object;
mod plan;
#[cfg(test)]
mod tests;
mod unsynced;

use std::sync::Arc;

use self::object::FaultyObject;
pub use self::plan::Plan;
use self::unsynced::UnsyncedWrites;
pub use super::Call;
use super::{Backend, DataNotice, Finds, Found, Limits, Object, Space, WatchId};
use crate::{Error, HostKey, Result};

/// A backend around another one, failing as its [`Plan`] says.
pub struct Faulty {
    inner: Box<dyn Backend>,
    shared: Arc<FaultState>,
}

/// What all objects of a faulty backend share.
struct FaultState {
    plan: Plan,
    /// Where unsynced writes are held back, if they are.
    unsynced: Option<UnsyncedWrites>,
}

impl Faulty {
    /// Fails as planned; writes go straight to `inner`.
    pub fn new(inner: impl Backend + 'static) -> Self {
        Self::around(inner, None)
    }

    /// Also loses unsynced writes at [`Faulty::crash`].
    pub fn losing_writes(inner: impl Backend + 'static) -> Self {
        Self::around(inner, Some(UnsyncedWrites::default()))
    }

    fn around(inner: impl Backend + 'static, unsynced: Option<UnsyncedWrites>) -> Self {
        Self { inner: Box::new(inner), shared: Arc::new(FaultState { plan: Plan::default(), unsynced }) }
    }

    /// The plan of failures, which can be changed at any time.
    pub fn plan(&self) -> &Plan {
        &self.shared.plan
    }

    /// Cuts the power and starts again: unsynced writes are gone, planned faults too. Objects found
    /// before still answer, unlike those of a real host. So tests look everything up anew.
    pub fn crash(&self) {
        if let Some(unsynced) = &self.shared.unsynced {
            unsynced.lose();
        }
        self.shared.plan.clear();
    }
}

impl FaultState {
    fn found(self: &Arc<Self>, found: Found) -> Found {
        let mut attributes = found.attributes;
        if let Some(unsynced) = &self.unsynced {
            unsynced.cover(&found.object.key(), &mut attributes);
        }
        Found { object: Arc::new(FaultyObject { shared: self.clone(), inner: found.object }), attributes }
    }
}

impl Backend for Faulty {
    fn behind(&self) -> Option<&dyn Backend> {
        Some(&*self.inner)
    }

    fn root(&self) -> Result<Found> {
        self.shared.plan.enter(Call::Root, None)?;
        Ok(self.shared.found(self.inner.root()?))
    }

    fn by_key(&self, key: &HostKey) -> Result<Found> {
        self.shared.plan.enter(Call::ByKey, None)?;
        if self.shared.plan.forgets_keys() {
            return Err(Error::Stale);
        }
        Ok(self.shared.found(self.inner.by_key(key)?))
    }

    fn finds(&self, key: &HostKey) -> Finds {
        if self.shared.plan.forgets_keys() { Finds::IfSeen } else { self.inner.finds(key) }
    }

    fn homes(&self, key: &HostKey) -> Result<Vec<Arc<dyn Object>>> {
        self.shared.plan.enter(Call::Root, None)?;
        let homes = self.inner.homes(key)?.into_iter();
        Ok(homes
            .map(|home| Arc::new(FaultyObject { shared: self.shared.clone(), inner: home }) as _)
            .collect())
    }

    fn space(&self, at: &dyn Object) -> Result<Space> {
        self.shared.plan.enter(Call::Space, None)?;
        self.inner.space(object::inner_of(at)?)
    }

    fn sync(&self) -> Result<()> {
        self.shared.plan.enter(Call::Sync, None)?;
        if let Some(unsynced) = &self.shared.unsynced {
            for key in unsynced.keys() {
                match self.inner.by_key(&key) {
                    Err(Error::Stale) => {}
                    found => unsynced.flush(&*found?.object)?,
                }
            }
        }
        self.inner.sync()
    }

    fn limits(&self) -> Limits {
        self.inner.limits()
    }

    fn watch(&self, folder: &dyn Object, data: DataNotice) -> Option<WatchId> {
        self.inner.watch(object::inner_of(folder).ok()?, data)
    }
}
