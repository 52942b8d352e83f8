//! The response.

use std::sync::Arc;

use vfs::backend::Found;

use crate::server::clients::app_instance::Instance;
use crate::server::clients::durable::{self, Durable, DurableWish, inherited, persistent};
use crate::server::clients::leases::{self, CacheGrant};
use crate::server::clients::open::{File, Open};
use crate::server::clients::replay::InFlightCreate;
use crate::server::config::ShareKind;
use crate::server::context::{Context, Failure, Outcome, Reply};
use crate::server::files::create::{CreateResult, RequestedOpen, maximal, register};
use crate::server::files::facts::Facts;
use crate::server::files::{mac, posix};
use crate::wire::Status;
use crate::wire::create::{Action, Request, Response};
use crate::wire::create_context::request::Context as CreateContext;
use crate::wire::create_context::response::Context as Answer;
use crate::wire::values::OplockLevel;

/// Makes the open known, gives it what it may cache, and answers.
pub(super) async fn finish(
    context: &Context,
    wanted: &RequestedOpen<'_>,
    opened: CreateResult,
    wish: DurableWish,
    numbered: Option<InFlightCreate<'_>>,
) -> Outcome {
    let open = register(context, opened.open)?;
    let cached = leases::grant(context, wanted, &open).await?;
    // Before the successor is told of the open: it is told of the action, too.
    if let Some(other) = numbered.and_then(|numbered| numbered.done(&open, opened.action)) {
        context.service().durables.forget(&other);
    }
    if let Err(status) = durable::grant(context, wish, &open).await {
        context.session().opens.remove(open.key); // the client has cancelled it
        return Err(status.into());
    }
    if let Some(instance) = Instance::of(&wanted.asked).filter(|_| wish.create_guid().is_some()) {
        context.service().instances.add(context, instance, &open)?;
    }
    let also = open.durable.get().and_then(Durable::answer);
    // A client that may cache the file gets its facts as of the moment from which it may.
    let facts = match opened.plain.filter(|_| cached.is_nothing()) {
        Some(attributes) => Facts::of_plain(open.file()?, attributes)?,
        None => Facts::of(open.file()?).await?,
    };
    respond(context, &open, &wanted.asked, (opened.action, facts), cached, also)
}

/// The answer to a repeated CREATE: the same answer with the file's current state. MS-SMB2
/// 3.3.5.9.10.
pub(super) async fn again(
    context: &Context,
    request: &Request<'_>,
    asked: &[CreateContext<'_>],
    open: Arc<Open>,
) -> Outcome {
    let action = open.number.get().map_or(Action::OPENED, |number| number.action);
    let lease = open.held.get().and_then(|held| held.cached().lease);
    let lease = lease.filter(|_| request.oplock_level == OplockLevel::LEASE);
    let asked_lease = leases::asked(context, request, asked);
    if asked_lease.map(|asked| asked.key) != lease.map(|lease| lease.key) {
        return Err(Status::ACCESS_DENIED.into()); // it is not the same CREATE
    }
    let cached = CacheGrant { oplock: request.oplock_level, lease };
    persistent::decide(context, &open).await?;
    let open = persistent::again(context, request, asked_lease, open).await?;
    if open.is_persistent() {
        inherited::arrived(context).await;
    }
    let could_be = matches!(request.oplock_level, OplockLevel::BATCH | OplockLevel::LEASE);
    let also = open.durable.get().filter(|of| could_be || of.is_persistent()).and_then(Durable::answer);
    let facts = Facts::of(open.file()?).await?;
    respond(context, &open, asked, (action, facts), cached, also)
}

/// The answer to a client that reconnects to an open, MS-SMB2 3.3.5.9.7 and 3.3.5.9.12.
pub(super) async fn reconnected(context: &Context, open: &Open) -> Outcome {
    if open.is_persistent() {
        inherited::arrived(context).await; // the next server must have it, too
    }
    let cached = open.held.get().map_or(CacheGrant::NONE, |held| held.cached());
    let facts = Facts::of(open.file()?).await?;
    respond(context, open, &[], (Action::OPENED, facts), cached, None)
}

fn respond(
    context: &Context,
    open: &Open,
    asked: &[CreateContext<'_>],
    (action, facts): (Action, Facts),
    cached: CacheGrant,
    also: Option<Answer>,
) -> Outcome {
    let file = open.file()?;
    let mut answers = Vec::new();
    for asked in asked {
        if let Some(answer) = answer(context, asked, file, &facts)? {
            answers.push(answer);
        }
    }
    answers.extend(cached.lease.map(Answer::Lease));
    answers.extend(also);
    let is_link = facts.reparse_tag() != 0;
    let response = Response {
        oplock_level: cached.oplock,
        flags: if is_link && context.session().dialect.is_v3() { Response::REPARSE_POINT } else { 0 },
        action,
        info: facts.network_open(),
        file: open.key,
        contexts: answers.iter().map(Answer::encode).collect(),
    };
    let reply = Reply::encoded(|w| response.encode(w));
    let facts = (!context.last).then(|| Box::new((open.key, facts)));
    Ok(Reply { file: Some(open.key), facts, ..reply })
}

fn answer(
    context: &Context,
    asked: &CreateContext<'_>,
    file: &File,
    facts: &Facts,
) -> Result<Option<Answer>, Failure> {
    let tree = context.tree();
    Ok(match asked {
        CreateContext::MaximalAccess(_) => {
            let found = Found { object: file.open.node().clone(), attributes: facts.attributes };
            let parent = match file.open.place() {
                Some((folder, _)) => Some(Found { attributes: folder.attributes()?, object: folder }),
                None => None,
            };
            let access = maximal(tree.volume()?, tree, &context.caller(), &found, parent.as_ref());
            Some(match access {
                Ok(access) => Answer::MaximalAccess { status: Status::SUCCESS, access: access.0 },
                Err(status) => Answer::MaximalAccess { status, access: 0 },
            })
        }
        CreateContext::DiskId => {
            let ShareKind::Disk { serial, .. } = &tree.share.kind else { return Ok(None) };
            Some(Answer::DiskId { file: facts.number(context), volume: *serial })
        }
        CreateContext::Posix(_) if file.is_posix => Some(posix::answer(file, facts)),
        CreateContext::Apple(asked) => mac::answer(context, asked)?.map(Answer::Apple),
        _ => None,
    })
}
