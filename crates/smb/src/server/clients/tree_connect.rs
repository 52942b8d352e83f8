//! TREE_CONNECT, MS-SMB2 3.3.5.7.

use super::grants::grant;
use super::tree::Tree;
use crate::server::config::{Dialect, ShareKind};
use crate::server::context::{Context, Outcome, Reply, ResponseExtras, SessionScope};
use crate::server::homes::home;
use crate::wire::Status;
use crate::wire::header::Flags;
use crate::wire::security::AccessMask;
use crate::wire::tree_connect::{Request, Response, ShareCapabilities, ShareFlags, ShareType};

/// All rights that change nothing.
const READ_ONLY: AccessMask = AccessMask(AccessMask::FILE_READ.0 | AccessMask::FILE_EXECUTE.0);
/// The longest name of a share, in UTF-16 units.
const MAX_NAME: usize = 80;

pub(in crate::server) async fn run(context: &Context<SessionScope>) -> Outcome {
    let request = Request::decode(&context.message)?;
    let session = context.session();
    let user = session.user();
    let must_sign = session.dialect == Dialect::V3_1_1 && user.has_account();
    if must_sign && !context.sealed && !context.header.flags.contains(Flags::SIGNED) {
        // MS-SMB2 3.3.5.7: an unsigned one may come from somebody in the middle.
        context.connection.close();
        return Err(Status::ACCESS_DENIED.into());
    }
    let name = share_name(&request.path)?;
    let share = match context.service().share(&name) {
        Some(share) => share,
        None => home(context.service(), &user, &name).await.ok_or(Status::BAD_NETWORK_NAME)?,
    };
    let grant = grant(&share, &user, context.connection.peer.address.ip()).ok_or(Status::ACCESS_DENIED)?;
    if let ShareKind::Disk { volume, .. } = &share.kind {
        // The share's folder does not exist any more.
        volume.root().map_err(|_| Status::BAD_NETWORK_NAME)?;
    }
    let require_encryption = share.options.require_encryption;
    if require_encryption && session.sealer.is_none() {
        return Err(Status::ACCESS_DENIED.into()); // the client's dialect has no encryption
    }
    let tree = session.trees.add(|id| Tree::new(id, share.clone(), grant))?;
    let response = describe(&tree, session.dialect);
    let also = ResponseExtras { tree_id: Some(tree.id), ..ResponseExtras::default() };
    Ok(Reply { also: Some(Box::new(also)), ..Reply::encoded(|w| response.encode(w)) })
}

/// `share` of `\\server\share`.
fn share_name(path: &[u16]) -> Result<String, Status> {
    let path = String::from_utf16(path).map_err(|_| Status::BAD_NETWORK_NAME)?;
    let path = path.trim_end_matches('\0');
    let rest = path.strip_prefix("\\\\").ok_or(Status::BAD_NETWORK_NAME)?;
    let (_server, share) = rest.split_once('\\').ok_or(Status::BAD_NETWORK_NAME)?;
    match share.is_empty() || share.contains('\\') || share.encode_utf16().count() > MAX_NAME {
        true => Err(Status::BAD_NETWORK_NAME),
        false => Ok(share.to_owned()),
    }
}

fn describe(tree: &Tree, dialect: Dialect) -> Response {
    let share = &tree.share;
    let mut share_flags = ShareFlags::NONE;
    if tree.require_encryption {
        share_flags |= ShareFlags::ENCRYPT_DATA;
    }
    let share_type = match share.kind {
        ShareKind::Pipes => {
            share_flags |= ShareFlags::NO_CACHING;
            ShareType::PIPE
        }
        ShareKind::Disk { .. } => ShareType::DISK,
    };
    let mut capabilities = ShareCapabilities::NONE;
    if tree.share.options.dfs {
        share_flags |= ShareFlags::DFS | ShareFlags::DFS_ROOT;
        capabilities |= ShareCapabilities::DFS;
    }
    if tree.share.options.witnessed && dialect.is_v3() {
        // Not SCALEOUT: clients of such a share do not cache listings, which leases keep right here (3.2.4.3.8).
        capabilities |= ShareCapabilities::CLUSTER;
    }
    if tree.share.options.continuous && dialect.is_v3() {
        capabilities |= ShareCapabilities::CONTINUOUS_AVAILABILITY;
    }
    let maximal_access = if tree.read_only { READ_ONLY } else { AccessMask::FILE_ALL };
    Response { share_type, share_flags, capabilities, maximal_access: maximal_access.0 }
}
