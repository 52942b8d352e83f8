//! Requests of full feature phase: puts them in order and dispatches each one.

use std::sync::Arc;

use conn::{Answer, InFlight, Reservation};
use vfs::Payload;

use super::connection::{Connection, SessionConnection};
use super::limits::MAX_EARLY;
use super::sender::{Pdu, StatSn, header};
use super::session::{DecodedRequest, Session};
use super::window::CommandAdmission;
use super::{command, data_out, logout, nop, task_management, text};
use crate::wire::pdu::{NO_TAG, Opcode, Reject, RejectReason};

/// No answer.
pub(super) fn nothing() -> Answer {
    Box::pin(async { None })
}

/// One request. Most have a place in the order of the session.
pub(super) fn take(
    connection: &Arc<Connection>,
    joined: &SessionConnection,
    message: DecodedRequest,
    in_flight: InFlight,
) -> Answer {
    match message.head.opcode {
        Opcode::DATA_OUT => return data_out::take(connection, &message, in_flight),
        Opcode::SNACK => return reject(connection, joined, &message, RejectReason::SNACK_REJECT),
        Opcode::NOP_OUT if message.fields.task_tag == NO_TAG => return nothing(), // answers a ping of the server
        Opcode::NOP_OUT
        | Opcode::SCSI_COMMAND
        | Opcode::TASK_REQUEST
        | Opcode::TEXT_REQUEST
        | Opcode::LOGOUT_REQUEST => {}
        Opcode::LOGIN_REQUEST => return reject(connection, joined, &message, RejectReason::PROTOCOL_ERROR),
        _ => return reject(connection, joined, &message, RejectReason::COMMAND_NOT_SUPPORTED),
    }
    let session = &joined.session;
    // Commands begin in their order, also if they arrive over different connections.
    let _one_at_a_time = session.beginning.lock();
    if !message.head.immediate && !is_next(connection, session, &message) {
        return nothing();
    }
    let answer = begin(connection, joined, &message, in_flight);
    begin_early(session);
    answer
}

/// Handles a request whose data do not match their digest, RFC 7143 7.8.
pub(super) fn damaged(
    connection: &Arc<Connection>,
    joined: &SessionConnection,
    message: &DecodedRequest,
) -> Answer {
    let rejected = reject(connection, joined, message, RejectReason::DATA_DIGEST_ERROR);
    match message.head.opcode {
        Opcode::DATA_OUT => data_out::damaged(connection, message),
        _ => rejected,
    }
}

/// Whether a request is the next one. Copies of early requests are kept, up to a limit of data.
fn is_next(connection: &Arc<Connection>, session: &Session, message: &DecodedRequest) -> bool {
    let mut window = session.window.lock();
    if connection.is_ended() {
        return false; // what its connection has sent is aborted
    }
    let number = message.fields.cmd_sn;
    let early: usize = window.early().map(|(_, early)| early.data.len()).sum();
    let kept = match number == window.numbers().0 {
        true => Some(Reservation::default()),
        false => connection.peer.memory.try_keep(message.data.len()),
    };
    let Some(kept) = kept.filter(|_| early + message.data.len() <= MAX_EARLY) else {
        drop(window);
        tracing::debug!(client = %connection.peer.address, "too much data before their turn");
        connection.sender.close();
        return false;
    };
    window.admit(number, || (connection.clone(), message.copy(kept))) == CommandAdmission::Now
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
            let answer = begin(&connection, joined, &message, InFlight::default());
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
    message: &DecodedRequest,
    in_flight: InFlight,
) -> Answer {
    match message.head.opcode {
        Opcode::SCSI_COMMAND => return command::take(connection, joined, message, in_flight),
        Opcode::NOP_OUT => nop::answer(connection, joined, message),
        Opcode::TASK_REQUEST => return task_management::take(connection, message),
        Opcode::TEXT_REQUEST => text::answer(connection, joined, message),
        Opcode::LOGOUT_REQUEST => logout::answer(connection, joined, message),
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
    message: &DecodedRequest,
    reason: RejectReason,
) -> Answer {
    let mut w = header();
    Reject { reason, data_sn: 0 }.encode(message.header.len(), &mut w);
    let data = Some(Payload::Bytes(message.header.to_vec()));
    let pdu = Pdu { header: w.into_bytes(), stat_sn: StatSn::Own, data };
    connection.sender.queue(pdu, || joined.session.numbers());
    nothing()
}
