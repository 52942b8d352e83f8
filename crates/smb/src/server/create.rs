//! CREATE, MS-SMB2 3.3.5.9.

use super::context::{Context, Outcome};
use crate::wire::Status;

pub(super) async fn run(context: &Context) -> Outcome {
    let _open = context.tree()?;
    Err(Status::NOT_SUPPORTED.into())
}
