//! Opens of entries that do not exist yet.

use std::sync::Arc;

use vfs::acl::NewPermissions;
use vfs::backend::NewKind;
use vfs::mac::{DosAttributes, Metadata};
use vfs::{Beside, Error, OpenOptions, Volume};

use super::besides::InitialAttributes;
use super::existing::wrap;
use super::links::LinkResolution;
use super::stream::Target;
use super::{CreateFailure, CreateResult, RequestedOpen, access, via};
use crate::server::clients::leases;
use crate::server::clients::tree::Tree;
use crate::server::context::Context;
use crate::server::files::facts;
use crate::wire::Status;
use crate::wire::create::{Action, Disposition, Options};
use crate::wire::fscc::FileAttributes;
use crate::wire::security::AccessMask;

/// Makes the entry that a path leads to, and opens it.
pub(super) async fn make(
    context: &Context,
    tree: &Arc<Tree>,
    volume: &Arc<Volume>,
    wanted: &RequestedOpen<'_>,
    way: &LinkResolution,
) -> Result<CreateResult, CreateFailure> {
    if matches!(wanted.disposition(), Disposition::OPEN | Disposition::OVERWRITE) {
        return Err(Status::OBJECT_NAME_NOT_FOUND.into());
    }
    let read_only = FileAttributes(wanted.request.file_attributes).contains(FileAttributes::READONLY);
    if read_only && !wanted.is_posix && wanted.options().contains(Options::DELETE_ON_CLOSE) {
        return Err(Status::CANNOT_DELETE.into());
    }
    if tree.read_only {
        return Err(Status::MEDIA_WRITE_PROTECTED.into());
    }
    let target = Target::of_new(volume, wanted.path.stream.as_deref())?;
    leases::check_key(context, wanted, None)?;
    let caller = &wanted.actor.caller;
    let (resolved, parent) = (&way.resolved, way.resolved.parent.clone());
    let folder = wanted.options().contains(Options::DIRECTORY_FILE) || wanted.path.folder;
    let kind = if folder { NewKind::Folder } else { NewKind::File };
    let besides = InitialAttributes::of(wanted, context.is_mac(), &context.service().config())?;
    besides.may_own(caller)?;
    let acl = besides.entries();
    let mode = besides.mode().unwrap_or_else(|| volume.unsaid_mode(folder));
    let permissions = NewPermissions { mode, acl: acl.as_ref(), ..NewPermissions::default() };
    let name = &resolved.name;
    volume.permit_open(&wanted.actor).map(drop)?; // none is made that the client cannot open
    let create = || volume.create_with_permissions(&wanted.actor, &parent, name, kind, &permissions);
    let made = match context.wait(volume.settled(create)).await? {
        Err(Error::Exists | Error::LeaseRecall(_)) => return Err(CreateFailure::again()),
        other => other?,
    };
    let at = Beside { folder: &parent.object, name: &resolved.name };
    let is_described = describe(volume, wanted, (&made, at), folder)?;
    // Who makes a file may do everything with it, whatever its mode will say.
    let granted = match wanted.access.contains(AccessMask::MAXIMUM_ALLOWED) {
        true => AccessMask::FILE_ALL,
        false => wanted.access,
    };
    let via = via::open(context, volume, wanted, way, granted).await?;
    let of_file = via::without_names(granted, via.as_ref());
    let (access, deny) = access::modes(of_file, wanted.request.share_access);
    let removes = wanted.options().contains(Options::DELETE_ON_CLOSE) && via.is_none();
    let options = OpenOptions {
        stream: target.stream.clone(),
        access,
        deny,
        create: true,
        place: Some(at),
        granted: true,
        remove_on_close: removes && target.can_go(),
        concern: Some(access::concern(of_file)),
        empties: false,
    };
    let open = context.wait(volume.open(&wanted.actor, &made, options)).await??;
    if let Err(status) = besides.give(&open).await {
        drop(open);
        let kind = made.attributes.kind;
        volume.settled(|| volume.remove(&wanted.actor, &parent, &resolved.name, kind)).await?;
        return Err(status.into());
    }
    let is_same = !is_described && besides.is_nothing() && open.is_data();
    let open = wrap(context, tree, wanted, granted, (open, via))?;
    Ok(CreateResult { open, action: Action::CREATED, plain: is_same.then_some(made.attributes) })
}

/// Sets the DOS attributes that differ from those of any new file; answers whether there are any.
fn describe(
    volume: &Volume,
    wanted: &RequestedOpen<'_>,
    (made, at): (&vfs::backend::Found, Beside<'_>),
    folder: bool,
) -> Result<bool, CreateFailure> {
    let archive = if folder { FileAttributes::NONE } else { FileAttributes::ARCHIVE };
    let wants =
        facts::to_keep(FileAttributes(wanted.request.file_attributes) | archive, DosAttributes::default());
    if matches!(wants.0, 0x20 | 0x80) {
        return Ok(false); // any new file has these
    }
    let mut metadata = Metadata::default();
    metadata.set_dos(wants);
    volume.caching_tree().describe_new(&wanted.actor, made, at, &metadata)?;
    Ok(true)
}
