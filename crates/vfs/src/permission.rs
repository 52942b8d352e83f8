//! What the host's own permissions let a caller do, by the attributes of files.

use super::{Access, Attributes, Caller, Error, Kind, Result, SetAttributes, SetTime};

/// Bits of a mode that make a program run as another user or group.
const SETUID: u32 = 0o4000;
const SETGID_OF_PROGRAM: u32 = 0o2010;
const STICKY: u32 = 0o1000;

/// What the mode bits alone let the caller do: the bits of the owner, else of the group, else of
/// all others. Exact for files without an ACL; for the owner and the superuser it is exact with
/// one, too.
pub(crate) fn by_mode(attributes: &Attributes, caller: &Caller) -> Access {
    if caller.uid == 0 {
        let may_execute = attributes.kind == Kind::Folder || attributes.mode & 0o111 != 0;
        let execute = if may_execute { Access::EXECUTE } else { Access::NONE };
        return Access::READ.union(Access::WRITE).union(execute);
    }
    let class = if caller.uid == attributes.uid {
        6
    } else if caller.in_group(attributes.gid) {
        3
    } else {
        0
    };
    Access((attributes.mode >> class) as u8 & 7)
}

/// Whether [`by_mode`] is the whole truth for this caller, ACL or not (POSIX 1003.1e 23.1.5: the owner's entry is the
/// owner's class, and the superuser passes).
pub(crate) fn mode_is_exact(attributes: &Attributes, caller: &Caller) -> bool {
    caller.uid == 0 || caller.uid == attributes.uid
}

/// Whether the folder's sticky bit keeps the caller from removing an entry.
pub(crate) fn sticks(caller: &Caller, of: &Attributes, folder: &Attributes) -> bool {
    folder.mode & STICKY != 0 && ![of.uid, folder.uid].contains(&caller.uid)
}

/// Whether the host lets the caller set attributes, chmod(2), chown(2), utimensat(2). `writes`: whether it may write the file.
///
/// # Errors
/// `NotPermitted` for what only the owner or the superuser may do, `AccessDenied` for what needs the right to write.
pub(crate) fn may_set(
    of: &Attributes,
    caller: &Caller,
    changes: &SetAttributes,
    writes: impl Fn() -> Result<bool>,
) -> Result<()> {
    if caller.uid == 0 {
        return Ok(());
    }
    let owns = caller.uid == of.uid;
    let SetAttributes { size, mode, uid, gid, .. } = *changes;
    let times = [changes.accessed, changes.modified];
    let sets_time = times.iter().any(|time| matches!(time, SetTime::To(_)));
    let gives_away = uid.is_some_and(|uid| uid != of.uid);
    let regroups = gid.is_some_and(|gid| gid != of.gid && !caller.in_group(gid));
    let changes_mode = mode.is_some() && of.kind != Kind::Link; // a link has none
    let owning = uid.is_some() || gid.is_some() || changes_mode || sets_time;
    if gives_away || regroups || owning && !owns {
        return Err(Error::NotPermitted);
    }
    let writing = size.is_some() && of.kind == Kind::File || times.contains(&SetTime::Now);
    if writing && !owns && !writes()? { Err(Error::AccessDenied) } else { Ok(()) }
}

/// Whether a host that protects links lets the caller make another name for a file, proc_sys_fs(5) `protected_hardlinks`.
/// `uses`: whether the caller may read and write the file.
///
/// # Errors
/// `NotPermitted`.
pub(crate) fn may_link(of: &Attributes, caller: &Caller, uses: impl Fn() -> Result<bool>) -> Result<()> {
    if [0, of.uid].contains(&caller.uid) {
        return Ok(());
    }
    let runs_as_others = of.mode & SETUID != 0 || of.mode & SETGID_OF_PROGRAM == SETGID_OF_PROGRAM;
    let is_safe = of.kind == Kind::File && !runs_as_others && uses()?;
    if is_safe { Ok(()) } else { Err(Error::NotPermitted) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileId, Time};

    fn file(mode: u32) -> Attributes {
        let at = Time::default();
        Attributes {
            id: FileId::new(0, 1),
            kind: Kind::File,
            mode,
            uid: 10,
            gid: 20,
            links: 1,
            size: 0,
            allocated: 0,
            device: (0, 0),
            accessed: at,
            modified: at,
            changed: at,
            created: None,
        }
    }

    #[test]
    fn only_the_first_class_that_fits_counts() {
        let secret_to_owner = file(0o077);
        assert_eq!(by_mode(&secret_to_owner, &Caller::new(10, 20, &[])), Access::NONE);
        assert_eq!(by_mode(&secret_to_owner, &Caller::new(11, 20, &[])), Access(7));
        assert_eq!(by_mode(&file(0o705), &Caller::new(11, 1, &[20])), Access::NONE);
        assert_eq!(by_mode(&file(0o705), &Caller::new(11, 1, &[])), Access(5));
    }

    #[test]
    fn the_superuser_executes_only_what_somebody_may_execute() {
        assert_eq!(by_mode(&file(0), &Caller::root()), Access(6));
        assert_eq!(by_mode(&file(0o100), &Caller::root()), Access(7));
    }
}
