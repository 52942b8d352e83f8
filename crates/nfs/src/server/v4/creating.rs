//! The file that OPEN means: found, or made in one of three ways. RFC 7530 16.16.

use std::sync::Arc;

use vfs::backend::{Found, NewKind};
use vfs::state::Modes;
use vfs::{Actor, Node, SetAttributes, SetTime, Time};
use wire::Reader;

use super::attributes::change;
use super::fail::Fail;
use super::looking;
use super::named;
use super::place::{HandleTarget, checked};
use super::setting::{self, RequestedAttributes};
use super::states::OpenState;
use crate::server::call::Call;
use crate::server::v3::Target;
use crate::wire::v4::attributes::{SIZE, TIME_ACCESS, TIME_ACCESS_SET, TIME_MODIFY, TIME_MODIFY_SET};
use crate::wire::v4::opens::OpenHow;
use crate::wire::v4::types::{Bitmap, ChangeInfo, Fattr, Status, Verifier};

/// The mode of a new file if the client gives none.
const FILE_MODE: u32 = 0o644;

/// A file that is about to be opened.
pub(super) struct Opening {
    pub(super) place: Arc<HandleTarget>,
    /// What happened to its folder.
    pub(super) change: ChangeInfo,
    /// The attributes that were set.
    pub(super) set: Bitmap,
    /// Its folder and its name there, if they are known.
    pub(super) beside: Option<(Node, Vec<u8>)>,
    pub(super) is_new: bool,
    /// The size that an existing file gets when it is open.
    pub(super) size: Option<u64>,
}

/// The current file itself.
pub(super) fn same(place: &Arc<HandleTarget>) -> Result<Opening, Fail> {
    let target = opened(place)?;
    let change = unchanged(target);
    let set = Bitmap::default();
    Ok(Opening { place: place.clone(), change, set, beside: None, is_new: false, size: None })
}

/// What can be opened: a file, or a named attribute.
pub(super) fn opened(place: &HandleTarget) -> Result<&Target, Status> {
    if let HandleTarget::Attribute(target) = place { Ok(target) } else { super::data::file(place) }
}

/// The entry of this name in a folder.
pub(super) fn by_name(
    call: &Call<'_>,
    folder: &HandleTarget,
    name: &[u8],
    how: &OpenHow<'_>,
) -> Result<Opening, Fail> {
    if let HandleTarget::Attributes(target) = folder {
        return named::opening(call, target, name, how);
    }
    match how {
        OpenHow::Existing => existing(call, folder, name, None),
        OpenHow::Unchecked(attributes) => {
            let wanted = read(call, attributes)?;
            let size = wanted.changes.size.filter(|&size| size == 0);
            match existing(call, folder, name, size) {
                Err(fail) if fail.status == Status::NOENT => match made(folder, name, &wanted) {
                    // Another client has made it meanwhile.
                    Err(fail) if fail.status == Status::EXIST => existing(call, folder, name, size),
                    made => made,
                },
                found => found,
            }
        }
        OpenHow::Guarded(attributes) => made(folder, name, &read(call, attributes)?),
        OpenHow::Exclusive(verifier) => {
            made_once(call, folder, name, (*verifier, &RequestedAttributes::default()))
        }
        OpenHow::ExclusiveWith(..) if call.minor == 0 => Err(Status::BADXDR.into()), // of minor version 1
        OpenHow::ExclusiveWith(verifier, attributes) => {
            let wanted = read(call, attributes)?;
            // RFC 8881 18.16.3: the times store the verifier.
            if [TIME_ACCESS_SET, TIME_MODIFY_SET].iter().any(|&number| wanted.set.has(number)) {
                return Err(Status::INVAL.into());
            }
            made_once(call, folder, name, (*verifier, &wanted))
        }
    }
}

pub(super) fn read(call: &Call<'_>, attributes: &Fattr<'_>) -> Result<RequestedAttributes, Status> {
    setting::wanted(call.minor, &call.naming(), attributes)
}

fn existing(call: &Call<'_>, folder: &HandleTarget, name: &[u8], size: Option<u64>) -> Result<Opening, Fail> {
    let place = Arc::new(looking::child(call, folder, name)?);
    let (change, beside) = match folder {
        HandleTarget::File(target) => (unchanged(target), Some((target.found.object.clone(), name.to_vec()))),
        _ => (ChangeInfo { atomic: true, before: 0, after: 0 }, None),
    };
    let set = if size.is_some() { Bitmap::of(&[SIZE]) } else { Bitmap::default() };
    Ok(Opening { place, change, set, beside, is_new: false, size })
}

/// Makes the file; EXIST if there is one.
fn made(folder: &HandleTarget, name: &[u8], wanted: &RequestedAttributes) -> Result<Opening, Fail> {
    let folder = folder.folder()?;
    let name = checked(name)?;
    has_room(folder)?;
    let made = setting::make(folder, name, NewKind::File, wanted, FILE_MODE)?;
    Ok(new(folder, name, made.found, made.change, wanted.set))
}

/// Whether the client may open one more file: otherwise none is made that it cannot open.
fn has_room(folder: &Target) -> Result<(), Fail> {
    Ok(folder.export.volume.permit_open(&folder.actor).map(drop)?)
}

fn new(folder: &Target, name: &[u8], found: Found, change: ChangeInfo, set: Bitmap) -> Opening {
    let place = Arc::new(HandleTarget::File(Box::new(folder.sibling(found))));
    let beside = Some((folder.found.object.clone(), name.to_vec()));
    Opening { place, change, set, beside, is_new: true, size: None }
}

/// EXCLUSIVE: the new file's times store the verifier, so that it survives a restart. The client sets the times next: the
/// reply names them, and the attributes that are set at once.
fn made_once(
    call: &Call<'_>,
    folder: &HandleTarget,
    name: &[u8],
    (verifier, wanted): (Verifier, &RequestedAttributes),
) -> Result<Opening, Fail> {
    let target = folder.folder()?;
    let name = checked(name)?;
    has_room(target)?;
    let word = |at: usize| {
        let number = Reader::new(&verifier[at..]).u32_be().unwrap_or(0); // of eight bytes there are four
        // Without the top bit: every host can store such a time.
        Time { secs: i64::from(number & 0x7fff_ffff), nanos: 0 }
    };
    let (accessed, modified) = (SetTime::To(word(0)), SetTime::To(word(4)));
    let changes = SetAttributes { accessed, modified, ..wanted.changes };
    let mut marked = wanted.clone();
    marked.changes = changes;
    let set = wanted.set.union(&Bitmap::of(&[TIME_ACCESS, TIME_MODIFY]));
    match setting::make(target, name, NewKind::File, &marked, FILE_MODE) {
        Ok(made) => {
            if wanted.mode(FILE_MODE).is_none() {
                target.export.volume.await_mode(&made.found);
            }
            Ok(new(target, name, made.found, made.change, set))
        }
        Err(fail) if fail.status == Status::EXIST => {
            let mut opening = existing(call, folder, name, None)?;
            let HandleTarget::File(file) = &*opening.place else { return Err(Status::EXIST.into()) };
            let now = &file.found.attributes;
            if now.kind != vfs::Kind::File || (now.accessed, now.modified) != (word(0), word(4)) {
                return Err(Status::EXIST.into());
            }
            (opening.set, opening.is_new) = (set, true);
            Ok(opening)
        }
        Err(fail) => Err(fail),
    }
}

/// Cuts an existing file that is open now to the size that the client wants.
pub(super) async fn empty(opening: &Opening, target: &Target, state: &OpenState) -> Result<(), Fail> {
    let Some(size) = opening.size else { return Ok(()) };
    if let HandleTarget::Attribute(_) = &*opening.place {
        return named::cut(target, state, size).await;
    }
    let found = super::data::changeable(target)?.unwrap_or_else(|| target.found.clone());
    let (volume, caller) = (&target.export.volume, &target.actor.caller);
    let actor = Actor { by_open: state.permits(caller, Modes::WRITE), ..state.acting(caller) };
    let changes = SetAttributes { size: Some(size), ..Default::default() };
    let set = || volume.set_attributes(&actor, &found, &changes);
    volume.once_recalled(crate::server::recalling::LIMIT, set).await?;
    Ok(())
}

pub(super) fn unchanged(folder: &Target) -> ChangeInfo {
    let now = change(folder.found.attributes.changed);
    ChangeInfo { atomic: true, before: now, after: now }
}
