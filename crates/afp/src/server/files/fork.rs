//! Open forks, Apple Filing Protocol Reference, FPOpenFork, FPRead, FPWrite …

mod open;
mod parameters;
mod read;
mod table;
#[cfg(test)]
pub(in crate::server) mod tests;
mod write;

pub(in crate::server) use self::table::{ClientFork, Forks};
pub(in crate::server) use self::write::EarlyForkWrite;
use crate::server::reply::{Outcome, Reply};
use crate::server::request::Request;
use crate::wire::ResultCode;
use crate::wire::command;
use crate::wire::fork::{OneFork, Width};

/// Runs a command of this family.
pub(in crate::server) async fn run(request: &Request) -> Outcome {
    match request.command {
        command::READ => read::run(request, Width::Bits32).await,
        command::READ_EXT => read::run(request, Width::Bits64).await,
        command::WRITE => write::run(request, Width::Bits32).await,
        command::WRITE_EXT => write::run(request, Width::Bits64).await,
        command::OPEN_FORK => Box::pin(open::run(request)).await,
        command::CLOSE_FORK => close(request).await,
        command::GET_FORK_PARMS => Box::pin(parameters::read(request)).await,
        command::SET_FORK_PARMS => Box::pin(parameters::set(request)).await,
        command::FLUSH_FORK | command::SYNC_FORK => Box::pin(sync(request)).await,
        _ => Err(ResultCode::CALL_NOT_SUPPORTED),
    }
}

/// FPCloseFork. What the fork holds is released once the commands that use it have ended.
async fn close(request: &Request) -> Outcome {
    let wanted = OneFork::decode(&mut request.reader())?;
    let fork = request.session.forks.find(wanted.fork)?;
    let closed = fork.open().map(|open| (open.volume().clone(), open.node().id()));
    request.session.forks.close(wanted.fork)?;
    drop(fork);
    if let Some((volume, file)) = closed {
        volume.closed_everywhere(file).await;
    }
    Ok(Reply::empty())
}

/// FPFlushFork and FPSyncFork: both flush the fork to the disk.
async fn sync(request: &Request) -> Outcome {
    let wanted = OneFork::decode(&mut request.reader())?;
    let fork = request.fork(wanted.fork).await?;
    if let Some(open) = fork.open() {
        open.sync().await?;
    }
    Ok(Reply::empty())
}
