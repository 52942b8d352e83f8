//! Attributes that clients set, RFC 7530 5, and the objects that are made with them.

use vfs::backend::{Found, NewKind};
use vfs::{Change, SetAttributes, Time};

use super::attributes::{SUPPORTED, change};
use super::fail::Fail;
use crate::server::v3::{Target, size};
use crate::wire::v4::attributes::*;
use crate::wire::v4::types::{Attributes, Bitmap, ChangeInfo, NfsTime, OwnerName, Status};

/// The attributes that can be set.
const SETTABLE: &[u32] = &[SIZE, MODE, OWNER, OWNER_GROUP, TIME_ACCESS_SET, TIME_MODIFY_SET];

/// The attributes that an exclusive OPEN of minor version 1 can set: the times store its verifier.
pub(super) const SETTABLE_EXCLUSIVELY: &[u32] = &[SIZE, MODE, OWNER, OWNER_GROUP];

/// The attributes that a client wants to set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Wanted {
    pub(super) changes: SetAttributes,
    /// Their set.
    pub(super) set: Bitmap,
}

/// Reads the attributes of SETATTR, CREATE and OPEN: ATTRNOTSUPP for one that there is not, INVAL for one that cannot be set.
pub(super) fn wanted(sent: &Attributes<'_>) -> Result<Wanted, Status> {
    if !is_within(&sent.which, SUPPORTED) {
        return Err(Status::ATTRNOTSUPP);
    }
    if !is_within(&sent.which, SETTABLE) {
        return Err(Status::INVAL);
    }
    let values = Values::of(sent)?;
    let changes = SetAttributes {
        mode: values.mode.map(mode).transpose()?,
        uid: values.owner.map(|name| id(&name)).transpose()?,
        gid: values.owner_group.map(|name| id(&name)).transpose()?,
        size: values.size.map(size).transpose()?,
        accessed: set_time(values.time_access_set)?,
        modified: set_time(values.time_modify_set)?,
    };
    Ok(Wanted { changes, set: sent.which })
}

fn is_within(set: &Bitmap, numbers: &[u32]) -> bool {
    let all = Bitmap::of(numbers);
    set.iter().enumerate().all(|(at, word)| word & !all.get(at).copied().unwrap_or(0) == 0)
}

/// mode4 has twelve bits, RFC 7530 6.2.4.
fn mode(mode: u32) -> Result<u32, Status> {
    if mode & !0o7777 == 0 { Ok(mode) } else { Err(Status::INVAL) }
}

/// The number of a user or group. Clients without Kerberos send it as a string, RFC 7530 5.9.
fn id(name: &OwnerName<'_>) -> Result<u32, Status> {
    let text = std::str::from_utf8(name).map_err(|_| Status::INVAL)?;
    if text.is_empty() {
        return Err(Status::INVAL);
    }
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let id = is_number.then(|| text.parse().ok()).flatten();
    id.filter(|&id| id != u32::MAX).ok_or(Status::BADOWNER)
}

fn set_time(wanted: Option<SetTime>) -> Result<vfs::SetTime, Status> {
    match wanted {
        None => Ok(vfs::SetTime::Keep),
        Some(SetTime::ToServerTime) => Ok(vfs::SetTime::Now),
        Some(SetTime::ToClientTime(NfsTime { nanoseconds, .. })) if nanoseconds >= 1_000_000_000 => {
            Err(Status::INVAL)
        }
        Some(SetTime::ToClientTime(NfsTime { seconds, nanoseconds })) => {
            Ok(vfs::SetTime::To(Time { secs: seconds, nanos: nanoseconds }))
        }
    }
}

/// A new object, and what happened to its folder.
pub(super) struct Made {
    pub(super) found: Found,
    pub(super) change: ChangeInfo,
}

/// Makes an entry with these attributes. If one of them cannot be set, the entry is removed.
pub(super) fn make(
    folder: &Target,
    name: &[u8],
    new: NewKind<'_>,
    wanted: &Wanted,
    mode: u32,
) -> Result<Made, Fail> {
    let volume = &folder.export.volume;
    let mut changes = wanted.changes;
    let mode = changes.mode.take().unwrap_or(mode);
    let mut made = volume.create(&folder.actor, &folder.found, name, new, mode)?;
    changes.uid = changes.uid.filter(|&uid| uid != made.found.attributes.uid);
    changes.gid = changes.gid.filter(|&gid| gid != made.found.attributes.gid);
    changes.size = changes.size.filter(|&size| size > 0);
    if !changes.is_empty() {
        match volume.set_attributes(&folder.actor, &made.found, &changes) {
            Ok(change) => made.found.attributes = change.after,
            Err(error) => {
                let kind = made.found.attributes.kind;
                let _ = volume.remove(&folder.actor, &folder.found, name, kind); // the first error is the answer
                return Err(error.into());
            }
        }
    }
    Ok(Made { found: made.found, change: info(&made.folder) })
}

/// change_info4 of a change.
pub(super) fn info(of: &Change) -> ChangeInfo {
    ChangeInfo { atomic: true, before: change(of.before.changed), after: change(of.after.changed) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::xdr::Opaque;

    fn read(which: &[u32], values: &[u8]) -> Result<Wanted, Status> {
        wanted(&Attributes { which: Bitmap::new(which), values: Opaque::new(values) })
    }

    #[test]
    fn attributes_that_cannot_be_set_are_told_apart() {
        // acl (12), type (1), a mode (33) of 13 bits, an owner (36) that is no number, a time (54) of 10^9 nanoseconds.
        assert_eq!(read(&[0x1000], &[]).err(), Some(Status::ATTRNOTSUPP));
        assert_eq!(read(&[2], &[0, 0, 0, 1]).err(), Some(Status::INVAL));
        assert_eq!(read(&[0, 2], &[0, 0, 0x10, 0]).err(), Some(Status::INVAL));
        assert_eq!(read(&[0, 0x10], b"\0\0\0\x03who\0").err(), Some(Status::BADOWNER));
        let late = [&[0, 0, 0, 1][..], &[0; 8], &1_000_000_000_u32.to_be_bytes()].concat();
        assert_eq!(read(&[0, 1 << 22], &late).err(), Some(Status::INVAL));
        assert_eq!(read(&[0, 2], &[0, 0]).err(), Some(Status::BADXDR));
        let changes = read(&[0, 0x12], b"\0\0\x01\xed\0\0\0\x041000").unwrap().changes;
        assert_eq!((changes.mode, changes.uid), (Some(0o755), Some(1000)));
    }
}
