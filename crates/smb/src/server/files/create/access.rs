//! What an open asks for and may have, MS-FSA 2.1.5.1.2.

use vfs::acl::Rights;
use vfs::backend::Found;
use vfs::state::{Concern, Modes};
use vfs::{Caller, Kind, Volume};

use crate::server::clients::tree::Tree;
use crate::server::files::security::mask_of;
use crate::wire::Status;
use crate::wire::create::ShareAccess;
use crate::wire::security::{AccessMask, GenericMapping};

/// Bits that an access mask may have, MS-SMB2 2.2.13.1.
const KNOWN: u32 = 0xF31F_01FF;
/// In place of DELETE in the rights of an open: it may give the file a free name, and not remove it. A mask of a request or a
/// descriptor has no such bit.
pub(in crate::server) const RENAMES: AccessMask = AccessMask(Rights::RENAMES.0);
/// The rights that must agree with other opens of the file. All other rights touch neither its data
/// nor its name.
const DATA: AccessMask = AccessMask(
    AccessMask::READ_DATA.0
        | AccessMask::WRITE_DATA.0
        | AccessMask::APPEND_DATA.0
        | AccessMask::EXECUTE.0
        | AccessMask::DELETE.0
        | RENAMES.0,
);
/// The rights that change something.
pub(super) const CHANGES: AccessMask = AccessMask(
    AccessMask::FILE_WRITE.0 & !(AccessMask::READ_CONTROL.0 | AccessMask::SYNCHRONIZE.0)
        | AccessMask::DELETE.0
        | AccessMask::DELETE_CHILD.0
        | AccessMask::WRITE_DAC.0
        | AccessMask::WRITE_OWNER.0,
);

/// The mask without generic bits. Refused if it has unknown bits or asks for the audit list.
pub(in crate::server) fn wanted(desired: u32) -> Result<AccessMask, Status> {
    if desired == 0 || desired & !KNOWN != 0 {
        return Err(Status::ACCESS_DENIED);
    }
    let wanted = AccessMask(desired).mapped(&GenericMapping::FILE);
    match wanted.contains(AccessMask::ACCESS_SYSTEM_SECURITY) {
        true => Err(Status::PRIVILEGE_NOT_HELD),
        false => Ok(wanted),
    }
}

/// All rights that a user has on a file, which is in `parent`.
pub(in crate::server) fn maximal(
    volume: &Volume,
    tree: &Tree,
    caller: &Caller,
    found: &Found,
    parent: Option<&Found>,
) -> Result<AccessMask, Status> {
    let mask = by_rights(volume, caller, found, parent)?;
    Ok(if tree.read_only { AccessMask(mask.0 & !CHANGES.0) } else { mask })
}

/// The same in a tree that may be changed.
pub(in crate::server) fn by_rights(
    volume: &Volume,
    caller: &Caller,
    found: &Found,
    parent: Option<&Found>,
) -> Result<AccessMask, Status> {
    let mask = mask_of(volume.rights(caller, found, parent)?) & AccessMask::FILE_ALL;
    let is_by_mode = !volume.has_stored_acl(found)?;
    Ok(if is_by_mode { mask | beyond_mode(caller, found, mask) } else { mask })
}

/// The rights of an open as its client knows them: it asked for DELETE.
pub(in crate::server) fn as_asked(granted: AccessMask) -> AccessMask {
    if granted.contains(RENAMES) { granted.difference(RENAMES) | AccessMask::DELETE } else { granted }
}

/// Rights that no mode bit grants, but that Windows expects a user to have if the user may read or
/// write the file, or owns it. Descriptors show them: `as_shown` in `files/security.rs`.
fn beyond_mode(caller: &Caller, found: &Found, by_mode: AccessMask) -> AccessMask {
    let mut more = AccessMask::NONE;
    if found.attributes.kind != Kind::Folder {
        // A script need not be executable on the host to be run by a client that reads it.
        if by_mode.contains(AccessMask::READ_DATA) {
            more |= AccessMask::EXECUTE;
        }
        if by_mode.contains(AccessMask::WRITE_DATA) {
            more |= AccessMask::DELETE_CHILD; // of what a file has none
        }
    }
    if caller.uid == found.attributes.uid {
        more |= AccessMask::WRITE_OWNER | AccessMask::READ_EA | AccessMask::WRITE_EA;
    }
    more
}

/// Which caches of other clients conflict with an open that has these rights, MS-FSA 2.1.5.1.2.
pub(super) fn concern(granted: AccessMask) -> Concern {
    const ATTRIBUTES: AccessMask = AccessMask(
        AccessMask::READ_ATTRIBUTES.0 | AccessMask::WRITE_ATTRIBUTES.0 | AccessMask::SYNCHRONIZE.0,
    );
    match granted.difference(ATTRIBUTES) {
        AccessMask::NONE => Concern::Attributes,
        AccessMask::READ_CONTROL => Concern::Rights,
        _ => Concern::Data,
    }
}

/// How the tree sees an open with these rights: its access modes, and the modes that it denies to
/// others.
pub(super) fn modes(granted: AccessMask, share: ShareAccess) -> (Modes, Modes) {
    if granted.0 & DATA.0 == 0 {
        return (Modes::NONE, Modes::NONE);
    }
    let mut access = Modes::NONE;
    if granted.0 & (AccessMask::READ_DATA.0 | AccessMask::EXECUTE.0) != 0 {
        access = access.union(Modes::READ);
    }
    if granted.0 & (AccessMask::WRITE_DATA.0 | AccessMask::APPEND_DATA.0) != 0 {
        access = access.union(Modes::WRITE);
    }
    if granted.0 & (AccessMask::DELETE.0 | RENAMES.0) != 0 {
        access = access.union(Modes::REMOVE);
    }
    let mut deny = Modes::NONE;
    for (allows, mode) in [
        (ShareAccess::READ, Modes::READ),
        (ShareAccess::WRITE, Modes::WRITE),
        (ShareAccess::DELETE, Modes::DELETE),
    ] {
        if !share.contains(allows) {
            deny = deny.union(mode);
        }
    }
    (access, deny)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_for_attributes_alone_agrees_with_everybody() {
        let attributes = AccessMask::READ_ATTRIBUTES | AccessMask::WRITE_ATTRIBUTES | AccessMask::SYNCHRONIZE;
        assert_eq!(modes(attributes, ShareAccess::NONE), (Modes::NONE, Modes::NONE));
    }

    #[test]
    fn what_is_not_shared_is_denied() {
        let (access, deny) = modes(AccessMask::APPEND_DATA, ShareAccess::READ);
        assert_eq!((access, deny), (Modes::WRITE, Modes::WRITE.union(Modes::DELETE)));
        assert_eq!(modes(AccessMask::EXECUTE, ShareAccess(7)), (Modes::READ, Modes::NONE));
    }

    #[test]
    fn unknown_bits_and_nothing_at_all_are_refused() {
        assert_eq!(wanted(0), Err(Status::ACCESS_DENIED));
        assert_eq!(wanted(0x0080_0000), Err(Status::ACCESS_DENIED));
        assert_eq!(wanted(0x0100_0000), Err(Status::PRIVILEGE_NOT_HELD));
        assert_eq!(wanted(0x8000_0000), Ok(AccessMask(0x0012_0089)));
    }
}
