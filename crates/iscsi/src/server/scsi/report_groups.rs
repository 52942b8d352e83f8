//! REPORT TARGET PORT GROUPS, SPC-4 6.37.

use super::inquiry::PORT;
use super::{Command, Conflict, Good, Outcome, Supported};
use crate::wire::scsi::{MaintenanceIn, PortGroup, PortGroups, Sense};
use crate::wire::{Reader, Writer};

/// REPORT TARGET PORT GROUPS.
pub(crate) static REPORT_GROUPS: Supported = Supported {
    opcode: 0xa3,
    action: Some(MaintenanceIn::TARGET_PORT_GROUPS as u16),
    usage: &[0xa3, 0xea, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0x00, 0x04],
    conflict: Conflict::Never,
    needs: Supported::nothing,
    run: |command| Box::pin(std::future::ready(report(command))),
};

/// The states that a group can have: active and optimised (AO_SUP).
const ACTIVE_OPTIMISED: u8 = 1;

/// There is one group with one port, always active and optimised.
fn report(command: &Command) -> Outcome {
    command.unit()?;
    let request = MaintenanceIn::decode(&mut Reader::new(&command.cdb))?;
    let transition_s = match request.format {
        0 => None,
        1 => Some(0),
        _ => return Err(Sense::in_cdb(1).into()),
    };
    let group =
        PortGroup { preferred: false, state: 0, states: ACTIVE_OPTIMISED, number: PORT, ports: vec![PORT] };
    let mut w = Writer::new();
    PortGroups { transition_s, groups: vec![group] }.encode(&mut w);
    Ok(Good::cut(w.into_bytes(), request.allocation_length as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::scsi::Refusal;
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
        assert_eq!(refused, Refusal::Check(Sense::in_cdb(1)));
    }
}
