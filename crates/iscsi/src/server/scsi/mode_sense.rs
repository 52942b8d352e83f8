//! MODE SENSE, SPC-4 6.11 and 6.12.

use super::{
    CommandContext, CommandDefinition, CommandRefusal, Conflict, Good, LogicalUnit, Outcome, mode_pages,
};
use crate::wire::scsi::mode::{BlockDescriptor, ModeParameters, ModeSense, PageControl, PageId};
use crate::wire::scsi::{Asc, Sense};
use crate::wire::{Reader, Writer};

/// MODE SENSE (6).
pub(crate) static MODE_SENSE_6: CommandDefinition = supported(&[0x1a, 0x08, 0xff, 0xff, 0xff, 0x04]);
/// MODE SENSE (10).
pub(crate) static MODE_SENSE_10: CommandDefinition =
    supported(&[0x5a, 0x18, 0xff, 0xff, 0x00, 0x00, 0x00, 0xff, 0xff, 0x04]);

const fn supported(usage: &'static [u8]) -> CommandDefinition {
    CommandDefinition::new(usage, Conflict::Reads, |command| {
        Box::pin(std::future::ready(mode_sense(command)))
    })
}

/// All pages, as page code; all subpages, as subpage code.
const ALL: PageId = PageId(0x3f, 0xff);

fn mode_sense(command: &CommandContext) -> Outcome {
    let unit = command.unit()?;
    let request = ModeSense::decode(&mut Reader::new(&command.cdb))?;
    if request.control == PageControl::Saved {
        return Err(Sense::illegal(Asc::SAVING_NOT_SUPPORTED).into());
    }
    let pages = pages(unit, &request, command.read_only)?;
    let long = request.long_descriptors && !request.no_descriptors;
    let mut descriptors = Writer::new();
    if !request.no_descriptors {
        let (blocks, block_size) = (unit.blocks(), unit.block_size());
        BlockDescriptor { blocks, block_size }.encode(long, &mut descriptors);
    }
    let parameters = ModeParameters {
        protected: command.is_protected(),
        dpo_fua: true,
        long,
        descriptors: descriptors.as_bytes(),
        pages: &pages,
    };
    let mut w = Writer::new();
    parameters.encode(request.form, &mut w);
    Ok(Good::cut(w.into_bytes(), usize::from(request.allocation_length)))
}

/// The pages that are asked for: SPC-4 tables 170 and 171.
fn pages(unit: &LogicalUnit, request: &ModeSense, read_only: bool) -> Result<Vec<u8>, CommandRefusal> {
    let PageId(page, subpage) = PageId(request.page, request.subpage);
    if page == ALL.0 && subpage != 0 && subpage != ALL.1 {
        return Err(Sense::in_cdb(3).into());
    }
    let asked = |id: &&PageId| (page == ALL.0 || id.0 == page) && (subpage == ALL.1 || id.1 == subpage);
    let mut bytes = Vec::new();
    for id in mode_pages::PAGES.iter().filter(asked) {
        let encoded = match request.control {
            PageControl::Current | PageControl::Saved => mode_pages::encode(*id, &unit.settings()),
            PageControl::Default => mode_pages::encode(*id, &unit.default_settings()),
            PageControl::Changeable => mode_pages::changeable(*id, read_only, unit.is_shared),
        };
        bytes.extend(encoded.unwrap_or_default());
    }
    if bytes.is_empty() {
        let is_page = mode_pages::PAGES.iter().any(|id| id.0 == page);
        return Err(Sense::in_cdb(if is_page { 3 } else { 2 }).into());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
