//! START STOP UNIT, SBC-3 5.25.

use super::{CommandContext, CommandDefinition, CommandRefusal, Conflict, Good, Outcome};
use crate::wire::Reader;
use crate::wire::scsi::{Sense, StartStop};

/// START STOP UNIT.
pub(crate) static START_STOP_UNIT: CommandDefinition =
    CommandDefinition::new(&[0x1b, 0x01, 0x00, 0x00, 0xf7, 0x04], Conflict::START_STOP, |command| {
        Box::pin(start_stop(command))
    });

/// There is no motor to stop, and other initiators use the unit, too: a stop flushes the written
/// data to the disk, and the unit stays ready. The medium cannot be removed, and there are no power
/// conditions (SPC-4 5.12).
async fn start_stop(command: &CommandContext) -> Outcome {
    let unit = command.unit()?;
    let request = StartStop::decode(&mut Reader::new(&command.cdb))?;
    if request.power_condition != 0 || request.load_eject {
        return Err(CommandRefusal::Check(Sense::in_cdb(4)));
    }
    if !request.start && !request.no_flush {
        unit.sync(&command.nexus).await?;
    }
    Ok(Good::nothing())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::scsi::testing::Disk;

    #[tokio::test]
    async fn a_stopped_unit_stays_ready_and_has_nothing_to_eject() {
        let disk = Disk::new(8).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        for flags in [0x00, 0x01, 0x04, 0x05] {
            assert!(disk.send(&ada, &[0x1b, 0, 0, 0, flags, 0], b"").await.is_ok());
            assert!(disk.send(&ada, &[0; 6], b"").await.is_ok());
        }
        for flags in [0x02, 0x03, 0x10, 0x30] {
            let refused = disk.send(&ada, &[0x1b, 0, 0, 0, flags, 0], b"").await.unwrap_err();
            assert_eq!(refused, CommandRefusal::Check(Sense::in_cdb(4)));
        }
    }
}
