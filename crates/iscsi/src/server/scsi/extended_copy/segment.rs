//! One segment: the disks, the permissions, the bytes, SPC-4 6.4.6 and 5.17.7.2.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::LIMITS;
use super::plan::{CopyPlan, PlacedSegment};
use crate::server::scsi::copies::CopyProgress;
use crate::server::scsi::{CommandContext, CommandRefusal, Conflict, LogicalUnit, Nexus};
use crate::wire::scsi::{Asc, COPY_HEADER, COPY_TARGET, Extent, Segment};

/// Bytes that are copied between two checks for an abort.
const PIECE: u64 = 8 << 20;
/// The most ranges of data that are found in a piece; if there are more, holes are copied as zeros.
const RANGES: usize = 64;
/// CSCD descriptor ID of the unit that received the command, SPC-4 table 148.
const ASKED: u16 = 0xffff;

/// The error of a segment that was not copied.
#[derive(Debug, Clone, Copy)]
pub(super) struct SegmentError {
    pub(super) asc: Asc,
    /// The position in the parameter list.
    pub(super) byte: Option<usize>,
    /// Blocks of the destination that were not written, if some blocks were.
    pub(super) left: Option<u64>,
}

impl SegmentError {
    fn at(asc: Asc, byte: usize) -> Self {
        Self { asc, byte: Some(byte), left: None }
    }
}

/// The source or the destination.
struct CopyEnd {
    unit: Arc<LogicalUnit>,
    /// Writes to this disk are refused.
    is_protected: bool,
    /// The nexus in whose name the disk is used.
    nexus: Arc<Nexus>,
    /// PAD of its descriptor.
    pad: bool,
    /// The position in the parameter list that names it.
    at: usize,
}

/// The bytes of a segment.
struct SegmentRange {
    from: u64,
    to: u64,
    length: u64,
    /// Zeros after the bytes, up to the end of a block.
    padding: u64,
}

/// Copies one segment.
pub(super) async fn copy(
    command: &CommandContext,
    plan: &CopyPlan<'_>,
    placed: &PlacedSegment,
    counts: &CopyProgress,
) -> Result<(), SegmentError> {
    let PlacedSegment { at, segment } = placed;
    let source = find(command, plan, segment.source, at + 4)?;
    let destination = find(command, plan, segment.destination, at + 6)?;
    may(&source, Conflict::Reads)?;
    may(&destination, Conflict::Writes)?;
    if destination.is_protected {
        return Err(SegmentError::at(Asc::THIRD_PARTY_DEVICE_FAILURE, destination.at));
    }
    let is_last = plan.segments.last().is_some_and(|last| std::ptr::eq(last, placed));
    let range = range(segment, *at, &source, &destination, is_last)?;
    let copied = pieces(command, &source.unit, &destination.unit, &range, counts).await;
    let copied = match copied {
        Ok(()) if destination.unit.modes.write_through() => {
            destination.unit.sync(&command.nexus).await.map_err(|_| 0)
        }
        other => other,
    };
    copied.map_err(|done| {
        let size = u64::from(destination.unit.block_size());
        let left = (done > 0).then(|| (range.length - done).div_ceil(size));
        SegmentError { asc: Asc::THIRD_PARTY_DEVICE_FAILURE, byte: Some(destination.at), left }
    })
}

/// The disk that a segment names: the one that received the command, or one of the list.
fn find(
    command: &CommandContext,
    plan: &CopyPlan<'_>,
    id: u16,
    named_at: usize,
) -> Result<CopyEnd, SegmentError> {
    if id == ASKED {
        let unit = command.unit.clone().ok_or(SegmentError::at(Asc::UNREACHABLE_COPY_TARGET, named_at))?;
        let (is_protected, at) = (command.is_protected(), named_at);
        return Ok(CopyEnd { unit, is_protected, nexus: command.nexus.clone(), pad: false, at });
    }
    let target = plan.targets.get(usize::from(id));
    let target = target.ok_or(SegmentError::at(Asc::UNREACHABLE_COPY_TARGET, named_at))?;
    let at = COPY_HEADER + usize::from(id) * COPY_TARGET;
    if target.peripheral != 0 {
        return Err(SegmentError::at(Asc::INCORRECT_COPY_TARGET_DEVICE_TYPE, at));
    }
    let disk = target.naa().and_then(|naa| by_naa(command, naa, target.pad, at));
    let disk = disk.ok_or(SegmentError::at(Asc::UNREACHABLE_COPY_TARGET, at))?;
    if target.block_length != 0 && target.block_length != disk.unit.block_size() {
        return Err(SegmentError::at(Asc::INVALID_FIELD_IN_PARAMETER_LIST, at + 29));
    }
    Ok(disk)
}

/// A disk that the initiator sees: here, or at another target where it has a session now.
fn by_naa(command: &CommandContext, naa: u64, pad: bool, at: usize) -> Option<CopyEnd> {
    let here = command.seen.iter().find(|seen| seen.unit.identity.naa == naa);
    let (seen, initiator) = match here {
        Some(seen) => (seen.clone(), command.nexus.initiator.clone()),
        None => {
            let name = &command.nexus.initiator.name;
            let seen =
                command.target.all().into_iter().flat_map(|target| target.seen_by(name, command.nexus.host));
            let seen = seen.into_iter().find(|seen| seen.unit.identity.naa == naa)?;
            let holders = seen.unit.holders.all();
            let holder = holders.iter().find(|holder| holder.initiator().name == *name)?;
            let initiator = holder.initiator().clone();
            (seen, initiator)
        }
    };
    let unit = seen.unit;
    // The copy has the same effect as commands of the initiator, so that the initiator's
    // reservations count.
    let is_protected = seen.read_only || unit.options.read_only || unit.modes.write_protected();
    let nexus = Nexus { initiator, host: command.nexus.host, port: command.nexus.port };
    Some(CopyEnd { unit, is_protected, nexus: Arc::new(nexus), pad, at })
}

fn may(disk: &CopyEnd, conflict: Conflict) -> Result<(), SegmentError> {
    let checked = disk.unit.reservations.check(&disk.nexus, conflict, &[]);
    checked.map_err(|_| SegmentError::at(Asc::THIRD_PARTY_DEVICE_FAILURE, disk.at))
}

/// The bytes that a segment names. They lie within both disks.
fn range(
    segment: &Segment,
    at: usize,
    source: &CopyEnd,
    destination: &CopyEnd,
    is_last: bool,
) -> Result<SegmentRange, SegmentError> {
    let (read, written) = (u64::from(source.unit.block_size()), u64::from(destination.unit.block_size()));
    let (length, from, to, offsets, padding) = match segment.extent {
        Extent::Blocks { of_destination, count, from, to } => {
            let length = u64::from(count) * if of_destination { written } else { read };
            let (length, padding) = whole(segment, length, source, destination, is_last)
                .ok_or(SegmentError::at(Asc::UNEXPECTED_INEXACT_SEGMENT, at + 10))?;
            (length, from, to, (0, 0), padding)
        }
        Extent::Bytes { length, from, to, from_offset, to_offset } => {
            (u64::from(length), from, to, (u64::from(from_offset), u64::from(to_offset)), 0)
        }
        // Not in a plan.
        Extent::Unknown => return Err(SegmentError::at(Asc::UNSUPPORTED_SEGMENT_DESCRIPTOR, at)),
    };
    if length > u64::from(LIMITS.segment_length) {
        return Err(SegmentError::at(Asc::INVALID_FIELD_IN_PARAMETER_LIST, at + 8));
    }
    // The disk has received no command that it could have refused: the code is only COPY ABORTED.
    let from = within(source, from, offsets.0, length).ok_or(SegmentError::at(Asc::NONE, at + 12))?;
    let to =
        within(destination, to, offsets.1, length + padding).ok_or(SegmentError::at(Asc::NONE, at + 20))?;
    Ok(SegmentRange { from, to, length, padding })
}

/// How many bytes to copy, and how many zeros to write after them, if the blocks of the disks
/// differ in size: SPC-4 table 116, except that no bytes are carried over to another segment.
fn whole(
    segment: &Segment,
    length: u64,
    source: &CopyEnd,
    destination: &CopyEnd,
    is_last: bool,
) -> Option<(u64, u64)> {
    let (read, written) = (u64::from(source.unit.block_size()), u64::from(destination.unit.block_size()));
    let (unread, unwritten) = (length % read, length % written);
    if unread == 0 && unwritten == 0 {
        return Some((length, 0));
    }
    match (segment.concatenate, source.pad, destination.pad) {
        (true, _, _) if is_last => Some((length - unwritten, 0)),
        (false, _, true) if unwritten > 0 => Some((length, written - unwritten)),
        (false, true, _) => Some((length - unwritten, 0)),
        (false, false, true) if is_last => Some((length, 0)),
        _ => None,
    }
}

fn within(disk: &CopyEnd, lba: u64, offset: u64, length: u64) -> Option<u64> {
    let size = u64::from(disk.unit.block_size());
    let start = lba.checked_mul(size)?.checked_add(offset)?;
    let end = start.checked_add(length)?;
    (end <= disk.unit.blocks() * size).then_some(start)
}

/// Copies piece by piece. It copies backwards where ranges of one disk overlap so that bytes would
/// be written before they are read. An error contains how many bytes were written from the start
/// on.
async fn pieces(
    command: &CommandContext,
    source: &Arc<LogicalUnit>,
    destination: &Arc<LogicalUnit>,
    range: &SegmentRange,
    counts: &CopyProgress,
) -> Result<(), u64> {
    let SegmentRange { from, to, length, padding } = *range;
    let is_same = Arc::ptr_eq(source, destination);
    let backwards = is_same && from < to && to - from < length;
    let apart = !is_same || from.abs_diff(to) >= length;
    let mut done = 0;
    while done < length {
        let now = (length - done).min(PIECE);
        let at = if backwards { length - done - now } else { done };
        let written = if backwards { 0 } else { done };
        if command.is_aborted() {
            return Err(written);
        }
        let copied = piece(source, destination, (from + at, to + at, now), apart).await;
        copied.map_err(|_| written)?;
        done += now;
        counts.bytes.fetch_add(now, Ordering::Relaxed);
    }
    if padding > 0 {
        let zeros = vec![0; padding as usize]; // shorter than a block
        destination.write(to + length, zeros.into()).await.map_err(|_| length)?;
    }
    Ok(())
}

/// A hole of the source becomes a hole of the destination.
async fn piece(
    source: &LogicalUnit,
    destination: &LogicalUnit,
    (from, to, length): (u64, u64, u64),
    apart: bool,
) -> Result<(), CommandRefusal> {
    let allocated = source.open()?.allocated(from, length, RANGES).await?;
    if !apart || allocated.more {
        return destination.copy_from(source, from, to, length).await;
    }
    let mut at = from;
    for (start, count) in allocated.ranges {
        if start > at {
            destination.punch(to + (at - from), start - at).await?;
        }
        destination.copy_from(source, start, to + (start - from), count).await?;
        at = start + count;
    }
    if at < from + length {
        destination.punch(to + (at - from), from + length - at).await?;
    }
    Ok(())
}
