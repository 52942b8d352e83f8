//! The attributes of a place, for GETATTR, VERIFY and NVERIFY.

use siphasher::sip::SipHasher24;
use vfs::{Attributes as Facts, Time};
use wire::{Reader, Writer};

use super::place::{self, Place};
use super::setting::SETTABLE_EXCLUSIVELY;
use crate::server::rpc::Call;
use crate::server::v3::{MAX_DATA, Target};
use crate::wire::v4::attributes::*;
use crate::wire::v4::types::{Attributes, Bitmap, FileHandle, FileType, NfsTime, Status};
use crate::wire::xdr::{Decode, Opaque};

/// The file system that the pseudo-root is.
const PSEUDO: FsId = FsId { major: 0, minor: 0 };
/// The first half of the ids of all other file systems.
const SHARES: u64 = 1;
/// The attributes that need a look at the whole file system.
const SPACE: &[u32] = &[FILES_AVAIL, FILES_FREE, FILES_TOTAL, SPACE_AVAIL, SPACE_FREE, SPACE_TOTAL];
/// The attributes of files and folders in every minor version.
pub(super) const SUPPORTED: &[u32] = &[
    SUPPORTED_ATTRS,
    TYPE,
    FH_EXPIRE_TYPE,
    CHANGE,
    SIZE,
    LINK_SUPPORT,
    SYMLINK_SUPPORT,
    NAMED_ATTR,
    FSID,
    UNIQUE_HANDLES,
    LEASE_TIME,
    RDATTR_ERROR,
    CANSETTIME,
    CASE_INSENSITIVE,
    CASE_PRESERVING,
    CHOWN_RESTRICTED,
    FILEHANDLE,
    FILEID,
    FILES_AVAIL,
    FILES_FREE,
    FILES_TOTAL,
    HOMOGENEOUS,
    MAXFILESIZE,
    MAXLINK,
    MAXNAME,
    MAXREAD,
    MAXWRITE,
    MODE,
    NO_TRUNC,
    NUMLINKS,
    OWNER,
    OWNER_GROUP,
    RAWDEV,
    SPACE_AVAIL,
    SPACE_FREE,
    SPACE_TOTAL,
    SPACE_USED,
    TIME_ACCESS,
    TIME_ACCESS_SET,
    TIME_CREATE,
    TIME_DELTA,
    TIME_METADATA,
    TIME_MODIFY,
    TIME_MODIFY_SET,
    MOUNTED_ON_FILEID,
];

/// The attributes of files and folders in a minor version.
fn supported(minor: u32) -> Bitmap {
    let all = Bitmap::of(SUPPORTED);
    match minor {
        0 => all,
        1 => all.union(&Bitmap::of(&[SUPPATTR_EXCLCREAT])),
        _ => all.union(&Bitmap::of(&[SUPPATTR_EXCLCREAT, XATTR_SUPPORT])),
    }
}

/// Whether the set has attributes that can only be set, RFC 7530 5.5.
pub(super) fn can_only_be_set(wanted: &Bitmap) -> bool {
    wanted.has(TIME_ACCESS_SET) || wanted.has(TIME_MODIFY_SET)
}

/// Writes the attributes that are wanted and there are, RFC 7530 16.7.
pub(super) fn put(call: &Call<'_>, place: &Place, wanted: &Bitmap, w: &mut Writer) -> Result<(), Status> {
    if can_only_be_set(wanted) {
        return Err(Status::INVAL);
    }
    place.with_handle(call, |handle| match place {
        Place::Pseudo(path) => {
            pseudo(call, path, handle).encode_wanted(wanted, w);
            Ok(())
        }
        Place::File(target) => {
            let mounted_on = place.is_share().then(|| number(call, target.export.name.as_bytes()));
            let now = target.found.attributes;
            let mode = target.export.volume.mode_with_locks(&target.found.object, now.mode);
            let now = &Facts { mode, ..now };
            Shown { target, now, handle, mounted_on }.put(call, wanted, w)
        }
    })?
}

/// Whether a place has exactly these attributes, RFC 7530 16.35.
pub(super) fn is_same(call: &Call<'_>, place: &Place, sent: &Attributes<'_>) -> Result<bool, Status> {
    if sent.which.has(RDATTR_ERROR) {
        return Err(Status::INVAL);
    }
    Values::of(sent)?;
    let mut w = Writer::new();
    put(call, place, &sent.which, &mut w)?;
    let own = Attributes::decode(&mut Reader::new(w.as_bytes())).map_err(|_| Status::SERVERFAULT)?;
    let is_there = |number| own.which.has(number) == sent.which.has(number);
    if !(0..=XATTR_SUPPORT).all(is_there) {
        return Err(Status::ATTRNOTSUPP);
    }
    Ok(own.values == sent.values)
}

/// What is the same for all places.
fn common<'a>(call: &Call<'_>, handle: FileHandle<'a>) -> Values<'a> {
    Values {
        supported_attrs: Some(supported(call.minor)),
        suppattr_exclcreat: (call.minor > 0).then(|| Bitmap::of(SETTABLE_EXCLUSIVELY)),
        fh_expire_type: Some(0), // FH4_PERSISTENT
        link_support: Some(true),
        symlink_support: Some(true),
        named_attr: Some(false),
        unique_handles: Some(true),
        xattr_support: (call.minor > 1).then_some(true),
        lease_time: Some(call.service.nfs4.lease_seconds()),
        rdattr_error: Some(Status::OK),
        cansettime: Some(true),
        case_insensitive: Some(false),
        case_preserving: Some(true),
        chown_restricted: Some(true),
        filehandle: Some(handle),
        homogeneous: Some(true),
        maxread: Some(u64::from(MAX_DATA)),
        maxwrite: Some(u64::from(MAX_DATA)),
        no_trunc: Some(true),
        ..Values::default()
    }
}

/// A file or folder of a share, to be shown to a client.
pub(super) struct Shown<'a> {
    /// Itself, or the folder that it is listed in.
    pub(super) target: &'a Target,
    /// With the mode that clients see of a locked file.
    pub(super) now: &'a Facts,
    pub(super) handle: FileHandle<'a>,
    /// The number of what the file system of a share is mounted on.
    pub(super) mounted_on: Option<u64>,
}

impl Shown<'_> {
    /// Writes the wanted attributes.
    pub(super) fn put(&self, call: &Call<'_>, wanted: &Bitmap, w: &mut Writer) -> Result<(), Status> {
        let Self { target, now, handle, mounted_on } = *self;
        let volume = &target.export.volume;
        let fattr = target.fattr(now);
        let limits = volume.limits();
        let (owner, group) = (now.uid.to_string(), now.gid.to_string());
        let mut values = Values {
            kind: Some(FileType(fattr.file_type.0)), // the same numbers
            change: Some(change(now.changed)),
            size: Some(now.size),
            fsid: Some(FsId { major: SHARES, minor: fattr.fsid }),
            fileid: Some(fattr.fileid),
            maxfilesize: Some(limits.file_size),
            maxlink: Some(limits.links),
            maxname: Some(limits.name),
            mode: Some(now.mode),
            numlinks: Some(now.links),
            owner: Some(Opaque(owner.as_bytes())),
            owner_group: Some(Opaque(group.as_bytes())),
            rawdev: Some(SpecData { major: now.device.0, minor: now.device.1 }),
            space_used: Some(now.allocated),
            time_access: Some(time(now.accessed)),
            time_create: now.created.map(time),
            time_delta: Some(NfsTime { seconds: 0, nanoseconds: limits.time_step_ns }),
            time_metadata: Some(time(now.changed)),
            time_modify: Some(time(now.modified)),
            mounted_on_fileid: Some(mounted_on.unwrap_or(fattr.fileid)),
            ..common(call, handle)
        };
        if SPACE.iter().any(|&number| wanted.has(number)) {
            let space = volume.space(&target.found.object)?;
            values.files_avail = Some(space.files_free);
            values.files_free = Some(space.files_free);
            values.files_total = Some(space.files);
            values.space_avail = Some(space.available);
            values.space_free = Some(space.free);
            values.space_total = Some(space.total);
        }
        values.encode_wanted(wanted, w);
        Ok(())
    }
}

/// A folder above the shares: no client can change it.
fn pseudo<'a>(call: &Call<'_>, path: &str, handle: FileHandle<'a>) -> Values<'a> {
    let names: Vec<_> = place::names_below(call, path).into_iter().collect();
    let own = number(call, path.as_bytes());
    Values {
        kind: Some(FileType::DIR),
        change: Some(number(call, names.join("/").as_bytes())),
        size: Some(0),
        fsid: Some(PSEUDO),
        fileid: Some(own),
        maxname: Some(255),
        mode: Some(0o555),
        numlinks: Some(2),
        owner: Some(Opaque(b"0")),
        owner_group: Some(Opaque(b"0")),
        space_used: Some(0),
        time_access: Some(NfsTime::default()),
        time_metadata: Some(NfsTime::default()),
        time_modify: Some(NfsTime::default()),
        mounted_on_fileid: Some(own),
        ..common(call, handle)
    }
}

/// A number that stands for a name in the pseudo-root: the same after a restart, below 2^63, and above the cookies that
/// have a meaning of their own.
pub(super) fn number(call: &Call<'_>, name: &[u8]) -> u64 {
    SipHasher24::new_with_key(call.service.secret.bytes()).hash(name) >> 1 | 1 << 32
}

/// The change attribute: it differs after each change, as the host's ctime does.
pub(super) fn change(changed: Time) -> u64 {
    (changed.secs as u64).wrapping_mul(1_000_000_000).wrapping_add(u64::from(changed.nanos))
}

fn time(time: Time) -> NfsTime {
    NfsTime { seconds: time.secs, nanoseconds: time.nanos }
}
