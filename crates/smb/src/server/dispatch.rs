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
        Command::NEGOTIATE => Box::pin(crate::server::login::negotiate::run(context)),
        Command::SESSION_SETUP => Box::pin(crate::server::login::session_setup::run(context)),
        Command::LOGOFF => Box::pin(crate::server::login::logoff::run(context)),
        Command::TREE_CONNECT => Box::pin(crate::server::clients::tree_connect::run(context)),
        Command::TREE_DISCONNECT => Box::pin(crate::server::clients::tree_disconnect::run(context)),
        Command::CREATE => Box::pin(crate::server::files::create::run(context)),
        Command::CLOSE => Box::pin(crate::server::files::close::run(context)),
        Command::FLUSH => Box::pin(crate::server::files::flush::run(context)),
        Command::READ => Box::pin(crate::server::files::read::run(context)),
        Command::WRITE => Box::pin(crate::server::files::write::run(context)),
        Command::LOCK => Box::pin(crate::server::files::lock::run(context)),
        Command::IOCTL => Box::pin(crate::server::files::ioctl::run(context)),
        Command::ECHO => Box::pin(super::echo::run(context)),
        Command::QUERY_DIRECTORY => Box::pin(crate::server::files::query_directory::run(context)),
        Command::CHANGE_NOTIFY => Box::pin(crate::server::files::change_notify::run(context)),
        Command::QUERY_INFO => Box::pin(crate::server::files::query_info::run(context)),
        Command::SET_INFO => Box::pin(crate::server::files::set_info::run(context)),
        Command::OPLOCK_BREAK => Box::pin(crate::server::clients::oplock_break::run(context)),
        _ => Box::pin(async { Err(Status::INVALID_PARAMETER.into()) }),
    }
}
