//! Text Requests of full feature phase, RFC 7143 11.10.

use std::sync::Arc;

use super::connection::{Connection, Joined};
use super::full_feature::reject;
use super::session::Message;
use crate::wire::pdu::RejectReason;

/// Answers what can be asked by text.
pub(super) fn answer(connection: &Arc<Connection>, joined: &Joined, message: &Message) {
    let _ = reject(connection, joined, message, RejectReason::COMMAND_NOT_SUPPORTED);
}
