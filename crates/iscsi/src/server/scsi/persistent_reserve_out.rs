//! PERSISTENT RESERVE OUT, SPC-4 6.16.

use std::sync::Arc;
use std::time::Duration;

use super::reservations::{Effects, PersistentReservations, Preempt, Register, RegistrationMove};
use super::{
    CommandContext, CommandDefinition, CommandRefusal, Conflict, Ending, Good, InitiatorPort, ItNexus,
    LogicalUnit, Needs, Outcome, relayed,
};
use crate::wire::Reader;
use crate::wire::relayed::PARAMETERS_MOST;
use crate::wire::scsi::persistent_reserve_out::{
    Action, BASIC, Move as MoveParameters, Request, ReserveOutParameters,
};
use crate::wire::scsi::{Asc, Key, Sense, TransportId};

/// How long the server waits for the end of aborted commands if a disk does not answer.
const ENDING_WITHIN: Duration = Duration::from_secs(10);
/// The shortest parameter list of REGISTER AND MOVE: it has the shortest TransportID.
const MOVE_LEAST: usize = BASIC + 24;

/// REGISTER, SPC-4 5.13.7.
pub(super) static REGISTER: CommandDefinition =
    supported(0x00, &[0x5f, 0x00, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x04]);
/// RESERVE, SPC-4 5.13.9.
pub(super) static RESERVE: CommandDefinition =
    supported(0x01, &[0x5f, 0x01, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x04]);
/// RELEASE, SPC-4 5.13.11.2.2.
pub(super) static RELEASE: CommandDefinition =
    supported(0x02, &[0x5f, 0x02, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x04]);
/// CLEAR, SPC-4 5.13.11.2.7.
pub(super) static CLEAR: CommandDefinition =
    supported(0x03, &[0x5f, 0x03, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x04]);
/// PREEMPT, SPC-4 5.13.11.2.4.
pub(super) static PREEMPT: CommandDefinition =
    supported(0x04, &[0x5f, 0x04, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x04]);
/// PREEMPT AND ABORT, SPC-4 5.13.11.2.6.
pub(super) static PREEMPT_AND_ABORT: CommandDefinition =
    supported(0x05, &[0x5f, 0x05, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x04]);
/// REGISTER AND IGNORE EXISTING KEY, SPC-4 5.13.7.
pub(super) static REGISTER_AND_IGNORE: CommandDefinition =
    supported(0x06, &[0x5f, 0x06, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x04]);
/// REGISTER AND MOVE, SPC-4 5.13.8.
pub(super) static REGISTER_AND_MOVE: CommandDefinition =
    supported(0x07, &[0x5f, 0x07, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x04]);
/// REPLACE LOST RESERVATION, SPC-4 5.13.11.3.
pub(super) static REPLACE_LOST: CommandDefinition =
    supported(0x08, &[0x5f, 0x08, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x04]);

const fn supported(action: u16, usage: &'static [u8]) -> CommandDefinition {
    CommandDefinition::new(usage, Conflict::Persistent, |command| Box::pin(persistent_reserve_out(command)))
        .of_action(action)
        .needing(needs)
}

fn needs(command: &CommandContext) -> Result<Needs, CommandRefusal> {
    command.may_reserve()?;
    let request = Request::decode(&mut Reader::new(&command.cdb))?;
    let reserves = matches!(
        request.action,
        Action::RESERVE
            | Action::RELEASE
            | Action::PREEMPT
            | Action::PREEMPT_AND_ABORT
            | Action::REPLACE_LOST_RESERVATION
    );
    if reserves && (request.scope != 0 || !request.kind.is_known()) {
        return Err(Sense::in_cdb(2).into());
    }
    let least = if request.action == Action::REGISTER_AND_MOVE { MOVE_LEAST } else { BASIC };
    let length = request.parameter_list_length as usize;
    if length < least || length > PARAMETERS_MOST {
        return Err(Sense::illegal(Asc::PARAMETER_LIST_LENGTH_ERROR).into());
    }
    Ok(Needs::Parameters(length))
}

async fn persistent_reserve_out(command: &CommandContext) -> Outcome {
    let (unit, nexus) = (command.unit()?, command.nexus.id());
    if unit.is_standby() {
        return relayed::relay(command).await;
    }
    let request = Request::decode(&mut Reader::new(&command.cdb))?;
    let ports: Vec<u16> = command.target.ports().iter().map(|port| port.number).collect();
    let wanted = ReserveOutChange::of(request, &command.data, &ports)?;
    let told = change(unit, nexus, wanted, Some(command.tag)).await?;
    relayed::tell(&command.target, unit, told);
    Ok(Good::nothing())
}

/// Makes a change on a thread that may wait for the disk. An abort of the command does not stop it. `mine`: the tag of the
/// command, if its session is here. Returns the unit attentions that it causes.
pub(super) async fn change(
    unit: &Arc<LogicalUnit>,
    nexus: ItNexus,
    wanted: ReserveOutChange,
    mine: Option<u32>,
) -> Result<Vec<(ItNexus, Asc)>, CommandRefusal> {
    let unit = unit.clone();
    let done = tokio::task::spawn_blocking(move || {
        unit.change_reservations(mine, |state| wanted.make(state, &nexus))
    });
    let changed = done.await.map_err(|_| Sense::new(Key::HARDWARE_ERROR, Asc::INTERNAL_TARGET_FAILURE))??;
    until_over(changed.ending).await;
    Ok(changed.told)
}

/// Waits for the end of the aborted commands: after a preemption, the initiator relies on it that
/// the preempted initiators write nothing more.
async fn until_over(ending: Vec<Ending>) {
    let all = async {
        for commands in ending {
            commands.await;
        }
    };
    if tokio::time::timeout(ENDING_WITHIN, all).await.is_err() {
        tracing::warn!("commands that were preempted have not ended: the disk does not answer");
    }
}

/// The requested change, checked as far as is possible without the state of reservations.
pub(super) enum ReserveOutChange {
    Register(Register),
    Move(RegistrationMove),
    Basic { request: Request, key: u64, action_key: u64, persist: bool },
}

impl ReserveOutChange {
    /// `ports`: the numbers of the target's ports.
    pub(super) fn of(request: Request, list: &[u8], ports: &[u16]) -> Result<Self, CommandRefusal> {
        if request.action == Action::REGISTER_AND_MOVE {
            return Ok(Self::Move(moved(list, ports)?));
        }
        let parameters = ReserveOutParameters::decode(&mut Reader::new(list)).map_err(|_| length_error())?;
        if parameters.names_initiators && request.action != Action::REGISTER {
            return Err(Sense::in_parameters(20).into());
        }
        if !parameters.names_initiators && !parameters.additional.is_empty() {
            return Err(length_error().into());
        }
        let ReserveOutParameters { key, action_key, persist, .. } = parameters;
        match request.action {
            Action::REGISTER | Action::REGISTER_AND_IGNORE_EXISTING_KEY => {
                registered(request, &parameters, ports)
            }
            Action::REPLACE_LOST_RESERVATION if key != 0 => Err(Sense::in_parameters(0).into()),
            Action::REPLACE_LOST_RESERVATION if action_key == 0 => Err(Sense::in_parameters(8).into()),
            Action::REPLACE_LOST_RESERVATION if parameters.all_target_ports => {
                Err(Sense::in_parameters(20).into())
            }
            _ => Ok(Self::Basic { request, key, action_key, persist }),
        }
    }

    fn make(self, state: &mut PersistentReservations, me: &ItNexus) -> Result<Effects, CommandRefusal> {
        let (request, key, action_key, persist) = match self {
            Self::Register(register) => return state.register(me, register),
            Self::Move(moved) => return state.register_and_move(me, moved),
            Self::Basic { request, key, action_key, persist } => (request, key, action_key, persist),
        };
        let kind = request.kind;
        match request.action {
            Action::RESERVE => state.reserve(me, key, kind),
            Action::RELEASE => state.release(me, key, kind),
            Action::CLEAR => state.clear(me, key),
            Action::REPLACE_LOST_RESERVATION => state.replace_lost(me, action_key, kind, persist),
            action => {
                let abort = action == Action::PREEMPT_AND_ABORT; // the table has no other
                state.preempt(me, &Preempt { key, action_key, kind, abort })
            }
        }
    }
}

fn registered(
    request: Request,
    parameters: &ReserveOutParameters<'_>,
    ports: &[u16],
) -> Result<ReserveOutChange, CommandRefusal> {
    let others = parameters.names_initiators.then(|| named(parameters)).transpose()?;
    Ok(ReserveOutChange::Register(Register {
        key: (request.action == Action::REGISTER).then_some(parameters.key),
        action_key: parameters.action_key,
        all_target_ports: parameters.all_target_ports.then(|| ports.to_vec()),
        persist: parameters.persist,
        others,
    }))
}

/// The initiator ports in the parameter list.
fn named(parameters: &ReserveOutParameters<'_>) -> Result<Vec<InitiatorPort>, CommandRefusal> {
    let list = parameters.transport_ids().map_err(|_| length_error())?;
    let ids = TransportId::decode_all(list).map_err(|_| Sense::in_parameters(28))?;
    Ok(ids.iter().map(port).collect::<Option<Vec<_>>>().ok_or(Sense::in_parameters(28))?)
}

/// `ports`: those of the target.
fn moved(list: &[u8], ports: &[u16]) -> Result<RegistrationMove, CommandRefusal> {
    let mut r = Reader::new(list);
    let parameters = MoveParameters::decode(&mut r).map_err(|_| length_error())?;
    r.finish().map_err(|_| length_error())?;
    let initiator = parameters.initiator().ok().filter(|_| ports.contains(&parameters.target_port));
    let MoveParameters { key, action_key, unregister, persist, .. } = parameters;
    let at = |initiator| ItNexus { initiator, port: parameters.target_port };
    Ok(RegistrationMove {
        key,
        action_key,
        unregister,
        persist,
        to: initiator.as_ref().and_then(port).map(at),
    })
}

/// One port. A name without the number of a session stands for all ports of an initiator, and may
/// be refused (SPC-4 7.6.4.6): its future ports are unknown.
fn port(id: &TransportId) -> Option<InitiatorPort> {
    Some(InitiatorPort { name: id.name.to_lowercase().into(), isid: id.isid? })
}

const fn length_error() -> Sense {
    Sense::illegal(Asc::PARAMETER_LIST_LENGTH_ERROR)
}
