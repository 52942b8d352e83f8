//! OPLOCK_BREAK, MS-SMB2 3.3.5.22: the client acknowledges a break.

use std::sync::Arc;

use vfs::state::Caching;

use super::durable::inherited;
use super::leases::{Kind, level, state};
use super::open::Open;
use crate::server::context::{Context, Failure, Outcome, Reply};
use crate::wire::Status;
use crate::wire::oplock_break::{LeaseBreak, Oplock, Request, Response};
use crate::wire::values::{LeaseState, OplockLevel};

pub(in crate::server) async fn run(context: &Context) -> Outcome {
    let response = match Request::decode(&context.message)? {
        Request::Oplock(request) => Response::Oplock(oplock(context, request).await?),
        Request::Lease(request) => Response::Lease(lease(context, request).await?),
    };
    Ok(Reply::encoded(|w| response.encode(w)))
}

/// MS-SMB2 3.3.5.22.1.
async fn oplock(context: &Context, request: Oplock) -> Result<Oplock, Failure> {
    let open = context.open(request.file).await?;
    let held = open.held.get().filter(|held| held.cache.kind() == Kind::Oplock);
    let Some(held) = held else { return Err(Status::INVALID_PARAMETER.into()) };
    tell_first(context, std::slice::from_ref(&open)).await;
    held.lease.bring().await;
    let to = match request.level {
        OplockLevel::NONE => Caching::NONE,
        OplockLevel::II => Caching::READ,
        OplockLevel::EXCLUSIVE | OplockLevel::BATCH if held.lease.is_breaking() => {
            // The break is complete, whatever level the client says.
            held.lease.drop_caching();
            return Err(Status::INVALID_OPLOCK_PROTOCOL.into());
        }
        _ => return Err(Status::INVALID_PARAMETER.into()),
    };
    if !held.lease.is_breaking() {
        return Err(Status::INVALID_OPLOCK_PROTOCOL.into());
    }
    let to = held.lease.acknowledge(to).or_else(|_| held.lease.acknowledge(Caching::NONE))?;
    inherited::keep(context.service(), &open);
    Ok(Oplock { level: level(to), file: open.key })
}

/// MS-SMB2 3.3.5.22.2.
async fn lease(context: &Context, request: LeaseBreak) -> Result<LeaseBreak, Failure> {
    let client = context.session().client();
    let cache = client.cache(&request.key.0).filter(|cache| cache.kind() != Kind::Oplock);
    let opens = cache.map(|cache| cache.opens()).unwrap_or_default();
    let held = opens.iter().find_map(|open| open.held.get());
    let Some(held) = held else { return Err(Status::OBJECT_NAME_NOT_FOUND.into()) };
    tell_first(context, &opens).await;
    held.lease.bring().await;
    if !held.lease.is_breaking() {
        return Err(Status::UNSUCCESSFUL.into());
    }
    let to = Caching(request.state.difference(LeaseState(!u32::from(Caching::ALL.0))).0 as u8);
    held.lease.acknowledge(to).map_err(|_| Status::REQUEST_NOT_ACCEPTED)?;
    opens.iter().for_each(|open| inherited::keep(context.service(), open));
    Ok(LeaseBreak { key: request.key, state: state(to) })
}

/// The successor hears what is left of a lease before the operations that wait for the answer go on. If it takes over a
/// persistent open, that does not collide with what they have made.
async fn tell_first(context: &Context, opens: &[Arc<Open>]) {
    for open in opens.iter().filter(|open| open.is_persistent()) {
        inherited::keep_now(context, open).await;
    }
}
