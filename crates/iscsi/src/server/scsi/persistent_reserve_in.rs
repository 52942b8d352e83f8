//! PERSISTENT RESERVE IN, SPC-4 6.15.

use std::sync::Arc;

use super::reservations::Persistent;
use super::{Command, Conflict, Good, InitiatorPort, Outcome, Refusal, Supported};
use crate::wire::scsi::persistent_reserve_in::{self as wire, Registrant, Request};
use crate::wire::scsi::{Asc, Key, Sense, TransportId};
use crate::wire::{Reader, Writer};

/// READ KEYS, SPC-4 6.15.2.
pub(super) static READ_KEYS: Supported = supported(0, &[0x5e, 0x00, 0, 0, 0, 0, 0, 0xff, 0xff, 0x04]);
/// READ RESERVATION, SPC-4 6.15.3.
pub(super) static READ_RESERVATION: Supported = supported(1, &[0x5e, 0x01, 0, 0, 0, 0, 0, 0xff, 0xff, 0x04]);
/// REPORT CAPABILITIES, SPC-4 6.15.4.
pub(super) static REPORT_CAPABILITIES: Supported =
    supported(2, &[0x5e, 0x02, 0, 0, 0, 0, 0, 0xff, 0xff, 0x04]);
/// READ FULL STATUS, SPC-4 6.15.5.
pub(super) static READ_FULL_STATUS: Supported = supported(3, &[0x5e, 0x03, 0, 0, 0, 0, 0, 0xff, 0xff, 0x04]);

const fn supported(action: u16, usage: &'static [u8]) -> Supported {
    Supported {
        opcode: 0x5e,
        action: Some(action),
        usage,
        conflict: Conflict::Persistent,
        needs: Supported::nothing,
        run: |command| Box::pin(persistent_reserve_in(command)),
    }
}

async fn persistent_reserve_in(command: &Command) -> Outcome {
    let request = Request::decode(&mut Reader::new(&command.cdb))?;
    let (unit, port) = (command.unit()?, command.nexus.port);
    let state = if unit.is_standby() { stored(command).await? } else { unit.reservations.persistent() };
    let mut w = Writer::new();
    match request.action {
        0 => wire::encode_keys(state.generation, state.registrations().map(|(_, one)| one.key), &mut w),
        1 => wire::encode_reservation(state.generation, state.reservation(), &mut w),
        2 => wire::encode_capabilities(state.persist, &mut w),
        _ => wire::encode_full_status(state.generation, registrants(&state, port), &mut w), // the table has no other
    }
    Ok(Good::cut(w.into_bytes(), usize::from(request.allocation_length)))
}

/// The reservations at the server that serves the unit.
async fn stored(command: &Command) -> Result<Arc<Persistent>, Refusal> {
    let (unit, nexus, cdb) = (command.unit()?.clone(), command.nexus.clone(), command.cdb.clone());
    let read = tokio::task::spawn_blocking(move || unit.stored_reservations(&nexus, &cdb));
    read.await.map_err(|_| Sense::new(Key::HARDWARE_ERROR, Asc::INTERNAL_TARGET_FAILURE))?
}

/// A registration counts at all ports of the target. It is shown at the port that was asked.
fn registrants(state: &Persistent, port: u16) -> impl Iterator<Item = Registrant> {
    state.registrations().map(move |(who, registration)| Registrant {
        key: registration.key,
        all_target_ports: registration.all_target_ports,
        holds: state.held_by(who),
        target_port: port,
        initiator: transport_id(who),
    })
}

fn transport_id(port: &InitiatorPort) -> TransportId {
    TransportId { name: port.name.to_string(), isid: Some(port.isid) }
}
