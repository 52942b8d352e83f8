//! PERSISTENT RESERVE IN, SPC-4 6.15.

use std::sync::Arc;

use super::reservations::PersistentReservations;
use super::{
    CommandContext, CommandDefinition, CommandRefusal, Conflict, Good, InitiatorPort, ItNexus, Outcome,
};
use crate::wire::scsi::persistent_reserve_in::{self as wire, Registrant, Request};
use crate::wire::scsi::{Asc, Key, Sense, TransportId};
use crate::wire::{Reader, Writer};

/// READ KEYS, SPC-4 6.15.2.
pub(super) static READ_KEYS: CommandDefinition = supported(0, &[0x5e, 0x00, 0, 0, 0, 0, 0, 0xff, 0xff, 0x04]);
/// READ RESERVATION, SPC-4 6.15.3.
pub(super) static READ_RESERVATION: CommandDefinition =
    supported(1, &[0x5e, 0x01, 0, 0, 0, 0, 0, 0xff, 0xff, 0x04]);
/// REPORT CAPABILITIES, SPC-4 6.15.4.
pub(super) static REPORT_CAPABILITIES: CommandDefinition =
    supported(2, &[0x5e, 0x02, 0, 0, 0, 0, 0, 0xff, 0xff, 0x04]);
/// READ FULL STATUS, SPC-4 6.15.5.
pub(super) static READ_FULL_STATUS: CommandDefinition =
    supported(3, &[0x5e, 0x03, 0, 0, 0, 0, 0, 0xff, 0xff, 0x04]);

const fn supported(action: u16, usage: &'static [u8]) -> CommandDefinition {
    CommandDefinition::new(usage, Conflict::Persistent, |command| Box::pin(persistent_reserve_in(command)))
        .of_action(action)
}

async fn persistent_reserve_in(command: &CommandContext) -> Outcome {
    let request = Request::decode(&mut Reader::new(&command.cdb))?;
    let (unit, ports) = (command.unit()?, command.target.ports());
    let ports: Vec<u16> = ports.iter().map(|port| port.number).collect();
    let state = if unit.is_standby() { stored(command).await? } else { unit.reservations.persistent() };
    let mut w = Writer::new();
    match request.action {
        0 => wire::encode_keys(state.generation, state.registrations().map(|(_, one)| one.key), &mut w),
        1 => wire::encode_reservation(state.generation, state.reservation(), &mut w),
        2 => wire::encode_capabilities(state.persist, &mut w),
        _ => wire::encode_full_status(state.generation, registrants(&state, &ports), &mut w), // the table has no other
    }
    Ok(Good::cut(w.into_bytes(), usize::from(request.allocation_length)))
}

/// The reservations at the server that serves the unit.
async fn stored(command: &CommandContext) -> Result<Arc<PersistentReservations>, CommandRefusal> {
    let (unit, nexus, cdb) = (command.unit()?.clone(), command.nexus.clone(), command.cdb.clone());
    let read = tokio::task::spawn_blocking(move || unit.stored_reservations(&nexus, &cdb));
    read.await.map_err(|_| Sense::new(Key::HARDWARE_ERROR, Asc::INTERNAL_TARGET_FAILURE))?
}

/// A descriptor for each I_T nexus, or one for all `ports` of the target (ALL_TG_PT) where an initiator port is registered at
/// all of them alike.
fn registrants(state: &PersistentReservations, ports: &[u16]) -> impl Iterator<Item = Registrant> {
    state.registrations().filter_map(|(who, registration)| {
        let at = |port: u16| ItNexus { initiator: who.initiator.clone(), port };
        let holds = state.held_by(who);
        let is_alike = |port: &u16| {
            let other = state.registration(&at(*port));
            other.is_some_and(|other| other.all_target_ports && other.key == registration.key)
                && state.held_by(&at(*port)) == holds
        };
        let is_of_all = ports.contains(&who.port) && ports.iter().all(is_alike);
        (!is_of_all || ports.first() == Some(&who.port)).then(|| Registrant {
            key: registration.key,
            all_target_ports: is_of_all,
            holds,
            target_port: who.port,
            initiator: transport_id(&who.initiator),
        })
    })
}

fn transport_id(port: &InitiatorPort) -> TransportId {
    TransportId { name: port.name.to_string(), isid: Some(port.isid) }
}
