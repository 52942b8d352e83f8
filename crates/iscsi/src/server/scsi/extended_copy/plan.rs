//! A whole parameter list, SPC-4 5.17.7.3: an error here prevents the copy before it begins.

use super::LIMITS;
use crate::wire::Reader;
use crate::wire::scsi::{
    Asc, COPY_HEADER, COPY_TARGET, CopyHeader, CopyTarget, Extent, ListIdUsage, Segment, Sense,
};

/// The work that the list asks for.
pub(super) struct CopyPlan<'a> {
    pub(super) header: CopyHeader,
    pub(super) targets: Vec<CopyTarget<'a>>,
    pub(super) segments: Vec<PlacedSegment>,
}

/// A segment, and its offset in the list.
pub(super) struct PlacedSegment {
    pub(super) at: usize,
    pub(super) segment: Segment,
}

impl<'a> CopyPlan<'a> {
    pub(super) fn of(list: &'a [u8]) -> Result<Self, Sense> {
        let mut r = Reader::new(list);
        let header = CopyHeader::decode(&mut r).map_err(|_| length_error())?;
        let (targets, segments) = (usize::from(header.targets_length), header.segments_length as usize);
        if targets + segments > LIMITS.descriptors_length as usize {
            return Err(length_error());
        }
        check(&header)?;
        let targets = decode_targets(r.take(targets).map_err(|_| length_error())?)?;
        let at = r.position();
        let segments = decode_segments(r.take(segments).map_err(|_| length_error())?, at)?;
        Ok(Self { header, targets, segments })
    }
}

fn check(header: &CopyHeader) -> Result<(), Sense> {
    let needs_none = header.usage == ListIdUsage::NONE && header.list_identifier != 0;
    if header.usage == ListIdUsage::RESERVED || needs_none {
        return Err(Sense::in_parameters(if needs_none { 0 } else { 1 }));
    }
    if header.inline_length > 0 {
        return Err(Sense { field: Sense::in_parameters(12).field, ..length_exceeded() });
    }
    Ok(())
}

fn decode_targets(list: &[u8]) -> Result<Vec<CopyTarget<'_>>, Sense> {
    if !list.len().is_multiple_of(COPY_TARGET) {
        return Err(Sense::in_parameters(2));
    }
    if list.len() / COPY_TARGET > usize::from(LIMITS.targets) {
        return Err(Sense::illegal(Asc::TOO_MANY_TARGET_DESCRIPTORS));
    }
    let mut targets = Vec::new();
    for (number, bytes) in list.chunks(COPY_TARGET).enumerate() {
        let at = (COPY_HEADER + number * COPY_TARGET) as u16; // at most 240
        let target = CopyTarget::decode(&mut Reader::new(bytes)).map_err(|_| Sense::in_parameters(at))?;
        if target.kind != CopyTarget::IDENTIFICATION {
            let field = Sense::in_parameters(at).field;
            return Err(Sense { field, ..Sense::illegal(Asc::UNSUPPORTED_TARGET_DESCRIPTOR) });
        }
        targets.push(target);
    }
    Ok(targets)
}

fn decode_segments(list: &[u8], start: usize) -> Result<Vec<PlacedSegment>, Sense> {
    let mut r = Reader::new(list);
    let mut segments = Vec::new();
    while r.remaining() > 0 {
        if segments.len() == usize::from(LIMITS.segments) {
            return Err(Sense::illegal(Asc::TOO_MANY_SEGMENT_DESCRIPTORS));
        }
        let at = start + r.position();
        let wrong = Sense::in_parameters(at as u16); // a list has at most 2064 bytes
        let segment = Segment::decode(&mut r).map_err(|_| wrong)?;
        if segment.extent == Extent::Unknown {
            return Err(Sense { field: wrong.field, ..Sense::illegal(Asc::UNSUPPORTED_SEGMENT_DESCRIPTOR) });
        }
        segments.push(PlacedSegment { at, segment });
    }
    Ok(segments)
}

const fn length_error() -> Sense {
    Sense::illegal(Asc::PARAMETER_LIST_LENGTH_ERROR)
}

const fn length_exceeded() -> Sense {
    Sense::illegal(Asc::INLINE_DATA_LENGTH_EXCEEDED)
}
