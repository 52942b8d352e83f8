//! The response.

use crate::server::config::ShareKind;
use crate::server::context::{Context, Failure, Outcome, Reply};
use crate::server::create::{Opened, Wanted, maximal, register};
use crate::server::facts::Facts;
use crate::server::leases;
use crate::server::mac;
use crate::server::open::File;
use crate::wire::Status;
use crate::wire::create::Response;
use crate::wire::create_context::request::Context as Asked;
use crate::wire::create_context::response::Context as Answer;

/// Makes the open known, gives it what it may cache, and answers.
pub(super) async fn finish(context: &Context, wanted: &Wanted<'_>, opened: Opened) -> Outcome {
    let open = register(context, opened.open)?;
    let file = open.file()?;
    let cached = leases::grant(context, wanted, &open)?;
    let facts = Facts::of(file).await?;
    let mut answers = Vec::new();
    for asked in &wanted.asked {
        if let Some(answer) = answer(context, asked, file, &facts)? {
            answers.push(answer);
        }
    }
    answers.extend(cached.lease.map(Answer::Lease));
    let response = Response {
        oplock_level: cached.oplock,
        flags: 0,
        action: opened.action,
        info: facts.network_open(),
        file: open.key,
        contexts: answers.iter().map(Answer::encode).collect(),
    };
    Ok(Reply { file: Some(open.key), ..Reply::encoded(|w| response.encode(w)) })
}

fn answer(
    context: &Context,
    asked: &Asked<'_>,
    file: &File,
    facts: &Facts,
) -> Result<Option<Answer>, Failure> {
    let tree = context.tree()?;
    Ok(match asked {
        Asked::MaximalAccess(_) => {
            let found =
                vfs::backend::Found { object: file.open.node().clone(), attributes: facts.attributes };
            let access = maximal(tree.volume()?, tree, &context.caller()?, &found, None);
            Some(match access {
                Ok(access) => Answer::MaximalAccess { status: Status::SUCCESS, access: access.0 },
                Err(status) => Answer::MaximalAccess { status, access: 0 },
            })
        }
        Asked::DiskId => {
            let ShareKind::Disk { serial, .. } = &tree.share.kind else { return Ok(None) };
            Some(Answer::DiskId { file: facts.number(context), volume: *serial })
        }
        Asked::Apple(asked) => mac::answer(context, asked)?.map(Answer::Apple),
        _ => None,
    })
}
