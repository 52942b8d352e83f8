//! SESSION_SETUP, MS-SMB2 3.3.5.5.

use super::context::{Context, Outcome};
use crate::wire::Status;

/// Logins under way on one connection.
#[derive(Default)]
pub(super) struct Logins;

pub(super) async fn run(context: &Context) -> Outcome {
    let _ = context.service();
    Err(Status::NOT_SUPPORTED.into())
}
