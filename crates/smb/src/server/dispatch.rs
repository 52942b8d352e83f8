//! Which command is which file, by what it needs.

use std::future::Future;
use std::pin::Pin;

use super::context::{ConnectionScope, Context, Outcome, RequestScope, SessionScope, TreeScope};
use crate::server::{clients, echo, files, login};
use crate::wire::Status;
use crate::wire::header::Command;

pub(super) type CommandFuture<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

/// A scope in which commands run.
pub(super) trait CommandScope: RequestScope + Sized {
    /// Runs the command of a request.
    fn run(context: &Context<Self>) -> CommandFuture<'_>;
}

impl CommandScope for ConnectionScope {
    fn run(context: &Context<Self>) -> CommandFuture<'_> {
        match context.header.command {
            Command::NEGOTIATE => Box::pin(login::negotiate::run(context)),
            Command::SESSION_SETUP => Box::pin(login::session_setup::run(context)),
            Command::ECHO => Box::pin(echo::run(context)),
            _ => unknown(),
        }
    }
}

impl CommandScope for SessionScope {
    fn run(context: &Context<Self>) -> CommandFuture<'_> {
        match context.header.command {
            Command::LOGOFF => Box::pin(login::logoff::run(context)),
            Command::TREE_CONNECT => Box::pin(clients::tree_connect::run(context)),
            Command::ECHO => Box::pin(echo::run(context)),
            _ => unknown(),
        }
    }
}

impl CommandScope for TreeScope {
    fn run(context: &Context) -> CommandFuture<'_> {
        match context.header.command {
            Command::TREE_DISCONNECT => Box::pin(clients::tree_disconnect::run(context)),
            Command::CREATE => Box::pin(files::create::run(context)),
            Command::CLOSE => Box::pin(files::close::run(context)),
            Command::FLUSH => Box::pin(files::flush::run(context)),
            Command::READ => Box::pin(files::read::run(context)),
            Command::WRITE => Box::pin(files::write::run(context)),
            Command::LOCK => Box::pin(files::lock::run(context)),
            Command::IOCTL => Box::pin(files::ioctl::run(context)),
            Command::QUERY_DIRECTORY => Box::pin(files::query_directory::run(context)),
            Command::CHANGE_NOTIFY => Box::pin(files::change_notify::run(context)),
            Command::QUERY_INFO => Box::pin(files::query_info::run(context)),
            Command::SET_INFO => Box::pin(files::set_info::run(context)),
            Command::OPLOCK_BREAK => Box::pin(clients::oplock_break::run(context)),
            _ => unknown(),
        }
    }
}

fn unknown<'a>() -> CommandFuture<'a> {
    Box::pin(async { Err(Status::INVALID_PARAMETER.into()) })
}
