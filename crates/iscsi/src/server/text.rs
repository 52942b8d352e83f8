//! Text Requests of full feature phase, RFC 7143 11.10.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use vfs::Payload;
use wire::Reader;

use super::connection::{Connection, SessionConnection};
use super::full_feature::reject;
use super::login::{ConnectionEnds, SessionKind, TextSender};
use super::sender::{Pdu, StatSn, header};
use super::session::DecodedRequest;
use crate::wire::pdu::{RejectReason, TextRequest};

/// Answers a Text Request.
pub(super) fn answer(connection: &Arc<Connection>, joined: &SessionConnection, message: &DecodedRequest) {
    let Ok(request) = TextRequest::decode(&mut Reader::new(&message.header)) else { return };
    let session = &joined.session;
    let kind = session.target.clone().map_or(SessionKind::Discovery, SessionKind::Normal);
    let asker = TextSender {
        gate: &*connection.service,
        peer: ConnectionEnds { address: connection.peer.address, local: connection.local },
        name: &session.nexus.initiator.name,
        account: session.user.as_deref(),
        kind: &kind,
    };
    let mut parameters = joined.parameters.clone();
    parameters.their_max_data = joined.their_max_data();
    let answered = joined.texts.lock().answer(&request, &message.data, &asker, &mut parameters);
    joined.their_max_data.store(parameters.their_max_data, Ordering::Relaxed);
    let (response, text) = match answered {
        Ok(answer) => answer,
        Err(reason) => return refuse(connection, joined, message, reason),
    };
    let mut w = header();
    response.encode(text.len(), &mut w);
    let pdu = Pdu { header: w.into_bytes(), stat_sn: StatSn::Own, data: Some(Payload::Bytes(text)) };
    connection.sender.queue(pdu, || session.numbers());
}

fn refuse(
    connection: &Arc<Connection>,
    joined: &SessionConnection,
    message: &DecodedRequest,
    reason: RejectReason,
) {
    drop(reject(connection, joined, message, reason)); // the answer has no work left
}
