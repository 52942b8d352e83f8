//! The pages of vital product data.

use super::{names, peripheral};
use crate::server::scsi::extended_copy::LIMITS as COPY_LIMITS;
use crate::server::scsi::limits::{
    COMPARE_AND_WRITE_BLOCKS, OPTIMAL_BYTES, PAGE_BYTES, THRESHOLD_SET_BYTES, TRANSFER_BYTES, UNMAP_BLOCKS,
    UNMAP_DESCRIPTORS, WRITE_SAME_BYTES,
};
use crate::server::scsi::{CommandContext, CommandRefusal, LogicalUnit};
use crate::wire::Writer;
use crate::wire::scsi::Sense;
use crate::wire::scsi::vpd::{
    BlockLimits, Characteristics, Designators, ExtendedInquiry, PageCode, Provisioning, SHARED_MODE_PAGES,
    ScsiPort, ScsiPorts, VpdPage,
};

/// The pages of a disk, ascending.
const PAGES: [PageCode; 10] = [
    PageCode::SUPPORTED,
    PageCode::SERIAL_NUMBER,
    PageCode::IDENTIFICATION,
    PageCode::EXTENDED,
    PageCode::MODE_PAGE_POLICY,
    PageCode::PORTS,
    PageCode::THIRD_PARTY_COPY,
    PageCode::BLOCK_LIMITS,
    PageCode::CHARACTERISTICS,
    PageCode::PROVISIONING,
];

/// A page with its header. Without a unit, there is only the list of pages, which contains itself.
pub(super) fn page(command: &CommandContext, code: u8) -> Result<Vec<u8>, CommandRefusal> {
    let code = PageCode(code);
    let body = match (&command.unit, code) {
        (Some(unit), code) => body(unit, command, code),
        (None, PageCode::SUPPORTED) => Some(vec![0]),
        (None, _) => None,
    };
    let body = body.ok_or(Sense::in_cdb(2))?;
    let mut w = Writer::new();
    VpdPage { peripheral: peripheral(command), code, body: &body }.encode(&mut w);
    Ok(w.into_bytes())
}

fn body(unit: &LogicalUnit, command: &CommandContext, code: PageCode) -> Option<Vec<u8>> {
    let (mut w, target) = (Writer::new(), &command.target);
    match code {
        PageCode::SUPPORTED => PAGES.iter().for_each(|page| w.u8(page.0)),
        PageCode::SERIAL_NUMBER => w.put(unit.identity.serial().as_bytes()),
        PageCode::IDENTIFICATION => {
            names::all(&unit.identity, &target.name, command.nexus.port).encode(&mut w)
        }
        PageCode::EXTENDED => ExtendedInquiry { volatile_cache: !unit.is_shared, ..EXTENDED }.encode(&mut w),
        PageCode::MODE_PAGE_POLICY => w.put(&SHARED_MODE_PAGES),
        PageCode::PORTS => {
            let port = |number| ScsiPort {
                number,
                names: Designators(vec![names::port_name(&target.name, number)]),
            };
            ScsiPorts(target.ports().iter().map(|each| port(each.number)).collect()).encode(&mut w);
        }
        PageCode::THIRD_PARTY_COPY => COPY_LIMITS.encode_page(&mut w),
        PageCode::BLOCK_LIMITS => block_limits(unit.block_size()).encode(&mut w),
        PageCode::CHARACTERISTICS => CHARACTERISTICS.encode(&mut w),
        PageCode::PROVISIONING => provisioning(unit.block_size()).encode(&mut w),
        _ => return None,
    }
    Some(w.into_bytes())
}

/// Simple, ordered and head-of-queue commands; written data are on the disk after SYNCHRONIZE CACHE
/// or FUA.
const EXTENDED: ExtendedInquiry =
    ExtendedInquiry { attributes: 7, volatile_cache: true, clears_lun_changes: true };

/// No rotating medium: an initiator need not order its requests.
const CHARACTERISTICS: Characteristics = Characteristics { rotation: 1, verifies_unmapped: true };

fn block_limits(block_size: u32) -> BlockLimits {
    let page = PAGE_BYTES / block_size;
    BlockLimits {
        write_same_nonzero: true,
        compare_and_write: COMPARE_AND_WRITE_BLOCKS,
        optimal_granularity: page as u16, // 8 at most
        transfer: TRANSFER_BYTES / block_size,
        optimal_transfer: OPTIMAL_BYTES / block_size,
        prefetch: 0,
        unmap: UNMAP_BLOCKS,
        unmap_descriptors: UNMAP_DESCRIPTORS,
        // A granularity of one block of 4096 bytes makes qemu abort (an assertion of its initiator,
        // 7.2 and later); 0 means the same.
        unmap_granularity: if page > 1 { page } else { 0 },
        unmap_alignment: (page > 1).then_some(0),
        write_same: u64::from(WRITE_SAME_BYTES / block_size),
    }
}

fn provisioning(block_size: u32) -> Provisioning {
    let set = THRESHOLD_SET_BYTES / u64::from(block_size);
    Provisioning {
        threshold_exponent: set.trailing_zeros() as u8, // 11 at most
        unmap: true,
        write_same_16: true,
        write_same_10: true,
        reads_zeros: true,
        kind: 2,
    }
}
