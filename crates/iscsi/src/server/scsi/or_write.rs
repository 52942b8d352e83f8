//! ORWRITE (16), SBC-3 5.5: atomic with respect to all other writes.

use super::medium::unprotected;
use super::pieces::pieces;
use super::{CommandContext, CommandDefinition, CommandRefusal, Conflict, Good, Needs, Outcome, usage};
use crate::wire::Reader;
use crate::wire::scsi::WriteCommand;

/// ORWRITE (16), SBC-3 5.5.
pub(super) static OR_WRITE: CommandDefinition =
    CommandDefinition::new(const { &usage::sixteen(0x8b, 0xf8) }, Conflict::Writes, |command| {
        Box::pin(or_write(command))
    })
    .needing(needs);

fn needs(command: &CommandContext) -> Result<Needs, CommandRefusal> {
    let unit = command.unit()?;
    let request = WriteCommand::decode(&mut Reader::new(&command.cdb))?;
    unprotected(request.protect)?;
    command.may_write()?;
    let (_, length) = unit.transfer(&command.cdb, request.lba, request.count)?;
    Ok(Needs::Exactly(length as usize)) // limits::TRANSFER_BYTES at most
}

async fn or_write(command: &CommandContext) -> Outcome {
    let unit = command.unit()?;
    let request = WriteCommand::decode(&mut Reader::new(&command.cdb))?;
    let (offset, length) = unit.range(request.lba, u64::from(request.count))?;
    let alone = unit.gate.alone().await;
    for (piece, count) in pieces(offset, length) {
        let mut bytes = unit.bytes(piece, count).await?;
        let with = &command.data[(piece - offset) as usize..];
        bytes.iter_mut().zip(with).for_each(|(byte, with)| *byte |= with);
        unit.write_alone(piece, bytes.into()).await?;
        command.go_on().await?;
    }
    drop(alone);
    if request.fua {
        unit.sync(&command.nexus).await?;
    }
    Ok(Good::nothing())
}

#[cfg(test)]
mod tests {
    use crate::server::scsi::testing::Disk;

    #[tokio::test]
    async fn bits_are_set_and_none_are_cleared() {
        let disk = Disk::new(4096).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        let long = vec![0xa5; 3 << 19]; // more than a piece
        disk.send(&ada, &[0x8b, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0x0c, 0x00, 0, 0], &long).await.unwrap();
        let short = [0x5a; 512];
        disk.send(&ada, &[0x8b, 8, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0], &short).await.unwrap();
        let read = disk.send(&ada, &[0x28, 0, 0, 0, 0, 0, 0, 0x0c, 0x02, 0], b"").await.unwrap().bytes();
        let expected = [vec![0; 512], vec![0xff; 512], vec![0xa5; (3 << 19) - 512], vec![0; 512]].concat();
        assert!(read == expected);
        disk.send(&ada, &[0x8b, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0], b"").await.unwrap();
    }
}
