//! Folders, Apple Filing Protocol Reference, FPCreateDir, FPOpenDir …

use super::request::{Outcome, Request};
use crate::wire::ResultCode;

/// Runs a command of this family.
pub(super) async fn run(request: &Request) -> Outcome {
    match request.command {
        _ => Err(ResultCode::CALL_NOT_SUPPORTED),
    }
}
