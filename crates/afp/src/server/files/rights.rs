//! Access rights and UNIX privileges, Apple Filing Protocol Reference, "Access Rights Bitmap" and "FPUnixPrivs".

use vfs::backend::Found;
use vfs::{Access, Attributes, Caller, Description, Kind, Volume};

use crate::wire::ResultCode;

const SEARCH: u32 = 1;
const SEE_FILES: u32 = 2;
const MAKE_CHANGES: u32 = 4;
/// In the caller's own byte: the caller is the owner.
const OWNER: u32 = 0x80;

/// The rights of owner, group, everyone and the caller: one byte each, the owner's lowest.
pub(in crate::server) fn access_rights(
    tree: &Volume,
    caller: &Caller,
    of: &Found,
) -> Result<u32, ResultCode> {
    let all = Access::READ.union(Access::WRITE).union(Access::EXECUTE);
    Ok(word(caller, &of.attributes, tree.access(caller, of, all)?))
}

/// The same for an entry of a listing; `None`: it may have an ACL of its own.
pub(in crate::server) fn listed_access_rights(
    tree: &Volume,
    caller: &Caller,
    folder: &Found,
    listed: &Description,
) -> vfs::Result<Option<u32>> {
    let all = Access::READ.union(Access::WRITE).union(Access::EXECUTE);
    let access = tree.mac_tree().listed_access(caller, folder, listed, all)?;
    Ok(access.map(|access| word(caller, &listed.details.attributes, access)))
}

fn word(caller: &Caller, of: &Attributes, own: Access) -> u32 {
    let (own, mode) = (granted(own), of.mode);
    let is_owner = caller.uid == of.uid || caller.uid == 0;
    let own = own | if is_owner { OWNER } else { 0 };
    own << 24 | of_bits(mode) << 16 | of_bits(mode >> 3) << 8 | of_bits(mode >> 6)
}

fn granted(access: Access) -> u32 {
    let bit = |want: Access, bit| if access.contains(want) { bit } else { 0 };
    bit(Access::EXECUTE, SEARCH) | bit(Access::READ, SEE_FILES) | bit(Access::WRITE, MAKE_CHANGES)
}

/// The rights for three bits of a mode.
fn of_bits(mode: u32) -> u32 {
    let bit = |has: u32, bit| if mode & has != 0 { bit } else { 0 };
    bit(1, SEARCH) | bit(4, SEE_FILES) | bit(2, MAKE_CHANGES)
}

/// The three bits of a mode for these rights.
pub(in crate::server) fn to_bits(rights: u32) -> u32 {
    let bit = |has: u32, bit| if rights & has != 0 { bit } else { 0 };
    bit(SEARCH, 1) | bit(SEE_FILES, 4) | bit(MAKE_CHANGES, 2)
}

/// The mode of a new file or folder, until the client sets another: the group and everyone get the
/// rights that they have in the folder above. The owner gets all rights.
pub(in crate::server) fn mode_in(folder: &Found, most: u32) -> u32 {
    inherited(folder.attributes.mode, most)
}

fn inherited(mode: u32, most: u32) -> u32 {
    most & (mode | 0o700)
}

/// A mode with the file type, as in UNIX privileges.
pub(in crate::server) fn unix_mode(attributes: &Attributes) -> u32 {
    let kind = match attributes.kind {
        Kind::File => 0o100_000,
        Kind::Folder => 0o040_000,
        Kind::Link => 0o120_000,
        Kind::Fifo => 0o010_000,
        Kind::Socket => 0o140_000,
        Kind::CharDevice => 0o020_000,
        Kind::BlockDevice => 0o060_000,
    };
    kind | attributes.mode
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_in_a_folder_is_as_open_as_the_folder() {
        assert_eq!(inherited(0o2775, 0o666), 0o664);
        assert_eq!(inherited(0o2775, 0o777), 0o775);
        assert_eq!(inherited(0o500, 0o666), 0o600);
    }

    #[test]
    fn rights_are_search_see_files_and_make_changes() {
        assert_eq!(of_bits(0o7), 7);
        assert_eq!(of_bits(0o5), SEARCH | SEE_FILES);
        assert_eq!(of_bits(0o2), MAKE_CHANGES);
        assert!((0..8).all(|bits| to_bits(of_bits(bits)) == bits));
    }
}
