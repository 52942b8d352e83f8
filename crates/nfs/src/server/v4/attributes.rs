//! The attributes of a place, for GETATTR, VERIFY and NVERIFY.

use siphasher::sip::SipHasher24;
use vfs::acl::{Acl, Entries, Who, entries_of_mode};
use vfs::{Attributes as Facts, Time};
use wire::{Reader, Writer};

use super::acls::{EncodedAcl, SUPPORT};
use super::named;
use super::place::{self, HandleTarget};
use super::referrals;
use super::setting::settable_exclusively;
use super::shown::{Owners, VisibleFile};
use crate::server::call::Call;
use crate::server::handle::HandleView;
use crate::server::v3::MAX_DATA;
use crate::wire::v4::acls::FlaggedAces;
use crate::wire::v4::attributes::*;
use crate::wire::v4::types::{Bitmap, Fattr, FileHandle, FileType, NfsTime, Status};
use crate::wire::xdr::{Decode, Opaque};

/// The file system that the pseudo-root is.
const PSEUDO: FsId = FsId { major: 0, minor: 0 };
/// The mode of its folders.
const PSEUDO_MODE: u32 = 0o555;
/// The first half of the ids of all other file systems.
pub(super) const SHARES: u64 = 1;
/// The same of file systems that are on other servers.
pub(super) const REFERRALS: u64 = 2;
/// The attributes that need a look at what Macs and Windows keep with a file.
pub(super) const DESCRIBED: &[u32] = &[ARCHIVE, HIDDEN, SYSTEM, TIME_BACKUP, TIME_CREATE];
/// The attributes of files and folders in every minor version.
const SUPPORTED: &[u32] = &[
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
    ACL,
    ACLSUPPORT,
    ARCHIVE,
    CANSETTIME,
    CASE_INSENSITIVE,
    CASE_PRESERVING,
    CHOWN_RESTRICTED,
    FILEHANDLE,
    FILEID,
    FILES_AVAIL,
    FILES_FREE,
    FILES_TOTAL,
    FS_LOCATIONS,
    HIDDEN,
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
    QUOTA_AVAIL_HARD,
    QUOTA_AVAIL_SOFT,
    QUOTA_USED,
    RAWDEV,
    SPACE_AVAIL,
    SPACE_FREE,
    SPACE_TOTAL,
    SPACE_USED,
    SYSTEM,
    TIME_ACCESS,
    TIME_ACCESS_SET,
    TIME_BACKUP,
    TIME_CREATE,
    TIME_DELTA,
    TIME_METADATA,
    TIME_MODIFY,
    TIME_MODIFY_SET,
    MOUNTED_ON_FILEID,
];

/// The attributes that minor version 1 has added.
const ADDED: &[u32] = &[DACL, MODE_SET_MASKED, SUPPATTR_EXCLCREAT];

/// The attributes that minor version 2 and its extensions have added: RFC 8275, RFC 8276, RFC 9754.
const EXTENDED: &[u32] = &[MODE_UMASK, XATTR_SUPPORT, OPEN_ARGUMENTS];

/// The attributes of files and folders in a minor version.
pub(super) fn supported(minor: u32) -> Bitmap {
    let all = Bitmap::of(SUPPORTED);
    match minor {
        0 => all,
        1 => all.union(&Bitmap::of(ADDED)),
        _ => all.union(&Bitmap::of(ADDED)).union(&Bitmap::of(EXTENDED)),
    }
}

/// Whether the set has attributes that can only be set, RFC 7530 5.5.
pub(super) fn can_only_be_set(minor: u32, wanted: &Bitmap) -> bool {
    let of_first = wanted.has(TIME_ACCESS_SET) || wanted.has(TIME_MODIFY_SET);
    of_first || minor > 0 && wanted.has(MODE_SET_MASKED) || minor > 1 && wanted.has(MODE_UMASK)
}

/// Whether the set has attributes for which the file itself is needed, and not only its entry in a listing.
pub(super) fn needs_file(wanted: &Bitmap) -> bool {
    wanted.has(ACL)
        || wanted.has(DACL)
        || wanted.has(NAMED_ATTR)
        || DESCRIBED.iter().any(|&number| wanted.has(number))
}

/// Writes the attributes that are wanted and there are, RFC 7530 16.7.
pub(super) fn put(
    call: &Call<'_>,
    place: &HandleTarget,
    wanted: &Bitmap,
    w: &mut Writer,
) -> Result<(), Status> {
    if can_only_be_set(call.minor, wanted) {
        return Err(Status::INVAL);
    }
    if let (HandleTarget::File(target), Some(referral)) = (place, referrals::of_place(call, place)) {
        return referrals::put_attributes(call, (target, &target.found), &referral, wanted, w);
    }
    place.with_handle(call, |handle| match place {
        HandleTarget::Pseudo(path) => {
            let list = entries_of_mode(PSEUDO_MODE, true);
            let entries = Entries { list, ..Entries::default() };
            let acl = Acl {
                owner: Who::User(0),
                group: Who::Group(0),
                entries,
                stored: false,
                within_mode: false,
                team: None,
            };
            let acl = EncodedAcl::new(&call.naming(), &acl, false);
            let dacl = (call.minor > 0).then(|| FlaggedAces { flags: 0, aces: acl.aces() });
            let values = Values { acl: Some(acl.aces()), dacl, ..pseudo(call, path, handle) };
            values.encode_wanted(wanted, w);
            Ok(())
        }
        HandleTarget::Attributes(target) | HandleTarget::Attribute(target) => {
            named::attributes(call, target, handle)?.encode_wanted(wanted, w);
            Ok(())
        }
        HandleTarget::File(target) => {
            let mounted_on = place.is_share().then(|| number(call, target.export.name.as_bytes()));
            let now = target.found.attributes;
            let mode = target.export.volume.stateless().mode_with_locks(&target.found.object, &now);
            let now = &Facts { mode, ..now };
            let file = (target.named.view == HandleView::File).then_some(&target.found);
            VisibleFile { target, now, handle, mounted_on, file }.put(call, wanted, &mut Owners::default(), w)
        }
    })?
}

/// Whether a place has exactly these attributes, RFC 7530 16.35.
pub(super) fn is_same(call: &Call<'_>, place: &HandleTarget, sent: &Fattr<'_>) -> Result<bool, Status> {
    if sent.which.has(RDATTR_ERROR) {
        return Err(Status::INVAL);
    }
    Values::of(sent)?;
    let mut w = Writer::new();
    put(call, place, &sent.which, &mut w)?;
    // A client cannot send an ACL that is too long to be decoded here.
    let Ok(own) = Fattr::decode(&mut Reader::new(w.as_bytes())) else { return Ok(false) };
    let is_there = |number| own.which.has(number) == sent.which.has(number);
    if !(0..=OPEN_ARGUMENTS).all(is_there) {
        return Err(Status::ATTRNOTSUPP);
    }
    Ok(own.values == sent.values)
}

/// What is the same for all places.
pub(super) fn common<'a>(call: &Call<'_>, handle: FileHandle<'a>) -> Values<'a> {
    Values {
        supported_attrs: Some(supported(call.minor)),
        suppattr_exclcreat: (call.minor > 0).then(|| settable_exclusively(call.minor)),
        fh_expire_type: Some(0), // FH4_PERSISTENT
        link_support: Some(true),
        symlink_support: Some(true),
        named_attr: Some(false),
        unique_handles: Some(true),
        xattr_support: (call.minor > 1).then_some(true),
        open_arguments: (call.minor > 1).then(open_arguments),
        lease_time: Some(call.service.nfs4.lease_seconds()),
        rdattr_error: Some(Status::OK),
        aclsupport: Some(SUPPORT),
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

/// What OPEN takes, RFC 9754: all access and deny modes, wishes for delegations to read or write, for any, none, for an end of
/// wishing, and for a word or a delegation later, the claims of files and names, and all four ways to make a file.
fn open_arguments() -> OpenArguments {
    OpenArguments {
        access: Bitmap::of(&[1, 2, 3]),
        deny: Bitmap::of(&[0, 1, 2, 3]),
        wants: Bitmap::of(&[3, 4, 5, 17, 18]),
        claims: Bitmap::of(&[0, 1, 2, 4, 5]),
        create: Bitmap::of(&[0, 1, 2, 3]),
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
        mode: Some(PSEUDO_MODE),
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

pub(super) fn time(time: Time) -> NfsTime {
    NfsTime { seconds: time.secs, nanoseconds: time.nanos }
}
