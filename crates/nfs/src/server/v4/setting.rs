//! Attributes that clients set, RFC 7530 5, and the objects that are made with them.

use vfs::acl::{AclChange, CreateAcl, Entries, ModeInheritance, NewPermissions, Rights, entries_of_mode};
use vfs::backend::{Found, NewKind};
use vfs::{Actor, Change, Kind, SetAttributes, Time, Volume};

use super::acls::SentList;
use super::attributes::{change, supported};
use super::fail::Fail;
use crate::server::naming::Naming;
use crate::server::v3::{Target, size};
use crate::wire::v4::acls::MaskedMode;
use crate::wire::v4::attributes::*;
use crate::wire::v4::types::{Bitmap, ChangeInfo, Fattr, NfsTime, Status};

/// The attributes that can be set.
const SETTABLE: &[u32] = &[
    SIZE,
    ACL,
    ARCHIVE,
    HIDDEN,
    MODE,
    OWNER,
    OWNER_GROUP,
    SYSTEM,
    TIME_ACCESS_SET,
    TIME_BACKUP,
    TIME_CREATE,
    TIME_MODIFY_SET,
    DACL,
    MODE_SET_MASKED,
    MODE_UMASK,
];

/// The attributes that an exclusive OPEN of minor version 1 can set: the times store its verifier.
pub(super) fn settable_exclusively(minor: u32) -> Bitmap {
    let marks = [ARCHIVE, HIDDEN, SYSTEM, TIME_BACKUP, TIME_CREATE];
    let rights = [ACL, MODE, OWNER, OWNER_GROUP, DACL, MODE_SET_MASKED];
    let all = Bitmap::of(&[SIZE]).union(&Bitmap::of(&marks)).union(&Bitmap::of(&rights));
    if minor > 1 { all.union(&Bitmap::of(&[MODE_UMASK])) } else { all }
}

/// The attributes that a client wants to set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct RequestedAttributes {
    pub(super) changes: SetAttributes,
    /// The bits of the mode that are set, RFC 8881 6.2.5.
    mode_bits: Option<MaskedMode>,
    /// The mode of a new file, and the umask of the program that makes it, RFC 8275.
    with_umask: Option<MaskedMode>,
    acl: Option<SentList>,
    marks: Marks,
    /// Their set.
    pub(super) set: Bitmap,
}

/// What Windows and Macs keep with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Marks {
    archive: Option<bool>,
    hidden: Option<bool>,
    system: Option<bool>,
    backup: Option<Time>,
    created: Option<Time>,
}

impl RequestedAttributes {
    /// The same without what a symbolic link does not have on this host.
    pub(super) fn of_link(self) -> Self {
        let changes = SetAttributes { mode: None, size: None, ..self.changes };
        Self { changes, mode_bits: None, with_umask: None, ..self }
    }

    /// Whether there is anything to change.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self { set: self.set, ..Self::default() }
    }

    /// Whether only the size is to be changed.
    pub(super) fn is_only_size(&self) -> bool {
        let rest = Self { changes: SetAttributes::default(), set: self.set, ..self.clone() };
        self.changes.is_only_size() && rest.is_empty()
    }

    /// Whether the mode is set, and not only its bits for other things than permissions.
    fn names_permissions(&self) -> bool {
        self.changes.mode.is_some() || self.mode_bits.is_some_and(|bits| bits.mask & 0o777 != 0)
    }

    /// The mode of a file that had another one.
    pub(super) fn mode(&self, before: u32) -> Option<u32> {
        let masked = self.mode_bits.map(|MaskedMode { value, mask }| before & !mask & 0o7777 | value & mask);
        let without_umask = self.with_umask.map(|MaskedMode { value, mask }| value & !mask);
        self.changes.mode.or(masked).or(without_umask)
    }

    /// What becomes of the ACL that a new file with this mode inherits. RFC 8881 6.4.3: the mode is put on it. RFC 8275 5: a umask
    /// has no effect then; the list stands in its place.
    fn inherited(&self, mode: u32) -> ModeInheritance {
        match self.with_umask {
            Some(MaskedMode { value, .. }) => ModeInheritance::Within(value),
            None if self.names_permissions() => ModeInheritance::Saying(mode),
            None => ModeInheritance::AsItIs,
        }
    }
}

/// Reads the attributes of SETATTR, CREATE and OPEN: ATTRNOTSUPP for one that there is not, INVAL for one that cannot be set.
pub(super) fn wanted(minor: u32, naming: &Naming, sent: &Fattr<'_>) -> Result<RequestedAttributes, Status> {
    if !is_within(&sent.which, &supported(minor)) {
        return Err(Status::ATTRNOTSUPP);
    }
    if !is_within(&sent.which, &Bitmap::of(SETTABLE)) {
        return Err(Status::INVAL);
    }
    let values = Values::of(sent)?;
    let changes = SetAttributes {
        mode: values.mode.map(mode).transpose()?,
        uid: values.owner.map(|name| naming.user(&name)).transpose()?,
        gid: values.owner_group.map(|name| naming.group(&name)).transpose()?,
        size: values.size.map(size).transpose()?,
        accessed: set_time(values.time_access_set)?,
        modified: set_time(values.time_modify_set)?,
    };
    // RFC 8881 6.2.5 and 6.2.2: one of the two that say the same.
    let mode_bits = match values.mode_set_masked {
        Some(_) if changes.mode.is_some() => return Err(Status::INVAL),
        Some(MaskedMode { value, mask }) => Some(MaskedMode { value: mode(value)?, mask: mode(mask)? }),
        None => None,
    };
    // RFC 8275 5: one mode only, and no other bits of a umask than those of permissions.
    let with_umask = match values.mode_umask {
        Some(_) if changes.mode.is_some() || mode_bits.is_some() => return Err(Status::INVAL),
        Some(MaskedMode { mask, .. }) if mask & !0o777 != 0 => return Err(Status::INVAL),
        Some(MaskedMode { value, mask }) => Some(MaskedMode { value: mode(value)?, mask }),
        None => None,
    };
    let acl = match (values.acl, values.dacl) {
        (Some(_), Some(_)) => return Err(Status::INVAL),
        (Some(aces), None) => Some(SentList::acl(naming, &aces)?),
        (None, Some(dacl)) => Some(SentList::dacl(naming, dacl.flags, &dacl.aces)?),
        (None, None) => None,
    };
    let marks = Marks {
        archive: values.archive,
        hidden: values.hidden,
        system: values.system,
        backup: values.time_backup.map(time).transpose()?,
        created: values.time_create.map(time).transpose()?,
    };
    Ok(RequestedAttributes { changes, mode_bits, with_umask, acl, marks, set: sent.which })
}

fn is_within(set: &Bitmap, all: &Bitmap) -> bool {
    set.iter().enumerate().all(|(at, word)| word & !all.get(at).copied().unwrap_or(0) == 0)
}

/// mode4 has twelve bits, RFC 7530 6.2.4.
fn mode(mode: u32) -> Result<u32, Status> {
    if mode & !0o7777 == 0 { Ok(mode) } else { Err(Status::INVAL) }
}

fn set_time(wanted: Option<SetTime4>) -> Result<vfs::SetTime, Status> {
    match wanted {
        None => Ok(vfs::SetTime::Keep),
        Some(SetTime4::ToServerTime) => Ok(vfs::SetTime::Now),
        Some(SetTime4::ToClientTime(sent)) => time(sent).map(vfs::SetTime::To),
    }
}

fn time(NfsTime { seconds, nanoseconds }: NfsTime) -> Result<Time, Status> {
    match nanoseconds {
        0..1_000_000_000 => Ok(Time { secs: seconds, nanos: nanoseconds }),
        _ => Err(Status::INVAL),
    }
}

/// A new object, and what happened to its folder.
pub(super) struct NewObject {
    pub(super) found: Found,
    pub(super) change: ChangeInfo,
}

/// Makes an entry with these attributes. If one of them cannot be set, the entry is removed.
pub(super) fn make(
    folder: &Target,
    name: &[u8],
    new: NewKind<'_>,
    wanted: &RequestedAttributes,
    mode: u32,
) -> Result<NewObject, Fail> {
    let (volume, actor) = (&folder.export.volume, &folder.actor);
    let mode = wanted.mode(mode).unwrap_or(mode);
    // RFC 8881 6.4.3: a list that is given is not added to what the folder passes on.
    let acl = match (&wanted.acl, new) {
        (None, _) => None,
        (Some(sent), NewKind::File) => Some(sent.entries(Kind::File)?),
        (Some(sent), NewKind::Folder) => Some(sent.entries(Kind::Folder)?),
        (Some(_), _) => return Err(Status::ATTRNOTSUPP.into()),
    };
    let acl = acl.map(|entries| CreateAcl { entries: Entries { protected: true, ..entries } });
    let permissions = NewPermissions { mode, acl: acl.as_ref(), inherited: wanted.inherited(mode) };
    let mut found = volume.create_with_permissions(actor, &folder.found, name, new, &permissions)?;
    let before = folder.found.attributes;
    let change = Change { before, after: folder.found.object.attributes()? };
    if let Err(fail) = finish(volume, actor, &mut found, wanted) {
        let _ = volume.remove(actor, &folder.found, name, found.attributes.kind); // the first error is the answer
        return Err(fail);
    }
    Ok(NewObject { found, change: info(&change) })
}

/// Gives a new object the attributes that it was not made with.
fn finish(
    volume: &Volume,
    actor: &Actor,
    made: &mut Found,
    wanted: &RequestedAttributes,
) -> Result<(), Fail> {
    let mut changes = SetAttributes { mode: None, ..wanted.changes };
    changes.uid = changes.uid.filter(|&uid| uid != made.attributes.uid);
    changes.gid = changes.gid.filter(|&gid| gid != made.attributes.gid);
    changes.size = changes.size.filter(|&size| size > 0);
    if !changes.is_empty() {
        made.attributes = volume.stateless().set_attributes_of_new(actor, made, &changes)?.after;
    }
    mark(volume, actor, made, wanted.marks)
}

fn mark(volume: &Volume, actor: &Actor, of: &Found, marks: Marks) -> Result<(), Fail> {
    if marks == Marks::default() {
        return Ok(());
    }
    volume.change_metadata(actor, of, None, |metadata| {
        marks.archive.into_iter().for_each(|on| metadata.set_archive(on));
        marks.hidden.into_iter().for_each(|on| metadata.set_hidden(on));
        marks.system.into_iter().for_each(|on| metadata.set_system(on));
        metadata.times.backup = marks.backup.or(metadata.times.backup);
        metadata.times.created = marks.created.or(metadata.times.created);
    })?;
    Ok(())
}

/// Sets attributes of a file: the mode first, then the ACL, which says what the mode is (RFC 8881 6.4.1.3).
pub(super) fn set(
    volume: &Volume,
    actor: &Actor,
    (of, naming): (&Found, &Naming),
    wanted: &RequestedAttributes,
) -> Result<(), Fail> {
    if wanted.with_umask.is_some() {
        return Err(Status::INVAL.into()); // only of new files, RFC 8275 5
    }
    let mode = wanted.mode(of.attributes.mode);
    let entries = new_entries(volume, actor, (of, naming), wanted)?;
    let changes = SetAttributes { mode, ..wanted.changes };
    if !changes.is_empty() || wanted.is_empty() {
        volume.set_attributes(actor, of, &changes)?;
    }
    mark(volume, actor, of, wanted.marks)?;
    let now = || Ok::<_, Status>(Found { object: of.object.clone(), attributes: of.object.attributes()? });
    match (entries, mode) {
        (Some(entries), _) => set_acl(volume, actor, &now()?, entries),
        (None, Some(mode)) if wanted.acl.is_none() && wanted.names_permissions() => {
            replace_by_mode(volume, actor, &now()?, mode)
        }
        _ => Ok(()),
    }
}

/// The entries that a file gets, found before anything of it is changed; `None` if they stay what they are.
fn new_entries(
    volume: &Volume,
    actor: &Actor,
    (of, naming): (&Found, &Naming),
    wanted: &RequestedAttributes,
) -> Result<Option<Entries>, Fail> {
    let Some(sent) = &wanted.acl else { return Ok(None) };
    if !matches!(of.attributes.kind, Kind::File | Kind::Folder) {
        return Err(Status::ATTRNOTSUPP.into());
    }
    if !volume.rights(&actor.caller, of, None)?.contains(Rights::WRITE_ACL) {
        return Err(Status::ACCESS.into());
    }
    let before = volume.acl(of)?;
    let entries = sent.after(naming, &before, of.attributes.kind)?;
    // A mode beside them would take the place of the list that is there.
    Ok(entries.or_else(|| wanted.names_permissions().then_some(before.entries)))
}

fn set_acl(volume: &Volume, actor: &Actor, of: &Found, entries: Entries) -> Result<(), Fail> {
    let change = AclChange { entries: Some(entries), ..AclChange::default() };
    volume.set_acl(actor, of, &change)?;
    Ok(())
}

/// A mode that is set takes the place of an ACL even if it is the same as before: RFC 8881 6.4.1.1. An ACL that a Mac has put
/// before the mode stays, and in a team folder a mode gives and takes no rights.
fn replace_by_mode(volume: &Volume, actor: &Actor, of: &Found, mode: u32) -> Result<(), Fail> {
    if !volume.has_stored_acl(of)? || volume.roles_at(of)?.is_some() {
        return Ok(());
    }
    let is_before_mode = |entry: &vfs::acl::Entry| entry.rights.contains(Rights::FROM_MODE);
    if volume.acl(of)?.entries.list.iter().any(is_before_mode) {
        return Ok(());
    }
    let list = entries_of_mode(mode, of.attributes.kind == Kind::Folder);
    set_acl(volume, actor, of, Entries { list, ..Entries::default() })
}

/// change_info4 of a change.
pub(super) fn info(of: &Change) -> ChangeInfo {
    ChangeInfo { atomic: true, before: change(of.before.changed), after: change(of.after.changed) }
}

#[cfg(test)]
mod tests {
    use auth::UnixAccounts;

    use super::*;
    use crate::wire::xdr::Opaque;

    fn read(minor: u32, which: &[u32], values: &[u8]) -> Result<RequestedAttributes, Status> {
        let naming = Naming::new(None, UnixAccounts::NameService);
        wanted(minor, &naming, &Fattr { which: Bitmap::new(which), values: Opaque::new(values) })
    }

    #[test]
    fn attributes_that_cannot_be_set_are_told_apart() {
        // mimetype (32), type (1), a mode (33) of 13 bits, an owner (36) that is no number, a time (54) of 10^9 nanoseconds.
        assert_eq!(read(1, &[0, 1], &[]).err(), Some(Status::ATTRNOTSUPP));
        assert_eq!(read(1, &[2], &[0, 0, 0, 1]).err(), Some(Status::INVAL));
        assert_eq!(read(1, &[0, 2], &[0, 0, 0x10, 0]).err(), Some(Status::INVAL));
        assert_eq!(read(1, &[0, 0x10], b"\0\0\0\x03who\0").err(), Some(Status::BADOWNER));
        let late = [&[0, 0, 0, 1][..], &[0; 8], &1_000_000_000_u32.to_be_bytes()].concat();
        assert_eq!(read(1, &[0, 1 << 22], &late).err(), Some(Status::INVAL));
        assert_eq!(read(1, &[0, 2], &[0, 0]).err(), Some(Status::BADXDR));
        let changes = read(1, &[0, 0x12], b"\0\0\x01\xed\0\0\0\x041000").unwrap().changes;
        assert_eq!((changes.mode, changes.uid), (Some(0o755), Some(1000)));
    }
    /// RFC 8881 6.2.5: `mode_set_masked` (74), a value and a mask of twelve bits each, and not beside `mode` (33).
    #[test]
    fn single_bits_of_a_mode_are_set_from_minor_version_1_on() {
        let masked = |value: u32, mask: u32| [value.to_be_bytes(), mask.to_be_bytes()].concat();
        let set = read(1, &[0, 0, 1 << 10], &masked(0o020, 0o070)).unwrap();
        assert_eq!((set.mode(0o4755), set.names_permissions(), set.is_empty()), (Some(0o4725), true, false));
        assert!(!read(1, &[0, 0, 1 << 10], &masked(0o4000, 0o4000)).unwrap().names_permissions());
        assert_eq!(read(1, &[0, 0, 1 << 10], &masked(0o10000, 0)).err(), Some(Status::INVAL));
        assert_eq!(read(1, &[0, 0, 1 << 10], &masked(0, 0o10000)).err(), Some(Status::INVAL));
        let both = [&[0, 0, 1, 0xed][..], &masked(0, 0)].concat();
        assert_eq!(read(1, &[0, 2, 1 << 10], &both).err(), Some(Status::INVAL));
        assert_eq!(read(0, &[0, 0, 1 << 10], &masked(0, 0)).err(), Some(Status::ATTRNOTSUPP));
    }

    /// RFC 8881 6.2: `acl` (12) or `dacl` (58), no `sacl` (59), at most a thousand entries.
    #[test]
    fn lists_are_read_with_their_limits() {
        let everyone = |mask: u8| [&[0; 11][..], &[mask, 0, 0, 0, 9], b"EVERYONE@\0\0\0"].concat();
        let acl = [&[0, 0, 0, 1][..], &everyone(1)].concat();
        let entries = |set: RequestedAttributes| set.acl.expect("a list").entries(Kind::File).unwrap();
        assert_eq!(entries(read(0, &[1 << 12], &acl).unwrap()).list.len(), 1);
        let dacl = [&[0, 0, 0, 3][..], &acl].concat();
        let set = entries(read(1, &[0, 1 << 26], &dacl).unwrap());
        assert_eq!((set.protected, set.auto_inherited, set.list.len()), (true, true, 1));
        assert_eq!(read(1, &[1 << 12, 1 << 26], &[&acl[..], &dacl].concat()).err(), Some(Status::INVAL));
        assert_eq!(read(0, &[0, 1 << 26], &dacl).err(), Some(Status::ATTRNOTSUPP));
        assert_eq!(read(1, &[0, 1 << 27], &dacl).err(), Some(Status::ATTRNOTSUPP));
        let long = [&1001_u32.to_be_bytes()[..], &everyone(1).repeat(1001)].concat();
        assert_eq!(read(1, &[1 << 12], &long).err(), Some(Status(27))); // NFS4ERR_FBIG
        assert_eq!(read(1, &[1 << 12], &acl[..8]).err(), Some(Status::BADXDR));
    }
}
