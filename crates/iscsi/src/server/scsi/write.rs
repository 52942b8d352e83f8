//! WRITE, SBC-3 5.33 to 5.35, and the shortest form of SBC-2. The data are written as they arrive.

use super::medium::unprotected;
use super::{CommandContext, CommandDefinition, CommandRefusal, Conflict, Good, Needs, Outcome, usage};
use crate::wire::Reader;
use crate::wire::scsi::WriteCommand;

/// WRITE (6), SBC-2 5.24.
pub(super) static WRITE_6: CommandDefinition = supported(const { &usage::six(0x0a) });
/// WRITE (10), SBC-3 5.33.
pub(super) static WRITE_10: CommandDefinition = supported(const { &usage::ten(0x2a, 0xf8) });
/// WRITE (12), SBC-3 5.34.
pub(super) static WRITE_12: CommandDefinition = supported(const { &usage::twelve(0xaa, 0xf8) });
/// WRITE (16), SBC-3 5.35.
pub(super) static WRITE_16: CommandDefinition = supported(const { &usage::sixteen(0x8a, 0xf8) });

const fn supported(usage: &'static [u8]) -> CommandDefinition {
    CommandDefinition::new(usage, Conflict::Writes, |command| Box::pin(written(command))).needing(needs)
}

fn needs(command: &CommandContext) -> Result<Needs, CommandRefusal> {
    let unit = command.unit()?;
    let request = WriteCommand::decode(&mut Reader::new(&command.cdb))?;
    unprotected(request.protect)?;
    command.may_write()?;
    let (offset, length) = unit.transfer(&command.cdb, request.lba, request.count)?;
    Ok(Needs::Blocks { offset, length })
}

async fn written(command: &CommandContext) -> Outcome {
    let request = WriteCommand::decode(&mut Reader::new(&command.cdb))?;
    if request.fua {
        command.unit()?.sync(&command.nexus).await?;
    }
    Ok(Good::nothing())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use vfs::backend::memory::Memory;

    use crate::server::scsi::testing::Disk;
    use crate::server::scsi::{CommandRefusal, UnitOptions};
    use crate::wire::scsi::{Asc, Key, Sense};

    #[tokio::test]
    async fn all_four_lengths_write_the_same_blocks() {
        let disk = Disk::new(8).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        for (with, cdb) in [
            &[0x0a, 0, 0, 3, 2, 0][..],
            &[0x2a, 0x18, 0, 0, 0, 3, 0, 0, 2, 0],
            &[0xaa, 0, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0],
            &[0x8a, 0x08, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0],
        ]
        .into_iter()
        .enumerate()
        {
            disk.send(&ada, cdb, &[with as u8 + 1; 1024]).await.unwrap();
            let read = disk.send(&ada, &[0x08, 0, 0, 2, 4, 0], b"").await.unwrap().bytes();
            assert_eq!(read, [vec![0; 512], vec![with as u8 + 1; 1024], vec![0; 512]].concat());
        }
    }

    #[tokio::test]
    async fn a_read_only_unit_refuses_writes() {
        let options = UnitOptions { block_size: 512, read_only: true };
        let disk = Disk::on(Arc::new(Memory::ticking()), 8, options).await;
        let failed = disk.send(&disk.nexus("iqn.2026-11.test:ada"), &[0x0a, 0, 0, 0, 1, 0], b"").await;
        let sense = Sense::new(Key::DATA_PROTECT, Asc::WRITE_PROTECTED);
        assert_eq!(failed.unwrap_err(), CommandRefusal::Check(sense));
    }

    #[tokio::test]
    async fn no_data_are_asked_for_when_the_blocks_are_not_there() {
        let disk = Disk::new(8).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        let failed = disk.send(&ada, &[0x2a, 0, 0, 0, 0, 7, 0, 0, 2, 0], b"").await.unwrap_err();
        assert_eq!(failed, CommandRefusal::Check(Sense::illegal(Asc::LBA_OUT_OF_RANGE).about(8)));
        disk.send(&ada, &[0x2a, 0, 0, 0, 0, 8, 0, 0, 0, 0], b"").await.unwrap();
    }
}
