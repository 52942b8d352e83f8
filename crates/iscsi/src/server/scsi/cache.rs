//! SYNCHRONIZE CACHE, SBC-3 5.26 and 5.27.

use super::{CommandContext, CommandDefinition, Conflict, Good, Outcome, usage};
use crate::wire::Reader;
use crate::wire::scsi::CacheRange;

/// SYNCHRONIZE CACHE (10), SBC-3 5.26.
pub(super) static SYNCHRONIZE_CACHE_10: CommandDefinition = supported(const { &usage::ten(0x35, 0x02) });
/// SYNCHRONIZE CACHE (16), SBC-3 5.27.
pub(super) static SYNCHRONIZE_CACHE_16: CommandDefinition = supported(const { &usage::sixteen(0x91, 0x02) });

const fn supported(usage: &'static [u8]) -> CommandDefinition {
    CommandDefinition::new(usage, Conflict::Writes, |command| Box::pin(synchronize(command)))
}

/// The whole unit is flushed to the disk, whichever blocks the command names.
async fn synchronize(command: &CommandContext) -> Outcome {
    let unit = command.unit()?;
    let request = CacheRange::decode(&mut Reader::new(&command.cdb))?;
    unit.range(request.lba, u64::from(request.count))?;
    match request.immediate {
        true => unit.sync_later(&command.nexus),
        false => unit.sync(&command.nexus).await?,
    }
    Ok(Good::nothing())
}

#[cfg(test)]
mod tests {
    use crate::server::scsi::CommandRefusal;
    use crate::server::scsi::testing::Disk;
    use crate::wire::scsi::{Asc, Sense};

    #[tokio::test]
    async fn blocks_that_are_not_there_cannot_be_synchronized() {
        let disk = Disk::new(8).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        disk.send(&ada, &[0x35, 0, 0, 0, 0, 0, 0, 0, 0, 0], b"").await.unwrap();
        disk.send(&ada, &[0x91, 2, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0], b"").await.unwrap();
        let failed = disk.send(&ada, &[0x35, 0, 0, 0, 0, 7, 0, 0, 2, 0], b"").await.unwrap_err();
        assert_eq!(failed, CommandRefusal::Check(Sense::illegal(Asc::LBA_OUT_OF_RANGE).about(8)));
    }
}
