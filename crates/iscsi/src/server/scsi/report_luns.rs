//! REPORT LUNS, SPC-4 6.33.

use super::{CommandContext, CommandDefinition, Conflict, Good, Outcome};
use crate::wire::pdu::Lun;
use crate::wire::scsi::{Asc, LunList, ReportLuns, Sense};
use crate::wire::{Reader, Writer};

/// REPORT LUNS.
pub(crate) static REPORT_LUNS: CommandDefinition = CommandDefinition::new(
    &[0xa0, 0x00, 0xff, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0x00, 0x04],
    Conflict::Never,
    |command| Box::pin(std::future::ready(report_luns(command))),
);

fn report_luns(command: &CommandContext) -> Outcome {
    let request = ReportLuns::decode(&mut Reader::new(&command.cdb))?;
    let numbers = command.seen.iter().map(|seen| Lun::of(seen.number));
    let luns = match request.select {
        // The plain units; and the plain and the well known units.
        0x00 | 0x02 => numbers.collect(),
        // Well known units, administrative units, and units below others: there are none.
        0x01 | 0x10 | 0x12 => Vec::new(),
        // As 00h, for an administrative unit.
        0x11 => numbers.collect(),
        _ => return Err(Sense::in_cdb(2).into()),
    };
    // SAM-5 5.14.1: an initiator that has read the list needs no unit attention about its change.
    for seen in command.seen.iter() {
        seen.unit.attentions.withdraw(&command.nexus.initiator, Asc::REPORTED_LUNS_CHANGED);
    }
    let mut w = Writer::new();
    LunList(luns).encode(&mut w);
    Ok(Good::cut(w.into_bytes(), request.allocation_length as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::scsi::CommandRefusal;
    use crate::server::scsi::testing::Disk;

    fn cdb(select: u8, room: u8) -> [u8; 12] {
        [0xa0, 0, select, 0, 0, 0, 0, 0, 0, room, 0, 0]
    }

    #[tokio::test]
    async fn the_units_are_listed_also_where_there_is_none() {
        let disk = Disk::new(8).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        for unit in [Some(disk.unit.clone()), None] {
            let bytes = disk.send_to(unit, &ada, &cdb(0, 255), b"").await.unwrap().bytes();
            assert_eq!(bytes, [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]); // SPC-4 table 285
        }
    }

    #[tokio::test]
    async fn the_length_is_that_of_the_whole_list_however_little_room_there_is() {
        let disk = Disk::new(8).await;
        let bytes = disk.send(&disk.nexus("iqn.2026-11.test:ada"), &cdb(2, 4), b"").await.unwrap().bytes();
        assert_eq!(bytes, [0, 0, 0, 8]);
    }

    #[tokio::test]
    async fn there_are_no_well_known_units() {
        let disk = Disk::new(8).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        assert_eq!(disk.send(&ada, &cdb(1, 255), b"").await.unwrap().bytes(), [0; 8]);
        let refused = disk.send(&ada, &cdb(3, 255), b"").await.unwrap_err();
        assert_eq!(refused, CommandRefusal::Check(Sense::in_cdb(2)));
    }

    #[tokio::test]
    async fn reading_the_list_clears_its_unit_attention() {
        let disk = Disk::new(8).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        disk.unit.attentions.raise(&ada.initiator, Asc::REPORTED_LUNS_CHANGED);
        disk.send(&ada, &cdb(0, 255), b"").await.unwrap();
        assert!(disk.send(&ada, &[0; 6], b"").await.is_ok()); // TEST UNIT READY
    }
}
