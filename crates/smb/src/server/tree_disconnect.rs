//! TREE_DISCONNECT, MS-SMB2 3.3.5.8.

use super::context::{Context, Outcome, Reply};
use crate::wire::tree_disconnect;

pub(super) async fn run(context: &Context) -> Outcome {
    tree_disconnect::Request::decode(&context.message)?;
    let (session, tree) = (context.session()?, context.tree()?);
    session.disconnect_tree(tree);
    Ok(Reply::encoded(|w| tree_disconnect::Response.encode(w)))
}
