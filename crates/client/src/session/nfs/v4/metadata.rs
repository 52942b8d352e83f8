//! Metadata as clients of NFS version 4 write and read it: attributes, ACLs, the extended attributes of 4.2, and named attributes
//! as Macs use them. For a server without named attributes, Macs write `._name`.

use ::nfs::wire::v4::OperationNumber as Number;
use ::nfs::wire::v4::acls::{Ace, AceType, Aces, FlaggedAces};
use ::nfs::wire::v4::attributes::{self as attribute, SetTime4, Source, Values};
use ::nfs::wire::v4::files::{CompoundOperation, Read, SetAttr};
use ::nfs::wire::v4::opens::{Create, CreateType, OpenHow};
use ::nfs::wire::v4::types::{
    Bitmap, ChangeInfo, Fattr, LinkText, NfsTime, SHARE_READ, SHARE_WRITE, StateId, XattrValue,
};
use ::nfs::wire::xdr::{Decode, Encode, Opaque};
use vfs::acl::{Entry, EntryKind, Inherit, Rights, Who};
use vfs::mac::plist;
use wire::{Reader, Writer};

use super::compound::CompoundResults;
use super::{Nfs4, look_up, put};
use crate::metadata::acl::inheriting_file;
use crate::metadata::{Aspect, AspectState, COMMENT, MetadataValue, Peer, second_name};
use crate::session::Session;
use crate::session::nfs::metadata::{BEHIND_HOLE, WRITE_BITS, read_only};
use crate::session::nfs::rpc::malformed;
use crate::session::nfs::sidecar::{LONGEST, PIECE, Sidecars, path_beside};
use crate::{Error, Result};

/// The named attributes of Macs for Finder info and the resource fork.
pub(super) const FINDER_INFO: &str = "com.apple.FinderInfo";
pub(super) const FORK: &str = "com.apple.ResourceFork";

/// aceflag4 of RFC 8881 6.2.1.4: the first four are the numbers of [`Inherit`].
pub(super) const PASSED_ON: u32 = 0xf;
pub(super) const GROUP: u32 = 0x40;
pub(super) const INHERITED: u32 = 0x80;
/// ACL4_AUTO_INHERIT, RFC 8881 6.4.3.2: what is made in the folder is marked as inherited.
pub(super) const AUTO_INHERIT: u32 = 1;

impl Peer for Nfs4 {
    fn put(&mut self, path: &str, aspect: Aspect<'_>, value: &MetadataValue) -> Result<bool> {
        let owner;
        let mut set = Values::default();
        let number = match (aspect, value) {
            (Aspect::Created, MetadataValue::Time(..)) => {
                (set.time_create = time(value), attribute::TIME_CREATE).1
            }
            (Aspect::Backup, MetadataValue::Time(..)) => {
                (set.time_backup = time(value), attribute::TIME_BACKUP).1
            }
            (Aspect::Modified, MetadataValue::Time(..)) => {
                set.time_modify_set = time(value).map(SetTime4::ToClientTime);
                attribute::TIME_MODIFY_SET
            }
            (Aspect::Accessed, MetadataValue::Time(..)) => {
                set.time_access_set = time(value).map(SetTime4::ToClientTime);
                attribute::TIME_ACCESS_SET
            }
            (Aspect::Hidden, MetadataValue::Flag(on)) => (set.hidden = Some(*on), attribute::HIDDEN).1,
            (Aspect::System, MetadataValue::Flag(on)) => (set.system = Some(*on), attribute::SYSTEM).1,
            (Aspect::Archive, MetadataValue::Flag(on)) => (set.archive = Some(*on), attribute::ARCHIVE).1,
            (Aspect::ReadOnly, MetadataValue::Flag(on)) => {
                let AspectState::Value(MetadataValue::Number(mode)) = self.get(path, Aspect::Mode)? else {
                    return Ok(false);
                };
                (set.mode = Some(read_only(mode as u32, *on)), attribute::MODE).1
            }
            (Aspect::Mode, MetadataValue::Number(mode)) => (set.mode = Some(*mode as u32), attribute::MODE).1,
            (Aspect::Owner, MetadataValue::Number(uid)) if self.rpc.uid == 0 => {
                owner = uid.to_string();
                (set.owner = Some(Opaque::new(owner.as_bytes())), attribute::OWNER).1
            }
            (Aspect::Group, MetadataValue::Number(gid)) => {
                owner = gid.to_string();
                (set.owner_group = Some(Opaque::new(owner.as_bytes())), attribute::OWNER_GROUP).1
            }
            _ => return self.put_more(path, aspect, value),
        };
        if !self.supported.has(number) {
            return Ok(false);
        }
        self.set(path, &set, number).map(|()| true)
    }

    fn get(&mut self, path: &str, aspect: Aspect<'_>) -> Result<AspectState> {
        let date = |time: NfsTime| MetadataValue::Time(time.seconds, time.nanoseconds);
        match aspect {
            Aspect::Created => self.told(path, attribute::TIME_CREATE, |v| v.time_create.map(date)),
            Aspect::Backup => self.told(path, attribute::TIME_BACKUP, |v| v.time_backup.map(date)),
            Aspect::Modified => self.told(path, attribute::TIME_MODIFY, |v| v.time_modify.map(date)),
            Aspect::Accessed => self.told(path, attribute::TIME_ACCESS, |v| v.time_access.map(date)),
            Aspect::Hidden => self.told(path, attribute::HIDDEN, |v| v.hidden.map(MetadataValue::Flag)),
            Aspect::System => self.told(path, attribute::SYSTEM, |v| v.system.map(MetadataValue::Flag)),
            Aspect::Archive => self.told(path, attribute::ARCHIVE, |v| v.archive.map(MetadataValue::Flag)),
            Aspect::ReadOnly => self.told(path, attribute::MODE, |v| {
                v.mode.map(|mode| MetadataValue::Flag(mode & WRITE_BITS == 0))
            }),
            Aspect::Mode => self.told(path, attribute::MODE, |v| {
                v.mode.map(|mode| MetadataValue::Number(u64::from(mode & 0o7777)))
            }),
            Aspect::Owner => self.told(path, attribute::OWNER, |v| {
                v.owner.and_then(|name| number_of(&name)).map(|uid| MetadataValue::Number(u64::from(uid)))
            }),
            Aspect::Links => self.told(path, attribute::NUMLINKS, |v| {
                v.numlinks.map(|links| MetadataValue::Number(u64::from(links)))
            }),
            Aspect::Sparse => {
                let size = self.stat(path)?;
                self.told(path, attribute::SPACE_USED, |v| {
                    v.space_used.map(|used| MetadataValue::Flag(used < size / 2))
                })
            }
            Aspect::Acl => self.acl(path),
            Aspect::Inherited => self.acl(&inheriting_file(path)),
            Aspect::Ea(name) if self.has_xattrs => self.xattr(path, name),
            Aspect::FinderInfo => self.named_or_beside(path, FINDER_INFO, aspect),
            Aspect::Fork => self.named_or_beside(path, FORK, aspect),
            Aspect::Comment => self.named_or_beside(path, COMMENT, aspect),
            Aspect::Attribute(name) => self.named_or_beside(path, name, aspect),
            Aspect::Target => self.link(path),
            Aspect::Name => {
                self.stat(path)?;
                let name = path.rsplit('/').next().unwrap_or_default();
                Ok(AspectState::Value(MetadataValue::Text(name.into())))
            }
            Aspect::Ea(_) | Aspect::Group | Aspect::RenameLock | Aspect::DeleteLock => {
                Ok(AspectState::Impossible)
            }
        }
    }

    fn sweep(&mut self, path: &str) {
        let _ = self.remove(&path_beside(path)); // a server with named attributes has none
    }
}

impl Sidecars for Nfs4 {
    fn read_all(&mut self, path: &str) -> Result<Vec<u8>> {
        let (folder, name) = self.place(path)?;
        self.read_in(&folder, name)
    }
}

impl Nfs4 {
    /// What is no attribute of the file itself.
    fn put_more(&mut self, path: &str, aspect: Aspect<'_>, value: &MetadataValue) -> Result<bool> {
        let name = match (aspect, value) {
            (Aspect::FinderInfo, MetadataValue::Bytes(_)) => FINDER_INFO,
            (Aspect::Fork, MetadataValue::Bytes(_)) => FORK,
            (Aspect::Attribute(name), MetadataValue::Bytes(_)) => name,
            (Aspect::Comment, MetadataValue::Text(_)) => COMMENT,
            (Aspect::Ea(name), MetadataValue::Bytes(bytes)) if self.has_xattrs => {
                return self.set_attribute(path, name, bytes).map(|()| true);
            }
            (Aspect::Acl, MetadataValue::Acl(entries)) => return self.put_acl(path, entries),
            (Aspect::Inherited, _) => {
                return Ok(self.put_acl(path, &crate::metadata::acl::passes_on())?
                    && self.make_file(&inheriting_file(path)).map(|()| true)?);
            }
            (Aspect::Target, MetadataValue::Text(target)) => {
                return self.put_link(path, target).map(|()| true);
            }
            (Aspect::Links, _) => return self.put_name(path).map(|()| true),
            (Aspect::Sparse, _) => return self.write_all(path, BEHIND_HOLE, &[7; 4096]).map(|()| true),
            (Aspect::Name, _) => return self.make_file(path).map(|()| true),
            _ => return Ok(false),
        };
        let text;
        let bytes = match value {
            MetadataValue::Bytes(bytes) => bytes,
            MetadataValue::Text(comment) => (text = plist::write_text(comment), &text).1,
            _ => return Ok(false),
        };
        match self.put_named(path, name, bytes) {
            Err(Error::Unsupported(_)) => self.put_beside(path, aspect, value),
            other => other.map(|()| true),
        }
    }

    /// SETATTR of this attribute.
    pub(super) fn set(&mut self, path: &str, values: &Values<'_>, number: u32) -> Result<()> {
        let mut w = Writer::new();
        values.encode_wanted(&Bitmap::of(&[number]), &mut w);
        let attributes = Fattr::decode(&mut Reader::new(w.as_bytes())).map_err(malformed)?;
        let answer = self
            .on_name(path, CompoundOperation::SetAttr(SetAttr { state: StateId::ANONYMOUS, attributes }))?;
        let mut results = found(&answer, path)?;
        results.take::<Bitmap>(Number::SETATTR).map(drop)
    }

    /// GETATTR of an attribute; a server that does not have it cannot tell.
    fn told(
        &mut self,
        path: &str,
        number: u32,
        read: impl FnOnce(&Values<'_>) -> Option<MetadataValue>,
    ) -> Result<AspectState> {
        let answer = self.on_name(path, CompoundOperation::GetAttr(Bitmap::of(&[number])))?;
        Ok(read(&found(&answer, path)?.values()?).map_or(AspectState::Impossible, AspectState::Value))
    }

    /// All bytes of a file of this name.
    pub(super) fn read_in(&mut self, folder: &[u8], name: &str) -> Result<Vec<u8>> {
        let answer = self.call(&[put(folder), look_up(name), CompoundOperation::GetHandle(())], name)?;
        let handle = found(&answer, name)?.handle()?;
        let mut all = Vec::new();
        while all.len() < LONGEST {
            let (state, offset) = (StateId::ANONYMOUS, all.len() as u64);
            let read = CompoundOperation::Read(Read { state, offset, count: PIECE as u32 });
            let answer = self.call(&[put(&handle), read], name)?;
            let mut results = CompoundResults::of(&answer, name)?;
            results.skip(Number::PUTFH)?;
            match results.read()? {
                [] => return Ok(all),
                bytes => all.extend_from_slice(bytes),
            }
        }
        Err(Error::Other("a file that is too long to be held in memory".into()))
    }

    /// OPENATTR: the folder of named attributes.
    pub(super) fn attributes_of(&mut self, path: &str, make: bool) -> Result<Vec<u8>> {
        let (folder, name) = self.place(path)?;
        let operations = [
            put(&folder),
            look_up(name),
            CompoundOperation::OpenAttributes(make),
            CompoundOperation::GetHandle(()),
        ];
        let answer = self.call(&operations, path)?;
        let mut results = found(&answer, path)?;
        results.skip(Number::OPENATTR)?;
        results.handle()
    }

    fn put_named(&mut self, path: &str, name: &str, bytes: &[u8]) -> Result<()> {
        let folder = self.attributes_of(path, true)?;
        let nothing = Fattr { which: Bitmap::default(), values: Opaque::new(b"") };
        let file =
            self.open_in((&folder, name), (SHARE_READ | SHARE_WRITE, 0), OpenHow::Unchecked(nothing), path)?;
        self.write_open(file, 0, bytes)
    }

    /// A named attribute, or what `._name` says on a server without them.
    fn named_or_beside(&mut self, path: &str, name: &str, aspect: Aspect<'_>) -> Result<AspectState> {
        let bytes = match self.attributes_of(path, false).and_then(|folder| self.read_in(&folder, name)) {
            Ok(bytes) => bytes,
            Err(Error::Unsupported(_)) => return self.beside(path, aspect),
            Err(Error::Missing(_)) => return Ok(AspectState::Missing),
            Err(error) => return Err(error),
        };
        Ok(match aspect {
            Aspect::Comment => plist::read_text(&bytes)
                .map_or(AspectState::Missing, |text| AspectState::Value(MetadataValue::Text(text))),
            _ => AspectState::Value(MetadataValue::Bytes(bytes)),
        })
    }

    pub(super) fn xattr(&mut self, path: &str, name: &str) -> Result<AspectState> {
        let answer = self.on_name(path, CompoundOperation::GetXattr(Opaque::new(name.as_bytes())))?;
        match found(&answer, path)?.take::<XattrValue<'_>>(Number::GETXATTR) {
            Ok(value) => Ok(AspectState::Value(MetadataValue::Bytes(value.to_vec()))),
            Err(Error::Missing(_)) => Ok(AspectState::Missing),
            Err(error) => Err(error),
        }
    }

    fn put_link(&mut self, path: &str, target: &str) -> Result<()> {
        let (folder, name) = self.place(path)?;
        let create = CompoundOperation::Create(Create {
            kind: CreateType::Link(Opaque::new(target.as_bytes())),
            name: Opaque::new(name.as_bytes()),
            attributes: Fattr { which: Bitmap::default(), values: Opaque::new(b"") },
        });
        let answer = self.call(&[put(&folder), create], path)?;
        let mut results = CompoundResults::of(&answer, path)?;
        results.skip(Number::PUTFH)?;
        results.skip(Number::CREATE)
    }

    fn link(&mut self, path: &str) -> Result<AspectState> {
        let answer = self.on_name(path, CompoundOperation::ReadLink(()))?;
        match found(&answer, path)?.take::<LinkText<'_>>(Number::READLINK) {
            Ok(text) => {
                Ok(AspectState::Value(MetadataValue::Text(String::from_utf8_lossy(&text).into_owned())))
            }
            Err(Error::Other(_)) => Ok(AspectState::Missing), // it is no link
            Err(error) => Err(error),
        }
    }

    fn put_name(&mut self, path: &str) -> Result<()> {
        let (second, (folder, name)) = (second_name(path), self.place(path)?);
        let (_, new) = self.place(&second)?;
        let operations = [
            put(&folder),
            look_up(name),
            CompoundOperation::Save(()),
            put(&folder),
            CompoundOperation::Link(Opaque::new(new.as_bytes())),
        ];
        let answer = self.call(&operations, path)?;
        let mut results = found(&answer, path)?;
        results.skip(Number::SAVEFH)?;
        results.skip(Number::PUTFH)?;
        results.take::<ChangeInfo>(Number::LINK).map(drop)
    }

    /// `dacl` tells which entries are inherited, and `acl` does not.
    pub(super) fn acl_attribute(&self) -> Option<u32> {
        [attribute::DACL, attribute::ACL].into_iter().find(|number| self.supported.has(*number))
    }

    /// The entries for users.
    fn acl(&mut self, path: &str) -> Result<AspectState> {
        let Some(number) = self.acl_attribute() else { return Ok(AspectState::Impossible) };
        self.told(path, number, |values| {
            let aces = values.dacl.map(|dacl| dacl.aces).or(values.acl)?;
            Some(MetadataValue::Acl(aces.iter().filter_map(|ace| entry_of(&ace)).collect()))
        })
    }

    /// Puts entries before those that the file has.
    fn put_acl(&mut self, path: &str, entries: &[Entry]) -> Result<bool> {
        let Some(number) = self.acl_attribute() else { return Ok(false) };
        let answer = self.on_name(path, CompoundOperation::GetAttr(Bitmap::of(&[number])))?;
        let values: Values<'_> = found(&answer, path)?.values()?;
        let flags = values.dacl.map_or(0, |dacl| dacl.flags) | AUTO_INHERIT;
        let before = values.dacl.map(|dacl| dacl.aces).or(values.acl).unwrap_or_default();
        let mut w = Writer::new();
        entries.iter().for_each(|entry| put_ace(entry, &mut w));
        before.iter().for_each(|ace| ace.encode(&mut w));
        let aces = Aces::new((entries.len() + before.count()) as u32, w.as_bytes());
        let mut set = Values::default();
        match number {
            attribute::DACL => set.dacl = Some(FlaggedAces { flags, aces }),
            _ => set.acl = Some(aces),
        }
        self.set(path, &set, number).map(|()| true)
    }
}

/// The results after those of PUTFH and LOOKUP.
pub(super) fn found<'a>(answer: &'a [u8], path: &'a str) -> Result<CompoundResults<'a>> {
    let mut results = CompoundResults::of(answer, path)?;
    results.skip(Number::PUTFH)?;
    if !path.is_empty() {
        results.skip(Number::LOOKUP)?;
    }
    Ok(results)
}

fn time(value: &MetadataValue) -> Option<NfsTime> {
    match value {
        MetadataValue::Time(seconds, nanoseconds) => {
            Some(NfsTime { seconds: *seconds, nanoseconds: *nanoseconds })
        }
        _ => None,
    }
}

/// The number of a user who is sent as a number, with or without a domain.
fn number_of(name: &[u8]) -> Option<u32> {
    std::str::from_utf8(name).ok()?.split('@').next()?.parse().ok()
}

/// An entry for a user; `None` for one of a group, or for identities that are not numbers.
fn entry_of(ace: &Ace<'_>) -> Option<Entry> {
    let kind = match ace.kind {
        AceType::ALLOWED => EntryKind::Allow,
        AceType::DENIED => EntryKind::Deny,
        _ => return None,
    };
    let inherited = if ace.flags & INHERITED != 0 { Inherit::INHERITED } else { Inherit::NONE };
    let inherit = Inherit((ace.flags & PASSED_ON) as u8).union(inherited);
    let uid = number_of(&ace.who).filter(|_| ace.flags & GROUP == 0)?;
    Some(Entry { kind, inherit, rights: Rights(ace.mask), who: Who::User(uid) })
}

fn put_ace(entry: &Entry, w: &mut Writer) {
    let Who::User(uid) = entry.who else { return };
    let kind = if entry.kind == EntryKind::Allow { AceType::ALLOWED } else { AceType::DENIED };
    let inherited = if entry.inherit.contains(Inherit::INHERITED) { INHERITED } else { 0 };
    let (who, flags) = (uid.to_string(), u32::from(entry.inherit.0) & PASSED_ON | inherited);
    Ace { kind, flags, mask: entry.rights.0, who: Opaque::new(who.as_bytes()) }.encode(w);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of RFC 8881 6.2.1.
    #[test]
    fn entries_keep_their_kind_rights_and_flags() {
        let entries = crate::metadata::acl::passes_on();
        let mut w = Writer::new();
        entries.iter().for_each(|entry| put_ace(entry, &mut w));
        let words = [1_u32, 9, 0x1_0000, 5].map(u32::to_be_bytes).concat();
        assert_eq!(w.as_bytes()[..24], [&words[..], b"12345\0\0\0"].concat());
        let aces = Aces::new(3, w.as_bytes());
        let read: Vec<_> = aces.iter().filter_map(|ace| entry_of(&ace)).collect();
        assert_eq!(read, entries);
    }

    #[test]
    fn only_numbers_of_users_are_users() {
        let ace = |flags, who| Ace { kind: AceType::ALLOWED, flags, mask: 1, who: Opaque::new(who) };
        assert_eq!(entry_of(&ace(INHERITED, b"7@example.org")).unwrap().inherit, Inherit::INHERITED);
        for other in [ace(0, b"OWNER@"), ace(0, b"ada@example.org"), ace(GROUP, b"7")] {
            assert_eq!(entry_of(&other), None);
        }
    }
}
