//! Maps commands to functions. Numbers are those of the Apple Filing Protocol Reference, "AFP
//! Commands".

use std::borrow::Cow;
use std::pin::pin;
use std::sync::{Arc, OnceLock};

use bytes::{Buf, Bytes};
use conn::InFlight;
use conn::observe::{self, RunningOperation};

use super::connection::{Connection, ConnectionState};
use super::reply::Outcome;
use super::request::Request;
use super::status;
use crate::catalogue::CatalogId;
use crate::server::files::fork::EarlyForkWrite;
use crate::server::files::{acl, attribute, directory, enumerate, file, fork, identity, lock};
use crate::server::sessions::session_replies::RequestState;
use crate::server::sessions::{login, session_control, session_notices};
use crate::server::volumes::{desktop, id, search, volume};
use crate::wire::ResultCode;
use crate::wire::command::{self, Family, InFolder};

/// Runs the command at the start of `body`, with the data behind it.
pub(super) async fn run(
    connection: &Arc<Connection>,
    id: u16,
    (mut body, data): (Bytes, Bytes),
    early: Option<EarlyForkWrite>,
    in_flight: InFlight,
) -> Outcome {
    let session = match connection.state() {
        ConnectionState::Fresh | ConnectionState::Closed => return Err(ResultCode::SESSION_CLOSED),
        ConnectionState::Open => None,
        ConnectionState::LoggedIn(session) => Some(session),
    };
    if body.is_empty() {
        return Err(ResultCode::PARAM_ERROR);
    }
    let bytes = body.len() + data.len();
    let command = body.get_u8();
    let begun = observe::begin("afp", connection.peer.address, || command_name(command));
    if command == command::GET_SRVR_INFO {
        let outcome = status::run(&connection.service, connection.transport);
        observed(begun.as_ref(), bytes, None, (&outcome, false));
        return outcome;
    }
    let Some(session) = session else {
        let login = Box::pin(login::before(connection, command, &body));
        let outcome = observe::within(begun.as_ref(), login).await;
        observed(begun.as_ref(), bytes, None, (&outcome, false));
        return outcome;
    };
    session.life.hear();
    let memory = connection.peer.memory.clone();
    let transport = connection.transport;
    let (concerns, acting) = (OnceLock::new(), OnceLock::new());
    let session_of = session.clone();
    let request = Request {
        session: session_of,
        transport,
        memory,
        in_flight,
        command,
        body,
        data,
        early,
        begun,
        concerns,
        acting,
    };
    let begun = request.begun.as_ref();
    let turn = loop {
        match session.replies_to(id, command) {
            None => break None,
            Some(RequestState::New(turn)) => break Some(turn),
            Some(RequestState::Answered(outcome)) => {
                observed(begun, bytes, Some(&request), (&outcome, true));
                return outcome;
            }
            Some(RequestState::Underway) => Box::pin(session.life.replies.finished(id, command)).await,
        }
    };
    let outcome = observe::within(begun, pin!(command_of(connection, &request))).await;
    let outcome = outcome.map_err(|code| blame(&request, code));
    if let Some(turn) = turn {
        turn.finish(&outcome);
    }
    observed(begun, bytes, Some(&request), (&outcome, false));
    outcome
}

fn command_name(command: u8) -> Cow<'static, str> {
    command::properties(command).name.map_or_else(|| command.to_string().into(), Cow::Borrowed)
}

/// Tells the observers of a command that has ended. `repeated`: its outcome is out of the replay cache.
fn observed(
    begun: Option<&RunningOperation>,
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

/// Does what is asked. Commands that move data are not boxed: they are the most frequent.
async fn command_of(connection: &Arc<Connection>, request: &Request) -> Outcome {
    if !request.transport.has(request.command, request.version()) {
        return Err(ResultCode::CALL_NOT_SUPPORTED);
    }
    match command::properties(request.command).family {
        Family::Fork => fork::run(request).await,
        Family::Volume => {
            let outcome = Box::pin(volume::run(request)).await;
            if request.command == command::OPEN_VOL {
                session_notices::volumes_opened(&request.session);
            }
            outcome
        }
        Family::File => Box::pin(file::run(request)).await,
        Family::Directory => Box::pin(directory::run(request)).await,
        Family::Enumerate => Box::pin(enumerate::run(request)).await,
        Family::Search => Box::pin(search::run(request)).await,
        Family::Id => Box::pin(id::run(request)).await,
        Family::Lock => Box::pin(lock::run(request)).await,
        Family::Desktop => Box::pin(desktop::run(request)).await,
        Family::Attribute => Box::pin(attribute::run(request)).await,
        Family::Acl => Box::pin(acl::run(request)).await,
        Family::Identity => Box::pin(identity::run(request)).await,
        Family::Session => Box::pin(session_control::run(request)).await,
        Family::Login => {
            let after = login::after(connection, &request.session, request.command, &request.body);
            Box::pin(after).await
        }
        Family::Other => Err(ResultCode::CALL_NOT_SUPPORTED),
    }
}

/// If a request has two errors, a missing folder counts before errors of later fields.
fn blame(request: &Request, code: ResultCode) -> ResultCode {
    if code != ResultCode::PARAM_ERROR || !command::properties(request.command).in_folder {
        return code;
    }
    let is_gone = || {
        let InFolder { volume, folder } = InFolder::decode(&mut request.reader())?;
        let is_unknown = request.volume(volume)?.folder(folder).err() == Some(ResultCode::OBJECT_NOT_FOUND);
        Ok::<_, ResultCode>(folder >= CatalogId::FIRST.0 && is_unknown)
    };
    if is_gone() == Ok(true) { ResultCode::OBJECT_NOT_FOUND } else { code }
}

#[cfg(test)]
mod tests;
