//! PREVENT ALLOW MEDIUM REMOVAL, SBC-3 5.14.

use super::{CommandContext, CommandDefinition, Conflict, Good, Outcome};
use crate::wire::scsi::Sense;

/// PREVENT ALLOW MEDIUM REMOVAL.
pub(crate) static PREVENT_ALLOW: CommandDefinition =
    CommandDefinition::new(&[0x1e, 0x00, 0x00, 0x00, 0x03, 0x04], Conflict::PREVENT_ALLOW, |command| {
        Box::pin(std::future::ready(prevent_allow(command)))
    });

/// The medium cannot be removed anyway. The upper of the two bits is for media changers, and
/// obsolete.
fn prevent_allow(command: &CommandContext) -> Outcome {
    command.unit()?;
    match command.cdb.get(4).map(|byte| byte & 3) {
        Some(0 | 1) => Ok(Good::nothing()),
        _ => Err(Sense::in_cdb(4).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::scsi::CommandRefusal;
    use crate::server::scsi::testing::Disk;

    #[tokio::test]
    async fn removal_is_prevented_and_allowed_without_effect() {
        let disk = Disk::new(8).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        assert!(disk.send(&ada, &[0x1e, 0, 0, 0, 1, 0], b"").await.is_ok());
        assert!(disk.send(&ada, &[0x1e, 0, 0, 0, 0, 0], b"").await.is_ok());
        let refused = disk.send(&ada, &[0x1e, 0, 0, 0, 2, 0], b"").await.unwrap_err();
        assert_eq!(refused, CommandRefusal::Check(Sense::in_cdb(4)));
    }
}
