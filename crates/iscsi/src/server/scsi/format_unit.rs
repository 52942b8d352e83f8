//! FORMAT UNIT, SBC-3 5.3: all blocks of the disk are unmapped.

use super::{CommandContext, CommandDefinition, CommandRefusal, Conflict, Good, Needs, Outcome};
use crate::wire::Reader;
use crate::wire::scsi::{FormatHeader, FormatUnit, Sense};

/// FORMAT UNIT.
pub(crate) static FORMAT_UNIT: CommandDefinition =
    CommandDefinition::new(&[0x04, 0xf0, 0x00, 0x00, 0x00, 0x04], Conflict::Writes, |command| {
        Box::pin(format(command))
    })
    .needing(needs);

fn needs(command: &CommandContext) -> Result<Needs, CommandRefusal> {
    command.unit()?;
    let request = FormatUnit::decode(&mut Reader::new(&command.cdb))?;
    if request.protection != 0 {
        return Err(Sense::in_cdb(1).into());
    }
    command.may_write()?;
    let length = if request.has_parameters { FormatHeader::length(request.long) } else { 0 };
    Ok(Needs::Parameters(length))
}

/// A formatted disk is all zeros, and uses no space on the host's disk. Lists of defects and other
/// patterns are not supported. IMMED changes nothing, because the command takes no time.
async fn format(command: &CommandContext) -> Outcome {
    let unit = command.unit()?;
    let request = FormatUnit::decode(&mut Reader::new(&command.cdb))?;
    if request.has_parameters {
        let header = FormatHeader::decode(request.long, &mut Reader::new(&command.data))?;
        if header.usage != 0 {
            return Err(Sense::in_parameters(0).into());
        }
        if header.pattern {
            return Err(Sense::in_parameters(1).into());
        }
        if header.defects != 0 {
            return Err(Sense::in_parameters(if request.long { 4 } else { 2 }).into());
        }
    }
    unit.punch(0, unit.size()).await?;
    unit.sync(&command.nexus).await?;
    Ok(Good::nothing())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::scsi::testing::Disk;

    #[tokio::test]
    async fn a_formatted_disk_is_zeros_and_takes_no_space() {
        for (cdb, parameters) in [
            ([0x04, 0, 0, 0, 0, 0], &[][..]),
            ([0x04, 0x10, 0, 0, 0, 0], &[0, 0x82, 0, 0]), // FOV, IMMED: SBC-3 table 38
            ([0x04, 0x30, 0, 0, 0, 0], &[0; 8]),
        ] {
            let disk = Disk::new(64).await;
            disk.unit.write(0, vec![7; 64 * 512].into()).await.unwrap();
            disk.send(&disk.nexus("iqn.2026-11.test:ada"), &cdb, parameters).await.unwrap();
            let mut bytes = Vec::new();
            disk.unit.read(0, 64 * 512).await.unwrap().append_to(&mut bytes).unwrap();
            assert_eq!(bytes, vec![0; 64 * 512]);
            assert_eq!(disk.unit.open().unwrap().attributes().unwrap().allocated, 0);
        }
    }

    #[tokio::test]
    async fn what_a_format_cannot_do_is_refused_before_anything_is_lost() {
        let disk = Disk::new(64).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        disk.unit.write(0, vec![7; 512].into()).await.unwrap();
        for (parameters, byte) in [([1, 0, 0, 0], 0), ([0, 8, 0, 0], 1), ([0, 0, 0, 8], 2)] {
            let refused = disk.send(&ada, &[0x04, 0x10, 0, 0, 0, 0], &parameters).await.unwrap_err();
            assert_eq!(refused, CommandRefusal::Check(Sense::in_parameters(byte)));
        }
        let refused = disk.send(&ada, &[0x04, 0x80, 0, 0, 0, 0], b"").await.unwrap_err();
        assert_eq!(refused, CommandRefusal::Check(Sense::in_cdb(1)));
        assert!(disk.unit.open().unwrap().attributes().unwrap().allocated > 0);
    }
}
