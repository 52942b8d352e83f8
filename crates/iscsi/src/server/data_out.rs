//! Data-Out, RFC 7143 11.7.

use std::sync::Arc;

use conn::{Answer, InFlight, observe};
use wire::Reader;

use super::command::{ask, ask_waiting, go_on, write};
use super::connection::Connection;
use super::full_feature::{nothing, reject};
use super::scsi::CommandRefusal;
use super::session::DecodedRequest;
use super::task::ScsiTask;
use super::transfer::{Piece, UnexpectedData};
use crate::wire::pdu::{DataOut, NO_TAG, RejectReason};
use crate::wire::scsi::{Asc, Key, Sense};

/// Takes data for a command.
pub(super) fn take(connection: &Arc<Connection>, message: &DecodedRequest, in_flight: InFlight) -> Answer {
    let Some(joined) = connection.joined.get() else { return nothing() };
    let Ok(pdu) = DataOut::decode(&mut Reader::new(&message.header)) else { return nothing() };
    let Some(task) = connection.task(pdu.task_tag) else {
        if connection.was_aborted(pdu.task_tag) {
            return nothing();
        }
        return reject(connection, joined, message, RejectReason::INVALID_PDU_FIELD);
    };
    let Ok(piece) = accept(connection, &task, &pdu, message) else {
        return reject(connection, joined, message, RejectReason::PROTOCOL_ERROR);
    };
    ask(connection, &task);
    ask_waiting(connection);
    let connection = connection.clone();
    Box::pin(async move {
        task.declare(&in_flight).await;
        let part = async {
            if let Some(piece) = piece {
                write(&task, piece).await;
            }
            go_on(&connection, &task).await;
        };
        observe::within(task.begun.get(), part).await;
        None
    })
}

/// The part of the data that is to be written now.
fn accept(
    connection: &Connection,
    task: &ScsiTask,
    pdu: &DataOut,
    message: &DecodedRequest,
) -> Result<Option<Piece>, UnexpectedData> {
    let mut state = task.state.lock();
    let piece = state.transfer.data_out(pdu, message.data.clone())?;
    if pdu.transfer_tag != NO_TAG {
        let came = state.solicited.min(message.data.len() as u64);
        state.solicited -= came;
        connection.solicited.give_back(came, 0);
    }
    if state.early.is_none() {
        return Ok(piece);
    }
    if let Some(piece) = piece {
        connection.keep(&mut state, piece.data.len());
        state.early.get_or_insert_default().push(piece.apart());
    }
    Ok(None)
}

/// Handles data that do not match their digest: the command fails once the sequence has arrived,
/// RFC 7143 7.8.
pub(super) fn damaged(connection: &Arc<Connection>, message: &DecodedRequest) -> Answer {
    let Ok(pdu) = DataOut::decode(&mut Reader::new(&message.header)) else { return nothing() };
    let Some(task) = connection.task(pdu.task_tag) else { return nothing() };
    let why = Sense::new(Key::ABORTED_COMMAND, Asc::PROTOCOL_SERVICE_CRC_ERROR);
    task.state.lock().transfer.fail(CommandRefusal::Check(why));
    // The data count as received: the header, which says where the sequence ends, is right. No data
    // of a failed command are written.
    let _ = accept(connection, &task, &pdu, message);
    let connection = connection.clone();
    Box::pin(async move {
        go_on(&connection, &task).await;
        None
    })
}
