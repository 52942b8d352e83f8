//! INQUIRY, SPC-4 6.6: the kind of unit, and its properties that rarely change.

mod names;
mod vital;

use super::{CommandContext, CommandDefinition, Conflict, Good, Outcome};
use crate::wire::scsi::{Inquiry, Peripheral, Sense, StandardData, padded};
use crate::wire::{Reader, Writer};

/// The vendor, which may be assigned by T10 or not: eight characters.
pub(crate) const VENDOR: &str = "FOURFOLD";
const PRODUCT: &str = "Virtual Disk";
/// SAM-5, SPC-4, SBC-3 and iSCSI, no version claimed: SPC-4 table 175.
const STANDARDS: [u16; 4] = [0x00a0, 0x0460, 0x04c0, 0x0960];

/// INQUIRY.
pub(crate) static INQUIRY: CommandDefinition =
    CommandDefinition::new(&[0x12, 0x01, 0xff, 0xff, 0xff, 0x04], Conflict::Never, |command| {
        Box::pin(std::future::ready(inquiry(command)))
    });

fn inquiry(command: &CommandContext) -> Outcome {
    let request = Inquiry::decode(&mut Reader::new(&command.cdb))?;
    if request.command_support {
        return Err(Sense::in_cdb(1).into());
    }
    let room = usize::from(request.allocation_length);
    if request.vital {
        return Ok(Good::cut(vital::page(command, request.page)?, room));
    }
    if request.page != 0 {
        return Err(Sense::in_cdb(2).into());
    }
    let several_ports = command.target.ports().len() > 1;
    Ok(Good::cut(standard(peripheral(command), several_ports), room))
}

/// The peripheral qualifier and type, also for a number without a unit.
fn peripheral(command: &CommandContext) -> Peripheral {
    if command.unit.is_some() { Peripheral::DISK } else { Peripheral::NONE }
}

/// As many whole components of a version as fit in four characters.
fn revision(version: &str) -> &str {
    version.get(..4).unwrap_or(version).trim_end_matches('.')
}

fn standard(peripheral: Peripheral, several_ports: bool) -> Vec<u8> {
    let data = StandardData {
        peripheral,
        version: 6,
        hierarchical: true,
        target_port_groups: 1, // implicit
        third_party_copy: true,
        several_ports,
        queues: true,
        vendor: padded(VENDOR),
        product: padded(PRODUCT),
        revision: padded(revision(env!("CARGO_PKG_VERSION"))),
        standards: STANDARDS.to_vec(),
    };
    let mut w = Writer::new();
    data.encode(&mut w);
    w.into_bytes()
}

#[cfg(test)]
mod tests;
