//! Requests of full feature phase: puts them in order and dispatches each one.

use std::sync::Arc;

use conn::{Answer, InFlight, Reservation};
use vfs::Payload;
use wire::Reader;

use super::connection::{Connection, SessionConnection};
use super::limits::MAX_EARLY;
use super::sender::{Pdu, StatSn, header};
use super::session::{Message, Session};
use super::window::CommandAdmission;
use super::{command, data_out, logout, nop, task_management, text};
use crate::wire::pdu::{Lun, NO_TAG, Opcode, Reject, RejectReason};

/// No answer.
pub(super) fn nothing() -> Answer {
    Box::pin(async { None })
}

/// One request.
pub(super) fn take(
    connection: &Arc<Connection>,
    joined: &SessionConnection,
    message: Message,
    in_flight: InFlight,
) -> Answer {
    match message.head.opcode {
        Opcode::DATA_OUT => data_out::take(connection, &message, in_flight),
        Opcode::SNACK => reject(connection, joined, &message, RejectReason::SNACK_REJECT),
        Opcode::NOP_OUT if tag(&message) == NO_TAG => nothing(), // answers a ping of the server
        Opcode::NOP_OUT
        | Opcode::SCSI_COMMAND
        | Opcode::TASK_REQUEST
        | Opcode::TEXT_REQUEST
        | Opcode::LOGOUT_REQUEST => numbered(connection, joined, message, in_flight),
        Opcode::LOGIN_REQUEST => reject(connection, joined, &message, RejectReason::PROTOCOL_ERROR),
        _ => reject(connection, joined, &message, RejectReason::COMMAND_NOT_SUPPORTED),
    }
}

/// Handles a request whose data do not match their digest, RFC 7143 7.8.
pub(super) fn damaged(connection: &Arc<Connection>, joined: &SessionConnection, message: &Message) -> Answer {
    let rejected = reject(connection, joined, message, RejectReason::DATA_DIGEST_ERROR);
    match message.head.opcode {
        Opcode::DATA_OUT => data_out::damaged(connection, message),
        _ => rejected,
    }
}

/// A request that has a place in the order of the session.
fn numbered(
    connection: &Arc<Connection>,
    joined: &SessionConnection,
    message: Message,
    in_flight: InFlight,
) -> Answer {
    let session = &joined.session;
    // Commands begin in their order, also if they arrive over different connections.
    let _one_at_a_time = session.beginning.lock();
    if message.head.immediate {
        let answer = begin(connection, joined, message, in_flight);
        begin_early(session);
        return answer;
    }
    let Some(message) = admitted(connection, session, message) else { return nothing() };
    let answer = begin(connection, joined, message, in_flight);
    begin_early(session);
    answer
}

/// Returns the request if it is the next one. Other requests are kept, up to a limit of data.
fn admitted(connection: &Arc<Connection>, session: &Session, message: Message) -> Option<Message> {
    let mut window = session.window.lock();
    if connection.is_ended() {
        return None; // what its connection has sent is aborted
    }
    let number = cmd_sn(&message);
    let early: usize = window.early().map(|(_, early)| early.data.len()).sum();
    let is_next = number == window.numbers().0;
    let kept = match is_next {
        true => Some(Reservation::default()),
        false => connection.peer.memory.try_keep(message.data.len()),
    };
    let Some(kept) = kept.filter(|_| early + message.data.len() <= MAX_EARLY) else {
        drop(window);
        tracing::debug!(client = %connection.peer.address, "too much data before their turn");
        connection.sender.close();
        return None;
    };
    let message = if is_next { message } else { Message { kept, ..message }.apart() };
    match window.admit(number, (connection.clone(), message)) {
        CommandAdmission::Now((_, message)) => Some(message),
        CommandAdmission::Later | CommandAdmission::Ignored => None,
    }
}

/// Begins early requests whose turn has come.
fn begin_early(session: &Session) {
    loop {
        let Some((connection, message)) = session.window.lock().next() else { return };
        if connection.is_ended() {
            session.window.lock().over();
            continue;
        }
        if let Some(joined) = connection.joined.get() {
            let answer = begin(&connection, joined, message, InFlight::default());
            tokio::spawn(async move {
                answer.await;
                connection.sender.flush();
            });
        }
    }
}

/// A request whose turn it is.
fn begin(
    connection: &Arc<Connection>,
    joined: &SessionConnection,
    message: Message,
    in_flight: InFlight,
) -> Answer {
    match message.head.opcode {
        Opcode::SCSI_COMMAND => return command::take(connection, joined, &message, in_flight),
        Opcode::NOP_OUT => nop::answer(connection, joined, message.header, &message.data),
        Opcode::TASK_REQUEST => return task_management::take(connection, &message),
        Opcode::TEXT_REQUEST => text::answer(connection, joined, &message),
        Opcode::LOGOUT_REQUEST => logout::answer(connection, joined, &message),
        _ => {}
    }
    if !message.head.immediate {
        joined.session.window.lock().over();
    }
    nothing()
}

/// Rejects a PDU, RFC 7143 11.17.
pub(super) fn reject(
    connection: &Arc<Connection>,
    joined: &SessionConnection,
    message: &Message,
    reason: RejectReason,
) -> Answer {
    let mut w = header();
    Reject { reason, data_sn: 0 }.encode(message.header.len(), &mut w);
    let data = Some(Payload::Bytes(message.header.to_vec()));
    let pdu = Pdu { header: w.into_bytes(), stat_sn: StatSn::Own, data };
    connection.sender.queue(pdu, || joined.session.numbers());
    nothing()
}

/// The initiator's tag of a request.
pub(super) fn tag(message: &Message) -> u32 {
    number_at(message, 16)
}

pub(super) fn cmd_sn(message: &Message) -> u32 {
    number_at(message, 24)
}

fn number_at(message: &Message, at: usize) -> u32 {
    message.header.get(at..at + 4).map_or(0, |bytes| Reader::new(bytes).u32_be().unwrap_or(0))
}

/// The unit of a SCSI command; `None` for other requests.
pub(super) fn command_for(message: &Message) -> Option<Lun> {
    let lun = message.header.get(8..16).and_then(|lun| lun.try_into().ok()).map(Lun);
    lun.filter(|_| message.head.opcode == Opcode::SCSI_COMMAND)
}
