//! READ, SBC-3 5.11 to 5.13, and the shortest of SBC-2.

use super::limits::TRANSFER_BYTES;
use super::medium::unprotected;
use super::{CommandContext, CommandDefinition, Conflict, Good, Outcome, usage};
use crate::wire::Reader;
use crate::wire::scsi::{ReadCommand, Status};

/// READ (6), SBC-2 5.5.
pub(super) static READ_6: CommandDefinition = supported(const { &usage::six(0x08) });
/// READ (10), SBC-3 5.11.
pub(super) static READ_10: CommandDefinition = supported(const { &usage::ten(0x28, 0xf8) });
/// READ (12), SBC-3 5.12.
pub(super) static READ_12: CommandDefinition = supported(const { &usage::twelve(0xa8, 0xf8) });
/// READ (16), SBC-3 5.13.
pub(super) static READ_16: CommandDefinition = supported(const { &usage::sixteen(0x88, 0xf8) });

const fn supported(usage: &'static [u8]) -> CommandDefinition {
    CommandDefinition::new(usage, Conflict::Reads, |command| Box::pin(read(command)))
}

/// How many bytes a READ reads, also if the initiator expects fewer; 0 for other commands.
pub(crate) fn length_of_read(command: &CommandContext) -> u32 {
    let (Some(0x08 | 0x28 | 0xa8 | 0x88), Some(unit)) = (command.cdb.first(), &command.unit) else {
        return 0;
    };
    let blocks = ReadCommand::decode(&mut Reader::new(&command.cdb)).map_or(0, |request| request.count);
    blocks.saturating_mul(unit.block_size()).min(TRANSFER_BYTES)
}

/// A read returns what was last written, on the disk or not: DPO, FUA and RARC do not matter.
async fn read(command: &CommandContext) -> Outcome {
    let unit = command.unit()?;
    let request = ReadCommand::decode(&mut Reader::new(&command.cdb))?;
    unprotected(request.protect)?;
    let (offset, length) = unit.transfer(&command.cdb, request.lba, request.count)?;
    let data = unit.read(offset, length as usize).await?;
    Ok(Good { status: Status::GOOD, data })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use vfs::backend::memory::Memory;

    use crate::server::scsi::testing::Disk;
    use crate::server::scsi::{CommandRefusal, UnitOptions};
    use crate::wire::scsi::{Asc, Sense};

    fn refused(sense: Sense) -> CommandRefusal {
        CommandRefusal::Check(sense)
    }

    #[tokio::test]
    async fn all_four_lengths_read_the_same_blocks() {
        let disk = Disk::new(600).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        disk.unit.write(2 * 512, vec![7; 1024].into()).await.unwrap();
        for cdb in [
            &[0x08, 0, 0, 1, 3, 0][..],
            &[0x28, 0, 0, 0, 0, 1, 0, 0, 3, 0],
            &[0xa8, 0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0],
            &[0x88, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0],
        ] {
            let bytes = disk.send(&ada, cdb, b"").await.unwrap().bytes();
            assert_eq!(bytes, [vec![0; 512], vec![7; 1024]].concat(), "{cdb:02x?}");
        }
        let most = disk.send(&ada, &[0x08, 0, 0, 0, 0, 0], b"").await.unwrap();
        assert_eq!(most.bytes().len(), 256 * 512);
    }

    #[tokio::test]
    async fn nothing_is_read_behind_the_last_block_not_even_no_blocks() {
        let disk = Disk::new(100).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        for (cdb, about) in [
            ([0x28, 0, 0, 0, 0, 99, 0, 0, 2, 0], 100),
            ([0x28, 0, 0x80, 0, 0, 0, 0, 0, 0, 0], 0x8000_0000),
            ([0x28, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 1, 0], 0xffff_ffff),
        ] {
            let failed = disk.send(&ada, &cdb, b"").await.unwrap_err();
            assert_eq!(failed, refused(Sense::illegal(Asc::LBA_OUT_OF_RANGE).about(about)));
        }
        let last = [0x88, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, 0, 0];
        assert!(disk.send(&ada, &last, b"").await.is_err());
        let none = disk.send(&ada, &[0x28, 0, 0, 0, 0, 0, 0, 0, 0, 0], b"").await.unwrap();
        assert!(none.bytes().is_empty());
    }

    #[tokio::test]
    async fn protection_information_is_refused_and_caching_hints_are_not() {
        let disk = Disk::new(8).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        for protect in 1..8 {
            let cdb = [0x28, protect << 5, 0, 0, 0, 0, 0, 0, 1, 0];
            let CommandRefusal::Check(sense) = disk.send(&ada, &cdb, b"").await.unwrap_err() else {
                panic!()
            };
            assert_eq!(sense.asc, Asc::INVALID_FIELD_IN_CDB);
        }
        let hints = [0x28, 0x1c, 0, 0, 0, 0, 0, 0, 1, 0];
        assert_eq!(disk.send(&ada, &hints, b"").await.unwrap().bytes(), [0; 512]);
    }

    #[tokio::test]
    async fn more_than_the_block_limits_page_allows_is_refused() {
        let options = UnitOptions { block_size: 4096, read_only: false };
        let disk = Disk::on(Arc::new(Memory::ticking()), 4096, options).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        let most = disk.send(&ada, &[0x28, 0, 0, 0, 0, 0, 0, 0x08, 0x00, 0], b"").await.unwrap();
        assert_eq!(most.bytes().len(), 8 << 20);
        let failed = disk.send(&ada, &[0x28, 0, 0, 0, 0, 0, 0, 0x08, 0x01, 0], b"").await.unwrap_err();
        assert_eq!(failed, refused(Sense::in_cdb(7)));
    }
}
