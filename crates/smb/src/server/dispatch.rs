//! Which command is which file.

use std::future::Future;
use std::pin::Pin;

use super::context::{Context, Outcome};
use crate::wire::Status;
use crate::wire::header::Command;

type Running<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

/// Runs the command of a request.
pub(super) fn run(context: &Context) -> Running<'_> {
    match context.header.command {
        Command::NEGOTIATE => Box::pin(super::negotiate::run(context)),
        Command::SESSION_SETUP => Box::pin(super::session_setup::run(context)),
        Command::LOGOFF => Box::pin(super::logoff::run(context)),
        Command::TREE_CONNECT => Box::pin(super::tree_connect::run(context)),
        Command::TREE_DISCONNECT => Box::pin(super::tree_disconnect::run(context)),
        Command::CREATE => Box::pin(super::create::run(context)),
        Command::CLOSE => Box::pin(super::close::run(context)),
        Command::FLUSH => Box::pin(super::flush::run(context)),
        Command::READ => Box::pin(super::read::run(context)),
        Command::WRITE => Box::pin(super::write::run(context)),
        Command::LOCK => Box::pin(super::lock::run(context)),
        Command::IOCTL => Box::pin(super::ioctl::run(context)),
        Command::ECHO => Box::pin(super::echo::run(context)),
        Command::QUERY_DIRECTORY => Box::pin(super::query_directory::run(context)),
        Command::CHANGE_NOTIFY => Box::pin(super::change_notify::run(context)),
        Command::QUERY_INFO => Box::pin(super::query_info::run(context)),
        Command::SET_INFO => Box::pin(super::set_info::run(context)),
        Command::OPLOCK_BREAK => Box::pin(super::oplock_break::run(context)),
        _ => Box::pin(async { Err(Status::INVALID_PARAMETER.into()) }),
    }
}
