//! SEND DIAGNOSTIC, SPC-4 6.42.

use super::{CommandContext, CommandDefinition, Conflict, Good, Outcome};
use crate::wire::Reader;
use crate::wire::scsi::{SendDiagnostic, Sense};

/// SEND DIAGNOSTIC.
pub(crate) static SEND_DIAGNOSTIC: CommandDefinition =
    CommandDefinition::new(&[0x1d, 0xe4, 0x00, 0xff, 0xff, 0x04], Conflict::Writes, |command| {
        Box::pin(std::future::ready(send_diagnostic(command)))
    });

/// The default self-test, which every device has: it checks that the host still has the file.
fn send_diagnostic(command: &CommandContext) -> Outcome {
    let unit = command.unit()?;
    let request = SendDiagnostic::decode(&mut Reader::new(&command.cdb))?;
    if request.code != 0 {
        return Err(Sense::in_cdb(1).into());
    }
    if request.length != 0 {
        return Err(Sense::in_cdb(3).into());
    }
    if request.self_test {
        unit.open()?.attributes()?;
    }
    Ok(Good::nothing())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::scsi::CommandRefusal;
    use crate::server::scsi::testing::Disk;

    #[tokio::test]
    async fn the_default_self_test_is_the_only_one() {
        let disk = Disk::new(8).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        assert!(disk.send(&ada, &[0x1d, 0x04, 0, 0, 0, 0], b"").await.is_ok());
        for (cdb, byte) in [([0x1d, 0x20, 0, 0, 0, 0], 1), ([0x1d, 0x10, 0, 0, 4, 0], 3)] {
            assert_eq!(
                disk.send(&ada, &cdb, b"").await.unwrap_err(),
                CommandRefusal::Check(Sense::in_cdb(byte))
            );
        }
    }
}
