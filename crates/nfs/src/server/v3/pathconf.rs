use crate::server::call::Call;
use crate::wire::v3::pathconf::{Request, Res, ResOk};

/// PATHCONF, RFC 1813 3.3.20.
pub(super) fn pathconf(call: &Call<'_>, request: &Request<'_>) -> Res {
    let target = call.target(&request.object)?;
    let limits = target.export.volume.limits();
    Ok(ResOk {
        attributes: target.attributes(),
        linkmax: limits.links,
        name_max: limits.name,
        no_trunc: true,
        chown_restricted: true,
        case_insensitive: false,
        case_preserving: true,
    })
}
