//! Owner, group and entries, MS-SMB2 3.3.5.21.3 and MS-FSA 2.1.5.17.

use vfs::acl::{AclChange, Who};
use vfs::{Caller, Error, SetAttributes};

use crate::server::clients::open::{File, Open};
use crate::server::context::{Context, Failure};
use crate::server::files::mac::aces::{self, MacAclChange};
use crate::server::files::security;
use crate::server::files::sids;
use crate::wire::Status;
use crate::wire::security::{AccessMask, SecurityDescriptor, SecurityInformation};
use crate::wire::set_info::Request;

/// Sets the parts that the request names.
pub(super) async fn set(context: &Context, open: &Open, request: &Request<'_>) -> Result<(), Failure> {
    let file = open.file()?;
    let parts = SecurityInformation(request.additional_information);
    if parts.contains(SecurityInformation::SACL) {
        return Err(Status::PRIVILEGE_NOT_HELD.into());
    }
    if parts.intersects(SecurityInformation::OWNER | SecurityInformation::GROUP) {
        open.require(AccessMask::WRITE_OWNER)?;
    }
    if parts.contains(SecurityInformation::DACL) {
        open.require(AccessMask::WRITE_DAC)?;
    }
    let mut descriptor = SecurityDescriptor::decode(request.data).map_err(|malformed| {
        tracing::debug!(%malformed, "a security descriptor");
        Status::INVALID_SECURITY_DESCR
    })?;
    let sent = mode_sent(context, file, &mut descriptor);
    sids::take(&mut descriptor, &context.service().config());
    let shown = security::shown_of(file)?;
    let mut change = security::change(&descriptor, parts, Some(&shown))?;
    if !sent.is_list {
        change.entries = None;
    }
    if change != AclChange::default() {
        give(context, file, &change).await?;
    }
    let mode = sent.mode.filter(|_| parts.contains(SecurityInformation::DACL));
    match mode {
        Some(mode) => set_mode(file, mode).await,
        None => Ok(()),
    }
}

/// The mode that is sent in an entry. With the POSIX extensions it is all that the list says: beside it, older versions of Linux
/// give signed-in users all rights.
fn mode_sent(context: &Context, file: &File, descriptor: &mut SecurityDescriptor) -> MacAclChange {
    if !context.is_mac() && !file.is_posix {
        return MacAclChange { mode: None, is_list: true };
    }
    let sent = aces::take(descriptor);
    MacAclChange { is_list: sent.is_list && !(file.is_posix && sent.mode.is_some()), ..sent }
}

/// A Mac sets the permission bits, and Linux all of the mode.
async fn set_mode(file: &File, mode: u32) -> Result<(), Failure> {
    let now = file.open.attributes()?.mode;
    let mode = if file.is_posix { mode } else { now & 0o7000 | mode & 0o777 };
    if mode == now {
        return Ok(());
    }
    Ok(file.open.set_attributes(&SetAttributes { mode: Some(mode), ..Default::default() }).await?)
}

async fn give(context: &Context, file: &File, change: &AclChange) -> Result<(), Failure> {
    may_give(&context.caller(), file, change)?;
    file.open.set_acl(change).await.map_err(|error| match error {
        Error::NotPermitted => Status::INVALID_OWNER,
        other => other.into(),
    })?;
    Ok(())
}

/// Only the superuser may give a file to another user. A user may take a file for itself, and may
/// set a group that it is in, or an owner or group of another system.
fn may_give(caller: &Caller, file: &File, change: &AclChange) -> Result<(), Status> {
    let now = file.open.attributes()?;
    let owner = match change.owner {
        Some(Who::User(uid)) => uid == now.uid || uid == caller.uid,
        _ => true,
    };
    let group = match change.group {
        Some(Who::Group(gid)) => gid == now.gid || caller.in_group(gid),
        _ => true,
    };
    if caller.uid == 0 || (owner && group) { Ok(()) } else { Err(Status::INVALID_OWNER) }
}
