//! Copies on the server, Apple Filing Protocol Reference, FPCopyFile.

use std::sync::Arc;

use vfs::backend::{Found, NewKind};
use vfs::state::{Modes, Stream};
use vfs::{Beside, Error, Open, OpenOptions, SetAttributes, SetTime};

use super::moving::{refuse_taken, single};
use crate::server::reply::{Outcome, Reply};
use crate::server::request::Request;
use crate::server::volumes::open_volume::OpenVolume;
use crate::server::volumes::target::{is_folder, refuse_above};
use crate::wire::ResultCode;
use crate::wire::file::CopyFile;

/// FPCopyFile: copies both forks and all metadata, under the same or another name, on the same or
/// another volume.
pub(super) async fn copy(request: &Request) -> Outcome {
    let CopyFile { from, to, new_name } = CopyFile::decode(&mut request.reader())?;
    refuse_above(from.folder, &from.path)?;
    let (source_volume, volume) = (request.volume(from.volume)?, request.volume(to.volume)?);
    let source = source_volume.resolve(request.caller(), from.folder, &from.path)?;
    let original = source.file()?;
    let at = source.place_below(&source_volume)?;
    volume.may_change()?;
    let folder = volume.resolve(request.caller(), to.folder, &to.path)?;
    let folder = folder.folder()?;
    let name = match single(&new_name)? {
        Some(sent) => volume.entry(request.caller(), folder, new_name.kind, sent)?.name,
        None => at.name.clone(),
    };
    refuse_taken(request, &volume, folder, &name)?;
    let original = open_original(request, &source_volume, original, at.beside()).await?;
    let mode = original.attributes()?.mode & 0o777;
    let (actor, tree) = (request.actor(), volume.tree());
    let make = || tree.create(&actor, folder, &name, NewKind::File, mode | 0o600);
    let made = volume.once_recalled(make).await?;
    let beside = Beside { folder: &folder.object, name: &name };
    let copied = fill(request, &volume, &made.found, beside, &original, mode).await;
    if copied.is_err() {
        let undone = volume.once_recalled(|| tree.remove(&actor, folder, &name, vfs::Kind::File)).await;
        undone.err().inspect(|code| tracing::warn!(?code, "a copy that failed could not be removed"));
    }
    volume.share.changed.note(made.folder.after.modified);
    copied.map(|()| Reply::empty())
}

/// The file, opened for reading. Every denial is a conflict.
async fn open_original(
    request: &Request,
    volume: &OpenVolume,
    found: &Found,
    beside: Beside<'_>,
) -> Result<Open, ResultCode> {
    if is_folder(found) || found.attributes.kind != vfs::Kind::File {
        return Err(ResultCode::OBJECT_TYPE_ERROR);
    }
    // Opening the other fork may be denied, too.
    let options = OpenOptions { place: Some(beside), ..OpenOptions::data(Modes::READ) };
    let fork = OpenOptions { stream: Stream::Resource, ..options.clone() };
    let conflict = |error| match error {
        Error::AccessDenied | Error::ShareConflict => ResultCode::DENY_CONFLICT,
        other => other.into(),
    };
    let actor = request.opener();
    if volume.tree().keeps_streams() {
        volume.tree().open(&actor, found, fork).await.map_err(conflict)?;
    }
    volume.tree().open(&actor, found, options).await.map_err(conflict)
}

/// Makes a new file a copy of another.
async fn fill(
    request: &Request,
    volume: &Arc<OpenVolume>,
    made: &Found,
    beside: Beside<'_>,
    original: &Open,
    mode: u32,
) -> Result<(), ResultCode> {
    let tree = volume.tree();
    let options = OpenOptions {
        place: Some(beside),
        granted: true,
        ..OpenOptions::data(Modes::READ.union(Modes::WRITE))
    };
    let copy = tree.open(&request.actor(), made, options).await?;
    let before = original.attributes()?;
    copy_data(&copy, original, before.size).await?;
    if tree.keeps_streams() && original.volume().keeps_streams() {
        copy.copy_streams_from(original).await?;
    }
    let changes = SetAttributes {
        mode: (mode | 0o600 != mode).then_some(mode),
        modified: SetTime::To(before.modified),
        ..SetAttributes::default()
    };
    copy.set_attributes(&changes).await?;
    copy.close().await?;
    Ok(())
}

async fn copy_data(copy: &Open, original: &Open, size: u64) -> Result<(), ResultCode> {
    let mut done = 0;
    while done < size {
        match copy.copy_from(original, done, done, size - done).await? {
            0 => break, // truncated meanwhile
            copied => done += copied,
        }
    }
    Ok(())
}
