//! Persistent reservations, SPC-4 5.13: registrations, the reservation, and the effect of each
//! service action. No clock and no disk: each change returns the notifications that it causes.

use std::collections::{BTreeMap, BTreeSet};

use super::CONFLICT;
use crate::server::scsi::{CommandRefusal, InitiatorPort, ItNexus};
use crate::wire::reservations::{self as kept, REGISTRATIONS_MOST, ReservationRecord};
use crate::wire::scsi::{Asc, ReservationType, Sense};

/// The persistent reservations of one logical unit.
#[derive(Debug, Clone, Default)]
pub(in crate::server::scsi) struct PersistentReservations {
    registrations: BTreeMap<ItNexus, Registration>,
    reservation: Option<Reservation>,
    /// PRGENERATION: counts the changes of registrations since the start of the server; in a cluster for good.
    pub(in crate::server::scsi) generation: u32,
    /// APTPL of the last registration.
    pub(in crate::server::scsi) persist: bool,
    /// The stored data cannot be read, SPC-4 5.13.5.3.
    pub(super) lost: bool,
}

/// The registration of an I_T nexus.
#[derive(Debug, Clone, Copy)]
pub(in crate::server::scsi) struct Registration {
    pub(in crate::server::scsi) key: u64,
    /// It was registered at all target ports.
    pub(in crate::server::scsi) all_target_ports: bool,
}

#[derive(Debug, Clone)]
struct Reservation {
    kind: ReservationType,
    /// The holder. `None`: all registered I_T nexuses hold it.
    holder: Option<ItNexus>,
}

/// The effects of a change on others.
#[derive(Debug, Default)]
pub(in crate::server::scsi) struct Effects {
    /// The unit attentions to raise.
    pub(super) told: Vec<(ItNexus, Asc)>,
    /// The I_T nexuses whose commands are aborted.
    pub(super) aborted: Vec<ItNexus>,
    /// The sender, if its own commands are aborted, too, except for this one.
    pub(super) aborted_of_sender: Option<ItNexus>,
}

impl Effects {
    pub(super) fn is_nothing(&self) -> bool {
        self.told.is_empty() && self.aborted_of_sender.is_none() // `aborted` is a part of `told`
    }
}

/// REGISTER, and REGISTER AND IGNORE EXISTING KEY.
pub(in crate::server::scsi) struct Register {
    /// The sender's current key, unless it is ignored.
    pub(in crate::server::scsi) key: Option<u64>,
    pub(in crate::server::scsi) action_key: u64,
    /// ALL_TG_PT: all ports of the target, as the server knows them now. `None`: only that of the sender.
    pub(in crate::server::scsi) all_target_ports: Option<Vec<u16>>,
    pub(in crate::server::scsi) persist: bool,
    /// SPEC_I_PT: other initiator ports to register.
    pub(in crate::server::scsi) others: Option<Vec<InitiatorPort>>,
}

/// PREEMPT, and PREEMPT AND ABORT.
pub(in crate::server::scsi) struct Preempt {
    pub(in crate::server::scsi) key: u64,
    pub(in crate::server::scsi) action_key: u64,
    pub(in crate::server::scsi) kind: ReservationType,
    pub(in crate::server::scsi) abort: bool,
}

/// REGISTER AND MOVE.
pub(in crate::server::scsi) struct RegistrationMove {
    pub(in crate::server::scsi) key: u64,
    pub(in crate::server::scsi) action_key: u64,
    pub(in crate::server::scsi) unregister: bool,
    pub(in crate::server::scsi) persist: bool,
    /// The new holder. `None`: an impossible port.
    pub(in crate::server::scsi) to: Option<ItNexus>,
}

impl PersistentReservations {
    /// The state when the stored data cannot be read.
    pub(super) fn lost() -> Self {
        Self { lost: true, ..Self::default() }
    }

    pub(super) fn is_reserved(&self) -> bool {
        self.reservation.is_some()
    }

    pub(super) fn is_anybody_registered(&self) -> bool {
        !self.registrations.is_empty()
    }

    /// All registrations.
    pub(in crate::server::scsi) fn registrations(
        &self,
    ) -> impl ExactSizeIterator<Item = (&ItNexus, &Registration)> {
        self.registrations.iter()
    }

    /// The reservation's type, and the key of its holder or zero, SPC-4 5.13.6.3.
    pub(in crate::server::scsi) fn reservation(&self) -> Option<(u64, ReservationType)> {
        let reservation = self.reservation.as_ref()?;
        Some((self.key_of_holder().unwrap_or(0), reservation.kind))
    }

    /// The registration of an I_T nexus.
    pub(in crate::server::scsi) fn registration(&self, who: &ItNexus) -> Option<&Registration> {
        self.registrations.get(who)
    }

    /// The reservation that this I_T nexus holds, SPC-4 5.13.10.
    pub(in crate::server::scsi) fn held_by(&self, who: &ItNexus) -> Option<ReservationType> {
        let reservation = self.reservation.as_ref()?;
        let holds = match &reservation.holder {
            Some(holder) => holder == who,
            None => self.registrations.contains_key(who),
        };
        holds.then_some(reservation.kind)
    }

    pub(super) fn refuses_writing(&self, who: &ItNexus) -> bool {
        self.reservation.as_ref().is_some_and(|reservation| {
            let shared = reservation.kind.is_registrants_only() && self.registrations.contains_key(who);
            !shared && self.held_by(who).is_none()
        })
    }

    pub(super) fn refuses_reading(&self, who: &ItNexus) -> bool {
        let excludes = |reservation: &Reservation| reservation.kind.excludes_reading();
        self.reservation.as_ref().is_some_and(excludes) && self.refuses_writing(who)
    }

    /// RESERVE and RELEASE while an initiator is registered: they do nothing for initiators that
    /// can write, SPC-4 5.13.3, and conflict for all others, SPC-2 5.5.1.
    pub(super) fn goes_with_reserve(&self, who: &ItNexus) -> Result<(), CommandRefusal> {
        if self.is_reserved() && !self.refuses_writing(who) { Ok(()) } else { Err(CONFLICT) }
    }

    /// REGISTER, SPC-4 5.13.7.
    pub(in crate::server::scsi) fn register(
        &mut self,
        me: &ItNexus,
        request: Register,
    ) -> Result<Effects, CommandRefusal> {
        // ALL_TG_PT: as if the request had come through each port, SPC-4 6.16.3.
        let at = |initiator: &InitiatorPort| -> BTreeSet<ItNexus> {
            let all = request.all_target_ports.iter().flatten().copied();
            all.chain([me.port]).map(|port| ItNexus { initiator: initiator.clone(), port }).collect()
        };
        let mine = at(&me.initiator);
        let has_key =
            |who, key| self.registrations.get(who).map_or(0, |registration| registration.key) == key;
        if request.key.is_some_and(|key| !mine.iter().all(|who| has_key(who, key))) {
            return Err(CONFLICT);
        }
        let is_registered = mine.iter().any(|who| self.registrations.contains_key(who));
        if !is_registered && request.action_key == 0 {
            return Ok(Effects::default());
        }
        if is_registered && request.others.is_some() {
            return Err(Sense::in_parameters(20).into());
        }
        let others: Vec<ItNexus> = request.others.iter().flatten().flat_map(at).collect();
        if others.iter().any(|other| self.registrations.contains_key(other)) {
            return Err(Sense::in_parameters(28).into());
        }
        self.persist = request.persist;
        self.generation = self.generation.wrapping_add(1);
        if request.action_key == 0 {
            let mut effects = Effects::default();
            mine.iter().for_each(|who| effects.told.extend(self.unregister(who).told));
            effects.told.retain(|(who, _)| self.registrations.contains_key(who));
            return Ok(effects);
        }
        let registration =
            Registration { key: request.action_key, all_target_ports: request.all_target_ports.is_some() };
        others.into_iter().chain(mine).try_for_each(|who| self.add(who, registration))?;
        Ok(Effects::default())
    }

    /// RESERVE, SPC-4 5.13.9.
    pub(in crate::server::scsi) fn reserve(
        &mut self,
        me: &ItNexus,
        key: u64,
        kind: ReservationType,
    ) -> Result<Effects, CommandRefusal> {
        self.authenticate(me, key)?;
        if self.is_reserved() && self.held_by(me) != Some(kind) {
            return Err(CONFLICT);
        }
        self.reservation = Some(Reservation::by(me, kind));
        Ok(Effects::default())
    }

    /// RELEASE, SPC-4 5.13.11.2.2.
    pub(in crate::server::scsi) fn release(
        &mut self,
        me: &ItNexus,
        key: u64,
        kind: ReservationType,
    ) -> Result<Effects, CommandRefusal> {
        self.authenticate(me, key)?;
        let Some(held) = self.held_by(me) else { return Ok(Effects::default()) };
        if held != kind {
            return Err(Sense::illegal(Asc::INVALID_RELEASE_OF_PERSISTENT_RESERVATION).into());
        }
        self.reservation = None;
        let shared = kind.is_registrants_only() || kind.is_all_registrants();
        Ok(if shared { self.told_to_others(me, Asc::RESERVATIONS_RELEASED) } else { Effects::default() })
    }

    /// CLEAR, SPC-4 5.13.11.2.7.
    pub(in crate::server::scsi) fn clear(
        &mut self,
        me: &ItNexus,
        key: u64,
    ) -> Result<Effects, CommandRefusal> {
        self.authenticate(me, key)?;
        let effects = self.told_to_others(me, Asc::RESERVATIONS_PREEMPTED);
        self.generation = self.generation.wrapping_add(1);
        self.registrations.clear();
        self.reservation = None;
        Ok(effects)
    }

    /// PREEMPT, SPC-4 5.13.11.2.4 to 5.13.11.2.6.
    pub(in crate::server::scsi) fn preempt(
        &mut self,
        me: &ItNexus,
        request: &Preempt,
    ) -> Result<Effects, CommandRefusal> {
        self.authenticate(me, request.key)?;
        let before = self.reservation.as_ref().map(|reservation| reservation.kind);
        let of_all = before.is_some_and(ReservationType::is_all_registrants) && request.action_key == 0;
        if request.action_key == 0 && !of_all {
            return Err(Sense::in_parameters(8).into());
        }
        let replaces = of_all || self.key_of_holder() == Some(request.action_key);
        let removed = self.remove(|who, key| match (of_all, replaces) {
            (true, _) => who != me,
            (false, true) => who != me && key == request.action_key,
            (false, false) => key == request.action_key,
        });
        if removed.is_empty() && !replaces {
            return Err(CONFLICT);
        }
        self.generation = self.generation.wrapping_add(1);
        let mut effects = Effects::default();
        if replaces {
            self.reservation = Some(Reservation::by(me, request.kind));
            if before != Some(request.kind) {
                effects = self.told_to_others(me, Asc::RESERVATIONS_RELEASED);
            }
        } else if self.registrations.is_empty() {
            self.reservation = None; // all registered ports held it
        }
        if request.abort {
            effects.aborted_of_sender = (of_all || removed.contains(me)).then(|| me.clone());
            effects.aborted = removed.iter().filter(|who| *who != me).cloned().collect();
        }
        let shut_out = removed.into_iter().filter(|who| who != me);
        effects.told.extend(shut_out.map(|who| (who, Asc::REGISTRATIONS_PREEMPTED)));
        Ok(effects)
    }

    /// REGISTER AND MOVE, SPC-4 5.13.8.
    pub(in crate::server::scsi) fn register_and_move(
        &mut self,
        me: &ItNexus,
        request: RegistrationMove,
    ) -> Result<Effects, CommandRefusal> {
        self.authenticate(me, request.key)?;
        let Some(Reservation { kind, holder }) = self.reservation.clone() else {
            return Err(Sense::in_cdb(1).into());
        };
        if holder.as_ref() != Some(me) {
            return Err(CONFLICT);
        }
        if request.action_key == 0 {
            return Err(Sense::in_parameters(8).into());
        }
        let to = request.to.filter(|to| to != me).ok_or(Sense::in_parameters(24))?;
        self.add(to.clone(), Registration { key: request.action_key, all_target_ports: false })?;
        self.reservation = Some(Reservation { kind, holder: Some(to) });
        self.persist = request.persist;
        self.generation = self.generation.wrapping_add(1);
        if request.unregister {
            self.registrations.remove(me);
        }
        Ok(Effects::default())
    }

    /// REPLACE LOST RESERVATION, SPC-4 5.13.11.3.
    pub(in crate::server::scsi) fn replace_lost(
        &mut self,
        me: &ItNexus,
        key: u64,
        kind: ReservationType,
        persist: bool,
    ) -> Result<Effects, CommandRefusal> {
        if !self.lost {
            return Err(Sense::illegal(Asc::INVALID_RELEASE_OF_PERSISTENT_RESERVATION).into());
        }
        let registrations = BTreeMap::from([(me.clone(), Registration { key, all_target_ports: false })]);
        let reservation = Some(Reservation::by(me, kind));
        *self = Self { registrations, reservation, generation: 0, persist, lost: false };
        Ok(Effects::default())
    }

    /// A port that is not registered with this key is refused.
    fn authenticate(&self, me: &ItNexus, key: u64) -> Result<(), CommandRefusal> {
        let registered = self.registrations.get(me).is_some_and(|registration| registration.key == key);
        if registered { Ok(()) } else { Err(CONFLICT) }
    }

    fn add(&mut self, who: ItNexus, registration: Registration) -> Result<(), CommandRefusal> {
        self.registrations.insert(who, registration);
        if self.registrations.len() > REGISTRATIONS_MOST {
            return Err(Sense::illegal(Asc::INSUFFICIENT_REGISTRATION_RESOURCES).into());
        }
        Ok(())
    }

    /// Removes a registration, SPC-4 5.13.11.2.3.
    fn unregister(&mut self, me: &ItNexus) -> Effects {
        let held = self.held_by(me);
        self.registrations.remove(me);
        match held {
            Some(kind) if kind.is_all_registrants() && self.is_anybody_registered() => Effects::default(),
            Some(kind) => {
                self.reservation = None;
                let told = kind.is_registrants_only();
                if told { self.told_to_others(me, Asc::RESERVATIONS_RELEASED) } else { Effects::default() }
            }
            None => Effects::default(),
        }
    }

    /// Removes registrations, and returns their I_T nexuses.
    fn remove(&mut self, which: impl Fn(&ItNexus, u64) -> bool) -> Vec<ItNexus> {
        let removed = self.registrations.extract_if(.., |who, registration| which(who, registration.key));
        removed.map(|(who, _)| who).collect()
    }

    fn key_of_holder(&self) -> Option<u64> {
        let holder = self.reservation.as_ref()?.holder.as_ref()?;
        self.registrations.get(holder).map(|registration| registration.key)
    }

    fn told_to_others(&self, me: &ItNexus, what: Asc) -> Effects {
        let others = self.registrations.keys().filter(|who| *who != me);
        Effects { told: others.map(|who| (who.clone(), what)).collect(), ..Effects::default() }
    }

    /// The state to store: with APTPL all of it, otherwise nothing.
    ///
    /// `always`: APTPL is not asked, because the next server needs them.
    pub(super) fn to_kept(&self, always: bool) -> ReservationRecord {
        if !self.persist && !always {
            return ReservationRecord::default();
        }
        let number = |who: &ItNexus| self.registrations.keys().position(|other| other == who);
        let reservation = self.reservation.as_ref().map(|Reservation { kind, holder }| {
            let holder = holder.as_ref().and_then(number).map(|number| number as u32); // REGISTRATIONS_MOST at most
            kept::HeldReservation { kind: *kind, holder }
        });
        let registrations = self.registrations.iter().map(|(who, registration)| kept::Registration {
            key: registration.key,
            all_target_ports: registration.all_target_ports,
            port: who.port,
            isid: who.initiator.isid,
            name: who.initiator.name.to_string(),
        });
        let generation = if always { self.generation } else { 0 }; // SPC-4 6.15.2: a start sets it to zero, a takeover does not
        ReservationRecord {
            persist: self.persist,
            generation,
            reservation,
            registrations: registrations.collect(),
        }
    }

    /// The state after a restart.
    pub(super) fn from_kept(kept: ReservationRecord) -> Self {
        let ports = kept.registrations.into_iter().map(|one| {
            let initiator = InitiatorPort { name: one.name.into(), isid: one.isid };
            let who = ItNexus { initiator, port: one.port };
            (who, Registration { key: one.key, all_target_ports: one.all_target_ports })
        });
        let ports: Vec<_> = ports.collect();
        let reservation = kept.reservation.map(|held| {
            let holder = held.holder.and_then(|number| ports.get(number as usize));
            Reservation { kind: held.kind, holder: holder.map(|(who, _)| who.clone()) }
        });
        let registrations = ports.into_iter().collect();
        let (generation, persist) = (kept.generation, kept.persist);
        Self { registrations, reservation, generation, persist, lost: false }
    }
}

impl Reservation {
    fn by(holder: &ItNexus, kind: ReservationType) -> Self {
        Self { kind, holder: (!kind.is_all_registrants()).then(|| holder.clone()) }
    }
}
