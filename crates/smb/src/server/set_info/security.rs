//! Owner, group and entries, MS-SMB2 3.3.5.21.3 and MS-FSA 2.1.5.17.

use vfs::acl::{AclChange, Who};
use vfs::{Caller, Error};

use crate::server::context::{Context, Failure};
use crate::server::open::{File, Open};
use crate::server::security;
use crate::wire::Status;
use crate::wire::security::{AccessMask, SecurityDescriptor, SecurityInformation};
use crate::wire::set_info::Request;

/// Sets the parts that the request names.
pub(super) async fn set(context: &Context, open: &Open, request: &Request<'_>) -> Result<(), Failure> {
    let file = open.file()?;
    let parts = SecurityInformation(request.additional_information);
    if parts.has(SecurityInformation::SACL) {
        return Err(Status::PRIVILEGE_NOT_HELD.into());
    }
    if parts.has_any(SecurityInformation::OWNER | SecurityInformation::GROUP) {
        open.require(AccessMask::WRITE_OWNER)?;
    }
    if parts.has(SecurityInformation::DACL) {
        open.require(AccessMask::WRITE_DAC)?;
    }
    let descriptor = SecurityDescriptor::decode(request.data).map_err(|malformed| {
        tracing::debug!(%malformed, "a security descriptor");
        Status::INVALID_SECURITY_DESCR
    })?;
    let change = security::change(&descriptor, parts)?;
    if change == AclChange::default() {
        return Ok(());
    }
    may_give(&context.caller()?, file, &change)?;
    file.open.set_acl(&change).await.map_err(|error| match error {
        Error::NotPermitted => Status::INVALID_OWNER,
        other => other.into(),
    })?;
    Ok(())
}

/// Nobody gives a file away but the superuser: one takes it oneself. A group is one's own, or another system's.
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
