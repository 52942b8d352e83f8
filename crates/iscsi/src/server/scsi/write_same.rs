//! WRITE SAME, SBC-3 5.43 and 5.44: writes one block repeatedly. A block of zeros may release
//! space.

use bytes::Bytes;

use super::medium::{count_at, unprotected};
use super::pieces::pieces;
use super::{
    CommandContext, CommandDefinition, CommandRefusal, Conflict, Good, LogicalUnit, Needs, Outcome, limits,
    usage,
};
use crate::wire::Reader;
use crate::wire::scsi::{Sense, WriteSame};

/// WRITE SAME (10), SBC-3 5.43.
pub(super) static WRITE_SAME_10: CommandDefinition = supported(const { &usage::ten(0x41, 0xfe) });
/// WRITE SAME (16), SBC-3 5.44.
pub(super) static WRITE_SAME_16: CommandDefinition = supported(const { &usage::sixteen(0x93, 0xff) });

const fn supported(usage: &'static [u8]) -> CommandDefinition {
    CommandDefinition::new(usage, Conflict::Writes, |command| Box::pin(write_same(command))).needing(needs)
}

fn needs(command: &CommandContext) -> Result<Needs, CommandRefusal> {
    let unit = command.unit()?;
    let request = WriteSame::decode(&mut Reader::new(&command.cdb))?;
    unprotected(request.protect)?;
    if request.anchor || request.numbered {
        return Err(Sense::in_cdb(1).into());
    }
    command.may_write()?;
    where_to(command, unit, &request)?;
    Ok(if request.no_data { Needs::Nothing } else { Needs::Exactly(unit.block_size() as usize) })
}

fn where_to(
    command: &CommandContext,
    unit: &LogicalUnit,
    request: &WriteSame,
) -> Result<(u64, u64), CommandRefusal> {
    let (offset, length) = unit.range(request.lba, u64::from(request.count))?;
    if length == 0 || length > u64::from(limits::WRITE_SAME_BYTES) {
        return Err(Sense::in_cdb(count_at(&command.cdb)).into());
    }
    Ok((offset, length))
}

async fn write_same(command: &CommandContext) -> Outcome {
    let unit = command.unit()?;
    let request = WriteSame::decode(&mut Reader::new(&command.cdb))?;
    let (offset, length) = where_to(command, unit, &request)?;
    let block = match request.no_data {
        true => Bytes::from(vec![0; unit.block_size() as usize]),
        false => command.data.clone(),
    };
    if request.unmap && block.iter().all(|&byte| byte == 0) {
        unit.punch(offset, length).await?;
        return Ok(Good::nothing());
    }
    let most = length.min(u64::from(limits::PIECE_BYTES)) as usize;
    let filled = Bytes::from(block.repeat(most / block.len()));
    for (piece, length) in pieces(offset, length) {
        unit.write(piece, filled.slice(..length)).await?;
        command.go_on().await?;
    }
    Ok(Good::nothing())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use vfs::backend::memory::Memory;

    use crate::server::scsi::UnitOptions;
    use crate::server::scsi::testing::Disk;
    use crate::wire::scsi::{Asc, Sense};

    /// Bytes of the disk that use space.
    async fn allocated(disk: &Disk) -> u64 {
        let found = disk.unit.open().unwrap().allocated(0, u64::MAX, 1000).await.unwrap();
        found.ranges.iter().map(|(_, length)| length).sum()
    }

    #[tokio::test]
    async fn one_block_is_written_over_and_over() {
        for block_size in [512, 4096] {
            let options = UnitOptions { block_size, read_only: false };
            let disk = Disk::on(Arc::new(Memory::ticking()), 1024, options).await;
            let ada = disk.nexus("iqn.2026-11.test:ada");
            let block: Vec<u8> = (0..block_size).map(|at| at as u8 ^ (at >> 8) as u8).collect();
            disk.send(&ada, &[0x41, 0, 0, 0, 0, 1, 0, 0x02, 0x01, 0], &block).await.unwrap();
            let read = disk.send(&ada, &[0x28, 0, 0, 0, 0, 1, 0, 0x02, 0x02, 0], b"").await.unwrap().bytes();
            assert!(read == [block.repeat(513), vec![0; block_size as usize]].concat());
        }
    }

    #[tokio::test]
    async fn zeros_give_space_back_only_when_they_may() {
        let disk = Disk::new(1024).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        disk.send(&ada, &[0x93, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0], &[0; 512]).await.unwrap();
        assert_eq!(allocated(&disk).await, 512 << 10);
        disk.send(&ada, &[0x93, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0], &[0; 512]).await.unwrap();
        assert_eq!(allocated(&disk).await, 256 << 10);
        disk.send(&ada, &[0x93, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0], &[1; 512]).await.unwrap();
        assert_eq!(allocated(&disk).await, 512 << 10); // not zeros
        disk.send(&ada, &[0x93, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0], b"").await.unwrap();
        assert_eq!(allocated(&disk).await, 0); // NDOB
    }

    #[tokio::test]
    async fn what_it_cannot_do_is_refused() {
        let disk = Disk::new(20_000).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        for (cdb, sense) in [
            ([0x93, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0], Sense::in_cdb(1)), // ANCHOR
            ([0x93, 0x18, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0], Sense::in_cdb(1)),
            ([0x93, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0], Sense::in_cdb(1)), // LBDATA
            ([0x93, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], Sense::in_cdb(10)),   // WSNZ
            ([0x93, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 1, 0, 0], Sense::in_cdb(10)), // 8 MiB and one
            (
                [0x93, 0, 0, 0, 0, 0, 0, 0, 0x4e, 0x21, 0, 0, 0, 0, 0, 0],
                Sense::illegal(Asc::LBA_OUT_OF_RANGE).about(20_001),
            ),
        ] {
            assert_eq!(disk.send(&ada, &cdb, b"").await.unwrap_err(), sense.into(), "{cdb:02x?}");
        }
    }
}
