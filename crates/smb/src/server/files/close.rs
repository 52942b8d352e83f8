//! CLOSE, MS-SMB2 3.3.5.10.

use crate::server::clients::durable::inherited;
use crate::server::context::{Context, Outcome, Reply};
use crate::wire::close::{Flags, Request, Response};
use crate::wire::values::NetworkOpen;

pub(in crate::server) async fn run(context: &Context) -> Outcome {
    let request = Request::decode(&context.message)?;
    let open = context.open(request.file).await?;
    let mut response = Response { flags: Flags::NONE, info: NetworkOpen::default() };
    if request.flags.contains(Flags::POSTQUERY_ATTRIB)
        && let Ok(facts) = context.facts(&open).await
    {
        response = Response { flags: Flags::POSTQUERY_ATTRIB, info: facts.network_open() };
    }
    if let Ok(file) = open.file()
        && file.unlinks()
        && let Err(error) = file.open.unlink()
    {
        tracing::debug!(%error, "a file that stays until its last open is closed");
    }
    context.session().opens.remove(open.key);
    let (key, is_persistent) = (open.key, open.is_persistent());
    let closed = open.file().ok().map(|file| (file.open.volume().clone(), file.open.node().id()));
    drop(open); // which closes it, unless another request uses it still
    if let Some((volume, file)) = closed {
        volume.closed_everywhere(file).await;
    }
    if is_persistent {
        inherited::arrived(context).await; // else it could come to life at the successor, and refuse others
    }
    Ok(Reply { file: Some(key), ..Reply::encoded(|w| response.encode(w)) })
}
