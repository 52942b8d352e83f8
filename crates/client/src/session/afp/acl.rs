//! Access control lists as Macs write and read them: Apple Filing Protocol Reference, FPGetACL and FPSetACL.

use std::sync::Arc;

use ::afp::client::ROOT;
use ::afp::wire::acl::{Ace, Acl, Bitmap, Get, Reply, Security, Set, Uuid};
use ::afp::wire::identity::{Account, MapId, MappedId};
use ::afp::wire::uuid::UuidIdentity;
use ::afp::wire::{Path, command};
use vfs::acl::{Entries, Entry, EntryKind, Inherit, Rights, Who, before_mode};
use wire::Reader;

use super::{Afp, malformed};
use crate::tree::{Kind, Tree as _};
use crate::{Error, Result};

/// The beginning of the identity of a UUID that no account has: S-1-22-3, behind which the UUID follows, as this server keeps it.
const STRANGER: [u8; 12] = [1, 5, 0, 0, 0, 0, 0, 22, 3, 0, 0, 0];
/// What a mode gives or takes. The last entry of a list that is final takes these from everyone, so that the mode, which comes after
/// the list over AFP, gives nothing.
const BY_MODE: Rights = Rights::READ_DATA
    .union(Rights::WRITE_DATA)
    .union(Rights::APPEND)
    .union(Rights::EXECUTE)
    .union(Rights::DELETE_CHILD)
    .union(Rights::READ_NAMED)
    .union(Rights::WRITE_NAMED);

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

    /// The list of a file or folder, and the entries that say what its mode says, which comes after the list over AFP. `None`: it has
    /// no list, or the volume keeps none.
    pub(super) fn whole_acl(&mut self, path: &str) -> Result<Option<Entries>> {
        let acl = match self.list(path) {
            Err(error) if error.ends_session() => return Err(error),
            Err(_) => {
                self.hides_lists = true;
                return Ok(None);
            }
            Ok(acl) => acl,
        };
        let protected = acl.flags & Acl::NO_INHERIT != 0;
        if acl.entries.is_empty() && !protected {
            return Ok(None);
        }
        let mut list = Vec::new();
        for ace in &acl.entries {
            let Some((kind, inherit, rights)) = meaning(ace) else { continue };
            list.push(Entry { kind, inherit, rights, who: self.account(ace)? });
        }
        if list.pop_if(|last| is_final(last)).is_some() {
            return Ok(Some(Entries { list, protected, auto_inherited: true }));
        }
        let (mode, is_folder) = (self.unix(path)?.1.mode & 0o777, self.entry(path)?.kind == Kind::Folder);
        Ok(Some(before_mode(list, protected, mode, is_folder)))
    }

    /// Gives a file or folder this list, and no other entries.
    pub(super) fn set_whole_acl(&mut self, path: &str, entries: &Entries) -> Result<()> {
        let is_of_mode = |entry: &&Entry| entry.rights.contains(Rights::FROM_MODE);
        let ends = entries.list.iter().any(|entry| is_of_mode(&entry));
        let given = entries.list.iter().filter(|entry| !is_of_mode(entry)).cloned();
        let list: Vec<Entry> = given.chain((!ends).then(last_entry)).collect();
        let aces: Vec<Ace> = list.iter().map(whole_ace).collect::<Result<_>>()?;
        let flags = if entries.protected { Acl::NO_INHERIT } else { 0 };
        self.set_list(path, Acl { flags, entries: aces })
    }

    /// The account of an entry. The server knows who in its directory has a UUID.
    fn account(&mut self, ace: &Ace) -> Result<Who> {
        if let Some(named) = UuidIdentity::of(&ace.who) {
            return Ok(who_of(named));
        }
        let request = MapId { subfunction: MapId::USER_UUID_TO_UTF8, account: Account::Uuid(ace.who) };
        let answer = match self.call(command::MAP_ID, "an account", |w| request.encode(w)) {
            Err(error) if error.ends_session() => return Err(error),
            Err(_) => return Ok(Who::Foreign(Arc::from([&STRANGER[..], &ace.who].concat()))),
            Ok(answer) => answer,
        };
        let mapped = MappedId::decode(request.subfunction, &mut Reader::new(&answer)).map_err(malformed)?;
        Ok(match mapped {
            MappedId::OfUuid { is_group: true, number, .. } => Who::Group(number),
            MappedId::OfUuid { number, .. } => Who::User(number),
            MappedId::Name(_) | MappedId::Utf8(_) => {
                Who::Foreign(Arc::from([&STRANGER[..], &ace.who].concat()))
            }
        })
    }

    /// The entries for local users.
    pub(super) fn acl(&mut self, path: &str) -> Result<Vec<Entry>> {
        Ok(self.list(path)?.entries.iter().filter_map(entry_of).collect())
    }

    /// Puts entries before those that the file has.
    pub(super) fn put_acl(&mut self, path: &str, entries: &[Entry]) -> Result<()> {
        let before = self.list(path)?;
        let entries =
            entries.iter().filter_map(|entry| whole_ace(entry).ok()).chain(before.entries).collect();
        self.set_list(path, Acl { flags: before.flags, entries })
    }

    fn set_list(&mut self, path: &str, acl: Acl) -> Result<()> {
        let name = self.path(path);
        let request = Set {
            volume: self.volume,
            directory: ROOT,
            bitmap: Bitmap::default(),
            path: Path::utf8(name.as_bytes()),
            security: Security { acl: Some(acl), ..Security::default() },
        };
        self.call(command::SET_ACL, path, |w| request.encode(w)).map(drop)
    }
}

/// What an entry gives or takes; `None` for an audit.
fn meaning(ace: &Ace) -> Option<(EntryKind, Inherit, Rights)> {
    let kind = match ace.flags & Ace::KIND {
        Ace::PERMIT => EntryKind::Allow,
        Ace::DENY => EntryKind::Deny,
        _ => return None,
    };
    let inherit = INHERIT.iter().filter(|(flag, _)| ace.flags & flag != 0);
    let inherit = inherit.fold(Inherit::NONE, |all, (_, inherit)| all.union(*inherit));
    let rights = RIGHTS.iter().filter(|(bit, _)| ace.rights & bit != 0);
    Some((kind, inherit, rights.fold(Rights::NONE, |all, (_, right)| all.union(*right))))
}

/// An entry for a local user.
fn entry_of(ace: &Ace) -> Option<Entry> {
    let (kind, inherit, rights) = meaning(ace)?;
    match UuidIdentity::of(&ace.who)? {
        UuidIdentity::User(uid) => Some(Entry { kind, inherit, rights, who: Who::User(uid) }),
        _ => None,
    }
}

fn who_of(named: UuidIdentity) -> Who {
    match named {
        UuidIdentity::User(uid) => Who::User(uid),
        UuidIdentity::Group(gid) => Who::Group(gid),
        UuidIdentity::Everyone => Who::Everyone,
        UuidIdentity::Owner => Who::Owner,
        UuidIdentity::OwningGroup => Who::OwningGroup,
        UuidIdentity::SignedIn => Who::SignedIn,
        UuidIdentity::OwnerRights => Who::OwnerRights,
    }
}

/// The end of a list that is final.
fn last_entry() -> Entry {
    Entry::deny(Who::Everyone, BY_MODE)
}

fn is_final(entry: &Entry) -> bool {
    let last = last_entry();
    (entry.kind, &entry.who) == (last.kind, &last.who)
        && entry.rights.contains(BY_MODE)
        && !entry.inherit.contains(Inherit::ONLY)
}

fn whole_ace(entry: &Entry) -> Result<Ace> {
    let kind = if entry.kind == EntryKind::Allow { Ace::PERMIT } else { Ace::DENY };
    let flags = INHERIT.iter().filter(|(_, inherit)| entry.inherit.contains(*inherit));
    let rights = RIGHTS.iter().filter(|(_, right)| entry.rights.contains(*right));
    Ok(Ace {
        who: uuid_of(&entry.who)?,
        flags: flags.fold(kind, |all, (flag, _)| all | flag),
        rights: rights.fold(0, |all, (bit, _)| all | bit),
    })
}

fn uuid_of(who: &Who) -> Result<Uuid> {
    let named = match who {
        Who::User(uid) => UuidIdentity::User(*uid),
        Who::Group(gid) => UuidIdentity::Group(*gid),
        Who::Everyone => UuidIdentity::Everyone,
        Who::Owner => UuidIdentity::Owner,
        Who::OwningGroup => UuidIdentity::OwningGroup,
        Who::SignedIn => UuidIdentity::SignedIn,
        Who::OwnerRights => UuidIdentity::OwnerRights,
        Who::Foreign(sid) => {
            let uuid = sid.strip_prefix(&STRANGER).and_then(|uuid| uuid.try_into().ok());
            let text = || vfs::acl::samba::text_of_sid(sid);
            return uuid.ok_or_else(|| {
                Error::Other(format!(
                    "{} has no UUID, by which AFP names accounts; --accounts says who it is",
                    text()
                ))
            });
        }
    };
    Ok(named.uuid())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of "ACL Structures" in the Apple Filing Protocol Reference.
    #[test]
    fn entries_keep_their_kind_rights_and_flags() {
        let entries = crate::metadata::acl::passes_on();
        let aces: Vec<Ace> = entries.iter().map(|entry| whole_ace(entry).unwrap()).collect();
        let numbers: Vec<_> = aces.iter().map(|ace| (ace.flags, ace.rights)).collect();
        assert_eq!(numbers, [(0x122, 0x10), (0xc2, 0x524), (0x61, 0xa82)]);
        assert_eq!(aces.iter().filter_map(entry_of).collect::<Vec<_>>(), entries);
        assert_eq!(aces[0].who, *b"\xff\xff\xee\xee\xdd\xdd\xcc\xcc\xbb\xbb\xaa\xaa\0\0\x30\x39");
    }

    #[test]
    fn each_account_has_a_uuid_but_those_of_windows() {
        let uuid = *b"0123456789abcdef";
        let stranger = Who::Foreign(Arc::from([&STRANGER[..], &uuid].concat()));
        assert_eq!(uuid_of(&stranger).unwrap(), uuid);
        for who in [Who::User(7), Who::Group(7), Who::Owner, Who::OwningGroup, Who::Everyone, Who::SignedIn] {
            let uuid = uuid_of(&who).unwrap();
            assert_eq!(who_of(UuidIdentity::of(&uuid).unwrap()), who);
        }
        let sid = vfs::acl::samba::sid_of_text("S-1-5-21-1-2-3-1001").unwrap();
        assert!(uuid_of(&Who::Foreign(sid.into())).unwrap_err().to_string().contains("S-1-5-21-1-2-3-1001"));
    }

    #[test]
    fn the_end_of_a_final_list_takes_what_a_mode_gives() {
        assert!(is_final(&last_entry()) && is_final(&Entry::deny(Who::Everyone, Rights::ALL)));
        for other in [
            Entry::allow(Who::Everyone, BY_MODE),
            Entry::deny(Who::Owner, BY_MODE),
            Entry::deny(Who::Everyone, Rights::READ_DATA),
            last_entry().inherited_by(Inherit::ONLY.union(Inherit::FILES)),
        ] {
            assert!(!is_final(&other), "{other:?}");
        }
    }
}
