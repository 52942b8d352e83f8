//! Names of commands, as SPC-4 and SBC-3 have them.

use crate::wire::scsi::service_action;

/// The name of the command in a descriptor block, if it is one of a disk.
pub(crate) fn command_name(cdb: &[u8]) -> Option<&'static str> {
    let opcode = *cdb.first()?;
    match opcode {
        0x9e | 0xa3 => with_action(opcode, service_action(cdb)?),
        _ => NAMES.iter().find(|(code, _)| *code == opcode).map(|(_, name)| *name),
    }
}

fn with_action(opcode: u8, action: u16) -> Option<&'static str> {
    Some(match (opcode, action) {
        (0x9e, 0x10) => "READ_CAPACITY_16",
        (0x9e, 0x12) => "GET_LBA_STATUS",
        (0xa3, 0x05) => "REPORT_IDENTIFYING_INFORMATION",
        (0xa3, 0x0a) => "REPORT_TARGET_PORT_GROUPS",
        (0xa3, 0x0c) => "REPORT_SUPPORTED_OPERATION_CODES",
        (0xa3, 0x0d) => "REPORT_SUPPORTED_TASK_MANAGEMENT_FUNCTIONS",
        _ => return None,
    })
}

/// By operation code.
const NAMES: &[(u8, &str)] = &[
    (0x00, "TEST_UNIT_READY"),
    (0x03, "REQUEST_SENSE"),
    (0x04, "FORMAT_UNIT"),
    (0x08, "READ_6"),
    (0x0a, "WRITE_6"),
    (0x12, "INQUIRY"),
    (0x15, "MODE_SELECT_6"),
    (0x16, "RESERVE_6"),
    (0x17, "RELEASE_6"),
    (0x1a, "MODE_SENSE_6"),
    (0x1b, "START_STOP_UNIT"),
    (0x1d, "SEND_DIAGNOSTIC"),
    (0x1e, "PREVENT_ALLOW_MEDIUM_REMOVAL"),
    (0x25, "READ_CAPACITY_10"),
    (0x28, "READ_10"),
    (0x2a, "WRITE_10"),
    (0x2e, "WRITE_AND_VERIFY_10"),
    (0x2f, "VERIFY_10"),
    (0x34, "PRE_FETCH_10"),
    (0x35, "SYNCHRONIZE_CACHE_10"),
    (0x37, "READ_DEFECT_DATA_10"),
    (0x41, "WRITE_SAME_10"),
    (0x42, "UNMAP"),
    (0x4d, "LOG_SENSE"),
    (0x55, "MODE_SELECT_10"),
    (0x56, "RESERVE_10"),
    (0x57, "RELEASE_10"),
    (0x5a, "MODE_SENSE_10"),
    (0x5e, "PERSISTENT_RESERVE_IN"),
    (0x5f, "PERSISTENT_RESERVE_OUT"),
    (0x83, "EXTENDED_COPY"),
    (0x84, "RECEIVE_COPY_RESULTS"),
    (0x88, "READ_16"),
    (0x89, "COMPARE_AND_WRITE"),
    (0x8a, "WRITE_16"),
    (0x8b, "ORWRITE_16"),
    (0x8e, "WRITE_AND_VERIFY_16"),
    (0x8f, "VERIFY_16"),
    (0x90, "PRE_FETCH_16"),
    (0x91, "SYNCHRONIZE_CACHE_16"),
    (0x93, "WRITE_SAME_16"),
    (0xa0, "REPORT_LUNS"),
    (0xa8, "READ_12"),
    (0xaa, "WRITE_12"),
    (0xae, "WRITE_AND_VERIFY_12"),
    (0xaf, "VERIFY_12"),
    (0xb7, "READ_DEFECT_DATA_12"),
];
