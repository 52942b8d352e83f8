//! Maps commands to functions. Numbers are those of the Apple Filing Protocol Reference, "AFP
//! Commands".

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use bytes::{Buf, Bytes};
use conn::InFlight;
use conn::observe::{self, Begun};

use super::connection::Connection;
use super::reply::Outcome;
use super::request::Request;
use super::status;
use crate::catalogue::CatalogId;
use crate::server::files::{acl, attribute, directory, enumerate, file, fork, identity, lock};
use crate::server::sessions::session_replies::Known;
use crate::server::sessions::{login, session_control, session_notices};
use crate::server::volumes::{desktop, id, search, volume};
use crate::wire::ResultCode;
use crate::wire::command;

/// Runs the command at the start of `body`.
pub(super) async fn run(
    connection: &Arc<Connection>,
    id: u16,
    mut body: Bytes,
    data: Bytes,
    in_flight: InFlight,
) -> Outcome {
    if !connection.is_open() {
        return Err(ResultCode::SESSION_CLOSED);
    }
    if body.is_empty() {
        return Err(ResultCode::PARAM_ERROR);
    }
    let bytes = body.len() + data.len();
    let command = body.get_u8();
    let begun = observe::begin("afp", connection.peer.address, || command_name(command));
    if command == command::GET_SRVR_INFO {
        let outcome = status::run(&connection.service);
        observed(begun.as_ref(), bytes, None, (&outcome, false));
        return outcome;
    }
    let Some(session) = connection.session() else {
        let login = observe::within(begun.as_ref(), login::before(connection, command, &body));
        let outcome = Box::pin(login).await;
        observed(begun.as_ref(), bytes, None, (&outcome, false));
        return outcome;
    };
    session.life.hear();
    let memory = connection.peer.memory.clone();
    let concerns = OnceLock::new();
    let request =
        Request { session: session.clone(), memory, in_flight, command, body, data, begun, concerns };
    let begun = request.begun.as_ref();
    let turn = loop {
        match session.replies_to(id, command) {
            None => break None,
            Some(Known::New(turn)) => break Some(turn),
            Some(Known::Answered(outcome)) => {
                observed(begun, bytes, Some(&request), (&outcome, true));
                return outcome;
            }
            Some(Known::Underway) => Box::pin(session.life.replies.finished(id, command)).await,
        }
    };
    let outcome = observe::within(begun, command_of(connection, &request)).await;
    let outcome = outcome.map_err(|code| blame(&request, code));
    if let Some(turn) = turn {
        turn.finish(&outcome);
    }
    observed(begun, bytes, Some(&request), (&outcome, false));
    outcome
}

fn command_name(command: u8) -> Cow<'static, str> {
    command::name(command).map_or_else(|| command.to_string().into(), Cow::Borrowed)
}

/// Tells the observers of a command that has ended. `repeated`: its outcome is out of the replay cache.
fn observed(
    begun: Option<&Begun>,
    bytes_in: usize,
    request: Option<&Request>,
    (outcome, repeated): (&Outcome, bool),
) {
    let Some(begun) = begun else { return };
    let (code, bytes_out) = match outcome {
        Ok(reply) => {
            let data = reply.data.as_ref().map_or(0, vfs::Payload::len);
            (reply.code.unwrap_or(ResultCode::NO_ERROR), reply.head.len() + data)
        }
        Err(code) => (*code, 0),
    };
    let user = request.and_then(|request| request.session.user.name.as_deref());
    let share = request.and_then(|request| request.concerns.get()).map(|volume| &volume.share.name[..]);
    begun.end(&observe::Outcome {
        user: user.unwrap_or_default(),
        share: share.unwrap_or_default(),
        result: &if repeated { "repeated".into() } else { format!("{code:?}") },
        failed: outcome.is_err(),
        bytes_in,
        bytes_out,
    });
}

/// Does what is asked.
async fn command_of(connection: &Arc<Connection>, request: &Request) -> Outcome {
    match request.command {
        // Commands that move data are not boxed: they are the most frequent.
        command::OPEN_FORK
        | command::CLOSE_FORK
        | command::READ
        | command::READ_EXT
        | command::WRITE
        | command::WRITE_EXT
        | command::GET_FORK_PARMS
        | command::SET_FORK_PARMS
        | command::FLUSH_FORK
        | command::SYNC_FORK => fork::run(request).await,
        command::OPEN_VOL
        | command::CLOSE_VOL
        | command::GET_VOL_PARMS
        | command::SET_VOL_PARMS
        | command::FLUSH
        | command::SYNC_DIR => {
            let outcome = Box::pin(volume::run(request)).await;
            if request.command == command::OPEN_VOL {
                session_notices::volumes_opened(&request.session);
            }
            outcome
        }
        command::GET_FILE_DIR_PARMS
        | command::SET_FILE_DIR_PARMS
        | command::SET_FILE_PARMS
        | command::CREATE_FILE
        | command::DELETE
        | command::RENAME
        | command::MOVE_AND_RENAME
        | command::COPY_FILE
        | command::EXCHANGE_FILES => Box::pin(file::run(request)).await,
        command::SET_DIR_PARMS | command::CREATE_DIR | command::OPEN_DIR | command::CLOSE_DIR => {
            Box::pin(directory::run(request)).await
        }
        command::ENUMERATE | command::ENUMERATE_EXT | command::ENUMERATE_EXT2 => {
            Box::pin(enumerate::run(request)).await
        }
        command::CAT_SEARCH | command::CAT_SEARCH_EXT => Box::pin(search::run(request)).await,
        command::CREATE_ID | command::RESOLVE_ID | command::DELETE_ID => Box::pin(id::run(request)).await,
        command::BYTE_RANGE_LOCK | command::BYTE_RANGE_LOCK_EXT => Box::pin(lock::run(request)).await,
        _ => Box::pin(beside_files(connection, request)).await,
    }
}

/// The same for metadata, users and sessions.
async fn beside_files(connection: &Arc<Connection>, request: &Request) -> Outcome {
    match request.command {
        command::OPEN_DT
        | command::CLOSE_DT
        | command::ADD_ICON
        | command::GET_ICON
        | command::GET_ICON_INFO
        | command::ADD_APPL
        | command::REMOVE_APPL
        | command::GET_APPL
        | command::ADD_COMMENT
        | command::GET_COMMENT
        | command::REMOVE_COMMENT => desktop::run(request).await,
        command::GET_EXT_ATTR
        | command::SET_EXT_ATTR
        | command::REMOVE_EXT_ATTR
        | command::LIST_EXT_ATTRS => attribute::run(request).await,
        command::GET_ACL | command::SET_ACL | command::ACCESS => acl::run(request).await,
        command::GET_USER_INFO | command::MAP_ID | command::MAP_NAME => identity::run(request).await,
        command::GET_SRVR_PARMS
        | command::GET_SRVR_MSG
        | command::GET_SESSION_TOKEN
        | command::DISCONNECT_OLD_SESSION
        | command::ZZZ => session_control::run(request).await,
        command::LOGIN
        | command::LOGIN_EXT
        | command::LOGIN_CONT
        | command::LOGOUT
        | command::CHANGE_PASSWORD
        | command::GET_AUTH_METHODS => {
            login::after(connection, &request.session, request.command, &request.body).await
        }
        _ => Err(ResultCode::CALL_NOT_SUPPORTED),
    }
}

/// If a request has two errors, a missing folder counts before errors of later fields.
fn blame(request: &Request, code: ResultCode) -> ResultCode {
    if code != ResultCode::PARAM_ERROR || !is_about_folder(request.command) {
        return code;
    }
    let mut r = request.reader();
    let mut is_gone = || {
        r.skip(1)?;
        let (volume, folder) = (request.volume(r.u16_be()?)?, r.u32_be()?);
        let is_unknown = volume.folder(folder).err() == Some(ResultCode::OBJECT_NOT_FOUND);
        Ok::<_, ResultCode>(folder >= CatalogId::FIRST.0 && is_unknown)
    };
    if is_gone() == Ok(true) { ResultCode::OBJECT_NOT_FOUND } else { code }
}

/// Whether the numbers of a volume and a folder follow the command and one byte.
fn is_about_folder(number: u8) -> bool {
    matches!(
        number,
        command::COPY_FILE
            | command::CREATE_DIR
            | command::CREATE_FILE
            | command::DELETE
            | command::MOVE_AND_RENAME
            | command::OPEN_DIR
            | command::OPEN_FORK
            | command::RENAME
            | command::SET_DIR_PARMS
            | command::SET_FILE_PARMS
            | command::GET_FILE_DIR_PARMS
            | command::SET_FILE_DIR_PARMS
            | command::CREATE_ID
            | command::EXCHANGE_FILES
            | command::ADD_APPL
            | command::REMOVE_APPL
            | command::ADD_COMMENT
            | command::REMOVE_COMMENT
            | command::GET_COMMENT
    )
}

#[cfg(test)]
mod tests;
