//! REPORT TARGET PORT GROUPS, SPC-4 6.37.

use super::{CommandContext, CommandDefinition, Conflict, Good, Outcome};
use crate::server::paths::{AccessState, TargetPort};
use crate::wire::scsi::{MaintenanceIn, PortGroup, PortGroups, Sense};
use crate::wire::{Reader, Writer};

/// REPORT TARGET PORT GROUPS.
pub(crate) static REPORT_GROUPS: CommandDefinition = CommandDefinition::new(
    &[0xa3, 0xea, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0x00, 0x04],
    Conflict::Never,
    |command| Box::pin(std::future::ready(report(command))),
)
.of_action(MaintenanceIn::TARGET_PORT_GROUPS as u16);

/// A group can be active and optimised (AO_SUP).
const CAN_BE_ACTIVE: u8 = 0x01;
/// A group can be in standby (S_SUP).
const CAN_STAND_BY: u8 = 0x04;

/// Each group has one port. A server that is alone has one group, which is always active and
/// optimised.
fn report(command: &CommandContext) -> Outcome {
    command.unit()?;
    let request = MaintenanceIn::decode(&mut Reader::new(&command.cdb))?;
    let transition_s = match request.format {
        0 => None,
        1 => Some(0),
        _ => return Err(Sense::in_cdb(1).into()),
    };
    let ports = command.target.ports();
    let states = if ports.len() > 1 { CAN_BE_ACTIVE | CAN_STAND_BY } else { CAN_BE_ACTIVE };
    let group = |port: &TargetPort| {
        let state = match port.access {
            AccessState::Active => 0x0, // SPC-4 table 300
            AccessState::Standby => 0x2,
        };
        PortGroup { preferred: false, state, states, number: port.number, ports: vec![port.number] }
    };
    let mut w = Writer::new();
    PortGroups { transition_s, groups: ports.iter().map(group).collect() }.encode(&mut w);
    Ok(Good::cut(w.into_bytes(), request.allocation_length as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::scsi::CommandRefusal;
    use crate::server::scsi::testing::Disk;

    #[tokio::test]
    async fn the_one_group_is_active_and_optimised() {
        let disk = Disk::new(8).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        let group = [0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1]; // SPC-4 tables 297 and 299
        let bytes =
            disk.send(&ada, &[0xa3, 0x0a, 0, 0, 0, 0, 0, 0, 0, 255, 0, 0], b"").await.unwrap().bytes();
        assert_eq!(bytes, [&[0, 0, 0, 12][..], &group].concat());
        let bytes =
            disk.send(&ada, &[0xa3, 0x2a, 0, 0, 0, 0, 0, 0, 0, 255, 0, 0], b"").await.unwrap().bytes();
        assert_eq!(bytes, [&[0, 0, 0, 16, 0x10, 0, 0, 0][..], &group].concat()); // extended header
        let refused = disk.send(&ada, &[0xa3, 0x4a, 0, 0, 0, 0, 0, 0, 0, 255, 0, 0], b"").await.unwrap_err();
        assert_eq!(refused, CommandRefusal::Check(Sense::in_cdb(1)));
    }
}
