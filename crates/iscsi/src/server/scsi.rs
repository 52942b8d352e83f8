//! The device server, which executes SCSI commands, SPC-4 and SBC-3. Each command has a file;
//! [`table`] lists them all.
//!
//! ```text
//! ../task.rs ─► dispatch.rs: unit attentions, reservations ─► the command's `needs` (what it wants of the initiator)
//!                                                           └► the command's `run` ─► LogicalUnit ─► vfs::Open
//! ```

#[cfg(test)]
mod any_command;
mod attention;
mod cache;
mod command;
mod compare_and_write;
mod comparing;
mod copies;
mod diagnostic;
mod dispatch;
mod extended_copy;
mod failure;
mod format_unit;
mod gate;
mod get_lba_status;
mod holders;
mod inquiry;
mod limits;
mod log_sense;
mod medium;
mod mode_pages;
mod mode_select;
mod mode_sense;
mod modes;
mod names;
mod nexus;
mod or_write;
mod persistent_reserve_in;
mod persistent_reserve_out;
mod pieces;
mod pre_fetch;
mod prevent_allow;
mod read;
mod read_capacity;
mod read_defect_data;
mod receive_copy_results;
mod relayed;
mod report_commands;
mod report_functions;
mod report_groups;
mod report_identity;
mod report_luns;
mod request_sense;
mod reservations;
mod reserve;
mod space;
#[cfg(test)]
mod standby;
mod start_stop;
mod synchronizing;
mod table;
mod test_unit_ready;
#[cfg(test)]
pub(crate) mod testing;
mod unit;
mod unmap;
mod usage;
mod verify;
mod write;
mod write_and_verify;
mod write_same;

pub(crate) use attention::Attentions;
pub(crate) use command::{
    CommandContext, CommandDefinition, CommandRefusal, Conflict, Good, Needs, Outcome, RunCommand,
};
pub(crate) use dispatch::{needs, run};
pub(crate) use holders::{Ending, Holders, UnitSession};
pub(crate) use names::command_name;
pub use nexus::InitiatorPort;
pub(crate) use nexus::{ItNexus, Nexus};
pub(crate) use read::length_of_read;
pub use relayed::RelayResult;
pub use unit::{Identity, LogicalUnit, UnitOptions, UnitStateStore};
