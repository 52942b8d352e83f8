//! READ, WRITE and COMMIT, RFC 7530 16.23, 16.36 and 16.3.

use vfs::backend::Stability;
use vfs::state::{Modes, Stream};
use vfs::{Actor, Kind, ReadData};
use wire::Writer;

use super::compound::Compound;
use super::fail::Fail;
use super::named;
use super::place::HandleTarget;
use super::sessions::SequencedCompound;
use crate::server::v3::{MAX_DATA, Target, size};
use crate::wire::v4::files::{Commit, Read, Write};
use crate::wire::v4::types::{StableHow, StateId, Status};
use crate::wire::xdr::{Encode, padding};

/// READ. The data of the last operation are sent from the page cache if possible.
pub(super) async fn read(compound: &mut Compound<'_>, request: &Read, w: &mut Writer) -> Result<(), Fail> {
    let place = compound.current()?.clone();
    if let HandleTarget::Attribute(target) = &*place {
        return named::read(compound, target, request, w).await;
    }
    let target = file(&place)?;
    let actor = actor(compound, target, &request.state, Modes::READ)?;
    let length = (request.count.min(MAX_DATA) as usize).min(compound.room(w));
    let (volume, found) = (&target.export.volume, &target.found);
    let read = match &target.sidecar {
        Some(sidecar) => volume.stateless().read_sidecar(&actor, (found, sidecar), request.offset, length),
        None => volume.stateless().read(&actor, found, request.offset, length).await,
    };
    let ReadData { payload, end, .. } = read.map_err(|error| Fail::from(error).denied_as(Status::LOCKED))?;
    end.encode(w);
    let count = payload.len();
    (count as u32).encode(w); // at most MAX_DATA
    let must_be_kept = compound.sequenced.as_ref().is_some_and(SequencedCompound::wants_kept);
    if compound.is_last && !must_be_kept {
        compound.payload = Some(payload);
        return Ok(());
    }
    let mut bytes = Vec::with_capacity(count + 3);
    payload.append_or_zeros_to(&mut bytes)?;
    w.put(&bytes);
    w.zeros(padding(count));
    Ok(())
}

/// WRITE. UNSTABLE data are in the host's page cache when the reply is sent.
pub(super) async fn write(compound: &Compound<'_>, request: &Write<'_>, w: &mut Writer) -> Result<(), Fail> {
    let place = compound.current()?;
    let stability = match request.stable {
        StableHow::UNSTABLE => Stability::Unstable,
        StableHow::DATA_SYNC => Stability::Data,
        StableHow::FILE_SYNC => Stability::File,
        _ => return Err(Status::BADXDR.into()),
    };
    if let HandleTarget::Attribute(target) = &**place {
        return named::write(compound, target, (request, stability), w).await;
    }
    let target = file(place)?;
    let actor = actor(compound, target, &request.state, Modes::WRITE)?;
    let materialized = changeable(target)?;
    let found = materialized.as_ref().unwrap_or(&target.found);
    let data = &request.data[..request.data.len().min(MAX_DATA as usize)];
    let end = request.offset.checked_add(data.len() as u64).ok_or(Status::INVAL)?;
    size(end)?;
    let bytes = compound.call.message.slice_ref(data);
    let written = target
        .export
        .volume
        .stateless()
        .write_only(&actor, found, request.offset, bytes, stability, None)
        .await;
    written.map_err(|error| Fail::from(error).denied_as(Status::LOCKED))?;
    (data.len() as u32).encode(w);
    request.stable.encode(w);
    compound.call.service.verifier.encode(w);
    Ok(())
}

/// COMMIT. The whole file is put on the disk, whatever range is asked for.
pub(super) async fn commit(compound: &Compound<'_>, request: &Commit, w: &mut Writer) -> Result<(), Fail> {
    request.offset.checked_add(u64::from(request.count)).ok_or(Status::INVAL)?;
    if let HandleTarget::Attribute(target) = &**compound.current()? {
        named::commit(target).await?;
        compound.call.service.verifier.encode(w);
        return Ok(());
    }
    let target = file(compound.current()?)?;
    if target.sidecar.is_none() {
        target.export.volume.sync(&target.found).await?;
    }
    compound.call.service.verifier.encode(w);
    Ok(())
}

/// The file of a place that has data.
pub(super) fn file(place: &HandleTarget) -> Result<&Target, Status> {
    match place {
        HandleTarget::Pseudo(_) | HandleTarget::Attributes(_) => Err(Status::ISDIR),
        HandleTarget::Attribute(_) => Err(Status::WRONG_TYPE),
        HandleTarget::File(target) => match target.found.attributes.kind {
            _ if target.sidecar.is_some() => Ok(target),
            Kind::File => Ok(target),
            Kind::Folder => Err(Status::ISDIR),
            Kind::Link => Err(Status::SYMLINK),
            _ => Err(Status::WRONG_TYPE),
        },
    }
}

/// The file itself, for an operation that changes it. A sidecar that the server has composed is put on the disk first.
pub(super) fn changeable(target: &Target) -> Result<Option<vfs::backend::Found>, Fail> {
    if !target.writable {
        return Err(Status::ROFS.into());
    }
    match target.sidecar {
        None => Ok(None),
        Some(_) => {
            let volume = &target.export.volume;
            Ok(Some(volume.stateless().materialize(&target.actor.caller, &target.found.object)?))
        }
    }
}

/// The actor of an operation with a stateid. A special stateid is no open: the client acts as one of version 3 does.
pub(super) fn actor(
    compound: &Compound<'_>,
    target: &Target,
    state: &StateId,
    mode: Modes,
) -> Result<Actor, Fail> {
    let Some(opened) = compound.opened(state, &target.named)? else {
        // RFC 7530 9.1.4.3: the client's own denials count, too.
        let (state, file) = (target.export.volume.state(), target.found.object.id());
        if target.sidecar.is_none() {
            let denied = state.check_denied(file, &Stream::Data, target.actor.party.client, mode);
            denied.map_err(|error| Fail::from(error).denied_as(Status::LOCKED))?;
        }
        return Ok(target.actor.clone());
    };
    if compound.minor == 0 {
        opened.client.renew(); // a session has done that by SEQUENCE
    }
    // RFC 7530 9.1.6: a client that writes parts of blocks may have to read the rest.
    if mode == Modes::WRITE && !opened.by.modes().intersects(mode) {
        return Err(Status::OPENMODE.into());
    }
    let caller = &target.actor.caller;
    Ok(Actor { by_open: opened.by.permits(caller, mode), ..opened.by.acting(caller) })
}
