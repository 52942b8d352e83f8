//! DFS_GET_REFERRALS, MS-SMB2 3.3.5.15.2.

use super::{IoctlCall, IoctlOutput};
use crate::server::context::Failure;
use crate::server::dfs;
use crate::wire::Status;
use crate::wire::fsctl::Code;
use crate::wire::fsctl::dfs::{Request, RequestEx};

pub(super) fn referrals(asked: &IoctlCall<'_>) -> Result<IoctlOutput, Failure> {
    asked.without_file()?;
    let context = asked.context;
    if !context.service().config().shares.iter().any(|share| share.options.dfs) {
        return Err(Status::FS_DRIVER_REQUIRED.into()); // the shares are on this server itself
    }
    let (level, path, site) = match asked.request.control_code {
        Code::DFS_GET_REFERRALS => {
            let request = Request::decode(&mut asked.input())?;
            (request.max_referral_level, request.path, None)
        }
        _ => {
            let request = RequestEx::decode(&mut asked.input())?;
            (request.max_referral_level, request.path, request.site)
        }
    };
    if level == 0 {
        return Err(Status::INVALID_PARAMETER.into());
    }
    let site = site.map(|name| String::from_utf16_lossy(&name));
    let referrals = dfs::referrals(context, &context.session().user(), &path, site.as_deref())?;
    let output = IoctlOutput::encoded(|w| referrals.encode(level, w));
    // MS-DFSC 3.2.5.5: the client asks again with more room.
    if output.bytes.len() > asked.room() { Err(Status::BUFFER_OVERFLOW.into()) } else { Ok(output) }
}
