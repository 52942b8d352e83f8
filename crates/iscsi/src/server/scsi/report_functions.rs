//! REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS, SPC-4 6.36.

use super::{CommandContext, CommandDefinition, Conflict, Good, Outcome};
use crate::wire::scsi::{MaintenanceIn, TaskFunctions};
use crate::wire::{Reader, Writer};

/// REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS.
pub(crate) static REPORT_FUNCTIONS: CommandDefinition = CommandDefinition::new(
    &[0xa3, 0x0d, 0x80, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0x00, 0x04],
    Conflict::Reads,
    |command| Box::pin(std::future::ready(report(command))),
)
.of_action(MaintenanceIn::TASK_MANAGEMENT as u16);

/// The functions of `server/task_management.rs`. Initiators without RFC 7144 cannot send three of
/// them.
const FUNCTIONS: TaskFunctions = TaskFunctions(
    TaskFunctions::ABORT_TASK
        | TaskFunctions::ABORT_TASK_SET
        | TaskFunctions::CLEAR_TASK_SET
        | TaskFunctions::LOGICAL_UNIT_RESET
        | TaskFunctions::QUERY_TASK
        | TaskFunctions::TARGET_RESET
        | TaskFunctions::QUERY_TASK_SET
        | TaskFunctions::I_T_NEXUS_RESET,
);
/// REPD: the initiator asks for extended data.
const EXTENDED: u8 = 0x80;

fn report(command: &CommandContext) -> Outcome {
    command.unit()?;
    let request = MaintenanceIn::decode(&mut Reader::new(&command.cdb))?;
    let mut w = Writer::new();
    FUNCTIONS.encode(request.options & EXTENDED != 0, &mut w);
    Ok(Good::cut(w.into_bytes(), request.allocation_length as usize))
}

#[cfg(test)]
mod tests {
    use crate::server::scsi::testing::Disk;

    #[tokio::test]
    async fn the_functions_are_bits_of_spc_4_table_293() {
        let disk = Disk::new(8).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        let bytes =
            disk.send(&ada, &[0xa3, 0x0d, 0, 0, 0, 0, 0, 0, 0, 255, 0, 0], b"").await.unwrap().bytes();
        assert_eq!(bytes, [0xde, 0x03, 0, 0]);
        let bytes =
            disk.send(&ada, &[0xa3, 0x0d, 0x80, 0, 0, 0, 0, 0, 0, 255, 0, 0], b"").await.unwrap().bytes();
        assert_eq!(bytes, [0xde, 0x03, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
}
