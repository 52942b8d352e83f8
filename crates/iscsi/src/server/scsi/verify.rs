//! VERIFY, SBC-3 5.29 to 5.31.

use super::medium::unprotected;
use super::{CommandContext, CommandDefinition, CommandRefusal, Conflict, Good, Needs, Outcome, usage};
use crate::wire::Reader;
use crate::wire::scsi::{ByteCheck, Sense, Verify};

/// VERIFY (10), SBC-3 5.29.
pub(super) static VERIFY_10: CommandDefinition = supported(const { &usage::ten(0x2f, 0xf6) });
/// VERIFY (12), SBC-3 5.30.
pub(super) static VERIFY_12: CommandDefinition = supported(const { &usage::twelve(0xaf, 0xf6) });
/// VERIFY (16), SBC-3 5.31.
pub(super) static VERIFY_16: CommandDefinition = supported(const { &usage::sixteen(0x8f, 0xf6) });

const fn supported(usage: &'static [u8]) -> CommandDefinition {
    CommandDefinition::new(usage, Conflict::Reads, |command| Box::pin(verify(command))).needing(needs)
}

fn needs(command: &CommandContext) -> Result<Needs, CommandRefusal> {
    let unit = command.unit()?;
    let request = Verify::decode(&mut Reader::new(&command.cdb))?;
    unprotected(request.protect)?;
    let (_, length) = match request.check {
        ByteCheck::Reserved => return Err(Sense::in_cdb(1).into()),
        ByteCheck::Blocks => unit.transfer(&command.cdb, request.lba, request.count)?,
        ByteCheck::Nothing | ByteCheck::OneBlock => unit.range(request.lba, u64::from(request.count))?,
    };
    Ok(match request.check {
        _ if length == 0 => Needs::Nothing,
        ByteCheck::Blocks => Needs::Exactly(length as usize), // limits::TRANSFER_BYTES at most
        ByteCheck::OneBlock => Needs::Exactly(unit.block_size() as usize),
        ByteCheck::Nothing | ByteCheck::Reserved => Needs::Nothing,
    })
}

async fn verify(command: &CommandContext) -> Outcome {
    let unit = command.unit()?;
    let request = Verify::decode(&mut Reader::new(&command.cdb))?;
    let (offset, length) = unit.range(request.lba, u64::from(request.count))?;
    if command.data.is_empty() {
        unit.look_through(command, offset, length).await?;
    } else {
        unit.compare(command, offset, length, &command.data).await?;
    }
    Ok(Good::nothing())
}

#[cfg(test)]
mod tests {
    use crate::server::scsi::testing::Disk;
    use crate::server::scsi::{CommandContext, CommandRefusal, Needs};
    use crate::wire::scsi::{Asc, Key, Sense};

    fn miscompare(at: u64) -> CommandRefusal {
        Sense::new(Key::MISCOMPARE, Asc::MISCOMPARE_DURING_VERIFY).about(at).into()
    }

    async fn disk() -> Disk {
        let disk = Disk::new(4096).await;
        let bytes: Vec<u8> = (0..2048).map(|at| (at / 512) as u8).collect();
        disk.unit.write(512, bytes.into()).await.unwrap(); // blocks 1 to 4 are 0, 1, 2, 3
        disk
    }

    #[tokio::test]
    async fn without_byte_check_it_is_enough_that_blocks_can_be_read() {
        let disk = disk().await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        for cdb in [
            &[0x2f, 0x10, 0, 0, 0, 1, 0, 0, 4, 0][..],
            &[0xaf, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0],
            &[0x8f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0],
        ] {
            disk.send(&ada, cdb, b"").await.unwrap();
        }
    }

    #[tokio::test]
    async fn the_first_byte_that_differs_is_told() {
        let disk = disk().await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        let cdb = [0x2f, 0x02, 0, 0, 0, 2, 0, 0, 2, 0];
        let mut bytes = [vec![1; 512], vec![2; 512]].concat();
        disk.send(&ada, &cdb, &bytes).await.unwrap();
        bytes[700] = 9;
        assert_eq!(disk.send(&ada, &cdb, &bytes).await.unwrap_err(), miscompare(700));
    }

    #[tokio::test]
    async fn one_block_is_compared_with_each() {
        let disk = disk().await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        disk.send(&ada, &[0x2f, 0x06, 0, 0, 0, 5, 0, 0x0f, 0x00, 0], &[0; 512]).await.unwrap();
        let failed = disk.send(&ada, &[0x2f, 0x06, 0, 0, 0, 0, 0, 0, 3, 0], &[0; 512]).await.unwrap_err();
        assert_eq!(failed, miscompare(0)); // of the third block
    }

    #[tokio::test]
    async fn the_reserved_byte_check_and_blocks_that_are_not_there_are_refused() {
        let disk = disk().await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        let reserved = disk.send(&ada, &[0x2f, 0x04, 0, 0, 0, 0, 0, 0, 1, 0], b"").await.unwrap_err();
        assert_eq!(reserved, Sense::in_cdb(1).into());
        let behind = disk.send(&ada, &[0x2f, 0x02, 0, 0, 0x10, 1, 0, 0, 0, 0], b"").await.unwrap_err();
        assert_eq!(behind, Sense::illegal(Asc::LBA_OUT_OF_RANGE).about(4097).into());
        disk.send(&ada, &[0x2f, 0x02, 0, 0, 0, 0, 0, 0, 0, 0], b"").await.unwrap();
    }

    #[tokio::test]
    async fn a_whole_disk_without_data_is_looked_through_at_once() {
        let disk = Disk::new(1 << 31).await; // a tebibyte
        let cdb = [0x8f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0];
        disk.send(&disk.nexus("iqn.2026-11.test:ada"), &cdb, b"").await.unwrap();
    }

    #[tokio::test]
    async fn it_ends_when_it_has_been_called_off() {
        let disk = disk().await;
        let command = CommandContext {
            data: vec![0; 512].into(),
            aborted: std::sync::Arc::new(true.into()),
            ..disk.command(
                Some(disk.unit.clone()),
                &disk.nexus("iqn.2026-11.test:ada"),
                &[0x2f, 0x06, 0, 0, 0, 5, 0, 0x0f, 0x00, 0],
            )
        };
        assert_eq!(super::needs(&command), Ok(Needs::Exactly(512)));
        let ended = super::verify(&command).await.unwrap_err();
        assert_eq!(ended, CommandRefusal::Status(crate::wire::scsi::Status::TASK_ABORTED));
    }
}
