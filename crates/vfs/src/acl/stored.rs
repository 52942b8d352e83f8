//! An ACL as it is stored beside its file, docs/on-disk-format.md. Big-endian. A seal follows the
//! ACL, so that a user that may only write the file (and so its attributes) cannot gain rights.

use std::hash::Hasher as _;
use std::sync::Arc;

use siphasher::sip128::{Hasher128 as _, SipHasher24};
use wire::{Malformed, Reader, Writer};

use super::{Acl, Entries, Entry, EntryKind, Inherit, MAX_ENTRIES, MAX_FOREIGN, Rights, Who};
use crate::Attributes;

/// The attribute of a file that holds its ACL.
pub(crate) const ATTRIBUTE: &[u8] = b"user.fourfold.acl";
/// The key that seals a volume's ACLs.
pub(crate) type SealKey = [u8; 16];

const VERSION: u8 = 1;
const PROTECTED: u8 = 1;
const AUTO_INHERITED: u8 = 2;
const FOREIGN_OWNER: u8 = 4;
const IN_TEAM: u8 = 8;
const CUT: u8 = 16;
const SEAL_LEN: usize = 16;

/// An ACL, and the mode, owner and group of the file when it was stored. It applies as long as they
/// are the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAcl {
    /// Permission bits (0o777).
    pub mode: u16,
    /// The host's owner.
    pub uid: u32,
    /// The host's group.
    pub gid: u32,
    /// The ACL's owner, when that is not the host's.
    pub owner: Option<Who>,
    /// The ACL's group.
    pub group: Who,
    /// The entries.
    pub entries: Entries,
    /// It was stored in a team folder, whose roles come after it. There it applies whatever mode, owner and group are.
    pub in_team: bool,
    /// The roles do not come after it: a list above it is protected.
    pub cut: bool,
}

impl StoredAcl {
    /// An ACL to be stored, of a file of this owner and group, with the owner and group that the ACL says.
    pub(crate) fn new((uid, gid): (u32, u32), (owner, group): (Option<Who>, Who), entries: Entries) -> Self {
        Self { mode: 0, uid, gid, owner, group, entries, in_team: false, cut: false }
    }

    /// Whether this applies to a file with these attributes.
    pub(crate) fn is_fresh(&self, attributes: &Attributes) -> bool {
        (u32::from(self.mode), self.uid, self.gid)
            == (attributes.mode & 0o777, attributes.uid, attributes.gid)
    }

    /// Whether the value of the attribute would apply to a file with these attributes, if its seal
    /// is right.
    pub(crate) fn would_apply(value: &[u8], attributes: &Attributes) -> bool {
        let body = value.len().checked_sub(SEAL_LEN).and_then(|end| value.get(..end));
        body.and_then(|body| Self::decode(body).ok()).is_some_and(|stored| stored.is_fresh(attributes))
    }

    /// Whether the value of the attribute was stored in a team folder. Its seal need not be right.
    pub(crate) fn is_of_team(value: &[u8]) -> bool {
        let body = value.len().checked_sub(SEAL_LEN).and_then(|end| value.get(..end));
        body.and_then(|body| Self::decode(body).ok()).is_some_and(|stored| stored.in_team)
    }

    pub(crate) fn into_acl(self) -> Acl {
        let owner = self.owner.unwrap_or(Who::User(self.uid));
        Acl { owner, group: self.group, entries: self.entries, stored: true, within_mode: false, team: None }
    }

    /// The stored form without its seal.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::new();
        let flag = |on, bit| if on { bit } else { 0 };
        w.u8(VERSION);
        w.u8(flag(self.entries.protected, PROTECTED)
            | flag(self.entries.auto_inherited, AUTO_INHERITED)
            | flag(self.owner.is_some(), FOREIGN_OWNER)
            | flag(self.in_team, IN_TEAM)
            | flag(self.cut, CUT));
        w.u16_be(self.mode);
        w.u32_be(self.uid);
        w.u32_be(self.gid);
        self.owner.iter().for_each(|owner| encode_who(owner, &mut w));
        encode_who(&self.group, &mut w);
        w.u16_be(self.entries.list.len() as u16); // at most MAX_ENTRIES, as `operations` has checked
        for entry in &self.entries.list {
            w.u8(u8::from(entry.kind == EntryKind::Deny));
            w.u8(entry.inherit.0);
            w.u32_be(entry.rights.0);
            encode_who(&entry.who, &mut w);
        }
        w.into_bytes()
    }

    /// Reads what [`StoredAcl::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        if r.u8()? != VERSION {
            return Err(Malformed("a version of stored ACLs that is not known"));
        }
        let flags = r.u8()?;
        let (mode, uid, gid) = (r.u16_be()?, r.u32_be()?, r.u32_be()?);
        let owner = if flags & FOREIGN_OWNER != 0 { Some(decode_who(&mut r)?) } else { None };
        let group = decode_who(&mut r)?;
        let count = usize::from(r.u16_be()?);
        if count > MAX_ENTRIES {
            return Err(Malformed("more entries than an ACL has"));
        }
        let list = (0..count).map(|_| decode_entry(&mut r)).collect::<Result<_, _>>()?;
        r.finish()?;
        let entries =
            Entries { list, protected: flags & PROTECTED != 0, auto_inherited: flags & AUTO_INHERITED != 0 };
        let (in_team, cut) = (flags & IN_TEAM != 0, flags & CUT != 0);
        Ok(Self { mode, uid, gid, owner, group, entries, in_team, cut })
    }

    pub(crate) fn seal(&self, key: &SealKey) -> Vec<u8> {
        let mut bytes = self.encode();
        let seal = seal_of(key, &bytes);
        bytes.extend_from_slice(&seal);
        bytes
    }

    /// `None` if the value was not sealed with this key.
    pub(crate) fn open(key: &SealKey, bytes: &[u8]) -> Option<Self> {
        let (body, seal) = bytes.split_at_checked(bytes.len().checked_sub(SEAL_LEN)?)?;
        let difference = seal_of(key, body).iter().zip(seal).fold(0, |all, (a, b)| all | (a ^ b));
        if difference == 0 { Self::decode(body).ok() } else { None }
    }
}

fn seal_of(key: &SealKey, body: &[u8]) -> [u8; SEAL_LEN] {
    let mut hasher = SipHasher24::new_with_key(key);
    hasher.write(body);
    hasher.finish128().as_bytes()
}

fn decode_entry(r: &mut Reader<'_>) -> Result<Entry, Malformed> {
    let kind = match r.u8()? {
        0 => EntryKind::Allow,
        1 => EntryKind::Deny,
        _ => return Err(Malformed("a kind of entry that is not known")),
    };
    let (inherit, rights) = (Inherit(r.u8()?), Rights(r.u32_be()?));
    Ok(Entry { kind, inherit, rights, who: decode_who(r)? })
}

fn encode_who(who: &Who, w: &mut Writer) {
    match who {
        Who::User(uid) => {
            w.u8(0);
            w.u32_be(*uid);
        }
        Who::Group(gid) => {
            w.u8(1);
            w.u32_be(*gid);
        }
        Who::Owner => w.u8(2),
        Who::OwningGroup => w.u8(3),
        Who::Everyone => w.u8(4),
        Who::SignedIn => w.u8(5),
        Who::OwnerRights => w.u8(6),
        Who::Foreign(bytes) => {
            w.u8(7);
            w.u8(bytes.len() as u8); // at most MAX_FOREIGN
            w.put(bytes);
        }
    }
}

fn decode_who(r: &mut Reader<'_>) -> Result<Who, Malformed> {
    Ok(match r.u8()? {
        0 => Who::User(r.u32_be()?),
        1 => Who::Group(r.u32_be()?),
        2 => Who::Owner,
        3 => Who::OwningGroup,
        4 => Who::Everyone,
        5 => Who::SignedIn,
        6 => Who::OwnerRights,
        7 => match usize::from(r.u8()?) {
            length if length > MAX_FOREIGN => return Err(Malformed("a longer identity than there is")),
            length => Who::Foreign(Arc::from(r.take(length)?)),
        },
        _ => return Err(Malformed("an identity of a kind that is not known")),
    })
}
