//! MODE SELECT, SPC-4 6.9 and 6.10.

use super::modes::Settings;
use super::{
    CommandContext, CommandDefinition, CommandRefusal, Conflict, Good, LogicalUnit, Needs, Outcome,
    mode_pages,
};
use crate::wire::Reader;
use crate::wire::scsi::mode::{BlockDescriptor, Form, ModeParameters, ModeSelect, RawPage};
use crate::wire::scsi::{Asc, Sense};

/// The most bytes of parameters: all existing pages, twice.
const MOST: u16 = 512;
/// A number of blocks that stands for the maximum, SBC-3 6.5.2.2.
const ALL_BLOCKS: u64 = 0xffff_ffff;
/// PS, in the first byte of a page: reserved in MODE SELECT.
const PS: u8 = 0x80;

/// MODE SELECT (6).
pub(crate) static MODE_SELECT_6: CommandDefinition = supported(&[0x15, 0x13, 0x00, 0x00, 0xff, 0x04]);
/// MODE SELECT (10).
pub(crate) static MODE_SELECT_10: CommandDefinition =
    supported(&[0x55, 0x13, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0x04]);

const fn supported(usage: &'static [u8]) -> CommandDefinition {
    CommandDefinition::new(usage, Conflict::Writes, |command| {
        Box::pin(std::future::ready(mode_select(command)))
    })
    .needing(needs)
}

fn needs(command: &CommandContext) -> Result<Needs, CommandRefusal> {
    command.unit()?;
    let request = ModeSelect::decode(&mut Reader::new(&command.cdb))?;
    // Saving is not supported; RTD needs RTD_SUP, which the extended INQUIRY data do not have.
    if request.save || request.revert || (!request.page_format && request.length > 0) {
        return Err(Sense::in_cdb(1).into());
    }
    if request.length > MOST {
        return Err(Sense::in_cdb(if request.form == Form::Six { 4 } else { 7 }).into());
    }
    Ok(Needs::Parameters(usize::from(request.length)))
}

/// All pages are checked before any of them takes effect. When the cache is turned off, it is
/// flushed before the command ends (SBC-3 6.5.6); `dispatch.rs` does this, as for all later writes.
fn mode_select(command: &CommandContext) -> Outcome {
    let unit = command.unit()?;
    let request = ModeSelect::decode(&mut Reader::new(&command.cdb))?;
    if command.data.is_empty() {
        return Ok(Good::nothing()); // SPC-4 6.9: not an error
    }
    let too_short = Sense::illegal(Asc::PARAMETER_LIST_LENGTH_ERROR);
    let parameters =
        ModeParameters::decode(request.form, &mut Reader::new(&command.data)).map_err(|_| too_short)?;
    check_descriptors(unit, request.form, &parameters)?;
    let mut settings = unit.settings();
    let (mut pages, first) = (Reader::new(parameters.pages), command.data.len() - parameters.pages.len());
    while pages.remaining() > 0 {
        let at = first + pages.position();
        let page = RawPage::decode(&mut pages).map_err(|_| too_short)?;
        settings = changed(unit, (&page, at), &settings, command.read_only)?;
    }
    if unit.set_settings(settings) {
        unit.tell_others(&command.nexus.initiator, Asc::MODE_PARAMETERS_CHANGED);
    }
    Ok(Good::nothing())
}

/// The settings after the page at this offset of the parameters. Unchangeable bits must have their
/// current values. An initiator that may only read changes nothing, because the settings apply to
/// all initiators. A unit that several servers have has no write cache.
fn changed(
    unit: &LogicalUnit,
    (page, at): (&RawPage<'_>, usize),
    before: &Settings,
    read_only: bool,
) -> Result<Settings, CommandRefusal> {
    let wrong = |byte: usize| CommandRefusal::from(Sense::in_parameters((at + byte) as u16)); // within MOST
    let sent = mode_pages::decode(page.id, page.bytes, before).map_err(|_| wrong(1))?;
    let sent = Settings { write_cache: sent.write_cache && !unit.is_shared, ..sent };
    let settings = if read_only { *before } else { sent };
    let now = mode_pages::encode(page.id, &settings).ok_or_else(|| wrong(0))?;
    if now.len() != page.bytes.len() {
        return Err(wrong(1));
    }
    let sent = page.bytes.iter().enumerate().map(|(at, byte)| if at == 0 { byte & !PS } else { *byte });
    match sent.zip(now).position(|(sent, now)| sent != now) {
        Some(byte) => Err(wrong(byte)),
        None => Ok(settings),
    }
}

/// An initiator cannot change the size of the disk: the descriptor must have the current size, or
/// none.
fn check_descriptors(
    unit: &LogicalUnit,
    form: Form,
    parameters: &ModeParameters<'_>,
) -> Result<(), CommandRefusal> {
    let header = ModeParameters::header(form);
    if parameters.descriptors.is_empty() {
        return Ok(());
    }
    if parameters.descriptors.len() != BlockDescriptor::length(parameters.long) {
        return Err(Sense::in_parameters(header as u16 - 1).into());
    }
    let asked = BlockDescriptor::decode(parameters.long, &mut Reader::new(parameters.descriptors))?;
    if ![0, ALL_BLOCKS, unit.blocks()].contains(&asked.blocks) {
        return Err(Sense::in_parameters(header as u16).into());
    }
    if asked.block_size != unit.block_size() {
        return Err(Sense::in_parameters((header + parameters.descriptors.len() - 4) as u16).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
