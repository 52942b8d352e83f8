//! SEEK, ALLOCATE, DEALLOCATE, IO_ADVISE, READ_PLUS and CLONE, RFC 7862 15: ranges of files that no data travel for.

use std::sync::Arc;

use vfs::state::{Modes, Party};
use vfs::{Actor, Open, OpenOptions};
use wire::Writer;

use super::compound::Compound;
use super::data::{actor, file};
use super::fail::Fail;
use super::place::HandleTarget;
use super::rights::permit_through;
use super::states::{By, TreeOpen};
use crate::server::v3::{MAX_DATA, Target, size};
use crate::wire::v4::files::Read;
use crate::wire::v4::ranges::{Advise, CloneRange, FileRange, Seek, Sought};
use crate::wire::v4::types::{Bitmap, StateId, Status};
use crate::wire::xdr::{Encode, padding};

/// data_content4.
const DATA: u32 = 0;
const HOLE: u32 = 1;
/// What a part of READ_PLUS takes besides its data: the kind, the offset and the length.
const PART: usize = 4 + 8 + 8;

/// The open of a stateid. For a special stateid, one that lasts as long as the operation.
async fn open(
    compound: &Compound<'_>,
    target: &Target,
    state: &StateId,
    mode: Modes,
) -> Result<Arc<Open>, Fail> {
    if target.sidecar.is_some() {
        return Err(Status::NOTSUPP.into()); // the server composes it
    }
    if mode == Modes::WRITE && !target.writable {
        return Err(Status::ROFS.into());
    }
    let opened = compound.opened(state, &target.named)?;
    if let Some(opened) = &opened {
        if !opened.by.modes().intersects(mode) {
            return Err(Status::OPENMODE.into());
        }
        if !opened.by.permits(&target.actor.caller, mode) {
            permit_through(target, mode)?;
        }
    }
    let granted = opened.is_some();
    let actor = match opened.map(|opened| opened.by) {
        Some(By::Open(open)) => {
            return match &*open.held.lock() {
                Some(TreeOpen::Open(open)) => Ok(open.clone()),
                _ => Err(Status::BAD_STATEID.into()), // closed meanwhile
            };
        }
        Some(By::Delegation(delegation)) => delegation.acting(&target.actor.caller),
        None => Actor::new(target.actor.caller.clone(), Party::client(target.actor.party.client)),
    };
    let options = OpenOptions { granted, ..OpenOptions::data(mode) };
    let opened = target.export.volume.open(&actor, &target.found, options).await;
    Ok(Arc::new(opened.map_err(|error| Fail::from(error).denied_as(Status::LOCKED))?))
}

/// The end of a range: INVAL beyond the largest offset, FBIG beyond the largest file.
fn end(offset: u64, length: u64) -> Result<u64, Status> {
    let end = offset.checked_add(length).ok_or(Status::INVAL)?;
    size(end)?;
    Ok(end)
}

/// SEEK: where the next data begin, or the next hole. After the last data there is a hole, which begins at the end of the
/// file at the latest.
pub(super) async fn seek(compound: &Compound<'_>, request: &Seek, w: &mut Writer) -> Result<(), Fail> {
    let place = compound.current()?.clone();
    let target = file(&place)?;
    if request.what != DATA && request.what != HOLE {
        return Err(Status::UNION_NOTSUPP.into());
    }
    let open = open(compound, target, &request.state, Modes::READ).await?;
    let length = open.size().await?;
    if request.offset >= length {
        return Err(Status::NXIO.into());
    }
    let next = open.allocated(request.offset, length - request.offset, 1).await?.ranges.first().copied();
    let found = match (request.what, next) {
        (DATA, next) => next.map(|(offset, _)| offset),
        (_, Some((offset, data))) if offset == request.offset => {
            Some(offset.saturating_add(data)).filter(|hole| *hole < length)
        }
        _ => Some(request.offset),
    };
    Sought { end: found.is_none(), offset: found.unwrap_or(length) }.encode(w);
    Ok(())
}

/// ALLOCATE: space for the range is taken, and the file gets longer if the range ends behind it.
pub(super) async fn allocate(compound: &Compound<'_>, request: &FileRange) -> Result<(), Fail> {
    let place = compound.current()?.clone();
    let target = file(&place)?;
    end(request.offset, request.length)?;
    let open = open(compound, target, &request.state, Modes::WRITE).await?;
    Ok(open.reserve(request.offset, request.length).await?)
}

/// DEALLOCATE: the range reads as zeros, and its space is free if the host can. The size of the file stays.
pub(super) async fn deallocate(compound: &Compound<'_>, request: &FileRange) -> Result<(), Fail> {
    let place = compound.current()?.clone();
    let target = file(&place)?;
    end(request.offset, request.length)?;
    let open = open(compound, target, &request.state, Modes::WRITE).await?;
    Ok(open.punch(request.offset, request.length).await?)
}

/// IO_ADVISE: the server follows no hints, and says so.
pub(super) fn advise(compound: &Compound<'_>, request: &Advise, w: &mut Writer) -> Result<(), Fail> {
    let place = compound.current()?.clone();
    let target = file(&place)?;
    request.offset.checked_add(request.count).ok_or(Status::INVAL)?;
    actor(compound, target, &request.state, Modes::READ)?;
    Bitmap::default().encode(w);
    Ok(())
}

/// READ_PLUS: data and holes one after the other, as far as they fit.
pub(super) async fn read(compound: &Compound<'_>, request: &Read, w: &mut Writer) -> Result<(), Fail> {
    let place = compound.current()?.clone();
    let target = file(&place)?;
    let open = open(compound, target, &request.state, Modes::READ).await?;
    let length = open.size().await?;
    let count = u64::from(request.count.min(MAX_DATA));
    let stop = request.offset.saturating_add(count).min(length);
    let (end_at, mut at, mut parts) = (w.len(), request.offset, 0);
    w.zeros(8); // the flag of the end and the number of parts, which are known at last
    while at < stop {
        let next = open.allocated(at, stop - at, 1).await?.ranges.first().copied();
        let data_at = next.map_or(stop, |(offset, _)| offset);
        let room = compound.room(w).saturating_sub(PART + 3);
        if room == 0 {
            break;
        }
        if data_at > at {
            HOLE.encode(w);
            at.encode(w);
            (data_at - at).encode(w);
            at = data_at;
        } else {
            let data = next.map_or(0, |(_, length)| length).min(room as u64) as usize;
            let read = open.read_at(at, data).await?;
            let mut bytes = Vec::with_capacity(data);
            read.payload.append_or_zeros_to(&mut bytes)?;
            DATA.encode(w);
            at.encode(w);
            (bytes.len() as u32).encode(w); // at most MAX_DATA
            w.put(&bytes);
            w.zeros(padding(bytes.len()));
            at += bytes.len() as u64;
            if bytes.is_empty() {
                break; // cut meanwhile
            }
        }
        parts += 1;
    }
    w.patch_u32_be(end_at, u32::from(at >= length));
    w.patch_u32_be(end_at + 4, parts);
    Ok(())
}

/// The two files of COPY and CLONE, and the length to copy.
pub(super) struct CopyPair {
    pub(super) source: Arc<Open>,
    pub(super) target: Arc<Open>,
    pub(super) length: u64,
}

/// Finds the files of COPY and CLONE. INVAL if the source ends before the range does, or if the ranges of one file overlap.
pub(super) async fn pair(
    compound: &Compound<'_>,
    (from_state, from): (&StateId, u64),
    (to_state, to): (&StateId, u64),
    count: u64,
) -> Result<CopyPair, Fail> {
    let (from_place, to_place): (Arc<HandleTarget>, _) =
        (compound.saved()?.clone(), compound.current()?.clone());
    let (from_file, to_file) = (file(&from_place)?, file(&to_place)?);
    if from_file.export.tag != to_file.export.tag {
        return Err(Status::XDEV.into());
    }
    let source = open(compound, from_file, from_state, Modes::READ).await?;
    let target = open(compound, to_file, to_state, Modes::WRITE).await?;
    let size = source.size().await?;
    let left = size.checked_sub(from).ok_or(Status::INVAL)?;
    let length = if count == 0 { left } else { count };
    if length > left {
        return Err(Status::INVAL.into());
    }
    let to_end = end(to, length)?;
    let is_same = from_file.named == to_file.named;
    if is_same && length > 0 && from < to_end && to < from.saturating_add(length) {
        return Err(Status::INVAL.into());
    }
    Ok(CopyPair { source, target, length })
}

/// CLONE: the files share their blocks, which only some file systems can.
pub(super) async fn clone(compound: &Compound<'_>, request: &CloneRange) -> Result<(), Fail> {
    let (from, to) = ((&request.from_state, request.from), (&request.to_state, request.to));
    let CopyPair { source, target, length } = pair(compound, from, to, request.count).await?;
    let target: &Open = &target; // not the method of Clone
    Ok(target.clone_from(&source, request.from, request.to, length).await?)
}
