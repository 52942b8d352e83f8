//! COMPARE AND WRITE, SBC-3 5.2: atomic with respect to all other writes.

use super::medium::unprotected;
use super::{CommandContext, CommandDefinition, CommandRefusal, Conflict, Good, Needs, Outcome};
use crate::wire::Reader;
use crate::wire::scsi::CompareAndWrite;

/// COMPARE AND WRITE, SBC-3 5.2.
pub(super) static COMPARE_AND_WRITE: CommandDefinition = CommandDefinition::new(
    &[0x89, 0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0xff, 0, 0],
    Conflict::Writes,
    |command| Box::pin(compare_and_write(command)),
)
.needing(needs);

/// The blocks to compare with, followed by those to write: no more than the field for the number
/// holds.
fn needs(command: &CommandContext) -> Result<Needs, CommandRefusal> {
    let unit = command.unit()?;
    let request = CompareAndWrite::decode(&mut Reader::new(&command.cdb))?;
    unprotected(request.protect)?;
    command.may_write()?;
    let (_, length) = unit.range(request.lba, u64::from(request.count))?;
    Ok(Needs::Exactly(2 * length as usize))
}

async fn compare_and_write(command: &CommandContext) -> Outcome {
    let unit = command.unit()?;
    let request = CompareAndWrite::decode(&mut Reader::new(&command.cdb))?;
    let (offset, length) = unit.range(request.lba, u64::from(request.count))?;
    if length == 0 {
        return Ok(Good::nothing());
    }
    let alone = unit.gate.alone().await;
    unit.compare(command, offset, length, &command.data[..length as usize]).await?;
    unit.write_alone(offset, command.data.slice(length as usize..)).await?;
    drop(alone);
    if request.fua {
        unit.sync(&command.nexus).await?;
    }
    Ok(Good::nothing())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::server::scsi::testing::Disk;
    use crate::wire::scsi::{Asc, Key, Sense};

    const ONE: [u8; 16] = [0x89, 0x08, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0];

    #[tokio::test]
    async fn blocks_are_written_only_if_they_are_what_was_thought() {
        let disk = Disk::new(8).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        let cdb = [0x89, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0];
        disk.send(&ada, &cdb, &[vec![0; 1024], vec![7; 1024]].concat()).await.unwrap();
        let mut thought = vec![7; 1024];
        thought[1023] = 8;
        let failed = disk.send(&ada, &cdb, &[thought, vec![9; 1024]].concat()).await.unwrap_err();
        assert_eq!(failed, Sense::new(Key::MISCOMPARE, Asc::MISCOMPARE_DURING_VERIFY).about(1023).into());
        let read = disk.send(&ada, &[0x08, 0, 0, 3, 2, 0], b"").await.unwrap().bytes();
        assert_eq!(read, [7; 1024]);
    }

    #[tokio::test]
    async fn no_blocks_compare_and_write_nothing() {
        let disk = Disk::new(8).await;
        let cdb = [0x89, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0];
        disk.send(&disk.nexus("iqn.2026-11.test:ada"), &cdb, b"").await.unwrap();
    }

    /// Each command adds 1 to the same number; if they were not atomic, some additions would be
    /// lost.
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn no_other_write_runs_between_compare_and_write() {
        let disk = Arc::new(Disk::new(8).await);
        let tasks = (0..4).map(|task: u8| {
            let disk = disk.clone();
            tokio::spawn(async move {
                let nexus = disk.nexus(&format!("iqn.2026-11.test:{task}"));
                let mut done = 0;
                while done < 50 {
                    let was = disk.send(&nexus, &[0x08, 0, 0, 3, 1, 0], b"").await.unwrap().bytes();
                    let mut next = was.clone();
                    let number = u32::from_be_bytes([was[0], was[1], was[2], was[3]]) + 1;
                    next[..4].copy_from_slice(&number.to_be_bytes());
                    done += u32::from(disk.send(&nexus, &ONE, &[was, next].concat()).await.is_ok());
                }
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        let nexus = disk.nexus("iqn.2026-11.test:ada");
        let read = disk.send(&nexus, &[0x08, 0, 0, 3, 1, 0], b"").await.unwrap().bytes();
        assert_eq!(read[..4], 200_u32.to_be_bytes());
    }
}
