//! What keeps a session alive, Apple Filing Protocol Reference, FPGetSessionToken, FPDisconnectOldSession, FPZzz, FPGetSrvrMsg.

use super::request::{Outcome, Request};
use crate::wire::ResultCode;

/// Runs a command of this family.
pub(super) async fn run(request: &Request) -> Outcome {
    match request.command {
        _ => Err(ResultCode::CALL_NOT_SUPPORTED),
    }
}
