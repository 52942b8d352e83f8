//! Logout, RFC 7143 6.3.7 and 11.14; and asking initiators for it.

use std::sync::Arc;

use wire::Reader;

use super::connection::{Connection, SessionConnection};
use super::sender::{Pdu, StatSn, header};
use super::session::DecodedRequest;
use crate::wire::pdu::{
    AsyncEvent, AsyncMessage, LogoutReason, LogoutRequest, LogoutResponse, LogoutResult, Lun,
};

/// How many seconds initiators have for a requested logout.
pub(super) const LOGOUT_WITHIN_S: u16 = 3;

/// Closes the session or one of its connections, and responds.
pub(super) fn answer(connection: &Arc<Connection>, joined: &SessionConnection, message: &DecodedRequest) {
    let Ok(request) = LogoutRequest::decode(&mut Reader::new(&message.header)) else { return };
    let session = &joined.session;
    let result = match request.reason {
        LogoutReason::CLOSE_SESSION => LogoutResult::CLOSED,
        LogoutReason::CLOSE_CONNECTION if session.connection(request.cid).is_some() => LogoutResult::CLOSED,
        LogoutReason::CLOSE_CONNECTION => LogoutResult::CID_NOT_FOUND,
        // RFC 7143 11.15.1: this needs error recovery level 2.
        _ => LogoutResult::RECOVERY_NOT_SUPPORTED,
    };
    if result == LogoutResult::CLOSED {
        let closes_all = request.reason == LogoutReason::CLOSE_SESSION;
        let closed = session
            .connections()
            .into_iter()
            .filter(|other| closes_all || other.joined.get().is_some_and(|joined| joined.cid == request.cid));
        for other in closed {
            other.set_logged_out();
            other.end_tasks();
        }
    }
    let mut w = header();
    let (time2wait_s, time2retain_s) = (session.parameters.time2wait_s, 0); // no task is retained
    LogoutResponse { result, task_tag: request.task_tag, time2wait_s, time2retain_s }.encode(0, &mut w);
    let pdu = Pdu { header: w.into_bytes(), stat_sn: StatSn::Own, data: None };
    connection.sender.queue(pdu, || session.numbers());
    match (result, request.reason) {
        (LogoutResult::CLOSED, LogoutReason::CLOSE_SESSION) => connection.service.end(session),
        (LogoutResult::CLOSED, _) => {
            if let Some(other) = session.connection(request.cid) {
                other.sender.finish();
            }
        }
        _ => {}
    }
}

/// Asks the initiator to log out, because the server shuts down (RFC 7143 11.9, event 1).
pub(super) fn ask_for(connection: &Connection, joined: &SessionConnection) {
    let parameters = [0, 0, LOGOUT_WITHIN_S];
    tell(
        connection,
        joined,
        AsyncMessage { lun: Lun::of(0), event: AsyncEvent::LOGOUT_REQUESTED, vendor_code: 0, parameters },
    );
}

/// Tells the initiator that the target ends the session (event 3).
pub(super) fn say_dropped(connection: &Connection, joined: &SessionConnection) {
    let parameters = [0, joined.session.parameters.time2wait_s, 0];
    tell(
        connection,
        joined,
        AsyncMessage { lun: Lun::of(0), event: AsyncEvent::SESSION_DROPPED, vendor_code: 0, parameters },
    );
}

fn tell(connection: &Connection, joined: &SessionConnection, message: AsyncMessage) {
    let mut w = header();
    message.encode(0, &mut w);
    let pdu = Pdu { header: w.into_bytes(), stat_sn: StatSn::Own, data: None };
    connection.sender.send(pdu, || joined.session.numbers());
}
