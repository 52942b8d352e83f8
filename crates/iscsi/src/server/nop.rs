//! NOP-Out and NOP-In, RFC 7143 11.18 and 11.19: checks whether the peer answers.

use std::sync::Arc;

use vfs::Payload;
use wire::Reader;

use super::connection::{Connection, SessionConnection};
use super::sender::{Pdu, StatSn, header};
use super::session::DecodedRequest;
use crate::wire::pdu::{Lun, NO_TAG, NopIn, NopOut};

/// Returns the initiator's data, up to the length that it accepts.
pub(super) fn answer(connection: &Arc<Connection>, joined: &SessionConnection, message: &DecodedRequest) {
    let Ok(request) = NopOut::decode(&mut Reader::new(&message.header)) else { return };
    let length = message.data.len().min(joined.their_max_data() as usize);
    let mut w = header();
    NopIn { lun: request.lun, task_tag: request.task_tag, transfer_tag: NO_TAG }.encode(length, &mut w);
    let data = Some(Payload::Bytes(message.data[..length].to_vec()));
    let pdu = Pdu { header: w.into_bytes(), stat_sn: StatSn::Own, data };
    connection.sender.queue(pdu, || joined.session.numbers());
}

/// Asks the initiator for an answer.
pub(super) fn ping(connection: &Connection, joined: &SessionConnection) {
    let mut w = header();
    NopIn { lun: Lun::of(0), task_tag: NO_TAG, transfer_tag: 1 }.encode(0, &mut w);
    let pdu = Pdu { header: w.into_bytes(), stat_sn: StatSn::Next, data: None };
    connection.sender.send(pdu, || joined.session.numbers());
}
