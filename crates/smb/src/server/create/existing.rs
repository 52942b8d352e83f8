//! What is there already.

use std::sync::Arc;

use vfs::backend::Found;
use vfs::mac::DosAttributes;
use vfs::state::Stream;
use vfs::{Beside, Error, Kind, OpenOptions, Volume};

use super::{Missed, Opened, Wanted, access};
use crate::server::context::Context;
use crate::server::open::{File, Open, What};
use crate::server::tree::Tree;
use crate::wire::Status;
use crate::wire::create::{Action, Disposition, Options};
use crate::wire::security::AccessMask;
use crate::wire::values::FileKey;

/// Opens what a path leads to.
pub(super) async fn open(
    context: &Context,
    tree: &Arc<Tree>,
    volume: &Arc<Volume>,
    wanted: &Wanted<'_>,
    resolved: &vfs::Resolved,
    found: &Found,
) -> Result<Opened, Missed> {
    let stream = wanted.path.stream.as_deref();
    fits(wanted, found.attributes.kind, stream.is_some())?;
    if stream.is_none() && wanted.disposition() == Disposition::CREATE {
        return Err(Status::OBJECT_NAME_COLLISION.into());
    }
    let caller = &wanted.actor.caller;
    let parent = resolved.parent(caller)?;
    let max = access::maximal(volume, tree, caller, found, Some(&parent))?;
    let place = Beside { folder: &parent.object, name: &resolved.name };
    let metadata = volume.metadata(found, Some(place).filter(|_| !resolved.name.is_empty()))?;
    let overwrites = matches!(
        wanted.disposition(),
        Disposition::SUPERSEDE | Disposition::OVERWRITE | Disposition::OVERWRITE_IF
    );
    let read_only = metadata.dos.contains(DosAttributes::READONLY) && found.attributes.kind != Kind::Folder;
    let granted = grant(wanted, max, read_only, overwrites)?;
    if overwrites && stream.is_none() {
        keeps_attributes(wanted, metadata.dos)?;
    }
    let (access, deny) = access::modes(granted, wanted.request.share_access);
    let options = OpenOptions {
        stream: stream.map_or(Stream::Data, |name| Stream::Named(name.into())),
        access,
        deny,
        create: !matches!(wanted.disposition(), Disposition::OPEN | Disposition::OVERWRITE),
        place: Some(place).filter(|_| !resolved.name.is_empty()),
        granted: true,
        remove_on_close: wanted.options().has(Options::DELETE_ON_CLOSE),
        concern: Some(access::concern(granted)),
        empties: overwrites,
    };
    let open =
        context.wait(volume.open(&wanted.actor, found, options)).await?.map_err(|error| match error {
            Error::NoSuchAttribute => Status::OBJECT_NAME_NOT_FOUND,
            other => other.into(),
        })?;
    if overwrites {
        open.truncate(0).await?;
    }
    let action = match wanted.disposition() {
        Disposition::SUPERSEDE => Action::SUPERSEDED,
        Disposition::OVERWRITE | Disposition::OVERWRITE_IF => Action::OVERWRITTEN,
        _ => Action::OPENED,
    };
    Ok(Opened { open: wrap(tree, wanted, granted, open), action })
}

/// An open as the client knows it.
pub(super) fn wrap(tree: &Arc<Tree>, wanted: &Wanted<'_>, granted: AccessMask, open: vfs::Open) -> Open {
    let file = File::new(open, &wanted.request.name, wanted.options().has(Options::WRITE_THROUGH));
    Open {
        key: FileKey { persistent: wanted.number, volatile: wanted.number },
        tree: tree.clone(),
        granted,
        what: What::File(Box::new(file)),
    }
}

/// Whether it is the kind of thing that was asked for.
fn fits(wanted: &Wanted<'_>, kind: Kind, is_stream: bool) -> Result<(), Status> {
    let folder = kind == Kind::Folder;
    let wants_folder = wanted.options().has(Options::DIRECTORY_FILE) || wanted.path.folder;
    if wants_folder && !folder {
        return Err(Status::NOT_A_DIRECTORY);
    }
    let wants_file = wanted.options().has(Options::NON_DIRECTORY_FILE) || wanted.path.data;
    if wants_file && folder && !is_stream {
        return Err(Status::FILE_IS_A_DIRECTORY);
    }
    let overwrites = matches!(
        wanted.disposition(),
        Disposition::SUPERSEDE | Disposition::OVERWRITE | Disposition::OVERWRITE_IF
    );
    if folder && overwrites && !is_stream {
        return Err(Status::FILE_IS_A_DIRECTORY);
    }
    Ok(())
}

/// What the open may be used for.
fn grant(
    wanted: &Wanted<'_>,
    max: AccessMask,
    read_only: bool,
    overwrites: bool,
) -> Result<AccessMask, Status> {
    const WRITES: AccessMask = AccessMask(AccessMask::WRITE_DATA.0 | AccessMask::APPEND_DATA.0);
    let max = if read_only { max.without(WRITES) } else { max };
    if read_only && wanted.options().has(Options::DELETE_ON_CLOSE) {
        return Err(Status::CANNOT_DELETE);
    }
    let mut asked = wanted.access.without(AccessMask::MAXIMUM_ALLOWED);
    if wanted.access.has(AccessMask::MAXIMUM_ALLOWED) {
        asked = asked | max;
    }
    let mut needed = asked;
    if overwrites {
        needed = needed | AccessMask::WRITE_DATA;
    }
    match needed.without(max) {
        AccessMask(0) => Ok(asked),
        _ => Err(Status::ACCESS_DENIED),
    }
}

/// A file that is hidden, or the system's, is overwritten only by who knows: MS-FSA 2.1.5.1.2.
fn keeps_attributes(wanted: &Wanted<'_>, dos: DosAttributes) -> Result<(), Status> {
    let asked = DosAttributes(wanted.request.file_attributes);
    let lost = |bit| dos.contains(bit) && !asked.contains(bit);
    match lost(DosAttributes::HIDDEN) || lost(DosAttributes::SYSTEM) {
        true => Err(Status::ACCESS_DENIED),
        false => Ok(()),
    }
}
