//! CREATE, RFC 1813 3.3.8, and what it has in common with MKDIR, SYMLINK and MKNOD.

use vfs::backend::{Found, NewKind};
use vfs::{Change, Error, Kind, SetAttributes, SetTime, Time};
use wire::Writer;

use super::put;
use super::target::{Target, changes, new_name};
use crate::server::answer::Answer;
use crate::server::call::Call;
use crate::wire::v3::create::{CreateHow, Request, ResFail, ResOk};
use crate::wire::v3::types::{FileHandle, Sattr3, Status, Verifier};

/// The mode of a new file if the client gives none.
const FILE_MODE: u32 = 0o644;

/// CREATE, RFC 1813 3.3.8.
pub(super) fn create(call: &Call<'_>, request: &Request<'_>, w: &mut Writer) -> Answer {
    answer(call, &request.place.dir, w, |folder| {
        let name = new_name(&request.place.name)?;
        match request.how {
            CreateHow::Unchecked(wanted) => match make(folder, name, NewKind::File, &wanted, FILE_MODE) {
                Err(Status::EXIST) => take_existing(folder, name, &wanted),
                made => made,
            },
            CreateHow::Guarded(wanted) => make(folder, name, NewKind::File, &wanted, FILE_MODE),
            CreateHow::Exclusive(verifier) => make_once(folder, name, verifier),
        }
    })
}

/// A new object, and the change of its folder.
pub(super) type CreatedObject = (Found, Change);

/// Runs the part in which CREATE, MKDIR, SYMLINK and MKNOD differ, and encodes their common
/// results.
pub(super) fn answer(
    call: &Call<'_>,
    folder: &[u8],
    w: &mut Writer,
    make: impl FnOnce(&Target) -> Result<CreatedObject, Status>,
) -> Answer {
    let folder = match call.target_to_change(folder) {
        Ok(folder) => folder,
        Err(fail) => return put(w, &fail),
    };
    match make(&folder) {
        Ok((found, change)) => {
            let handle = call.seal(&folder, &found);
            let ok = ResOk {
                object: Some(FileHandle::new(handle.as_bytes())),
                attributes: Some(folder.shown(&found.object, &found.attributes)),
                dir_wcc: folder.wcc(&change),
            };
            put(w, &Ok::<_, ResFail>(ok))
        }
        Err(status) => put(w, &folder.fail(status)),
    }
}

/// Makes an entry and sets the attributes that the client wants besides its mode. If that fails,
/// the entry is removed.
pub(super) fn make(
    folder: &Target,
    name: &[u8],
    new: NewKind<'_>,
    wanted: &Sattr3,
    mode: u32,
) -> Result<CreatedObject, Status> {
    let volume = &folder.export.volume;
    let mut wanted = changes(wanted)?;
    let mode = wanted.mode.take().unwrap_or(mode);
    let mut made = volume.create(&folder.actor, &folder.found, name, new, mode)?;
    wanted.uid = wanted.uid.filter(|&uid| uid != made.found.attributes.uid);
    wanted.gid = wanted.gid.filter(|&gid| gid != made.found.attributes.gid);
    wanted.size = wanted.size.filter(|&size| size > 0);
    if !wanted.is_empty() {
        match volume.stateless().set_attributes_of_new(&folder.actor, &made.found, &wanted) {
            Ok(change) => made.found.attributes = change.after,
            Err(error) => {
                let kind = made.found.attributes.kind;
                let _ = volume.remove(&folder.actor, &folder.found, name, kind); // the first error is the answer
                return Err(error.into());
            }
        }
    }
    Ok((made.found, made.folder))
}

/// UNCHECKED on an existing file: the file stays, and only its size is set.
fn take_existing(folder: &Target, name: &[u8], wanted: &Sattr3) -> Result<CreatedObject, Status> {
    let volume = &folder.export.volume;
    let mut found = volume.lookup(&folder.actor.caller, &folder.found.object, name)?;
    if found.attributes.kind != Kind::File {
        return Err(Status::EXIST);
    }
    let size = SetAttributes { size: changes(wanted)?.size, ..Default::default() };
    if !size.is_empty() {
        found.attributes = volume.set_attributes(&folder.actor, &found, &size)?.after;
    }
    Ok((found, unchanged(folder)))
}

/// EXCLUSIVE: the new file's times store the verifier, so that it survives a restart. The client
/// sets the times and the mode next.
fn make_once(folder: &Target, name: &[u8], verifier: Verifier) -> Result<CreatedObject, Status> {
    let volume = &folder.export.volume;
    let word = |at: usize| {
        let bytes = [verifier[at], verifier[at + 1], verifier[at + 2], verifier[at + 3]];
        // Without the top bit: every host can store such a time.
        Time { secs: i64::from(u32::from_be_bytes(bytes) & 0x7fff_ffff), nanos: 0 }
    };
    let mark = SetAttributes {
        accessed: SetTime::To(word(0)),
        modified: SetTime::To(word(4)),
        ..Default::default()
    };
    match volume.create(&folder.actor, &folder.found, name, NewKind::File, FILE_MODE) {
        Ok(mut made) => {
            made.found.attributes =
                volume.stateless().set_attributes_of_new(&folder.actor, &made.found, &mark)?.after;
            volume.await_mode(&made.found);
            Ok((made.found, made.folder))
        }
        Err(Error::Exists) => {
            let found = volume.lookup(&folder.actor.caller, &folder.found.object, name)?;
            let times = (found.attributes.accessed, found.attributes.modified);
            let same = found.attributes.kind == Kind::File && times == (word(0), word(4));
            if same { Ok((found, unchanged(folder))) } else { Err(Status::EXIST) }
        }
        Err(error) => Err(error.into()),
    }
}

fn unchanged(folder: &Target) -> Change {
    Change { before: folder.found.attributes, after: folder.found.attributes }
}
