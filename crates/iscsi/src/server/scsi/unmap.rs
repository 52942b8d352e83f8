//! UNMAP, SBC-3 5.28: releases the space of blocks, which then read as zeros.

use super::pieces::pieces_of;
use super::{
    CommandContext, CommandDefinition, CommandRefusal, Conflict, Good, LogicalUnit, Needs, Outcome, limits,
};
use crate::wire::Reader;
use crate::wire::scsi::{Asc, Sense, UNMAP_HEADER, Unmap, UnmapRange};

/// The most bytes that are unmapped before other tasks may use the thread.
const PIECE: u64 = 64 << 20;

/// UNMAP, SBC-3 5.28.
pub(super) static UNMAP: CommandDefinition =
    CommandDefinition::new(&[0x42, 0x01, 0, 0, 0, 0, 0, 0xff, 0xff, 0], Conflict::Writes, |command| {
        Box::pin(unmap(command))
    })
    .needing(needs);

fn needs(command: &CommandContext) -> Result<Needs, CommandRefusal> {
    let request = Unmap::decode(&mut Reader::new(&command.cdb))?;
    if request.anchor {
        return Err(Sense::in_cdb(1).into());
    }
    command.may_write()?;
    match usize::from(request.list_length) {
        0 => Ok(Needs::Nothing),
        1..UNMAP_HEADER => Err(Sense::illegal(Asc::PARAMETER_LIST_LENGTH_ERROR).into()),
        length => Ok(Needs::Parameters(length)),
    }
}

/// All descriptors are checked before any block is unmapped.
async fn unmap(command: &CommandContext) -> Outcome {
    let unit = command.unit()?;
    if Unmap::decode(&mut Reader::new(&command.cdb))?.list_length == 0 {
        return Ok(Good::nothing());
    }
    for (offset, length) in ranges(unit, &command.data)? {
        for (piece, length) in pieces_of(PIECE, offset, length) {
            unit.punch(piece, length).await?;
            command.go_on().await?;
        }
    }
    Ok(Good::nothing())
}

/// The places of the blocks.
fn ranges(unit: &LogicalUnit, list: &[u8]) -> Result<Vec<(u64, u64)>, CommandRefusal> {
    let list = UnmapRange::decode_list(&mut Reader::new(list))
        .map_err(|_| Sense::illegal(Asc::PARAMETER_LIST_LENGTH_ERROR))?;
    let total: u64 = list.iter().map(|range| u64::from(range.count)).sum();
    if list.len() > limits::UNMAP_DESCRIPTORS as usize || total > u64::from(limits::UNMAP_BLOCKS) {
        return Err(Sense::in_parameters(2).into());
    }
    list.iter().map(|range| unit.range(range.lba, u64::from(range.count))).collect()
}

#[cfg(test)]
mod tests {
    use crate::server::scsi::Outcome;
    use crate::server::scsi::testing::Disk;
    use crate::wire::scsi::{Asc, Sense};

    async fn unmap(disk: &Disk, ranges: &[(u64, u32)]) -> Outcome {
        let ranges: Vec<u8> = ranges
            .iter()
            .flat_map(|(lba, count)| [&lba.to_be_bytes()[..], &count.to_be_bytes(), &[0; 4]].concat())
            .collect();
        let length = ranges.len() as u16;
        let list = [&(length + 6).to_be_bytes()[..], &length.to_be_bytes(), &[0; 4], &ranges].concat();
        let [high, low] = (list.len() as u16).to_be_bytes();
        let cdb = [0x42, 0, 0, 0, 0, 0, 0, high, low, 0];
        disk.send(&disk.nexus("iqn.2026-11.test:ada"), &cdb, &list).await
    }

    #[tokio::test]
    async fn blocks_given_back_read_as_zeros_and_their_neighbours_stay() {
        let disk = Disk::new(64).await;
        disk.unit.write(0, vec![7; 64 * 512].into()).await.unwrap();
        unmap(&disk, &[(1, 1), (16, 24), (20, 20), (63, 0), (64, 0)]).await.unwrap();
        let read = disk.unit.bytes(0, 64 * 512).await.unwrap();
        let zeros: Vec<usize> = (0..64).filter(|block| read[block * 512..][..512] == [0; 512]).collect();
        assert_eq!(zeros, [1].into_iter().chain(16..40).collect::<Vec<_>>());
        let left = disk.unit.open().unwrap().allocated(0, u64::MAX, 9).await.unwrap().ranges;
        assert_eq!(left, [(0, 8192), (20480, 12288)]);
    }

    #[tokio::test]
    async fn nothing_is_given_back_when_a_range_is_not_there() {
        let disk = Disk::new(64).await;
        disk.unit.write(0, vec![7; 512].into()).await.unwrap();
        let failed = unmap(&disk, &[(0, 8), (60, 5)]).await.unwrap_err();
        assert_eq!(failed, Sense::illegal(Asc::LBA_OUT_OF_RANGE).about(64).into());
        assert_eq!(disk.unit.bytes(0, 512).await.unwrap(), [7; 512]);
    }

    #[tokio::test]
    async fn lists_of_a_wrong_length_and_too_much_at_once_are_refused() {
        let disk = Disk::new(1 << 22).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        let short = disk.send(&ada, &[0x42, 0, 0, 0, 0, 0, 0, 0, 7, 0], b"").await.unwrap_err();
        assert_eq!(short, Sense::illegal(Asc::PARAMETER_LIST_LENGTH_ERROR).into());
        let lies = [0, 22, 0, 16, 0, 0, 0, 0];
        let lying = disk.send(&ada, &[0x42, 0, 0, 0, 0, 0, 0, 0, 8, 0], &lies).await.unwrap_err();
        assert_eq!(lying, Sense::illegal(Asc::PARAMETER_LIST_LENGTH_ERROR).into());
        let anchored = disk.send(&ada, &[0x42, 1, 0, 0, 0, 0, 0, 0, 8, 0], b"").await.unwrap_err();
        assert_eq!(anchored, Sense::in_cdb(1).into());
        assert_eq!(unmap(&disk, &[(0, 1); 257]).await.unwrap_err(), Sense::in_parameters(2).into());
        let blocks = [(0, 1 << 20), (1 << 21, 1)];
        assert_eq!(unmap(&disk, &blocks).await.unwrap_err(), Sense::in_parameters(2).into());
        disk.send(&ada, &[0x42, 0, 0, 0, 0, 0, 0, 0, 0, 0], b"").await.unwrap();
        unmap(&disk, &[]).await.unwrap();
    }
}
