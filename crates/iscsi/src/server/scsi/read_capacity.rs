//! READ CAPACITY, SBC-3 5.15 and 5.16.

use super::limits::PAGE_BYTES;
use super::{CommandContext, CommandDefinition, CommandRefusal, Conflict, Good, Outcome};
use crate::wire::scsi::{Capacity10, Capacity16, ReadCapacity10, ReadCapacity16, Sense};
use crate::wire::{Reader, Writer};

/// READ CAPACITY (10).
pub(crate) static READ_CAPACITY_10: CommandDefinition = CommandDefinition::new(
    &[0x25, 0x00, 0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x01, 0x04],
    Conflict::Never,
    |command| Box::pin(std::future::ready(read_capacity_10(command))),
);

/// READ CAPACITY (16).
pub(crate) static READ_CAPACITY_16: CommandDefinition = CommandDefinition::new(
    &[0x9e, 0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x04],
    Conflict::Never,
    |command| Box::pin(std::future::ready(read_capacity_16(command))),
)
.of_action(0x10);

fn read_capacity_10(command: &CommandContext) -> Outcome {
    let unit = command.unit()?;
    let request = ReadCapacity10::decode(&mut Reader::new(&command.cdb))?;
    address_is_for_partial(request.partial, u64::from(request.lba))?;
    let last = u32::try_from(unit.blocks().saturating_sub(1)).unwrap_or(u32::MAX);
    let mut w = Writer::new();
    Capacity10 { last, block_size: unit.block_size() }.encode(&mut w);
    Ok(Good::data(w.into_bytes()))
}

fn read_capacity_16(command: &CommandContext) -> Outcome {
    let unit = command.unit()?;
    let request = ReadCapacity16::decode(&mut Reader::new(&command.cdb))?;
    address_is_for_partial(request.partial, request.lba)?;
    let block_size = unit.block_size();
    let capacity = Capacity16 {
        last: unit.blocks().saturating_sub(1),
        block_size,
        // Any block can be written alone; but writes of less than a page of the host are slower,
        // and smaller parts cannot be unmapped.
        physical_exponent: (PAGE_BYTES / block_size).trailing_zeros() as u8, // 3 at most
        thin: true,
        reads_zeros: true,
        aligned: 0,
    };
    let mut w = Writer::new();
    capacity.encode(&mut w);
    Ok(Good::cut(w.into_bytes(), request.allocation_length as usize))
}

/// SBC-2 5.10.1: an address without PMI is an error. With PMI the answer is the same, because no
/// part is slower than another.
fn address_is_for_partial(partial: bool, lba: u64) -> Result<(), CommandRefusal> {
    if partial || lba == 0 { Ok(()) } else { Err(Sense::in_cdb(2).into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::scsi::testing::Disk;

    const CAPACITY_16: [u8; 16] = [0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0];

    #[tokio::test]
    async fn the_last_block_and_the_size_of_blocks_are_told() {
        let disk = Disk::new(0x1000).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        let bytes = disk.send(&ada, &[0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0], b"").await.unwrap().bytes();
        assert_eq!(bytes, [0, 0, 0x0f, 0xff, 0, 0, 2, 0]);
        let bytes = disk.send(&ada, &CAPACITY_16, b"").await.unwrap().bytes();
        assert_eq!(bytes.len(), 32);
        assert_eq!(bytes[..16], [0, 0, 0, 0, 0, 0, 0x0f, 0xff, 0, 0, 2, 0, 0, 3, 0xc0, 0]);
    }

    #[tokio::test]
    async fn from_two_to_the_32nd_block_on_the_short_command_says_all_ones() {
        let disk = Disk::new(1 << 32).await; // SBC-3 5.15.2: 2 TiB
        let ada = disk.nexus("iqn.2026-11.test:ada");
        let bytes = disk.send(&ada, &[0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0], b"").await.unwrap().bytes();
        assert_eq!(bytes[..4], [0xff; 4]);
        disk.unit.set_size(512 << 33);
        let bytes = disk.send(&ada, &[0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0], b"").await.unwrap().bytes();
        assert_eq!(bytes[..4], [0xff; 4]);
        let bytes = disk.send(&ada, &CAPACITY_16, b"").await.unwrap().bytes();
        assert_eq!(bytes[..8], [0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff]);
    }

    #[tokio::test]
    async fn an_address_is_refused_without_pmi() {
        let disk = Disk::new(8).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        let refused = disk.send(&ada, &[0x25, 0, 0, 0, 0, 1, 0, 0, 0, 0], b"").await.unwrap_err();
        assert_eq!(refused, CommandRefusal::Check(Sense::in_cdb(2)));
        assert!(disk.send(&ada, &[0x25, 0, 0, 0, 0, 1, 0, 0, 1, 0], b"").await.is_ok());
    }

    #[tokio::test]
    async fn a_short_allocation_length_cuts_the_answer() {
        let disk = Disk::new(8).await;
        let mut cdb = CAPACITY_16;
        for room in 0..16 {
            cdb[13] = room;
            let good = disk.send(&disk.nexus("iqn.2026-11.test:ada"), &cdb, b"").await.unwrap();
            assert_eq!(good.bytes().len(), usize::from(room));
        }
    }
}
