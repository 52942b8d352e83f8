//! TREE_DISCONNECT, MS-SMB2 3.3.5.8.

use std::sync::Arc;

use super::context::{Context, Outcome, Reply};
use crate::wire::tree_disconnect;

pub(super) async fn run(context: &Context) -> Outcome {
    tree_disconnect::Request::decode(&context.message)?;
    let (session, tree) = (context.session()?, context.tree()?);
    session.trees.remove(tree.id);
    drop(session.opens.take(|open| Arc::ptr_eq(&open.tree, tree)));
    Ok(Reply::encoded(|w| tree_disconnect::Response.encode(w)))
}
