//! ECHO, MS-SMB2 3.3.5.17.

use super::context::{Context, Outcome, Reply};
use crate::wire::echo;

pub(super) async fn run<S>(context: &Context<S>) -> Outcome {
    echo::Request::decode(&context.message)?;
    Ok(Reply::encoded(|w| echo::Response.encode(w)))
}
