//! How a file or folder of a share is shown to clients: what its entry in a listing knows, and what has to be looked up.

use vfs::acl::{Acl, Entries, Rights, Who, entries_of_mode};
use vfs::backend::{Allowance, Found};
use vfs::mac::DosAttributes;
use vfs::{Attributes as Facts, DescriptionParts as Describe, Kind};
use wire::Writer;

use super::acls::EncodedAcl;
use super::attributes::{DESCRIBED, SHARES, change, common, time};
use super::named;
use super::referrals;
use crate::server::call::Call;
use crate::server::naming::NamedId;
use crate::server::v3::{Target, file_type};
use crate::wire::v4::acls::FlaggedAces;
use crate::wire::v4::attributes::*;
use crate::wire::v4::locations::{FsLocations, write as write_locations};
use crate::wire::v4::types::{Bitmap, FileHandle, FileType, NfsTime, OwnerName, Status};
use crate::wire::xdr::Opaque;

/// The attributes that need a look at the whole file system.
const SPACE: &[u32] = &[
    FILES_AVAIL,
    FILES_FREE,
    FILES_TOTAL,
    QUOTA_AVAIL_HARD,
    QUOTA_AVAIL_SOFT,
    QUOTA_USED,
    SPACE_AVAIL,
    SPACE_FREE,
    SPACE_TOTAL,
];
/// The attributes that a listing knows of each entry: see [`ListedAttributes`].
const PLAIN: Bitmap = Bitmap::of(&[
    TYPE,
    CHANGE,
    SIZE,
    FSID,
    RDATTR_ERROR,
    FILEHANDLE,
    FILEID,
    MODE,
    NUMLINKS,
    OWNER,
    OWNER_GROUP,
    RAWDEV,
    SPACE_USED,
    TIME_ACCESS,
    TIME_METADATA,
    TIME_MODIFY,
    MOUNTED_ON_FILEID,
]);

/// The names of an owner and a group that were told last: the files of a folder mostly have the same.
#[derive(Default)]
pub(super) struct Owners([Option<(NamedId, String)>; 2]);

impl Owners {
    fn look_up(&mut self, call: &Call<'_>, wanted: &Bitmap, now: &Facts) {
        let ids = [(OWNER, NamedId::User(now.uid)), (OWNER_GROUP, NamedId::Group(now.gid))];
        for ((number, id), known) in ids.into_iter().zip(&mut self.0) {
            if wanted.has(number) && known.as_ref().is_none_or(|(of, _)| *of != id) {
                *known = Some((id, call.naming().name(id)));
            }
        }
    }

    fn name(&self, at: usize) -> Option<OwnerName<'_>> {
        self.0[at].as_ref().map(|(_, name)| Opaque(name.as_bytes()))
    }
}

/// A file or folder of a share, to be shown to a client.
pub(super) struct VisibleFile<'a> {
    /// Itself, or the folder that it is listed in.
    pub(super) target: &'a Target,
    /// With the mode that clients see of a locked file.
    pub(super) now: &'a Facts,
    pub(super) handle: FileHandle<'a>,
    /// The number of what the file system of a share is mounted on.
    pub(super) mounted_on: Option<u64>,
    /// The file itself, if [`needs_file`](super::attributes::needs_file). A sidecar has no ACL of its own: clients set it for the file.
    pub(super) file: Option<&'a Found>,
}

/// What is known of a file without a further question to the host. Most clients want nothing else.
struct ListedAttributes<'a> {
    shown: &'a VisibleFile<'a>,
    owners: &'a Owners,
}

impl<'a> Source<'a> for ListedAttributes<'a> {
    fn kind(&self) -> Option<FileType> {
        Some(FileType(file_type(self.shown.now.kind).0)) // the same numbers
    }

    fn change(&self) -> Option<u64> {
        Some(change(self.shown.now.changed))
    }

    fn size(&self) -> Option<u64> {
        Some(self.shown.now.size)
    }

    fn fsid(&self) -> Option<FsId> {
        Some(FsId { major: SHARES, minor: self.shown.target.fsid(self.shown.now.id) })
    }

    fn rdattr_error(&self) -> Option<Status> {
        Some(Status::OK)
    }

    fn filehandle(&self) -> Option<FileHandle<'a>> {
        Some(self.shown.handle)
    }

    fn fileid(&self) -> Option<u64> {
        Some(self.shown.now.id.inode)
    }

    fn mode(&self) -> Option<u32> {
        Some(self.shown.now.mode)
    }

    fn numlinks(&self) -> Option<u32> {
        Some(self.shown.now.links)
    }

    fn owner(&self) -> Option<OwnerName<'a>> {
        self.owners.name(0)
    }

    fn owner_group(&self) -> Option<OwnerName<'a>> {
        self.owners.name(1)
    }

    fn rawdev(&self) -> Option<SpecData> {
        let (major, minor) = self.shown.now.device;
        Some(SpecData { major, minor })
    }

    fn space_used(&self) -> Option<u64> {
        Some(self.shown.now.allocated)
    }

    fn time_access(&self) -> Option<NfsTime> {
        Some(time(self.shown.now.accessed))
    }

    fn time_metadata(&self) -> Option<NfsTime> {
        Some(time(self.shown.now.changed))
    }

    fn time_modify(&self) -> Option<NfsTime> {
        Some(time(self.shown.now.modified))
    }

    fn mounted_on_fileid(&self) -> Option<u64> {
        Some(self.shown.mounted_on.unwrap_or(self.shown.now.id.inode))
    }
}

impl VisibleFile<'_> {
    /// Writes the wanted attributes.
    pub(super) fn put(
        &self,
        call: &Call<'_>,
        wanted: &Bitmap,
        owners: &mut Owners,
        w: &mut Writer,
    ) -> Result<(), Status> {
        owners.look_up(call, wanted, self.now);
        let plain = ListedAttributes { shown: self, owners };
        if wanted.is_within(&PLAIN) {
            plain.encode_wanted(wanted, w);
            return Ok(());
        }
        self.put_all(call, plain, wanted, w)
    }

    /// The same with attributes that are not plain.
    fn put_all(
        &self,
        call: &Call<'_>,
        plain: ListedAttributes<'_>,
        wanted: &Bitmap,
        w: &mut Writer,
    ) -> Result<(), Status> {
        let volume = &self.target.export.volume;
        let limits = volume.limits();
        let naming = &call.naming();
        let mut locations = Writer::new();
        if wanted.has(FS_LOCATIONS) {
            write_locations(&referrals::share_path(&self.target.export.name), &[], &mut locations);
        }
        let acl = if wanted.has(ACL) || wanted.has(DACL) { Some(self.acl()?) } else { None };
        let encoded = |is_dacl| acl.as_ref().map(|acl| EncodedAcl::new(naming, acl, is_dacl));
        let (acl, dacl) = (encoded(false), encoded(true).filter(|_| call.minor > 0));
        let mut values = Values {
            acl: acl.as_ref().map(EncodedAcl::aces),
            dacl: dacl.as_ref().map(|dacl| FlaggedAces { flags: dacl.flags, aces: dacl.aces() }),
            fs_locations: Some(FsLocations::new(locations.as_bytes())),
            maxfilesize: Some(limits.file_size),
            maxlink: Some(limits.links),
            maxname: Some(limits.name),
            time_create: self.now.created.map(time),
            time_delta: Some(NfsTime { seconds: 0, nanoseconds: limits.time_step_ns }),
            ..common(call, self.handle)
        };
        if SPACE.iter().any(|&number| wanted.has(number)) {
            self.measure(&mut values)?;
        }
        if let Some(file) = self.file.filter(|_| wanted.has(NAMED_ATTR)) {
            values.named_attr = Some(named::has_any(volume, file)?);
        }
        if DESCRIBED.iter().any(|&number| wanted.has(number)) {
            self.describe(&mut values)?;
        }
        (plain, Some(values)).encode_wanted(wanted, w);
        Ok(())
    }

    /// What the whole file system has.
    fn measure(&self, values: &mut Values<'_>) -> Result<(), Status> {
        let space = self.target.export.volume.space(&self.target.found.object)?;
        values.files_avail = Some(space.files_free);
        values.files_free = Some(space.files_free);
        values.files_total = Some(space.files);
        values.space_avail = Some(space.available);
        values.space_free = Some(space.free);
        values.space_total = Some(space.total);
        // RFC 8881 5.8.2.28: the limit that is met first. Without a quota that is the end of the file system.
        let quota = space
            .quota
            .unwrap_or(Allowance { left: space.available, used: space.total.saturating_sub(space.free) });
        let left = Some(quota.left.min(space.available));
        (values.quota_avail_hard, values.quota_avail_soft) = (left, left);
        values.quota_used = Some(quota.used);
        Ok(())
    }

    /// The ACL, if the caller may read it: RFC 7530 6.2.1.3.1.
    fn acl(&self) -> Result<Acl, Status> {
        let Some(file) = self.file else { return Ok(of_mode(self.now, self.now.mode)) };
        let (volume, caller) = (&self.target.export.volume, &self.target.actor.caller);
        if !volume.rights(caller, file, None)?.contains(Rights::READ_ACL) {
            return Err(Status::ACCESS);
        }
        Ok(volume.acl(file)?)
    }

    /// What Macs and Windows keep with a file.
    fn describe(&self, values: &mut Values<'_>) -> Result<(), Status> {
        let Some(file) = self.file else { return Ok(()) };
        let described = self.target.export.volume.description(file, None, Describe::METADATA)?;
        let dos = described.shown_dos();
        values.archive = Some(dos.contains(DosAttributes::ARCHIVE));
        values.hidden = Some(dos.contains(DosAttributes::HIDDEN));
        values.system = Some(dos.contains(DosAttributes::SYSTEM));
        // RFC 7530 5.8.2.36: a file that was never backed up has no time.
        values.time_backup = Some(described.backup.map(time).unwrap_or_default());
        values.time_create = Some(time(described.created));
        Ok(())
    }
}

/// The ACL that says the same as a mode.
fn of_mode(of: &Facts, mode: u32) -> Acl {
    let list = entries_of_mode(mode, of.kind == Kind::Folder);
    let entries = Entries { list, ..Entries::default() };
    Acl {
        owner: Who::User(of.uid),
        group: Who::Group(of.gid),
        entries,
        stored: false,
        within_mode: false,
        team: None,
    }
}
