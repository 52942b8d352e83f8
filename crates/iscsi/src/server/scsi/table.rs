//! All supported commands, in the order of their operation codes.

use super::CommandDefinition;
use super::cache;
use super::compare_and_write;
use super::diagnostic;
use super::extended_copy;
use super::format_unit;
use super::get_lba_status;
use super::inquiry;
use super::log_sense;
use super::mode_select;
use super::mode_sense;
use super::or_write;
use super::persistent_reserve_in;
use super::persistent_reserve_out;
use super::pre_fetch;
use super::prevent_allow;
use super::read;
use super::read_capacity;
use super::read_defect_data;
use super::receive_copy_results;
use super::report_commands;
use super::report_functions;
use super::report_groups;
use super::report_identity;
use super::report_luns;
use super::request_sense;
use super::reserve;
use super::start_stop;
use super::test_unit_ready;
use super::unmap;
use super::verify;
use super::write;
use super::write_and_verify;
use super::write_same;
use crate::wire::scsi::service_action;

/// All supported commands.
pub(crate) static COMMANDS: &[&CommandDefinition] = &[
    &test_unit_ready::TEST_UNIT_READY,
    &request_sense::REQUEST_SENSE,
    &format_unit::FORMAT_UNIT,
    &read::READ_6,
    &write::WRITE_6,
    &inquiry::INQUIRY,
    &mode_select::MODE_SELECT_6,
    &reserve::RESERVE_6,
    &reserve::RELEASE_6,
    &mode_sense::MODE_SENSE_6,
    &start_stop::START_STOP_UNIT,
    &diagnostic::SEND_DIAGNOSTIC,
    &prevent_allow::PREVENT_ALLOW,
    &read_capacity::READ_CAPACITY_10,
    &read::READ_10,
    &write::WRITE_10,
    &write_and_verify::WRITE_AND_VERIFY_10,
    &verify::VERIFY_10,
    &pre_fetch::PRE_FETCH_10,
    &cache::SYNCHRONIZE_CACHE_10,
    &read_defect_data::READ_DEFECT_DATA_10,
    &write_same::WRITE_SAME_10,
    &unmap::UNMAP,
    &log_sense::LOG_SENSE,
    &mode_select::MODE_SELECT_10,
    &reserve::RESERVE_10,
    &reserve::RELEASE_10,
    &mode_sense::MODE_SENSE_10,
    &persistent_reserve_in::READ_KEYS,
    &persistent_reserve_in::READ_RESERVATION,
    &persistent_reserve_in::REPORT_CAPABILITIES,
    &persistent_reserve_in::READ_FULL_STATUS,
    &persistent_reserve_out::REGISTER,
    &persistent_reserve_out::RESERVE,
    &persistent_reserve_out::RELEASE,
    &persistent_reserve_out::CLEAR,
    &persistent_reserve_out::PREEMPT,
    &persistent_reserve_out::PREEMPT_AND_ABORT,
    &persistent_reserve_out::REGISTER_AND_IGNORE,
    &persistent_reserve_out::REGISTER_AND_MOVE,
    &persistent_reserve_out::REPLACE_LOST,
    &extended_copy::EXTENDED_COPY,
    &receive_copy_results::STATUS,
    &receive_copy_results::OPERATING_PARAMETERS,
    &receive_copy_results::FAILURE_DETAILS,
    &read::READ_16,
    &compare_and_write::COMPARE_AND_WRITE,
    &write::WRITE_16,
    &or_write::OR_WRITE,
    &write_and_verify::WRITE_AND_VERIFY_16,
    &verify::VERIFY_16,
    &pre_fetch::PRE_FETCH_16,
    &cache::SYNCHRONIZE_CACHE_16,
    &write_same::WRITE_SAME_16,
    &read_capacity::READ_CAPACITY_16,
    &get_lba_status::GET_LBA_STATUS,
    &report_luns::REPORT_LUNS,
    &report_identity::REPORT_IDENTITY,
    &report_groups::REPORT_GROUPS,
    &report_commands::REPORT_COMMANDS,
    &report_functions::REPORT_FUNCTIONS,
    &read::READ_12,
    &write::WRITE_12,
    &write_and_verify::WRITE_AND_VERIFY_12,
    &verify::VERIFY_12,
    &read_defect_data::READ_DEFECT_DATA_12,
];

/// The command of this descriptor block.
pub(crate) fn find(cdb: &[u8]) -> Option<&'static CommandDefinition> {
    let mut found = with(*cdb.first()?);
    found.find(|command| command.action.is_none_or(|action| Some(action) == service_action(cdb))).copied()
}

/// Whether any command has this operation code, with any service action.
pub(crate) fn knows(opcode: u8) -> bool {
    with(opcode).next().is_some()
}

/// The commands with this operation code, which are neighbours.
fn with(opcode: u8) -> impl Iterator<Item = &'static &'static CommandDefinition> {
    let first = COMMANDS.partition_point(|command| command.opcode < opcode);
    COMMANDS[first..].iter().take_while(move |command| command.opcode == opcode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_are_in_order_and_each_is_there_once() {
        let keys: Vec<_> = COMMANDS.iter().map(|command| (command.opcode, command.action)).collect();
        assert!(keys.is_sorted_by_key(|(opcode, _)| *opcode));
        let each: std::collections::HashSet<_> = keys.iter().collect();
        assert_eq!(each.len(), keys.len());
        for command in COMMANDS {
            assert_eq!(command.usage.first(), Some(&command.opcode));
            let (mut cdb, action) =
                ([command.opcode, 0, 0, 0, 0, 0, 0, 0, 0, 0], command.action.unwrap_or(0));
            cdb[1] = action as u8;
            assert!(super::super::command_name(&cdb).is_some(), "{cdb:02x?} has a name");
        }
    }
}
