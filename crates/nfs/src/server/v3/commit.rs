use crate::server::call::Call;
use crate::wire::v3::commit::{Request, Res, ResOk};

/// COMMIT, RFC 1813 3.3.21. The whole file is put on the disk, whatever range is asked for.
pub(super) async fn commit(call: &Call<'_>, request: &Request<'_>) -> Res {
    let target = call.target(&request.file)?;
    match target.export.volume.sync(&target.found).await {
        Ok(change) => Ok(ResOk { wcc: target.wcc(&change), verifier: call.service.verifier }),
        Err(error) => Err(target.fail(error)),
    }
}
