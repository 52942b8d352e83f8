//! The reservations of a logical unit: RESERVE of SPC-2, persistent reservations of SPC-4, and
//! their effect on commands.
//!
//! Registrations and persistent reservations belong to I_T nexuses: an initiator port at a target port. They survive sessions,
//! resets and, with APTPL, a restart of the server. In a cluster they always survive the loss of a
//! server. A reservation by RESERVE belongs to a session.
//!
//! ```text
//! PERSISTENT RESERVE OUT ─► change: a copy of the state is changed ─► kept on the disk ─► it is the state ─► others are told
//! every other command    ─► check: one atomic load while nothing is reserved
//! ```

mod persistent;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lock::{Mutex, RwLock};

pub(super) use self::persistent::{Effects, PersistentReservations, Preempt, Register, RegistrationMove};
use super::{
    CommandRefusal, Conflict, Ending, Identity, InitiatorPort, ItNexus, LogicalUnit, Nexus, UnitStateStore,
};
use crate::ranks;
use crate::wire::Writer;
use crate::wire::reservations::ReservationRecord;
use crate::wire::scsi::{Asc, Key, Sense, Status};

/// The status of a command that another initiator's reservation does not allow.
const CONFLICT: CommandRefusal = CommandRefusal::Status(Status::RESERVATION_CONFLICT);

/// The reservations of one logical unit.
#[derive(Default)]
pub(crate) struct Reservations {
    /// Whether any command may be refused.
    in_force: AtomicBool,
    now: RwLock<ReservationState, ranks::Reservations>,
    /// Held during a change of persistent reservations, on a thread that may wait for the disk.
    changing: Mutex<(), ranks::ReservationsChanging>,
}

#[derive(Default)]
struct ReservationState {
    /// The initiator that has sent RESERVE.
    reserved: Option<InitiatorPort>,
    persistent: Arc<PersistentReservations>,
}

impl Reservations {
    /// Loads the stored reservations of a unit. If they cannot be read, initiators get an error
    /// until one of them replaces them: without the reservations, initiators that a cluster has
    /// excluded could write again.
    pub(crate) fn load(identity: &Identity, keeper: &dyn UnitStateStore) -> Self {
        let persistent = match keeper.load(identity.naa) {
            Ok(None) => PersistentReservations::default(),
            Ok(Some(bytes)) => ReservationRecord::decode(&bytes).map_or_else(
                |wrong| lost(identity, &format!("the record is damaged: {}", wrong.0)),
                PersistentReservations::from_kept,
            ),
            Err(error) => lost(identity, &error.to_string()),
        };
        let reservations = Self::default();
        reservations.now.write().persistent = Arc::new(persistent);
        reservations.now_in_force(&reservations.now.read());
        reservations
    }

    /// Whether a command of this kind is allowed now.
    pub(crate) fn check(&self, nexus: &Nexus, conflict: Conflict, cdb: &[u8]) -> Result<(), CommandRefusal> {
        if !self.in_force.load(Ordering::Acquire) {
            return Ok(());
        }
        let now = self.now.read();
        if now.persistent.lost && !goes_on_without(cdb) {
            return Err(Sense::new(Key::DATA_PROTECT, Asc::PERSISTENT_RESERVATION_INFORMATION_LOST).into());
        }
        let refused = match conflict {
            Conflict::WritesUnless { byte, mask, value } => {
                cdb.get(byte).is_none_or(|byte| byte & mask != value) && now.refuses(nexus, Conflict::Writes)
            }
            other => now.refuses(nexus, other),
        };
        if refused { Err(CONFLICT) } else { Ok(()) }
    }

    /// RESERVE. If an initiator is registered, SPC-4 5.13.3 decides.
    pub(super) fn reserve(&self, nexus: &Nexus) -> Result<(), CommandRefusal> {
        let mut now = self.now.write();
        if now.persistent.is_anybody_registered() {
            return now.persistent.goes_with_reserve(&nexus.id());
        }
        if now.reserved.as_ref().is_some_and(|holder| *holder != nexus.initiator) {
            return Err(CONFLICT);
        }
        now.reserved = Some(nexus.initiator.clone());
        self.now_in_force(&now);
        Ok(())
    }

    /// RELEASE. It is no error if the sender has no reservation, SPC-2 7.21.
    pub(super) fn release(&self, nexus: &Nexus) -> Result<(), CommandRefusal> {
        if self.now.read().persistent.is_anybody_registered() {
            return self.now.read().persistent.goes_with_reserve(&nexus.id());
        }
        self.nexus_lost(&nexus.initiator);
        Ok(())
    }

    /// The session of this initiator port is over, and with it the port's reservation by RESERVE.
    pub(crate) fn nexus_lost(&self, initiator: &InitiatorPort) {
        let mut now = self.now.write();
        if now.reserved.as_ref() == Some(initiator) {
            now.reserved = None;
            self.now_in_force(&now);
        }
    }

    /// The unit or the target was reset, which ends a reservation by RESERVE, and nothing else.
    pub(crate) fn reset(&self) {
        let mut now = self.now.write();
        now.reserved = None;
        self.now_in_force(&now);
    }

    /// The current persistent reservations.
    pub(super) fn persistent(&self) -> Arc<PersistentReservations> {
        self.now.read().persistent.clone()
    }

    fn now_in_force(&self, now: &ReservationState) {
        let any = now.reserved.is_some() || now.persistent.lost || now.persistent.is_reserved();
        self.in_force.store(any, Ordering::Release);
    }
}

impl ReservationState {
    fn refuses(&self, nexus: &Nexus, conflict: Conflict) -> bool {
        let by_another = self.reserved.as_ref().is_some_and(|holder| *holder != nexus.initiator);
        match conflict {
            Conflict::Never => false,
            Conflict::Persistent => self.reserved.is_some(),
            Conflict::Reserve => by_another,
            Conflict::Reads => by_another || self.persistent.refuses_reading(&nexus.id()),
            Conflict::Writes | Conflict::WritesUnless { .. } => {
                by_another || self.persistent.refuses_writing(&nexus.id())
            }
        }
    }
}

/// What a change of persistent reservations has caused.
pub(super) struct ReservationChange {
    /// The ends of the commands that it has aborted.
    pub(super) ending: Vec<Ending>,
    /// The unit attentions, also for I_T nexuses whose sessions are at other servers.
    pub(super) told: Vec<(ItNexus, Asc)>,
}

impl LogicalUnit {
    /// Changes persistent reservations, completely or not at all. It first waits until the data to
    /// be stored are on the disk. Aborts commands, without the one with the tag `mine`.
    pub(super) fn change_reservations(
        &self,
        mine: Option<u32>,
        change: impl FnOnce(&mut PersistentReservations) -> Result<Effects, CommandRefusal>,
    ) -> Result<ReservationChange, CommandRefusal> {
        let one_at_a_time = self.reservations.changing.lock();
        let before = self.reservations.persistent();
        let mut after = PersistentReservations::clone(&before);
        let effects = change(&mut after)?;
        let kept = |state: &PersistentReservations| state.to_kept(self.is_shared);
        if before.lost || kept(&before) != kept(&after) {
            self.keep(&after)?;
        }
        {
            let mut now = self.reservations.now.write();
            if now.reserved.is_some() {
                return Err(CONFLICT); // a RESERVE came first, when no initiator was registered
            }
            now.persistent = Arc::new(after);
            self.reservations.now_in_force(&now);
        }
        drop(one_at_a_time);
        let ending = self.tell(&effects, mine);
        Ok(ReservationChange { ending, told: effects.told })
    }

    /// The stored persistent reservations, of a unit that another server serves. Waits for the disk.
    pub(super) fn stored_reservations(
        &self,
        nexus: &Nexus,
        cdb: &[u8],
    ) -> Result<Arc<PersistentReservations>, CommandRefusal> {
        let stored = Reservations::load(&self.identity, &*self.keeper);
        stored.check(nexus, Conflict::Persistent, cdb)?;
        Ok(stored.persistent())
    }

    fn keep(&self, persistent: &PersistentReservations) -> Result<(), CommandRefusal> {
        let mut w = Writer::new();
        persistent.to_kept(self.is_shared).encode(&mut w);
        self.keeper.keep(self.identity.naa, w.as_bytes()).map_err(|error| {
            tracing::error!(lun = self.identity.name, %error, "persistent reservations could not be kept");
            Sense::new(Key::HARDWARE_ERROR, Asc::INTERNAL_TARGET_FAILURE).into()
        })
    }

    /// Raises unit attentions for the other sessions, and aborts the commands of preempted
    /// initiators.
    fn tell(&self, effects: &Effects, mine: Option<u32>) -> Vec<Ending> {
        let mut ending = Vec::new();
        if effects.is_nothing() {
            return ending;
        }
        self.raise(&effects.told);
        for holder in self.holders.all() {
            let nexus = ItNexus { initiator: holder.initiator().clone(), port: holder.port() };
            if effects.aborted_of_sender.as_ref() == Some(&nexus) {
                ending.push(holder.abort_tasks(self, mine));
            } else if effects.aborted.contains(&nexus) {
                ending.push(holder.abort_tasks(self, None));
                self.attentions.raise(&nexus.initiator, Asc::COMMANDS_CLEARED_BY_ANOTHER_INITIATOR);
            }
        }
        ending
    }

    /// Raises unit attentions for I_T nexuses that have a session here.
    pub(super) fn raise(&self, told: &[(ItNexus, Asc)]) {
        for holder in self.holders.all() {
            let is_its = |who: &ItNexus| who.initiator == *holder.initiator() && who.port == holder.port();
            let its = told.iter().filter(|(who, _)| is_its(who));
            its.for_each(|(_, what)| self.attentions.raise(holder.initiator(), *what));
        }
    }
}

fn lost(identity: &Identity, why: &str) -> PersistentReservations {
    tracing::error!(
        lun = identity.name,
        why,
        "persistent reservations are lost: commands are refused until an initiator replaces them (PERSISTENT RESERVE \
         OUT, REPLACE LOST RESERVATION), or an administrator removes the LUN's .kept file in the state folder \
         (in a cluster, in .fourfold-luns of the share) while no server runs"
    );
    PersistentReservations::lost()
}

/// Whether a command is allowed even while persistent reservations are lost, SPC-4 5.13.5.2 and
/// 5.13.5.3.2.
fn goes_on_without(cdb: &[u8]) -> bool {
    let byte = |at: usize| cdb.get(at).copied().unwrap_or(0);
    match byte(0) {
        0x03 | 0x12 | 0x3b | 0x3c | 0x4d | 0xa0 => true, // REQUEST SENSE, INQUIRY, buffers, LOG SENSE, REPORT LUNS
        0x1b => byte(4) & 0xf1 == 0x01,                  // START STOP UNIT that starts
        0x5f => byte(1) & 0x1f == 0x08,                  // REPLACE LOST RESERVATION
        0xa3 => byte(1) & 0x1f == 0x0a,                  // REPORT TARGET PORT GROUPS
        _ => false,
    }
}
