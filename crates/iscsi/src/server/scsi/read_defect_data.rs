//! READ DEFECT DATA, SBC-3 5.17 and 5.18. The server knows of no defects: the host handles them.

use super::{CommandContext, CommandDefinition, Conflict, Good, Outcome};
use crate::wire::scsi::ReadDefectData;
use crate::wire::{Reader, Writer};

/// READ DEFECT DATA (10), SBC-3 5.17.
pub(super) static READ_DEFECT_DATA_10: CommandDefinition =
    supported(&[0x37, 0, 0x1f, 0, 0, 0, 0, 0xff, 0xff, 0]);
/// READ DEFECT DATA (12), SBC-3 5.18.
pub(super) static READ_DEFECT_DATA_12: CommandDefinition =
    supported(&[0xb7, 0x1f, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0]);

const fn supported(usage: &'static [u8]) -> CommandDefinition {
    CommandDefinition::new(usage, Conflict::Reads, |command| Box::pin(read_defect_data(command)))
}

async fn read_defect_data(command: &CommandContext) -> Outcome {
    command.unit()?;
    let request = ReadDefectData::decode(&mut Reader::new(&command.cdb))?;
    let mut w = Writer::new();
    request.encode_empty(&mut w);
    Ok(Good::cut(w.into_bytes(), request.allocation_length as usize))
}

#[cfg(test)]
mod tests {
    use crate::server::scsi::testing::Disk;

    #[tokio::test]
    async fn the_lists_that_are_asked_for_are_empty() {
        let disk = Disk::new(8).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        let ten = disk.send(&ada, &[0x37, 0, 0x1d, 0, 0, 0, 0, 0, 32, 0], b"").await.unwrap();
        assert_eq!(ten.bytes(), [0, 0x1d, 0, 0]);
        let twelve = disk.send(&ada, &[0xb7, 0x08, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0], b"").await.unwrap();
        assert_eq!(twelve.bytes(), [0, 0x08, 0, 0, 0, 0, 0, 0]);
        let head = disk.send(&ada, &[0xb7, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0], b"").await.unwrap();
        assert_eq!(head.bytes(), [0, 0]);
    }
}
