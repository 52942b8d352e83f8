//! Access control lists, Apple Filing Protocol Reference, FPGetACL, FPSetACL, FPAccess.

mod darwin;

use vfs::Error;
use vfs::acl::{Acl, AclChange, Entries, Entry, Rights, Who, written_back};
use vfs::backend::Found;

use self::darwin::{as_sent, given, shown, uuid_of, visible};
use crate::darwin_acl::rights_of;
use crate::server::reply::{Outcome, Reply};
use crate::server::request::Request;
use crate::server::volumes::open_volume::OpenVolume;
use crate::server::volumes::target::Target;
use crate::wire::acl::{self as wire_acl, Access, Bitmap, Get, Reply as GetReply, Security, Set, Uuid};
use crate::wire::uuid::UuidIdentity;
use crate::wire::{ResultCode, command};

/// Runs a command of this family.
pub(in crate::server) async fn run(request: &Request) -> Outcome {
    match request.command {
        command::GET_ACL => get(request),
        command::SET_ACL => set(request).await,
        command::ACCESS => access(request),
        _ => Err(ResultCode::CALL_NOT_SUPPORTED),
    }
}

/// FPGetACL.
fn get(request: &Request) -> Outcome {
    let asked = Get::decode(&mut request.reader())?;
    let volume = request.volume(asked.volume)?;
    let target = volume.resolve(request.caller(), asked.directory, &asked.path)?;
    let (acl, _) = with_bound(&volume, target.found()?)?;
    let security = Security {
        owner: asked.bitmap.contains(Bitmap::OWNER).then(|| uuid_of(&acl.owner)),
        group: asked.bitmap.contains(Bitmap::GROUP).then(|| uuid_of(&acl.group)),
        acl: asked.bitmap.contains(Bitmap::ACL).then(|| shown(&acl)),
    };
    Ok(Reply::encoded(|w| GetReply(security).encode(w)))
}

/// FPSetACL.
async fn set(request: &Request) -> Outcome {
    let asked = Set::decode(&mut request.reader())?;
    let volume = request.volume(asked.volume)?;
    volume.may_change()?;
    let target = volume.resolve(request.caller(), asked.directory, &asked.path)?;
    let change = AclChange {
        owner: asked.security.owner.as_ref().and_then(owner),
        group: asked.security.group.as_ref().and_then(group),
        entries: entries(&volume, &target, &asked)?,
    };
    let (tree, actor, found) = (volume.tree(), request.actor(), target.found()?);
    match volume.once_recalled(|| tree.set_acl(&actor, found, &change)).await {
        Ok(_) => Ok(Reply::empty()),
        Err(Error::TooMany) => Err(ResultCode::PARAM_ERROR),
        Err(other) => Err(other.into()),
    }
}

/// The new owner, if the UUID belongs to this host. A Mac that copies a file sends the UUID of its
/// own user, which is unknown here.
fn owner(uuid: &Uuid) -> Option<Who> {
    match UuidIdentity::of(uuid) {
        Some(UuidIdentity::User(uid)) => Some(Who::User(uid)),
        _ => None,
    }
}

/// The new group, if the UUID belongs to this host.
fn group(uuid: &Uuid) -> Option<Who> {
    match UuidIdentity::of(uuid) {
        Some(UuidIdentity::Group(gid)) => Some(Who::Group(gid)),
        _ => None,
    }
}

/// The ACL of a file as a Mac sees it, and the entries at its end that only say what the mode says too much.
fn with_bound(volume: &OpenVolume, found: &Found) -> Result<(Acl, Vec<Entry>), ResultCode> {
    let mut acl = volume.tree().acl(found)?;
    let bound = acl.bound_of_mode(&found.attributes);
    acl.entries.list.extend(bound.iter().cloned());
    Ok((acl, bound))
}

/// The new entries, if the request changes them.
fn entries(volume: &OpenVolume, target: &Target, asked: &Set<'_>) -> Result<Option<Entries>, ResultCode> {
    let found = target.found()?;
    let removes = asked.bitmap.contains(Bitmap::REMOVE_ACL);
    if asked.security.acl.is_none() && !removes {
        return Ok(None);
    }
    let (before, bound) = with_bound(volume, found)?;
    let Some(acl) = &asked.security.acl else {
        return Ok(Some(before.replaced_before_mode(Vec::new(), false, &found.attributes)));
    };
    let protected = acl.flags & wire_acl::KauthAcl::NO_INHERIT != 0;
    let as_sent = |entry: &Entry| as_sent(entry, &before);
    let Some(mut list) = written_back(&before.entries.list, given(acl, &before)?, as_sent)
        .or_else(|| (protected != before.entries.protected).then(|| visible(&before)))
        .or_else(|| asked.bitmap.contains(Bitmap::INHERIT).then(|| visible(&before)))
    else {
        return Ok(None); // what the client has read
    };
    // The entries from the mode say what these say, as long as they are the last ones.
    while list.last().is_some_and(|last| bound.contains(last)) {
        list.pop();
    }
    if asked.bitmap.contains(Bitmap::INHERIT)
        && let Some(place) = target.place(volume)?
    {
        let passed = volume.tree().mac_tree().passed_on(&place.folder, &found.attributes)?;
        list.extend(passed.into_iter().filter(|entry| !entry.rights.contains(Rights::FROM_MODE)));
    }
    Ok(Some(before.replaced_before_mode(list, protected, &found.attributes)))
}

/// FPAccess. It answers for the session's user, whatever UUID the user has on the client.
fn access(request: &Request) -> Outcome {
    let asked = Access::decode(&mut request.reader())?;
    let volume = request.volume(asked.volume)?;
    let target = volume.resolve(request.caller(), asked.directory, &asked.path)?;
    let (found, place) = (target.found()?, target.place(&volume)?);
    let mut rights = volume.tree().rights(request.caller(), found, place.map(|place| &place.folder))?;
    if volume.may_change().is_err() {
        rights = rights.difference(Rights::CHANGING);
    }
    match rights.contains(rights_of(asked.rights)) {
        true => Ok(Reply::empty()),
        false => Err(ResultCode::ACCESS_DENIED),
    }
}

#[cfg(test)]
mod tests;
