//! REPORT IDENTIFYING INFORMATION, SPC-4 6.30.

use super::{CommandContext, CommandDefinition, Conflict, Good, Outcome};
use crate::wire::scsi::{IdentifyingInformation, MaintenanceIn, Sense};
use crate::wire::{Reader, Writer};

/// REPORT IDENTIFYING INFORMATION.
pub(crate) static REPORT_IDENTITY: CommandDefinition = CommandDefinition::new(
    &[0xa3, 0x05, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xfe, 0x04],
    Conflict::Never,
    |command| Box::pin(std::future::ready(report(command))),
)
.of_action(MaintenanceIn::IDENTIFYING_INFORMATION as u16);

/// IDENTIFYING INFORMATION TYPE, SPC-4 table 275: information that initiators can set (not
/// supported), text, and the list of the two.
const SET: u8 = 0x00;
const TEXT: u8 = 0x02;
const LIST: u8 = 0x7f;
/// The most bytes of the text, with the zero at its end.
const LONGEST_TEXT: usize = 256;

/// The text is the unit's displayed name.
fn report(command: &CommandContext) -> Outcome {
    let unit = command.unit()?;
    let request = MaintenanceIn::decode(&mut Reader::new(&command.cdb))?;
    let information = match request.kind {
        SET => Vec::new(),
        TEXT => text(&unit.identity.name),
        LIST => [&[SET << 1, 0, 0, 0][..], &[TEXT << 1, 0, 1, 0]].concat(), // 0 and 256 bytes at most
        _ => return Err(Sense::in_cdb(10).into()),
    };
    let mut w = Writer::new();
    IdentifyingInformation(&information).encode(&mut w);
    Ok(Good::cut(w.into_bytes(), request.allocation_length as usize))
}

fn text(name: &str) -> Vec<u8> {
    let mut end = name.len().min(LONGEST_TEXT - 1);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    [&name.as_bytes()[..end], &[0]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::scsi::CommandRefusal;
    use crate::server::scsi::testing::Disk;

    #[tokio::test]
    async fn the_text_is_the_name_that_people_see() {
        let disk = Disk::new(8).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        let mut cdb = [0xa3, 0x05, 0, 0, 0, 0, 0, 0, 0, 255, TEXT << 1, 0];
        assert_eq!(disk.send(&ada, &cdb, b"").await.unwrap().bytes(), b"\0\0\0\x0btest/disk0\0");
        cdb[10] = LIST << 1;
        let list = [0, 0, 0, 8, 0, 0, 0, 0, 4, 0, 1, 0]; // SPC-4 table 277
        assert_eq!(disk.send(&ada, &cdb, b"").await.unwrap().bytes(), list);
        cdb[10] = SET;
        assert_eq!(disk.send(&ada, &cdb, b"").await.unwrap().bytes(), [0; 4]);
        cdb[10] = 2;
        assert_eq!(disk.send(&ada, &cdb, b"").await.unwrap_err(), CommandRefusal::Check(Sense::in_cdb(10)));
    }
}
