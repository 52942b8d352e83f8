//! What the server says of itself before anybody logs in, Apple Filing Protocol Reference, FPGetSrvrInfo.

use super::request::{Outcome, Reply};
use super::service::Service;

/// The block of server information.
pub(super) fn run(_service: &Service) -> Outcome {
    Ok(Reply::empty())
}
