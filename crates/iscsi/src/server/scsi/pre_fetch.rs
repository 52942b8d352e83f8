//! PRE-FETCH, SBC-3 5.8 and 5.9: reads blocks into the host's cache.

use std::sync::atomic::Ordering;

use super::pieces::pieces;
use super::{CommandContext, CommandDefinition, Conflict, Good, LogicalUnit, Outcome, usage};
use crate::wire::Reader;
use crate::wire::scsi::{CacheRange, Status};

/// The most bytes that one command fetches: the server does not know whether the host has memory
/// for more.
const MOST: u64 = 32 << 20;

/// PRE-FETCH (10), SBC-3 5.8.
pub(super) static PRE_FETCH_10: CommandDefinition = supported(const { &usage::ten(0x34, 0x02) });
/// PRE-FETCH (16), SBC-3 5.9.
pub(super) static PRE_FETCH_16: CommandDefinition = supported(const { &usage::sixteen(0x90, 0x02) });

const fn supported(usage: &'static [u8]) -> CommandDefinition {
    CommandDefinition::new(usage, Conflict::Reads, |command| Box::pin(pre_fetch(command)))
}

async fn pre_fetch(command: &CommandContext) -> Outcome {
    let unit = command.unit()?;
    let request = CacheRange::decode(&mut Reader::new(&command.cdb))?;
    let (offset, length) = unit.range_to_end(request.lba, request.count)?;
    let now = length.min(MOST);
    if !request.immediate {
        for (piece, length) in pieces(offset, now) {
            unit.read(piece, length).await?;
            command.go_on().await?;
        }
    } else if !unit.fetching.swap(true, Ordering::AcqRel) {
        let unit = unit.clone();
        tokio::spawn(async move { fetch(&unit, offset, now).await });
    }
    let status = if now == length { Status::CONDITION_MET } else { Status::GOOD };
    Ok(Good { status, ..Good::nothing() })
}

/// Errors are ignored here: a later READ of the block reports them.
async fn fetch(unit: &LogicalUnit, offset: u64, length: u64) {
    for (piece, length) in pieces(offset, length) {
        if unit.read(piece, length).await.is_err() {
            break;
        }
        tokio::task::yield_now().await;
    }
    unit.fetching.store(false, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use crate::server::scsi::testing::Disk;
    use crate::wire::scsi::{Asc, Sense, Status};

    #[tokio::test]
    async fn the_condition_is_met_when_there_is_room_for_all() {
        let disk = Disk::new(1 << 20).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        let some = disk.send(&ada, &[0x34, 0, 0, 0, 0, 1, 0, 0, 8, 0], b"").await.unwrap();
        assert_eq!(some.status, Status::CONDITION_MET);
        let soon = disk.send(&ada, &[0x34, 2, 0, 0, 0, 1, 0, 0, 8, 0], b"").await.unwrap();
        assert_eq!(soon.status, Status::CONDITION_MET);
        let all = [0x90, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(disk.send(&ada, &all, b"").await.unwrap().status, Status::GOOD); // 512 MiB
    }

    #[tokio::test]
    async fn blocks_that_are_not_there_are_not_fetched() {
        let disk = Disk::new(8).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        for cdb in [[0x34, 0, 0, 0, 0, 9, 0, 0, 0, 0], [0x34, 2, 0, 0, 0, 8, 0, 0, 1, 0]] {
            let failed = disk.send(&ada, &cdb, b"").await.unwrap_err();
            let about = u64::from(cdb[5]);
            assert_eq!(failed, Sense::illegal(Asc::LBA_OUT_OF_RANGE).about(about).into());
        }
    }
}
