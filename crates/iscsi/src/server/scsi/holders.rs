//! The sessions that see a logical unit: whom to tell of what happens to it, and whose commands to call off.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};

use lock::{Mutex, rank};

use super::{InitiatorPort, LogicalUnit, Nexus};
use crate::wire::scsi::Asc;

/// Commands that were called off and end.
pub(crate) type Ending = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A session, as its logical units know it.
pub(crate) trait Holder: Send + Sync {
    /// Whose it is.
    fn initiator(&self) -> &InitiatorPort;
    /// Calls off its commands for this unit but the one with the tag `except`. They are not answered any more, and what is
    /// being done for them is over when the future is ready.
    fn abort_tasks(&self, unit: &LogicalUnit, except: Option<u32>) -> Ending;
}

/// Those of one unit.
#[derive(Default)]
pub(crate) struct Holders(Mutex<Vec<Weak<dyn Holder>>, rank::UnitHolders>);

impl Holders {
    /// A session begins to see the unit.
    pub(crate) fn arrive(&self, holder: Weak<dyn Holder>) {
        let mut holders = self.0.lock();
        holders.retain(|other| other.strong_count() > 0 && !other.ptr_eq(&holder));
        holders.push(holder);
    }

    /// It has ended.
    pub(crate) fn leave(&self, holder: &Weak<dyn Holder>) {
        self.0.lock().retain(|other| other.strong_count() > 0 && !other.ptr_eq(holder));
    }

    /// All of them now.
    pub(crate) fn all(&self) -> Vec<Arc<dyn Holder>> {
        self.0.lock().iter().filter_map(Weak::upgrade).collect()
    }
}

impl LogicalUnit {
    /// Tells every initiator that has a session.
    pub(crate) fn tell_all(&self, what: Asc) {
        self.holders.all().iter().for_each(|holder| self.attentions.raise(holder.initiator(), what));
    }

    /// Tells every one but this.
    pub(crate) fn tell_others(&self, but: &InitiatorPort, what: Asc) {
        let others = self.holders.all().into_iter().filter(|holder| holder.initiator() != but);
        others.for_each(|holder| self.attentions.raise(holder.initiator(), what));
    }

    /// A session does not see the unit any more.
    pub(crate) fn nexus_lost(&self, holder: &Weak<dyn Holder>, nexus: &Nexus) {
        self.holders.leave(holder);
        self.forget(nexus);
    }

    /// What is kept of a session while it lasts goes.
    pub(crate) fn forget(&self, nexus: &Nexus) {
        self.attentions.forget(&nexus.initiator);
        self.reservations.nexus_lost(&nexus.initiator);
        self.copies.nexus_lost(&nexus.initiator);
    }

    /// Everything that initiators have made of the unit goes, but for what outlasts a reset.
    pub(crate) fn reset(&self) {
        self.modes.reset();
        self.reservations.reset();
        self.copies.reset();
    }
}
