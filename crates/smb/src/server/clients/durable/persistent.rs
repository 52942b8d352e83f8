//! Persistent opens of shares with `continuous`, MS-SMB2 3.3.5.9, 3.3.5.9.10 and 3.3.5.9.12.
//!
//! Such an open needs no cache. Its CREATE is answered when the successor of this server has it. When its session is lost, it
//! is not closed for the sake of others before its timeout: opens of the file are refused, a recall of its lease waits for
//! its client.
//!
//! ```text
//! CREATE with DH2Q ─► grant ─► decide: does the successor have it? ─┬─ yes ─► persistent ─► answer
//!                                                                    └─ no successor ─► durable, or neither ─► answer
//! the server is lost before the answer ─► the CREATE is repeated (REPLAY) at the successor ─► again
//! ```

#[cfg(test)]
mod tests;

use std::sync::Arc;

use vfs::backend::Found;
use vfs::{Error, Kind, Volume};

use super::inherited;
use super::{DurableWish, Return, reconnect};
use crate::server::clients::open::Open;
use crate::server::context::{Context, Failure};
use crate::server::files::create::RequestedOpen;
use crate::wire::Status;
use crate::wire::create::Request;
use crate::wire::create_context::values::Lease;
use crate::wire::values::{Capabilities, FileKey};

/// Whether a client may have persistent opens in a share.
pub(in crate::server) fn is_offered(context: &Context) -> Result<bool, Status> {
    let negotiated = context.connection.negotiated();
    let knows = negotiated.is_some_and(|n| n.server_capabilities.contains(Capabilities::PERSISTENT_HANDLES));
    Ok(knows && context.tree().share.options.continuous)
}

/// Waits until it is known whether the successor of this server has an open that is to be persistent. Without a successor the
/// open is durable only, if it may cache its handle.
pub(in crate::server) async fn decide(context: &Context, open: &Open) -> Result<(), Status> {
    let Some(durable) = open.durable.get().filter(|durable| durable.persistent.get().is_none()) else {
        return Ok(());
    };
    let is_kept = inherited::is_kept(context, open).await?;
    let _ = durable.persistent.set(is_kept); // a repeated CREATE may have come to the same
    if !is_kept {
        inherited::keep(context.service(), open);
    }
    Ok(())
}

/// Refuses to open a file of which a persistent open waits for its client, at any server. That open is one of the file's data,
/// and so are the opens with the same name (Open.FileName). If that had to wait for the state of the file, returns the file as it
/// is now.
pub(in crate::server) async fn refuse(
    context: &Context,
    volume: &Volume,
    wanted: &RequestedOpen<'_>,
    found: &Found,
) -> Result<Option<Found>, Status> {
    if !context.session().dialect.is_v3() || wanted.is_stream() || found.attributes.kind != Kind::File {
        return Ok(None);
    }
    let is_reserved = || volume.site().state().is_reserved(found.object.id());
    let (is_reserved, now) = match is_reserved() {
        Err(Error::LeaseRecall(_)) => {
            let is_reserved = context.wait(volume.settled(is_reserved)).await??;
            let object = found.object.clone();
            (is_reserved, Some(Found { attributes: object.attributes()?, object }))
        }
        here => (here?, None),
    };
    if is_reserved { Err(Status::FILE_NOT_AVAILABLE) } else { Ok(now) }
}

/// The id of the open that a client means.
pub(in crate::server) fn named(context: &Context, back: Return) -> Result<FileKey, Status> {
    let by_guid = is_offered(context)?;
    Ok(if by_guid { context.service().durables.named(back) } else { back.file })
}

/// Whether a repeated CREATE may have failed because it has made an open at a server that is lost.
pub(in crate::server) fn may_be_its_own(
    context: &Context,
    wish: DurableWish,
    failed: Status,
) -> Result<bool, Status> {
    let collides = matches!(
        failed,
        Status::SHARING_VIOLATION | Status::OBJECT_NAME_COLLISION | Status::FILE_NOT_AVAILABLE
    );
    Ok(collides && wish.is_persistent() && is_offered(context)?)
}

/// The open of a repeated CREATE. If it is persistent and waits for its client, the client has it again.
pub(in crate::server) async fn again(
    context: &Context,
    request: &Request<'_>,
    lease: Option<Lease>,
    open: Arc<Open>,
) -> Result<Arc<Open>, Failure> {
    let durables = &context.service().durables;
    if !open.is_persistent() || !durables.has(open.key.persistent) {
        return Ok(open);
    }
    let create_guid = open.durable.get().and_then(|durable| durable.create_guid);
    let back = Return { file: open.key, create_guid, persistent: true };
    drop(open); // nothing but the table may have it
    inherited::verify(context, back.file.persistent).await?;
    reconnect(context, request, lease, back)
}
