//! Opens that reached their file through a link at the end of the path. Renames and removals apply
//! to the link.

use std::sync::Arc;

use vfs::state::{Modes, Stream};
use vfs::{Beside, OpenOptions, Volume};

use super::existing::once_others_let;
use super::links::LinkResolution;
use super::{CreateFailure, RequestedOpen, access};
use crate::server::clients::open::Via;
use crate::server::clients::tree::Tree;
use crate::server::context::Context;
use crate::wire::Status;
use crate::wire::create::Options;
use crate::wire::security::AccessMask;

/// The rights of the client on the name, such as removing and moving it. They are those on the
/// link.
pub(super) fn names(
    volume: &Volume,
    tree: &Tree,
    wanted: &RequestedOpen<'_>,
    way: &LinkResolution,
    max: AccessMask,
) -> Result<AccessMask, Status> {
    let Some(via) = way.via.as_ref().filter(|_| wanted.path.stream.is_none()) else { return Ok(max) };
    let (caller, link) = (&wanted.actor.caller, via.found.as_ref().ok_or(Status::OBJECT_NAME_NOT_FOUND)?);
    let of_link = access::maximal(volume, tree, caller, link, Some(&via.parent))?;
    Ok(max.difference(AccessMask::DELETE) | AccessMask(of_link.0 & AccessMask::DELETE.0))
}

/// Opens the link as well, if the client may move or remove it.
pub(super) async fn open(
    context: &Context,
    volume: &Arc<Volume>,
    wanted: &RequestedOpen<'_>,
    way: &LinkResolution,
    granted: AccessMask,
) -> Result<Option<Via>, CreateFailure> {
    let Some(via) = way.via.as_ref().filter(|_| wanted.path.stream.is_none()) else { return Ok(None) };
    let link = via.found.as_ref().ok_or(Status::OBJECT_NAME_NOT_FOUND)?;
    if !granted.contains(AccessMask::DELETE) {
        return Ok(Some(Via { id: link.attributes.id, open: None }));
    }
    let parent = &via.parent;
    let options = OpenOptions {
        stream: Stream::Data,
        place: Some(Beside { folder: &parent.object, name: &via.name }),
        granted: true,
        remove_on_close: wanted.options().contains(Options::DELETE_ON_CLOSE),
        ..OpenOptions::data(Modes::REMOVE)
    };
    let (open, _) = once_others_let(context, volume.open(&wanted.actor, link, options)).await?;
    Ok(Some(Via { id: link.attributes.id, open: Some(open) }))
}

/// The rights that concern the file itself.
pub(super) fn without_names(granted: AccessMask, via: Option<&Via>) -> AccessMask {
    if via.is_some() { granted.difference(AccessMask::DELETE) } else { granted }
}
