//! What is done to named attributes: opening and making them, their bytes, removing and renaming.

use std::sync::Arc;

use bytes::Bytes;
use vfs::backend::Stability;
use vfs::mac::FinderInfo;
use vfs::state::{Modes, Stream};
use vfs::{Actor, Open, OpenOptions};
use wire::Writer;

use super::super::creating::{self, Opening};
use super::super::data::file;
use super::super::setting;
use super::super::states::{By, OpenState, TreeOpen};
use super::{beside, checked, finder_info, knowing, names, permit, place_of, state, stream};
use crate::server::call::Call;
use crate::server::handle::{AttributeName, HandleView};
use crate::server::v3::{MAX_DATA, Target, size};
use crate::server::v4::compound::Compound;
use crate::server::v4::fail::Fail;
use crate::server::v4::place::HandleTarget;
use crate::wire::v4::attributes::SIZE;
use crate::wire::v4::files::{Read, Rename, SetAttr, Write};
use crate::wire::v4::opens::OpenHow;
use crate::wire::v4::types::{Bitmap, ChangeInfo, Name, Status};
use crate::wire::xdr::{Encode, put_opaque};

/// The attribute that OPEN means. It is made when it is opened. An attribute has no times that could store the verifier of an
/// exclusive OPEN.
pub(in crate::server::v4) fn opening(
    call: &Call<'_>,
    folder: &Target,
    name: &[u8],
    how: &OpenHow<'_>,
) -> Result<Opening, Fail> {
    let name = checked(name)?;
    let target = super::target(folder, HandleView::Attribute(name));
    let is_there = state(&target, &name)?.is_some();
    let wanted = match how {
        OpenHow::Existing if !is_there => return Err(Status::NOENT.into()),
        OpenHow::Guarded(_) if is_there => return Err(Status::EXIST.into()),
        OpenHow::Existing => None,
        OpenHow::Unchecked(attributes) | OpenHow::Guarded(attributes) => {
            Some(creating::read(call, attributes)?)
        }
        OpenHow::Exclusive(_) | OpenHow::ExclusiveWith(..) => return Err(Status::NOTSUPP.into()),
    };
    let size = wanted.and_then(|wanted| wanted.changes.size).filter(|&size| size == 0 || !is_there);
    let set = if size.is_some() { Bitmap::of(&[SIZE]) } else { Bitmap::default() };
    let change = ChangeInfo { atomic: is_there, ..creating::unchanged(folder) };
    let place = Arc::new(HandleTarget::Attribute(Box::new(target)));
    Ok(Opening { place, change, set, beside: None, is_new: !is_there, size })
}

/// Opens an attribute in the tree, and makes it if it is new.
pub(in crate::server::v4) async fn open(
    target: &Target,
    actor: &Actor,
    name: &AttributeName,
    (access, deny, is_new): (Modes, Modes, bool),
) -> Result<Arc<Open>, Fail> {
    permit(target, if is_new { access.union(Modes::WRITE) } else { access })?;
    let place = place_of(target)?.ok_or(Status::NOTSUPP)?;
    let (stream, actor) = (stream(name)?, knowing(actor));
    // The Finder info has an open for its denials; its bytes are read and written by name.
    let create = is_new || stream == Stream::Info;
    let place = Some(beside(&place));
    let options = OpenOptions { stream, deny, create, place, granted: true, ..OpenOptions::data(access) };
    Ok(Arc::new(target.export.volume.open(&actor, &target.found, options).await?))
}

/// The open of a stateid, or one for the moment for a special stateid.
async fn opened(
    compound: &Compound<'_>,
    target: &Target,
    state: &crate::wire::v4::types::StateId,
    mode: Modes,
) -> Result<Arc<Open>, Fail> {
    let HandleView::Attribute(name) = target.named.view else { return Err(Status::WRONG_TYPE.into()) };
    let Some(opened) = compound.opened(state, &target.named)? else {
        return open(target, &target.actor, &name, (mode, Modes::NONE, false)).await;
    };
    opened.client.renew();
    if !opened.by.modes().intersects(mode) {
        return Err(Status::OPENMODE.into());
    }
    match opened.by {
        By::Open(open) => held(&open),
        By::Delegation(_) => Err(Status::BAD_STATEID.into()), // attributes have none
    }
}

fn held(open: &OpenState) -> Result<Arc<Open>, Fail> {
    match &*open.held.lock() {
        Some(TreeOpen::Open(open)) => Ok(open.clone()),
        _ => Err(Status::BAD_STATEID.into()), // closed meanwhile
    }
}

/// The bytes of the Finder info. There are none if a file has none.
fn info_bytes(target: &Target) -> Result<Vec<u8>, Fail> {
    let place = place_of(target)?;
    let info = finder_info(&target.export.volume, &target.found, place.as_ref().map(beside))?;
    Ok(if info.is_none() { Vec::new() } else { info.as_bytes().to_vec() })
}

fn is_info(target: &Target) -> bool {
    matches!(target.named.view, HandleView::Attribute(name) if name.as_bytes() == super::FINDER_INFO)
}

/// READ of an attribute.
pub(in crate::server::v4) async fn read(
    compound: &Compound<'_>,
    target: &Target,
    request: &Read,
    w: &mut Writer,
) -> Result<(), Fail> {
    let open = opened(compound, target, &request.state, Modes::READ).await?;
    let length = (request.count.min(MAX_DATA) as usize).min(compound.room(w));
    let (bytes, end) = if is_info(target) {
        let all = info_bytes(target)?;
        let start = usize::try_from(request.offset).unwrap_or(usize::MAX).min(all.len());
        let rest = &all[start..];
        (rest[..rest.len().min(length)].to_vec(), rest.len() <= length)
    } else {
        let read = open
            .read_at(request.offset, length)
            .await
            .map_err(|error| Fail::from(error).denied_as(Status::LOCKED))?;
        let mut bytes = Vec::new();
        read.payload.append_or_zeros_to(&mut bytes)?;
        (bytes, read.end || request.offset.saturating_add(length as u64) >= open.size().await?)
    };
    end.encode(w);
    put_opaque(w, &bytes);
    Ok(())
}

/// WRITE of an attribute.
pub(in crate::server::v4) async fn write(
    compound: &Compound<'_>,
    target: &Target,
    (request, stability): (&Write<'_>, Stability),
    w: &mut Writer,
) -> Result<(), Fail> {
    let open = opened(compound, target, &request.state, Modes::WRITE).await?;
    let data = &request.data[..request.data.len().min(MAX_DATA as usize)];
    size(request.offset.checked_add(data.len() as u64).ok_or(Status::INVAL)?)?;
    if is_info(target) {
        write_info(target, request.offset, data)?;
    } else {
        let bytes: Bytes = compound.call.message.slice_ref(data);
        let written = open.write_at(request.offset, bytes, stability).await;
        written.map_err(|error| Fail::from(error).denied_as(Status::LOCKED))?;
    }
    (data.len() as u32).encode(w);
    request.stable.encode(w);
    compound.call.service.verifier.encode(w);
    Ok(())
}

/// The Finder info has 32 bytes; those that are not written stay.
fn write_info(target: &Target, offset: u64, data: &[u8]) -> Result<(), Fail> {
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    let end = start.saturating_add(data.len());
    if end > FinderInfo::LEN {
        return Err(Status::FBIG.into());
    }
    let mut bytes = [0; FinderInfo::LEN];
    let before = info_bytes(target)?;
    bytes[..before.len()].copy_from_slice(&before);
    bytes[start..end].copy_from_slice(data);
    let place = place_of(target)?;
    let change = |metadata: &mut vfs::mac::Metadata| metadata.set_finder_info(FinderInfo::new(bytes));
    let actor = knowing(&target.actor);
    target.export.volume.change_metadata(&actor, &target.found, place.as_ref().map(beside), change)?;
    Ok(())
}

/// COMMIT of an attribute.
pub(in crate::server::v4) async fn commit(target: &Target) -> Result<(), Fail> {
    let HandleView::Attribute(name) = target.named.view else { return Err(Status::WRONG_TYPE.into()) };
    if is_info(target) {
        target.export.volume.sync(&target.found).await?;
        return Ok(());
    }
    let open = open(target, &target.actor, &name, (Modes::READ, Modes::NONE, false)).await?;
    Ok(open.sync().await?)
}

/// Gives an attribute that OPEN has opened another length.
pub(in crate::server::v4) async fn cut(target: &Target, state: &OpenState, size: u64) -> Result<(), Fail> {
    if state.modes().0.intersects(Modes::WRITE) {
        return resize(target, &*held(state)?, size).await;
    }
    let HandleView::Attribute(name) = target.named.view else { return Err(Status::WRONG_TYPE.into()) };
    resize(target, &*open(target, &target.actor, &name, (Modes::WRITE, Modes::NONE, false)).await?, size)
        .await
}

/// The Finder info has its length as long as it is there.
async fn resize(target: &Target, open: &Open, size: u64) -> Result<(), Fail> {
    if is_info(target) {
        return if size <= FinderInfo::LEN as u64 { Ok(()) } else { Err(Status::FBIG.into()) };
    }
    open.truncate(size).await.map_err(|error| Fail::from(error).denied_as(Status::LOCKED))
}

/// SETATTR: an attribute has a length of its own, and nothing else that can be set.
pub(in crate::server::v4) async fn set(
    compound: &mut Compound<'_>,
    request: &SetAttr<'_>,
    w: &mut Writer,
) -> Result<(), Fail> {
    let mut nothing = Writer::new();
    Bitmap::default().encode(&mut nothing);
    let done = set_size(compound, request).await;
    done.map_err(|fail| Fail { body: nothing.into_bytes(), ..fail })?;
    request.attributes.which.encode(w);
    Ok(())
}

async fn set_size(compound: &mut Compound<'_>, request: &SetAttr<'_>) -> Result<(), Fail> {
    let current = compound.refreshed()?.clone();
    let wanted = setting::wanted(compound.minor, &compound.call.naming(), &request.attributes)?;
    let HandleTarget::Attribute(target) = &*current else { return Err(Status::INVAL.into()) };
    if wanted.is_empty() {
        return Ok(());
    }
    let Some(size) = wanted.changes.size.filter(|_| wanted.is_only_size()) else {
        return Err(Status::INVAL.into());
    };
    let open = opened(compound, target, &request.state, Modes::WRITE).await?;
    resize(target, &open, size).await
}

/// The folder of named attributes that the current handle is.
fn folder(compound: &Compound<'_>) -> Result<Target, Status> {
    match &**compound.current()? {
        HandleTarget::Attributes(target) => Ok((**target).clone()),
        other => file(other).and(Err(Status::NOTDIR)),
    }
}

fn changed(target: &Target) -> ChangeInfo {
    ChangeInfo { atomic: false, ..creating::unchanged(target) }
}

/// REMOVE of an attribute.
pub(in crate::server::v4) async fn remove(
    compound: &mut Compound<'_>,
    name: &Name<'_>,
    w: &mut Writer,
) -> Result<(), Fail> {
    compound.refreshed()?;
    let folder = folder(compound)?;
    let name = checked(name)?;
    permit(&folder, Modes::WRITE)?;
    if state(&folder, &name)?.is_none() {
        return Err(Status::NOENT.into());
    }
    let place = place_of(&folder)?.ok_or(Status::NOENT)?;
    let (volume, actor) = (&folder.export.volume, knowing(&folder.actor));
    let removed = volume.remove_stream(&actor, &folder.found, beside(&place), &stream(&name)?).await;
    removed.map_err(|error| Fail::from(error).denied_as(Status::FILE_OPEN))?;
    changed(&folder).encode(w);
    Ok(())
}

/// RENAME in one folder of attributes. The fork and the Finder info have their names for good.
pub(in crate::server::v4) async fn rename(
    compound: &mut Compound<'_>,
    request: &Rename<'_>,
    w: &mut Writer,
) -> Result<(), Fail> {
    compound.refreshed()?;
    let folder = folder(compound)?;
    match &**compound.saved()? {
        HandleTarget::Attributes(saved) if saved.named == folder.named => {}
        _ => return Err(Status::XDEV.into()),
    }
    let (from, to) = (checked(&request.from)?, checked(&request.to)?);
    permit(&folder, Modes::WRITE)?;
    if !names(&folder)?.contains(&from) {
        return Err(Status::NOENT.into());
    }
    let (Stream::Named(_), Stream::Named(name)) = (stream(&from)?, stream(&to)?) else {
        return Err(Status::INVAL.into());
    };
    let target = super::target(&folder, HandleView::Attribute(from));
    let open = open(&target, &folder.actor, &from, (Modes::DELETE, Modes::NONE, false)).await?;
    open.rename_stream(&name, true).await.map_err(|error| Fail::from(error).denied_as(Status::FILE_OPEN))?;
    changed(&folder).encode(w);
    changed(&folder).encode(w);
    Ok(())
}
