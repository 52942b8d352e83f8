//! Links of a namespace as roots of file systems that are on other servers, RFC 7530 8.4 and RFC 8881 11.4: a client finds such
//! a root by LOOKUP and READDIR, is refused by NFS4ERR_MOVED, asks for `fs_locations`, and mounts what it is told.

use namespace::{Client, Protocol, Referral, Target as Elsewhere};
use vfs::Kind;
use vfs::backend::Found;
use wire::Writer;

use super::attributes::{REFERRALS, number};
use super::place::HandleTarget;
use crate::server::call::Call;
use crate::server::v3::Target;
use crate::wire::v4::attributes::*;
use crate::wire::v4::files::CompoundOperation;
use crate::wire::v4::locations::{FsLocation, FsLocations, write};
use crate::wire::v4::types::{Bitmap, Status};

/// The attributes of a file system that is not here, RFC 7530 8.3.1.
const ABSENT: &[u32] = &[FSID, RDATTR_ERROR, FS_LOCATIONS, MOUNTED_ON_FILEID];

/// Where a place leads, if it is the root of a file system of other servers.
pub(super) fn of_place(call: &Call<'_>, place: &HandleTarget) -> Option<Referral> {
    match place {
        HandleTarget::File(target) if target.sidecar.is_none() => of(call, target, &target.found),
        _ => None,
    }
}

/// The same of a file in a share.
pub(super) fn of(call: &Call<'_>, share: &Target, found: &Found) -> Option<Referral> {
    let links = share.export.options.links.as_ref().filter(|_| found.attributes.kind == Kind::Link)?;
    links.refer(&found.object.read_link().ok()?, Protocol::Nfs, Client::at(call.origin.address))
}

/// Whether the operation needs the file system of the current handle to be here.
pub(super) fn needs_presence(operation: &CompoundOperation<'_>) -> bool {
    matches!(
        operation,
        CompoundOperation::GetHandle(())
            | CompoundOperation::LookUp(_)
            | CompoundOperation::Access(_)
            | CompoundOperation::ReadLink(())
            | CompoundOperation::ReadDir(_)
            | CompoundOperation::Read(_)
            | CompoundOperation::Write(_)
            | CompoundOperation::Commit(_)
            | CompoundOperation::Open(_)
            | CompoundOperation::Create(_)
            | CompoundOperation::Remove(_)
            | CompoundOperation::Rename(_)
            | CompoundOperation::Link(_)
            | CompoundOperation::SetAttr(_)
            | CompoundOperation::Verify(_)
            | CompoundOperation::DiffersFrom(_)
            | CompoundOperation::SecInfo(_)
            | CompoundOperation::OpenAttributes(_)
            | CompoundOperation::Lock(_)
            | CompoundOperation::LockTest(_)
            | CompoundOperation::Unlock(_)
    )
}

/// Writes the attributes of such a root, RFC 7530 8.3.1: NFS4ERR_MOVED if others are wanted, too, unless the client can be told so.
pub(super) fn put_attributes(
    call: &Call<'_>,
    (share, found): (&Target, &Found),
    referral: &Referral,
    wanted: &Bitmap,
    w: &mut Writer,
) -> Result<(), Status> {
    let absent = Bitmap::of(ABSENT);
    let wants_more = wanted.union(&absent) != absent;
    let can_be_told = wanted.has(RDATTR_ERROR) || wanted.has(FS_LOCATIONS);
    if wants_more && !can_be_told {
        return Err(Status::MOVED);
    }
    let fileid = share.fattr(&found.attributes).fileid;
    let unique = [share.export.name.as_bytes(), &fileid.to_be_bytes()].concat();
    let mut locations = Writer::new();
    if wanted.has(FS_LOCATIONS) {
        let elsewhere: Vec<FsLocation> =
            referral.targets.iter().map(|choice| location(&choice.target)).collect();
        write(&path(share, found), &elsewhere, &mut locations);
    }
    let values = Values {
        fsid: Some(FsId { major: REFERRALS, minor: number(call, &unique) }),
        rdattr_error: Some(if wants_more { Status::MOVED } else { Status::OK }),
        fs_locations: Some(FsLocations::new(locations.as_bytes())),
        mounted_on_fileid: Some(fileid),
        ..Values::default()
    };
    values.encode_wanted(wanted, w);
    Ok(())
}

/// The path of a root from the top of the server, as clients have walked it.
fn path(share: &Target, found: &Found) -> Vec<Vec<u8>> {
    let mut path = share_path(&share.export.name);
    let volume = &share.export.volume;
    if let Ok((folder, name)) = volume.place_of(found)
        && let Ok(way) = volume.path_of(&folder.object)
    {
        path.extend(way);
        path.push(name);
    }
    path
}

/// The path of a share from the top of the server.
pub(super) fn share_path(name: &str) -> Vec<Vec<u8>> {
    name.split('/').map(|part| part.as_bytes().to_vec()).collect()
}

fn location(target: &Elsewhere) -> FsLocation {
    // A server with another port is told as a universal address, RFC 5665 5.2.3.3; names have no such form.
    let server = match (target.port, target.host.parse::<std::net::IpAddr>()) {
        (Some(port), Ok(_)) => format!("{}.{}.{}", target.host, port >> 8, port & 0xff),
        _ => target.host.clone(),
    };
    FsLocation { servers: vec![server], path: target.parts.clone() }
}
