//! TREE_DISCONNECT, MS-SMB2 3.3.5.8.

use crate::server::context::{Context, Outcome, Reply};
use crate::wire::tree_disconnect;

pub(in crate::server) async fn run(context: &Context) -> Outcome {
    tree_disconnect::Request::decode(&context.message)?;
    let (session, tree) = (context.session(), context.tree());
    session.disconnect_tree(tree);
    Ok(Reply::encoded(|w| tree_disconnect::Response.encode(w)))
}
