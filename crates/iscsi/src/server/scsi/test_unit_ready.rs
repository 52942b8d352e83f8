//! TEST UNIT READY, SPC-4 6.47.

use super::{CommandContext, CommandDefinition, Conflict, Good, Outcome};

/// TEST UNIT READY.
pub(crate) static TEST_UNIT_READY: CommandDefinition =
    CommandDefinition::new(&[0x00, 0x00, 0x00, 0x00, 0x00, 0x04], Conflict::Reserve, |command| {
        Box::pin(std::future::ready(test_unit_ready(command)))
    });

/// The unit is ready while the host has the file.
fn test_unit_ready(command: &CommandContext) -> Outcome {
    command.unit()?.open()?.attributes()?;
    Ok(Good::nothing())
}

#[cfg(test)]
mod tests {
    use crate::server::scsi::CommandRefusal;
    use crate::server::scsi::testing::Disk;
    use crate::wire::scsi::{Asc, Sense};

    #[tokio::test]
    async fn a_unit_is_ready_and_a_number_without_one_is_not() {
        let disk = Disk::new(8).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        assert!(disk.send(&ada, &[0; 6], b"").await.unwrap().bytes().is_empty());
        let refused = disk.send_to(None, &ada, &[0; 6], b"").await.unwrap_err();
        assert_eq!(refused, CommandRefusal::Check(Sense::illegal(Asc::LOGICAL_UNIT_NOT_SUPPORTED)));
    }

    #[tokio::test]
    async fn what_happened_is_told_before_anything_else() {
        let disk = Disk::new(8).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        disk.unit.attentions.raise(&ada.initiator, Asc::POWER_ON_OR_RESET);
        let refused = disk.send(&ada, &[0; 6], b"").await.unwrap_err();
        assert_eq!(refused, CommandRefusal::Check(Sense::attention(Asc::POWER_ON_OR_RESET)));
        assert!(disk.send(&ada, &[0; 6], b"").await.is_ok());
    }
}
