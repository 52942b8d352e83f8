//! Which command is which function. Numbers are those of the Apple Filing Protocol Reference, "AFP Commands".

use std::sync::Arc;

use bytes::{Buf, Bytes};

use super::connection::Connection;
use super::request::{Outcome, Request};
use crate::wire::ResultCode;
use crate::wire::command;

/// Runs the command at the start of `body`.
pub(super) async fn run(connection: &Arc<Connection>, mut body: Bytes, data: Bytes) -> Outcome {
    if !connection.is_open() {
        return Err(ResultCode::SESSION_CLOSED);
    }
    if body.is_empty() {
        return Err(ResultCode::PARAM_ERROR);
    }
    let command = body.get_u8();
    let Some(session) = connection.session() else {
        return before_login(connection, command, body).await;
    };
    let request = Request { session, command, body, data };
    after_login(connection, request).await
}

/// What may be said before anybody has logged in.
async fn before_login(_connection: &Arc<Connection>, command: u8, _body: Bytes) -> Outcome {
    match command {
        command::LOGIN | command::LOGIN_EXT | command::LOGIN_CONT => Err(ResultCode::BAD_UAM),
        _ => Err(ResultCode::USER_NOT_AUTH),
    }
}

async fn after_login(_connection: &Arc<Connection>, request: Request) -> Outcome {
    match request.command {
        _ => Err(ResultCode::CALL_NOT_SUPPORTED),
    }
}

/// Whether a fork's number follows the command and one byte.
pub(super) fn is_about_fork(number: u8) -> bool {
    matches!(
        number,
        command::READ
            | command::READ_EXT
            | command::WRITE
            | command::WRITE_EXT
            | command::FLUSH_FORK
            | command::SYNC_FORK
            | command::SET_FORK_PARMS
            | command::GET_FORK_PARMS
    )
}
