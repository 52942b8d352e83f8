//! The sessions that use a logical unit. They receive its events, and their commands can be
//! aborted.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};

use lock::Mutex;

use super::{InitiatorPort, LogicalUnit, Nexus};
use crate::ranks;
use crate::wire::scsi::Asc;

/// Becomes ready when the aborted commands have ended.
pub(crate) type Ending = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A session, from the view of its logical units.
pub(crate) trait UnitSession: Send + Sync {
    /// The session's initiator.
    fn initiator(&self) -> &InitiatorPort;
    /// The number of the target's port.
    fn port(&self) -> u16;
    /// Aborts its commands for this unit, except the one with the tag `except`. They get no
    /// response, and their work has ended when the future is ready.
    fn abort_tasks(&self, unit: &LogicalUnit, except: Option<u32>) -> Ending;
}

/// The sessions of one unit.
#[derive(Default)]
pub(crate) struct Holders(Mutex<Vec<Weak<dyn UnitSession>>, ranks::UnitHolders>);

impl Holders {
    /// A session begins to use the unit.
    pub(crate) fn arrive(&self, holder: Weak<dyn UnitSession>) {
        let mut holders = self.0.lock();
        holders.retain(|other| other.strong_count() > 0 && !other.ptr_eq(&holder));
        holders.push(holder);
    }

    /// A session has ended.
    pub(crate) fn leave(&self, holder: &Weak<dyn UnitSession>) {
        self.0.lock().retain(|other| other.strong_count() > 0 && !other.ptr_eq(holder));
    }

    /// All current sessions.
    pub(crate) fn all(&self) -> Vec<Arc<dyn UnitSession>> {
        self.0.lock().iter().filter_map(Weak::upgrade).collect()
    }
}

impl LogicalUnit {
    /// Raises a unit attention for all initiators with a session.
    pub(crate) fn tell_all(&self, what: Asc) {
        self.holders.all().iter().for_each(|holder| self.attentions.raise(holder.initiator(), what));
    }

    /// The access state of one of its ports has changed, SPC-4 5.16.2.3. Initiators with a session
    /// are told.
    pub fn access_changed(&self) {
        self.tell_all(Asc::ASYMMETRIC_ACCESS_STATE_CHANGED);
    }

    /// Raises a unit attention for all initiators but this one.
    pub(crate) fn tell_others(&self, but: &InitiatorPort, what: Asc) {
        let others = self.holders.all().into_iter().filter(|holder| holder.initiator() != but);
        others.for_each(|holder| self.attentions.raise(holder.initiator(), what));
    }

    /// A session does not use the unit any more.
    pub(crate) fn nexus_lost(&self, holder: &Weak<dyn UnitSession>, nexus: &Nexus) {
        self.holders.leave(holder);
        self.forget(nexus);
    }

    /// Drops the state that lasts as long as a session.
    pub(crate) fn forget(&self, nexus: &Nexus) {
        self.attentions.forget(&nexus.initiator);
        self.reservations.nexus_lost(&nexus.initiator);
        self.copies.nexus_lost(&nexus.initiator);
    }

    /// Drops all state that initiators have made, except for state that survives a reset.
    pub(crate) fn reset(&self) {
        self.modes.reset();
        self.reservations.reset();
        self.copies.reset();
    }
}
