//! Access control lists as Macs write and read them: Apple Filing Protocol Reference, FPGetACL and FPSetACL.

use ::afp::client::ROOT;
use ::afp::darwin_acl::{self, SYNCHRONIZE, account_of, stranger};
use ::afp::wire::acl::{Bitmap, Get, KauthAce, KauthAcl, Reply, Security, Set, Uuid};
use ::afp::wire::identity::{Account, MapId, MappedId};
use ::afp::wire::uuid::UuidIdentity;
use ::afp::wire::{Path, command};
use vfs::acl::{Entries, Entry, EntryKind, Inherit, Rights, Who, before_mode};
use wire::Reader;

use super::{Afp, malformed};
use crate::tree::{Kind, Tree as _};
use crate::{Error, Result};

/// What a mode gives or takes. The last entry of a list that is final takes these from everyone, so that the mode, which comes after
/// the list over AFP, gives nothing.
const BY_MODE: Rights = Rights::READ_DATA
    .union(Rights::WRITE_DATA)
    .union(Rights::APPEND)
    .union(Rights::EXECUTE)
    .union(Rights::DELETE_CHILD)
    .union(Rights::READ_NAMED)
    .union(Rights::WRITE_NAMED);

impl Afp {
    fn list(&mut self, path: &str) -> Result<KauthAcl> {
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
        let protected = acl.flags & KauthAcl::NO_INHERIT != 0;
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
        let aces: Vec<KauthAce> = list.iter().map(whole_ace).collect::<Result<_>>()?;
        let flags = if entries.protected { KauthAcl::NO_INHERIT } else { 0 };
        self.set_list(path, KauthAcl { flags, entries: aces })
    }

    /// The account of an entry. The server knows who in its directory has a UUID.
    fn account(&mut self, ace: &KauthAce) -> Result<Who> {
        if let Some(named) = UuidIdentity::of(&ace.who) {
            return Ok(account_of(named));
        }
        let request = MapId { subfunction: MapId::USER_UUID_TO_UTF8, account: Account::Uuid(ace.who) };
        let answer = match self.call(command::MAP_ID, "an account", |w| request.encode(w)) {
            Err(error) if error.ends_session() => return Err(error),
            Err(_) => return Ok(stranger(&ace.who)),
            Ok(answer) => answer,
        };
        let mapped = MappedId::decode(request.subfunction, &mut Reader::new(&answer)).map_err(malformed)?;
        Ok(match mapped {
            MappedId::OfUuid { is_group: true, number, .. } => Who::Group(number),
            MappedId::OfUuid { number, .. } => Who::User(number),
            MappedId::Name(_) | MappedId::Utf8(_) => stranger(&ace.who),
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
        self.set_list(path, KauthAcl { flags: before.flags, entries })
    }

    fn set_list(&mut self, path: &str, acl: KauthAcl) -> Result<()> {
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

/// What an entry gives or takes; `None` for an audit. The right to wait for a file is no client's.
fn meaning(ace: &KauthAce) -> Option<(EntryKind, Inherit, Rights)> {
    let (kind, inherit) = darwin_acl::kind_of(ace.flags)?;
    Some((kind, inherit, darwin_acl::rights_of(ace.rights & !SYNCHRONIZE)))
}

/// An entry for a local user.
fn entry_of(ace: &KauthAce) -> Option<Entry> {
    let (kind, inherit, rights) = meaning(ace)?;
    match UuidIdentity::of(&ace.who)? {
        UuidIdentity::User(uid) => Some(Entry { kind, inherit, rights, who: Who::User(uid) }),
        _ => None,
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

fn whole_ace(entry: &Entry) -> Result<KauthAce> {
    let flags = darwin_acl::flags_of(entry.kind, entry.inherit);
    Ok(KauthAce {
        who: uuid_of(&entry.who)?,
        flags,
        rights: darwin_acl::darwin_of(entry.rights) & !SYNCHRONIZE,
    })
}

fn uuid_of(who: &Who) -> Result<Uuid> {
    darwin_acl::uuid_of(who).ok_or_else(|| {
        let text = match who {
            Who::Foreign(sid) => vfs::acl::samba::text_of_sid(sid),
            named => format!("{named:?}"),
        };
        Error::Other(format!("{text} has no UUID, by which AFP names accounts; --accounts says who it is"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of "ACL Structures" in the Apple Filing Protocol Reference.
    #[test]
    fn entries_keep_their_kind_rights_and_flags() {
        let entries = crate::metadata::acl::passes_on();
        let aces: Vec<KauthAce> = entries.iter().map(|entry| whole_ace(entry).unwrap()).collect();
        let numbers: Vec<_> = aces.iter().map(|ace| (ace.flags, ace.rights)).collect();
        assert_eq!(numbers, [(0x122, 0x10), (0xc2, 0x524), (0x61, 0xa82)]);
        assert_eq!(aces.iter().filter_map(entry_of).collect::<Vec<_>>(), entries);
        assert_eq!(aces[0].who, *b"\xff\xff\xee\xee\xdd\xdd\xcc\xcc\xbb\xbb\xaa\xaa\0\0\x30\x39");
    }

    #[test]
    fn an_account_of_windows_has_no_uuid() {
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
