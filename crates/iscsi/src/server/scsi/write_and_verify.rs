//! WRITE AND VERIFY, SBC-3 5.37 to 5.39.

use super::medium::unprotected;
use super::pieces::pieces;
use super::{CommandContext, CommandDefinition, CommandRefusal, Conflict, Good, Needs, Outcome, usage};
use crate::wire::Reader;
use crate::wire::scsi::{ByteCheck, Sense, Verify};

/// WRITE AND VERIFY (10), SBC-3 5.37.
pub(super) static WRITE_AND_VERIFY_10: CommandDefinition = supported(const { &usage::ten(0x2e, 0xf6) });
/// WRITE AND VERIFY (12), SBC-3 5.38.
pub(super) static WRITE_AND_VERIFY_12: CommandDefinition = supported(const { &usage::twelve(0xae, 0xf6) });
/// WRITE AND VERIFY (16), SBC-3 5.39.
pub(super) static WRITE_AND_VERIFY_16: CommandDefinition = supported(const { &usage::sixteen(0x8e, 0xf6) });

const fn supported(usage: &'static [u8]) -> CommandDefinition {
    CommandDefinition::new(usage, Conflict::Writes, |command| Box::pin(write_and_verify(command)))
        .needing(needs)
}

/// Data that are compared later are kept until then; other data are written as they arrive. In both
/// cases there may be fewer data than the blocks need, as with WRITE: all data that arrive are
/// written.
fn needs(command: &CommandContext) -> Result<Needs, CommandRefusal> {
    let unit = command.unit()?;
    let request = Verify::decode(&mut Reader::new(&command.cdb))?;
    unprotected(request.protect)?;
    command.may_write()?;
    let (offset, length) = unit.transfer(&command.cdb, request.lba, request.count)?;
    match request.check {
        ByteCheck::Nothing => Ok(Needs::Blocks { offset, length }),
        ByteCheck::Blocks => Ok(Needs::Parameters(length as usize)), // limits::TRANSFER_BYTES at most
        ByteCheck::Reserved | ByteCheck::OneBlock => Err(Sense::in_cdb(1).into()),
    }
}

async fn write_and_verify(command: &CommandContext) -> Outcome {
    let unit = command.unit()?;
    let request = Verify::decode(&mut Reader::new(&command.cdb))?;
    let (offset, length) = unit.range(request.lba, u64::from(request.count))?;
    for (piece, length) in pieces(offset, command.data.len() as u64) {
        let at = (piece - offset) as usize;
        unit.write(piece, command.data.slice(at..at + length)).await?;
        command.go_on().await?;
    }
    unit.sync(&command.nexus).await?;
    if command.data.is_empty() {
        unit.look_through(command, offset, length).await?;
    } else {
        unit.compare(command, offset, command.data.len() as u64, &command.data).await?;
    }
    Ok(Good::nothing())
}

#[cfg(test)]
mod tests {
    use crate::server::scsi::testing::Disk;
    use crate::server::scsi::{CommandContext, Needs};
    use crate::wire::scsi::Sense;

    #[tokio::test]
    async fn blocks_are_written_with_and_without_byte_check() {
        let disk = Disk::new(8).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        for (with, cdb) in [
            (1, &[0x2e, 0x00, 0, 0, 0, 3, 0, 0, 2, 0][..]),
            (2, &[0x2e, 0x12, 0, 0, 0, 3, 0, 0, 2, 0]),
            (3, &[0xae, 0x02, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0]),
            (4, &[0x8e, 0x02, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0]),
        ] {
            disk.send(&ada, cdb, &[with; 1024]).await.unwrap();
            let read = disk.send(&ada, &[0x08, 0, 0, 3, 2, 0], b"").await.unwrap().bytes();
            assert_eq!(read, [with; 1024], "{cdb:02x?}");
        }
    }

    #[tokio::test]
    async fn fewer_data_than_blocks_are_written_and_compared() {
        let disk = Disk::new(8).await;
        let cdb = [0x2e, 0x02, 0, 0, 0, 3, 0, 0, 2, 0];
        let nexus = disk.nexus("iqn.2026-11.test:ada");
        let command = CommandContext {
            data: vec![9; 512].into(),
            ..disk.command(Some(disk.unit.clone()), &nexus, &cdb)
        };
        assert_eq!(super::needs(&command), Ok(Needs::Parameters(1024)));
        super::write_and_verify(&command).await.unwrap();
        assert_eq!(disk.unit.bytes(3 * 512, 1024).await.unwrap(), [vec![9; 512], vec![0; 512]].concat());
    }

    #[tokio::test]
    async fn byte_checks_that_it_does_not_have_are_refused() {
        let disk = Disk::new(8).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        for check in [2, 3] {
            let cdb = [0x2e, check << 1, 0, 0, 0, 0, 0, 0, 1, 0];
            assert_eq!(disk.send(&ada, &cdb, b"").await.unwrap_err(), Sense::in_cdb(1).into());
        }
    }
}
