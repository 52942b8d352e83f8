//! LOGOFF, MS-SMB2 3.3.5.6.

use crate::server::context::{Context, Outcome, Reply, SessionScope};
use crate::wire::logoff;

pub(in crate::server) async fn run(context: &Context<SessionScope>) -> Outcome {
    logoff::Request::decode(&context.message)?;
    let session = context.session();
    context.service().end_session(session);
    Ok(Reply::encoded(|w| logoff::Response.encode(w)))
}
