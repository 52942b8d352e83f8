//! GET LBA STATUS, SBC-3 5.4: which blocks are mapped.

use super::{CommandContext, CommandDefinition, CommandRefusal, Conflict, Good, LogicalUnit, Outcome};
use crate::wire::scsi::{GetLbaStatus, LBA_STATUS_DESCRIPTOR, LBA_STATUS_HEADER, LbaStatus, Provisioning};
use crate::wire::{Reader, Writer};

/// The most descriptors in an answer. Initiators ask again for the rest.
const MOST: usize = 1024;

/// GET LBA STATUS, SBC-3 5.4.
pub(super) static GET_LBA_STATUS: CommandDefinition = CommandDefinition::new(
    &[0x9e, 0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0],
    Conflict::Reads,
    |command| Box::pin(get_lba_status(command)),
)
.of_action(0x12);

/// As many descriptors as there is room for, but at least one.
async fn get_lba_status(command: &CommandContext) -> Outcome {
    let unit = command.unit()?;
    let request = GetLbaStatus::decode(&mut Reader::new(&command.cdb))?;
    unit.range(request.lba, 1)?;
    let room = request.allocation_length as usize;
    let most = room.saturating_sub(LBA_STATUS_HEADER) / LBA_STATUS_DESCRIPTOR;
    let found = statuses(unit, request.lba, most.clamp(1, MOST)).await?;
    let mut w = Writer::new();
    LbaStatus::encode_list(&found, &mut w);
    Ok(Good::cut(w.into_bytes(), room))
}

/// The provisioning of the blocks from `lba` on, in at most `most` descriptors.
async fn statuses(unit: &LogicalUnit, lba: u64, most: usize) -> Result<Vec<LbaStatus>, CommandRefusal> {
    let size = u64::from(unit.block_size());
    let (blocks, mut list, mut at) = (unit.blocks(), List { found: Vec::new(), most }, lba);
    let allocated = unit.open()?.allocated(lba * size, (blocks - lba) * size, most).await?;
    for (offset, length) in allocated.ranges {
        // A block counts as mapped if any part of it is.
        let (start, end) = ((offset / size).max(at), (offset + length).div_ceil(size).min(blocks));
        list.add(at, start, Provisioning::Deallocated);
        list.add(start, end, Provisioning::Mapped);
        at = end;
    }
    if !allocated.more {
        list.add(at, blocks, Provisioning::Deallocated);
    }
    Ok(list.found)
}

struct List {
    found: Vec<LbaStatus>,
    most: usize,
}

impl List {
    /// Adds the blocks up to `end`, as far as there is room. Neighbours of one kind become one
    /// descriptor.
    fn add(&mut self, mut lba: u64, end: u64, provisioning: Provisioning) {
        if let Some(last) = self
            .found
            .last_mut()
            .filter(|last| last.provisioning == provisioning && last.lba + u64::from(last.count) == lba)
        {
            let more = (end.saturating_sub(lba)).min(u64::from(u32::MAX - last.count));
            last.count += more as u32; // checked above: it fits
            lba += more;
        }
        while lba < end && self.found.len() < self.most {
            let count = u32::try_from(end - lba).unwrap_or(u32::MAX);
            self.found.push(LbaStatus { lba, count, provisioning });
            lba += u64::from(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use vfs::backend::memory::Memory;

    use crate::server::scsi::UnitOptions;
    use crate::server::scsi::testing::Disk;
    use crate::wire::scsi::{Asc, Sense};

    const MAPPED: u8 = 0;
    const DEALLOCATED: u8 = 1;

    fn cdb(lba: u8, room: u8) -> [u8; 16] {
        [0x9e, 0x12, 0, 0, 0, 0, 0, 0, 0, lba, 0, 0, 0, room, 0, 0]
    }

    /// The answer with these descriptors.
    fn answer(statuses: &[(u64, u32, u8)]) -> Vec<u8> {
        let length = (4 + 16 * statuses.len()) as u32;
        let mut bytes = [&length.to_be_bytes()[..], &[0; 4]].concat();
        for (lba, count, status) in statuses {
            bytes.extend(lba.to_be_bytes());
            bytes.extend(count.to_be_bytes());
            bytes.extend([*status, 0, 0, 0]);
        }
        bytes
    }

    async fn disk(block_size: u32) -> Disk {
        let options = UnitOptions { block_size, read_only: false };
        let disk = Disk::on(Arc::new(Memory::ticking()), 64, options).await;
        disk.unit.write(8192, vec![7; 4096].into()).await.unwrap();
        disk
    }

    #[tokio::test]
    async fn holes_are_deallocated_and_the_rest_is_mapped() {
        let ada = "iqn.2026-11.test:ada";
        let small = disk(512).await;
        let all = small.send(&small.nexus(ada), &cdb(0, 255), b"").await.unwrap().bytes();
        assert_eq!(all, answer(&[(0, 16, DEALLOCATED), (16, 8, MAPPED), (24, 40, DEALLOCATED)]));
        let large = disk(4096).await;
        let all = large.send(&large.nexus(ada), &cdb(1, 255), b"").await.unwrap().bytes();
        assert_eq!(all, answer(&[(1, 1, DEALLOCATED), (2, 1, MAPPED), (3, 61, DEALLOCATED)]));
    }

    #[tokio::test]
    async fn there_are_as_many_descriptors_as_there_is_room_for() {
        let disk = disk(512).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        let two = disk.send(&ada, &cdb(17, 40), b"").await.unwrap().bytes();
        assert_eq!(two, answer(&[(17, 7, MAPPED), (24, 40, DEALLOCATED)]));
        let one = disk.send(&ada, &cdb(0, 24), b"").await.unwrap().bytes();
        assert_eq!(one, answer(&[(0, 16, DEALLOCATED)]));
        let head = disk.send(&ada, &cdb(0, 8), b"").await.unwrap().bytes();
        assert_eq!(head, [0, 0, 0, 20, 0, 0, 0, 0]);
        assert!(disk.send(&ada, &cdb(0, 0), b"").await.unwrap().bytes().is_empty());
    }

    #[tokio::test]
    async fn there_is_no_status_behind_the_last_block() {
        let disk = disk(512).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        let last = disk.send(&ada, &cdb(63, 24), b"").await.unwrap().bytes();
        assert_eq!(last, answer(&[(63, 1, DEALLOCATED)]));
        let failed = disk.send(&ada, &cdb(64, 24), b"").await.unwrap_err();
        assert_eq!(failed, Sense::illegal(Asc::LBA_OUT_OF_RANGE).about(64).into());
    }
}
