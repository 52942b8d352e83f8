//! Access control lists as Macs write and read them: Apple Filing Protocol Reference, FPGetACL and FPSetACL.

use ::afp::client::ROOT;
use ::afp::wire::acl::{Ace, Acl, Bitmap, Get, Reply, Security, Set, Uuid};
use ::afp::wire::{Path, command};
use vfs::acl::{Entry, EntryKind, Inherit, Rights, Who};
use wire::Reader;

use super::{Afp, malformed};
use crate::Result;

/// The beginning of the UUIDs of local users, which Macs derive from their numbers.
const LOCAL_USER: [u8; 12] = [0xff, 0xff, 0xee, 0xee, 0xdd, 0xdd, 0xcc, 0xcc, 0xbb, 0xbb, 0xaa, 0xaa];

/// "ACL Access Rights".
const RIGHTS: [(u32, Rights); 13] = [
    (0x0002, Rights::READ_DATA),
    (0x0004, Rights::WRITE_DATA),
    (0x0008, Rights::EXECUTE),
    (0x0010, Rights::DELETE),
    (0x0020, Rights::APPEND),
    (0x0040, Rights::DELETE_CHILD),
    (0x0080, Rights::READ_ATTRIBUTES),
    (0x0100, Rights::WRITE_ATTRIBUTES),
    (0x0200, Rights::READ_NAMED),
    (0x0400, Rights::WRITE_NAMED),
    (0x0800, Rights::READ_ACL),
    (0x1000, Rights::WRITE_ACL),
    (0x2000, Rights::TAKE_OWNERSHIP),
];
/// The flags of kauth_ace that say how an entry is inherited.
const INHERIT: [(u32, Inherit); 5] = [
    (Ace::INHERITED, Inherit::INHERITED),
    (Ace::FILE_INHERIT, Inherit::FILES),
    (Ace::DIRECTORY_INHERIT, Inherit::FOLDERS),
    (Ace::LIMIT_INHERIT, Inherit::NO_PROPAGATE),
    (Ace::ONLY_INHERIT, Inherit::ONLY),
];

impl Afp {
    fn list(&mut self, path: &str) -> Result<Acl> {
        let name = self.path(path);
        let request = Get {
            volume: self.volume,
            directory: ROOT,
            bitmap: Bitmap::ACL,
            max_reply: 0,
            path: Path::utf8(name.as_bytes()),
        };
        let answer = self.call(command::GET_ACL, path, |w| request.encode(w))?;
        let Reply(security) = Reply::decode(&mut Reader::new(&answer)).map_err(malformed)?;
        Ok(security.acl.unwrap_or_default())
    }

    /// The entries for local users.
    pub(super) fn acl(&mut self, path: &str) -> Result<Vec<Entry>> {
        Ok(self.list(path)?.entries.iter().filter_map(entry_of).collect())
    }

    /// Puts entries before those that the file has.
    pub(super) fn put_acl(&mut self, path: &str, entries: &[Entry]) -> Result<()> {
        let (before, name) = (self.list(path)?, self.path(path));
        let entries = entries.iter().filter_map(ace_of).chain(before.entries).collect();
        let request = Set {
            volume: self.volume,
            directory: ROOT,
            bitmap: Bitmap::default(),
            path: Path::utf8(name.as_bytes()),
            security: Security { acl: Some(Acl { flags: before.flags, entries }), ..Security::default() },
        };
        self.call(command::SET_ACL, path, |w| request.encode(w)).map(drop)
    }
}

fn entry_of(ace: &Ace) -> Option<Entry> {
    let kind = match ace.flags & Ace::KIND {
        Ace::PERMIT => EntryKind::Allow,
        Ace::DENY => EntryKind::Deny,
        _ => return None,
    };
    let number = ace.who.strip_prefix(&LOCAL_USER)?.first_chunk().copied()?;
    let inherit = INHERIT.iter().filter(|(flag, _)| ace.flags & flag != 0);
    let inherit = inherit.fold(Inherit::NONE, |all, (_, inherit)| all.union(*inherit));
    let rights = RIGHTS.iter().filter(|(bit, _)| ace.rights & bit != 0);
    let rights = rights.fold(Rights::NONE, |all, (_, right)| all.union(*right));
    Some(Entry { kind, inherit, rights, who: Who::User(u32::from_be_bytes(number)) })
}

fn ace_of(entry: &Entry) -> Option<Ace> {
    let Who::User(uid) = entry.who else { return None };
    let mut who: Uuid = [0; 16];
    who[..LOCAL_USER.len()].copy_from_slice(&LOCAL_USER);
    who[LOCAL_USER.len()..].copy_from_slice(&uid.to_be_bytes());
    let kind = if entry.kind == EntryKind::Allow { Ace::PERMIT } else { Ace::DENY };
    let flags = INHERIT.iter().filter(|(_, inherit)| entry.inherit.contains(*inherit));
    let rights = RIGHTS.iter().filter(|(_, right)| entry.rights.contains(*right));
    Some(Ace {
        who,
        flags: flags.fold(kind, |all, (flag, _)| all | flag),
        rights: rights.fold(0, |all, (bit, _)| all | bit),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of "ACL Structures" in the Apple Filing Protocol Reference.
    #[test]
    fn entries_keep_their_kind_rights_and_flags() {
        let entries = crate::metadata::acl::passes_on();
        let aces: Vec<Ace> = entries.iter().filter_map(ace_of).collect();
        let numbers: Vec<_> = aces.iter().map(|ace| (ace.flags, ace.rights)).collect();
        assert_eq!(numbers, [(0x122, 0x10), (0xc2, 0x524), (0x61, 0xa82)]);
        assert_eq!(aces.iter().filter_map(entry_of).collect::<Vec<_>>(), entries);
        assert_eq!(aces[0].who, *b"\xff\xff\xee\xee\xdd\xdd\xcc\xcc\xbb\xbb\xaa\xaa\0\0\x30\x39");
    }
}
