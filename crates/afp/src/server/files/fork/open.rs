//! FPOpenFork.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use vfs::backend::Found;
use vfs::state::{Modes, Stream};
use vfs::{Error, Kind, OpenOptions};
use wire::Writer;

use super::table::{ClientFork, ForkSource};
use crate::server::files::params::{self, RequestedParameters};
use crate::server::reply::{Outcome, Reply};
use crate::server::request::Request;
use crate::server::volumes::ids::EntryPlace;
use crate::server::volumes::open_volume::OpenVolume;
use crate::server::volumes::target::{Target, refuse_above};
use crate::wire::fork::{AccessMode, OpenFork, OpenForkReply};
use crate::wire::{DirBitmap, FileBitmap, ResultCode};

/// The longest fork that clients of AFP 2 can be told of, and the end of what they can read and
/// write.
const MOST_BEFORE_3: u64 = i32::MAX as u64;

pub(super) async fn run(request: &Request) -> Outcome {
    let wanted = OpenFork::decode(&mut request.reader())?;
    refuse_above(wanted.folder, &wanted.path)?;
    let volume = request.volume(wanted.volume)?;
    if wanted.access.contains(AccessMode::WRITE) {
        volume.may_change()?;
    }
    let target = volume.resolve(request.caller(), wanted.folder, &wanted.path)?;
    let (found, place) = (target.file()?, target.place_below(&volume)?);
    let parameters = parameters(request, wanted.bitmap, wanted.resource)?;
    if !request.session.forks.has_room() {
        return Err(ResultCode::TOO_MANY_FILES_OPEN);
    }
    match open(request, &volume, &wanted, found, place).await {
        Ok(NewFork { fork, waited: false }) => opened_as(request, fork, &target, parameters),
        Ok(NewFork { fork, waited: true }) => {
            let target = fork.target()?; // another client may have written its cache back
            opened_as(request, fork, &target, parameters)
        }
        // The reply has the parameters, too. "Locked" is an attribute that a client has set.
        Err(code @ (ResultCode::DENY_CONFLICT | ResultCode::OBJECT_LOCKED)) => {
            Ok(reply(request, &volume, 0, &target, parameters)?.with(code))
        }
        Err(other) => Err(other),
    }
}

/// The reply of a successful open.
fn opened_as(
    request: &Request,
    fork: ClientFork,
    target: &Target,
    parameters: RequestedParameters,
) -> Outcome {
    let mut reply = reply(request, &fork.volume, 0, target, parameters)?;
    let number = request.session.forks.add(fork)?;
    reply.head[2..4].copy_from_slice(&number.to_be_bytes());
    Ok(reply)
}

fn reply(
    request: &Request,
    volume: &OpenVolume,
    fork: u16,
    target: &Target,
    parameters: RequestedParameters,
) -> Result<Reply, ResultCode> {
    let mut w = Writer::new();
    OpenForkReply { bitmap: parameters.file, fork, parameters: &[] }.encode(&mut w);
    if !parameters.file.is_empty() {
        params::put_target(volume, request.caller(), request.version(), target, parameters, &mut w)?;
    }
    Ok(Reply { head: w.into_bytes(), ..Reply::empty() })
}

/// The parameters that an open fork allows: not the length of the other fork.
pub(super) fn parameters(
    request: &Request,
    bitmap: FileBitmap,
    resource: bool,
) -> Result<RequestedParameters, ResultCode> {
    if bitmap.intersects(lengths(!resource)) {
        return Err(ResultCode::BITMAP_ERROR);
    }
    RequestedParameters { file: bitmap, dir: DirBitmap::empty() }.check(request.version())
}

/// The two length bits of a fork.
pub(super) fn lengths(resource: bool) -> FileBitmap {
    match resource {
        true => FileBitmap::RESOURCE_LENGTH | FileBitmap::EXTENDED_RESOURCE_LENGTH,
        false => FileBitmap::DATA_LENGTH | FileBitmap::EXTENDED_DATA_LENGTH,
    }
}

struct NewFork {
    fork: ClientFork,
    /// The open had to wait for other clients.
    waited: bool,
}

async fn open(
    request: &Request,
    volume: &Arc<OpenVolume>,
    wanted: &OpenFork<'_>,
    found: &Found,
    place: &EntryPlace,
) -> Result<NewFork, ResultCode> {
    let (content, waited) = match found.attributes.kind {
        Kind::Link => (link(volume, wanted, found, place)?, false),
        Kind::File => {
            let (access, deny) = modes(wanted.access);
            if access.contains(Modes::WRITE) && volume.tree().mac_tree().is_locked_by_mode(found)? {
                return Err(ResultCode::OBJECT_LOCKED);
            }
            let deny = volume.tree().mac_tree().denied_by_macs(deny);
            let stream = if wanted.resource { Stream::Resource } else { Stream::Data };
            let place = Some(place.beside());
            let options = OpenOptions { stream, deny, place, ..OpenOptions::data(access) };
            let actor = request.opener();
            let mut opening = pin!(volume.tree().open(&actor, found, options));
            let at_once = opening.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            let (opened, waited) = match at_once {
                Poll::Ready(opened) => (opened, false),
                Poll::Pending => (opening.await, true),
            };
            (ForkSource::File(opened.map_err(refusal)?), waited)
        }
        _ => return Err(ResultCode::OBJECT_TYPE_ERROR),
    };
    let fork =
        ClientFork { volume: volume.clone(), resource: wanted.resource, access: wanted.access, content };
    let transfers = fork.access.contains(AccessMode::READ) || fork.access.contains(AccessMode::WRITE);
    if transfers && !request.version().is_3() && fork.size().await? > MOST_BEFORE_3 {
        return Err(ResultCode::MISC_ERROR); // a part of the target would be wrong
    }
    Ok(NewFork { fork, waited })
}

fn refusal(error: Error) -> ResultCode {
    match error {
        Error::TooMany | Error::Exhausted => ResultCode::TOO_MANY_FILES_OPEN,
        other => other.into(),
    }
}

/// A symbolic link from a client's view: a file with the link's target, or a document that leads to another server.
fn link(
    volume: &OpenVolume,
    wanted: &OpenFork<'_>,
    found: &Found,
    place: &EntryPlace,
) -> Result<ForkSource, ResultCode> {
    if wanted.access.contains(AccessMode::WRITE) {
        return Err(ResultCode::ACCESS_DENIED);
    }
    let document = volume.document(found);
    let is_document = document.is_some();
    let bytes = match document {
        _ if wanted.resource => Vec::new(),
        Some(document) => document.content,
        None => found.object.read_link()?,
    };
    Ok(ForkSource::Link { found: found.clone(), place: place.clone(), bytes, is_document })
}

fn modes(mode: AccessMode) -> (Modes, Modes) {
    let bit = |has, bit| if mode.contains(has) { bit } else { Modes::NONE };
    (
        bit(AccessMode::READ, Modes::READ).union(bit(AccessMode::WRITE, Modes::WRITE)),
        bit(AccessMode::DENY_READ, Modes::READ).union(bit(AccessMode::DENY_WRITE, Modes::WRITE)),
    )
}
