//! Listings, Apple Filing Protocol Reference, FPEnumerate, FPEnumerateExt, FPEnumerateExt2.

use super::request::{Outcome, Request};
use crate::wire::ResultCode;

/// Runs a command of this family.
pub(super) async fn run(request: &Request) -> Outcome {
    match request.command {
        _ => Err(ResultCode::CALL_NOT_SUPPORTED),
    }
}
