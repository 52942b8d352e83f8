//! Opens of entries that exist.

use std::pin::pin;
use std::sync::Arc;

use vfs::acl::Rights;
use vfs::backend::Found;
use vfs::mac::{DosAttributes, Metadata};
use vfs::{Beside, Error, Kind, OpenOptions, Volume};

use super::links::LinkResolution;
use super::stream::{self, Base, Target};
use super::{CreateFailure, CreateResult, RequestedOpen, access, via};
use crate::server::clients::leases::{self, Of};
use crate::server::clients::open::{File, Open, OpenedObject, Via};
use crate::server::clients::tree::Tree;
use crate::server::context::{Context, poll_once};
use crate::server::files::facts;
use crate::server::sequence::Sequence;
use crate::wire::Status;
use crate::wire::create::{Action, Disposition, Options};
use crate::wire::fscc::FileAttributes;
use crate::wire::fscc::file_info::ModeFlags;
use crate::wire::security::AccessMask;

/// Options that FileModeInformation shows.
const KEPT_OPTIONS: u32 = ModeFlags::WRITE_THROUGH.0
    | ModeFlags::SEQUENTIAL_ONLY.0
    | ModeFlags::NO_INTERMEDIATE_BUFFERING.0
    | ModeFlags::DELETE_ON_CLOSE.0;

/// Opens what a path leads to.
pub(super) async fn open(
    context: &Context,
    tree: &Arc<Tree>,
    volume: &Arc<Volume>,
    wanted: &RequestedOpen<'_>,
    way: &LinkResolution,
    found: &Found,
) -> Result<CreateResult, CreateFailure> {
    let is_stream = wanted.path.stream.is_some();
    if !is_stream && wanted.disposition() == Disposition::CREATE {
        return Err(Status::OBJECT_NAME_COLLISION.into());
    }
    let (caller, resolved, parent) = (&wanted.actor.caller, &way.resolved, &way.resolved.parent);
    let folding = tree.folding_of(wanted.is_posix);
    let leads_to_folder = || Ok(volume.caching_tree().follow_link(caller, parent, found, folding)?);
    fits(wanted, found.attributes.kind, is_stream, leads_to_folder)?;
    let max = access::maximal(volume, tree, caller, found, Some(parent))?;
    let max = via::names(volume, tree, wanted, way, max)?;
    let place = place_in(parent, &resolved.name);
    let metadata = volume.caching_tree().metadata_if_any(found, place)?;
    let (is_plain, metadata) = (metadata.is_none(), metadata.unwrap_or_default());
    let base = Base { found, place, metadata: &metadata };
    let target = stream::find(context, tree, wanted, &base).await?;
    agrees(wanted, &target)?;
    let overwrites = wanted.overwrites();
    let read_only = is_read_only(wanted, found, &metadata);
    if read_only && way.via.is_none() && wanted.options().contains(Options::DELETE_ON_CLOSE) {
        return Err(Status::CANNOT_DELETE.into());
    }
    let may = max | of_modes(context.is_mac() || wanted.is_posix, volume, found, max)?;
    let renames = || may_rename(volume, tree, wanted, (way, found, parent));
    let granted = grant(wanted, may, (read_only, overwrites), renames)?;
    if overwrites && !is_stream && !wanted.is_posix {
        keeps_attributes(wanted, metadata.dos)?;
    }
    if !target.is_there && !max.contains(AccessMask::WRITE_DATA) {
        return Err(Status::ACCESS_DENIED.into());
    }
    leases::check_key(context, wanted, Some(&Of::stream(volume, found.object.id(), target.stream.clone())))?;
    let via = via::open(context, volume, wanted, way, granted).await?;
    let of_file = via::without_names(granted, via.as_ref());
    let used = if wanted.previous { of_file.difference(access::CHANGES) } else { of_file };
    let (access, deny) = access::modes(used, wanted.request.share_access);
    let removes = wanted.options().contains(Options::DELETE_ON_CLOSE) && via.is_none();
    let options = OpenOptions {
        stream: target.stream.clone(),
        access,
        deny,
        create: !target.is_there,
        place,
        granted: true,
        remove_on_close: removes && target.can_go(),
        concern: Some(access::concern(of_file)),
        empties: overwrites && target.is_there,
    };
    let (open, waited) = once_others_let(context, volume.open(&wanted.actor, found, options)).await?;
    if overwrites && target.is_there {
        overwrite(volume, wanted, &base, &open).await?;
    }
    let action = match wanted.disposition() {
        _ if !target.is_there => Action::CREATED,
        Disposition::SUPERSEDE => Action::SUPERSEDED,
        Disposition::OVERWRITE | Disposition::OVERWRITE_IF => Action::OVERWRITTEN,
        _ => Action::OPENED,
    };
    let is_same = is_plain && !waited && !overwrites && open.is_data();
    let open = wrap(context, tree, wanted, granted, (open, via))?;
    Ok(CreateResult { open, action, plain: is_same.then_some(found.attributes) })
}

/// The place of an entry; the share's own folder has no name.
fn place_in<'a>(folder: &'a Found, name: &'a [u8]) -> Option<Beside<'a>> {
    (!name.is_empty()).then_some(Beside { folder: &folder.object, name })
}

/// Waits for an open; answers whether it had to wait. Another client that this open waited for may
/// have removed the file by then: then the path is looked up again.
pub(super) async fn once_others_let(
    context: &Context,
    opening: impl Future<Output = vfs::Result<vfs::Open>>,
) -> Result<(vfs::Open, bool), CreateFailure> {
    let mut opening = pin!(opening);
    let at_once = poll_once(opening.as_mut());
    let waited = at_once.is_none();
    let opened = match at_once {
        Some(opened) => opened,
        None => context.wait(opening).await?,
    };
    let open = opened.map_err(|error| match error {
        Error::NoSuchAttribute => Status::OBJECT_NAME_NOT_FOUND,
        other => other.into(),
    })?;
    match waited && open.attributes()?.links == 0 {
        true => Err(CreateFailure::again()),
        false => Ok((open, waited)),
    }
}

/// Removes all data of an overwritten stream, whatever rights the open has. A file also loses its
/// streams, and gets the attributes of a new one: MS-FSA 2.1.5.1.2.1.
async fn overwrite(
    volume: &Arc<Volume>,
    wanted: &RequestedOpen<'_>,
    base: &Base<'_>,
    open: &vfs::Open,
) -> Result<(), CreateFailure> {
    if open.size().await? > 0 {
        open.empty().await?;
    }
    if wanted.path.stream.is_none() {
        stream::forget(volume, wanted, base).await?;
        let asked = FileAttributes(wanted.request.file_attributes) | FileAttributes::ARCHIVE;
        open.change_metadata(|metadata| metadata.set_dos(facts::to_keep(asked, metadata.dos))).await?;
    }
    Ok(())
}

/// Whether a stream exists or not as the client expects.
fn agrees(wanted: &RequestedOpen<'_>, target: &Target) -> Result<(), Status> {
    match wanted.disposition() {
        Disposition::CREATE if target.is_there => Err(Status::OBJECT_NAME_COLLISION),
        Disposition::OPEN | Disposition::OVERWRITE if !target.is_there => Err(Status::OBJECT_NAME_NOT_FOUND),
        _ => Ok(()),
    }
}

/// An open as the client knows it.
pub(super) fn wrap(
    context: &Context,
    tree: &Arc<Tree>,
    wanted: &RequestedOpen<'_>,
    granted: AccessMask,
    (open, via): (vfs::Open, Option<Via>),
) -> Result<Open, Status> {
    // The bits of FileModeInformation are those of CreateOptions, MS-FSCC 2.4.31.
    let mode = ModeFlags(wanted.options().0 & KEPT_OPTIONS);
    let file = File::new(open, via, &wanted.request.name, mode, tree);
    let file = if wanted.is_posix { file.with_posix() } else { file };
    let open = Open::new(wanted.number, context.session(), tree, granted, OpenedObject::File(Box::new(file)));
    Ok(Open { sequence: Sequence::beginning(context.header.channel_sequence()), ..open })
}

/// Whether an attribute of DOS protects the file. None binds a program that knows modes.
fn is_read_only(wanted: &RequestedOpen<'_>, found: &Found, metadata: &Metadata) -> bool {
    let has_dos = found.attributes.kind != Kind::Folder && !wanted.is_posix;
    has_dos && metadata.is_readonly()
}

/// Whether the file has the kind that was asked for. A client that opens a link to a folder itself
/// may ask for a folder or a file: not all clients know which of the two they remove.
fn fits(
    wanted: &RequestedOpen<'_>,
    kind: Kind,
    is_stream: bool,
    leads_to: impl FnOnce() -> Result<Option<Found>, Status>,
) -> Result<(), Status> {
    let folder = kind == Kind::Folder;
    let wants_folder = wanted.options().contains(Options::DIRECTORY_FILE) || wanted.path.folder;
    if wants_folder && !folder {
        let leads_to = if kind == Kind::Link { leads_to()? } else { None };
        return match leads_to.is_some_and(|found| found.attributes.kind == Kind::Folder) {
            true => Ok(()),
            false => Err(Status::NOT_A_DIRECTORY),
        };
    }
    let wants_file = wanted.options().contains(Options::NON_DIRECTORY_FILE) || wanted.path.data;
    if wants_file && folder && !is_stream {
        return Err(Status::FILE_IS_A_DIRECTORY);
    }
    if folder && wanted.overwrites() && !is_stream {
        return Err(Status::FILE_IS_A_DIRECTORY);
    }
    Ok(())
}

/// What the open may be used for.
fn grant(
    wanted: &RequestedOpen<'_>,
    max: AccessMask,
    (read_only, overwrites): (bool, bool),
    renames: impl FnOnce() -> Result<bool, Status>,
) -> Result<AccessMask, Status> {
    const WRITES: AccessMask = AccessMask(AccessMask::WRITE_DATA.0 | AccessMask::APPEND_DATA.0);
    let max = if read_only { max.difference(WRITES) } else { max };
    let mut asked = wanted.access.difference(AccessMask::MAXIMUM_ALLOWED);
    if wanted.access.contains(AccessMask::MAXIMUM_ALLOWED) {
        asked |= max;
    }
    let mut needed = asked;
    if overwrites {
        needed |= AccessMask::WRITE_DATA;
    }
    let may = if wanted.previous { max | access::CHANGES } else { max };
    match needed.difference(may) {
        AccessMask(0) => Ok(asked),
        AccessMask::DELETE if renames()? => Ok(asked.difference(AccessMask::DELETE) | access::RENAMES),
        _ => Err(Status::ACCESS_DENIED),
    }
}

/// Whether an open that asks for DELETE, which its user does not have, gets the right to give the file a free name.
fn may_rename(
    volume: &Volume,
    tree: &Tree,
    wanted: &RequestedOpen<'_>,
    (way, found, parent): (&LinkResolution, &Found, &Found),
) -> Result<bool, Status> {
    let is_file = wanted.path.stream.is_none() && way.via.is_none();
    let removes = wanted.options().contains(Options::DELETE_ON_CLOSE);
    let may = is_file && !removes && !tree.read_only && !wanted.previous;
    Ok(may && volume.rights(&wanted.actor.caller, found, Some(parent))?.contains(Rights::RENAMES))
}

/// A Mac, or Linux with the POSIX extensions, sends a mode as an entry of the ACL (`files/mac/aces.rs`), and so opens the file to change that. In a team folder who may
/// change its attributes may send a mode; the ACL is changed by who has that right, which is asked for when it is.
fn of_modes(by_entry: bool, volume: &Volume, found: &Found, max: AccessMask) -> Result<AccessMask, Status> {
    let sends_modes = by_entry && max.contains(AccessMask::WRITE_ATTRIBUTES);
    let has_roles = sends_modes && volume.roles_at(found)?.is_some();
    Ok(if has_roles { AccessMask::WRITE_DAC } else { AccessMask::NONE })
}

/// A hidden or system file is overwritten only if the request has the same attributes: MS-FSA
/// 2.1.5.1.2.
fn keeps_attributes(wanted: &RequestedOpen<'_>, dos: DosAttributes) -> Result<(), Status> {
    let asked = DosAttributes(wanted.request.file_attributes);
    let lost = |bit| dos.contains(bit) && !asked.contains(bit);
    match lost(DosAttributes::HIDDEN) || lost(DosAttributes::SYSTEM) {
        true => Err(Status::ACCESS_DENIED),
        false => Ok(()),
    }
}
