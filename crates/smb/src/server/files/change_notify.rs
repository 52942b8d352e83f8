//! CHANGE_NOTIFY, MS-SMB2 3.3.5.19 and MS-FSA 2.1.5.11.

mod changes;
#[cfg(test)]
mod tests;
mod watch;

pub(in crate::server) use self::watch::FolderWatch;
use self::watch::NotifyReply;
use crate::server::clients::open::{File, Open};
use crate::server::context::{Context, Failure, Outcome, Reply};
use crate::wire::Status;
use crate::wire::change_notify::{Request, Response};
use crate::wire::fscc::notify::{self, Change};
use crate::wire::security::AccessMask;
use crate::wire::values::FileKey;
use vfs::Kind;

pub(in crate::server) async fn run(context: &Context) -> Outcome {
    let request = Request::decode(&context.message)?;
    let negotiated = context.connection.negotiated().ok_or(Status::INVALID_PARAMETER)?;
    if request.output_buffer_length > negotiated.max_transact {
        return Err(Status::INVALID_PARAMETER.into());
    }
    context.may_transfer(request.output_buffer_length)?;
    let open = context.open(request.file).await?;
    let file = watchable(&open)?;
    let watch = file.watched.watch(context, file, &request)?;
    if file.open.is_being_removed() {
        return Err(Status::DELETE_PENDING.into());
    }
    let key = open.key;
    drop(open); // so that it can be closed, which ends the wait
    let told = context.wait(watch.next(request.output_buffer_length as usize)).await?;
    answer(key, told)
}

/// A folder that was opened to be listed.
fn watchable(open: &Open) -> Result<&File, Failure> {
    let file = open.file()?;
    if file.open.node().kind() != Kind::Folder || !file.open.is_data() {
        return Err(Status::INVALID_PARAMETER.into());
    }
    open.require(AccessMask::LIST_DIRECTORY)?;
    Ok(file)
}

fn answer(key: FileKey, told: NotifyReply) -> Outcome {
    let (status, changes) = match told {
        NotifyReply::Changes(changes) => (Status::SUCCESS, changes),
        NotifyReply::TooMany => (Status::NOTIFY_ENUM_DIR, Vec::new()),
        NotifyReply::Going => return Err(Status::DELETE_PENDING.into()),
        NotifyReply::Closed => return Err(Status::NOTIFY_CLEANUP.into()),
    };
    let response = Response { data: encoded(&changes) };
    Ok(Reply { status, file: Some(key), ..Reply::encoded(|w| response.encode(w)) })
}

fn encoded(changes: &[Change]) -> Vec<u8> {
    let mut w = wire::Writer::new();
    notify::encode(changes, &mut w);
    w.into_bytes()
}
