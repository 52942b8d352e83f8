//! PERSISTENT RESERVE OUT at a server of a cluster that has the unit in standby (SPC-4 5.16.2.4): the server that serves the unit
//! executes it, for the I_T nexus that has sent it.
//!
//! ```text
//! initiator ─► relay ─► Paths::relay ─► (another server) LogicalUnit::relayed ─► the change, stored in the share
//!           ◄─ its end ◄─ Answer     ◄─
//! ```

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use super::persistent_reserve_out::{ReserveOutChange, change};
use super::{
    CommandContext, CommandRefusal, Conflict, Good, InitiatorPort, ItNexus, LogicalUnit, Nexus, Outcome,
};
use crate::server::target::Target;
use crate::wire::relayed::{self as wire, ATTENTIONS_MOST, Answer, Attentions};
use crate::wire::scsi::persistent_reserve_out::Request;
use crate::wire::scsi::{Asc, Key, Sense, Status};
use crate::wire::{Malformed, Reader};

/// No server has answered: none serves the unit for the moment, or the connection to it is lost. The command may have been
/// executed.
const IN_TRANSITION: Sense = Sense::new(Key::NOT_READY, Asc::ASYMMETRIC_ACCESS_STATE_TRANSITION);

/// What came of a command that another server has relayed.
pub struct RelayResult {
    /// The answer for that server.
    pub answer: Vec<u8>,
    /// Unit attentions, in messages for [`LogicalUnit::attend`] of all other servers.
    pub attentions: Vec<Vec<u8>>,
}

/// Has the server that serves the unit execute the command.
pub(super) async fn relay(command: &CommandContext) -> Outcome {
    let (unit, nexus) = (command.unit()?, command.nexus.id());
    let cdb = *command.cdb.first_chunk().ok_or(Malformed("a short command"))?;
    let request = wire::Command { nexus: nexus.into(), cdb, parameters: command.data.to_vec() };
    let paths = command.target.paths().ok_or(IN_TRANSITION)?;
    let answer = paths.relay(&command.target.name, unit.identity.naa, request.encode()).await;
    match answer.and_then(|answer| Answer::decode(&answer).ok()).ok_or(IN_TRANSITION)? {
        Answer::Status(Status::GOOD) => Ok(Good::nothing()),
        Answer::Status(status) => Err(CommandRefusal::Status(status)),
        Answer::Check(sense) => Err(sense.into()),
    }
}

/// Has the other servers of a cluster raise unit attentions for the I_T nexuses that have their sessions there.
pub(super) fn tell(target: &Target, unit: &LogicalUnit, told: Vec<(ItNexus, Asc)>) {
    if let Some(paths) = target.paths() {
        messages(told).into_iter().for_each(|message| paths.tell(unit.identity.naa, message));
    }
}

fn messages(told: Vec<(ItNexus, Asc)>) -> Vec<Vec<u8>> {
    let all: Vec<_> = told.into_iter().map(|(nexus, what)| (nexus.into(), what)).collect();
    all.chunks(ATTENTIONS_MOST).map(|some| Attentions(some.to_vec()).encode()).collect()
}

impl LogicalUnit {
    /// Executes a command that another server has relayed. `ports`: the numbers of the target's ports. `None`: the unit is in
    /// standby here, too, and nothing was done.
    pub async fn relayed(self: &Arc<Self>, command: &[u8], ports: &[u16]) -> Option<RelayResult> {
        if self.is_standby() {
            return None;
        }
        let (end, told) = match self.execute(command, ports).await {
            Ok(told) => (Answer::Status(Status::GOOD), told),
            Err(CommandRefusal::Status(status)) => (Answer::Status(status), Vec::new()),
            Err(CommandRefusal::Check(sense)) => (Answer::Check(sense), Vec::new()),
        };
        Some(RelayResult { answer: end.encode(), attentions: messages(told) })
    }

    async fn execute(
        self: &Arc<Self>,
        command: &[u8],
        ports: &[u16],
    ) -> Result<Vec<(ItNexus, Asc)>, CommandRefusal> {
        let wire::Command { nexus, cdb, parameters } = wire::Command::decode(command)
            .map_err(|_| Sense::new(Key::HARDWARE_ERROR, Asc::INTERNAL_TARGET_FAILURE))?;
        let ItNexus { initiator, port } = nexus.into();
        let nexus = Nexus { initiator, host: IpAddr::V4(Ipv4Addr::UNSPECIFIED), port };
        self.reservations.check(&nexus, Conflict::Persistent, &cdb)?;
        let wanted = ReserveOutChange::of(Request::decode(&mut Reader::new(&cdb))?, &parameters, ports)?;
        change(self, nexus.id(), wanted, None).await
    }

    /// Raises unit attentions that another server has caused. A message that is malformed does nothing.
    pub fn attend(&self, attentions: &[u8]) {
        let Ok(Attentions(all)) = Attentions::decode(attentions) else { return };
        let told: Vec<_> = all.into_iter().map(|(nexus, what)| (nexus.into(), what)).collect();
        self.raise(&told);
    }
}

impl From<ItNexus> for wire::Nexus {
    fn from(ItNexus { initiator, port }: ItNexus) -> Self {
        Self { port, isid: initiator.isid, name: initiator.name.to_string() }
    }
}

impl From<wire::Nexus> for ItNexus {
    fn from(wire::Nexus { port, isid, name }: wire::Nexus) -> Self {
        Self { initiator: InitiatorPort { name: name.into(), isid }, port }
    }
}

#[cfg(test)]
mod tests;
