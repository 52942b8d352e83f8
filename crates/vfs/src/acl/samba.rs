//! The ACLs that Samba keeps in `security.NTACL` (`acl_xattr`): a descriptor of Windows in NDR, little-endian, in one of four
//! versions; librpc/idl/xattr.idl and security.idl of Samba have them. Only the host's administrator can write the attribute.
//!
//! Samba checks the ACL, and then opens the file as the user, so the host's mode and POSIX ACL bind as well. So they do here.

use std::collections::HashMap;
use std::sync::Arc;

use wire::{Malformed, Reader};

use super::{Acl, Entries, Entry, EntryKind, Inherit, MAX_ENTRIES, MAX_FOREIGN, Rights, Who};

/// The attribute.
pub const ATTRIBUTE: &[u8] = b"security.NTACL";

/// Bytes of the hash in version 2, and of those in later versions.
const SHORT_HASH: usize = 16;
const HASH: usize = 64;
/// Flags of the descriptor, MS-DTYP 2.4.6.
const DACL_PRESENT: u16 = 0x0004;
const DACL_AUTO_INHERITED: u16 = 0x0400;
const DACL_PROTECTED: u16 = 0x1000;
/// Kinds of entries, MS-DTYP 2.4.4.1.
const ALLOWED: u8 = 0;
const DENIED: u8 = 1;
/// The kinds that allow to some objects, or under a condition.
const OTHERS_ALLOWED: [u8; 3] = [5, 9, 11];
/// The entries that files and folders inherit have only these flags.
const INHERIT_FLAGS: u8 = 0x1f;
/// Generic rights and what they are for files, MS-FSA 2.1.5.1.2 and MS-DTYP 2.4.3.
const GENERIC: [(u32, u32); 4] =
    [(0x8000_0000, 0x12_0089), (0x4000_0000, 0x12_0116), (0x2000_0000, 0x12_00a0), (0x1000_0000, 0x1f_01ff)];

/// An entry with the SID that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SidAce {
    kind: EntryKind,
    inherit: Inherit,
    rights: Rights,
    sid: Box<[u8]>,
    /// What it says cannot be said here; it takes the rights from everyone.
    is_unclear: bool,
}

/// The lowest RID of users and groups, unless Samba's `algorithmic rid base` says otherwise.
const RID_BASE: u32 = 1000;

/// The users and groups of this host for SIDs of Samba's own database, as the administrator has told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SidMap {
    known: HashMap<Box<[u8]>, Who>,
    domains: Vec<Box<[u8]>>,
}

impl SidMap {
    /// From now on this SID is this user or group.
    pub fn add(&mut self, sid: &[u8], who: Who) {
        self.known.insert(sid.into(), who);
    }

    /// From now on SIDs of this domain are what Samba makes of the numbers of users and groups if its database has no other
    /// SIDs for them (`passdb backend = smbpasswd`).
    pub fn add_domain(&mut self, domain: &[u8]) {
        self.domains.push(domain.into());
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty() && self.domains.is_empty()
    }

    fn who(&self, sid: &[u8]) -> Option<Who> {
        if let Some(who) = self.known.get(sid) {
            return Some(who.clone());
        }
        let (domain, rid) = sid.split_last_chunk::<4>()?;
        let is_it = |known: &[u8]| {
            known.get(2..) == domain.get(2..)
                && known.get(1).and_then(|parts| parts.checked_add(1)) == sid.get(1).copied()
        };
        let number = u32::from_le_bytes(*rid)
            .checked_sub(RID_BASE)
            .filter(|_| self.domains.iter().any(|known| is_it(known)))?;
        Some(if number.is_multiple_of(2) { Who::User(number / 2) } else { Who::Group(number / 2) })
    }
}

/// What the attribute says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NtAcl {
    owner: Option<Box<[u8]>>,
    group: Option<Box<[u8]>>,
    /// `None`: everyone may do everything.
    entries: Option<Vec<SidAce>>,
    protected: bool,
    auto_inherited: bool,
}

impl NtAcl {
    /// Reads any version. `None`: it has no list of entries.
    pub fn decode(bytes: &[u8]) -> Result<Option<Self>, Malformed> {
        let mut r = Reader::new(bytes);
        let version = r.u16_le()?;
        if r.u16_le()? != version || r.u32_le()? == 0 {
            return Err(Malformed("two versions, or no descriptor"));
        }
        match version {
            1 => {}
            2 => r.skip(4 + SHORT_HASH)?,
            3 => r.skip(4 + 2 + HASH)?,
            4 => {
                r.skip(4 + 2 + HASH)?;
                while r.u8()? != 0 {} // the name of the hash
                align(&mut r)?;
                r.skip(8 + HASH)?; // time, hash of the host's ACL
            }
            _ => return Err(Malformed("a version nobody knows")),
        }
        align(&mut r)?;
        descriptor(bytes, &mut r)
    }

    /// The ACL of a file of this owner and group. Identities that neither this host nor the map knows get nothing, and what is
    /// taken from them is taken from everyone: they may be any of its users.
    pub fn acl(&self, (uid, gid): (u32, u32), sids: &SidMap) -> Acl {
        let list = match &self.entries {
            None => vec![Entry::allow(Who::Everyone, Rights::ALL)],
            Some(aces) => aces.iter().map(|ace| self.entry(ace, (uid, gid), sids)).collect(),
        };
        let entries = Entries { list, protected: self.protected, auto_inherited: self.auto_inherited };
        Acl {
            owner: Who::User(uid),
            group: Who::Group(gid),
            entries,
            stored: true,
            within_mode: true,
            team: None,
        }
    }

    fn entry(&self, ace: &SidAce, (uid, gid): (u32, u32), sids: &SidMap) -> Entry {
        let of_file = |sid: &Option<Box<[u8]>>| sid.as_ref() == Some(&ace.sid);
        let who = match well_known(&ace.sid, ace.inherit).or_else(|| sids.who(&ace.sid)) {
            _ if ace.is_unclear => Who::Everyone,
            Some(who) => who,
            None if of_file(&self.owner) => Who::User(uid),
            // The group of a file stands for one of Samba's, which may have other members.
            None if of_file(&self.group) && ace.kind == EntryKind::Allow => Who::Group(gid),
            None if ace.kind == EntryKind::Deny => Who::Everyone,
            None => Who::Foreign(Arc::from(&ace.sid[..])),
        };
        Entry { kind: ace.kind, inherit: ace.inherit, rights: ace.rights, who }
    }

    /// The SIDs of the entries that are no user or group of this host by themselves.
    pub fn unknown(&self) -> impl Iterator<Item = &[u8]> {
        let aces = self.entries.iter().flatten().filter(|ace| well_known(&ace.sid, ace.inherit).is_none());
        aces.map(|ace| &ace.sid[..]).filter(|sid| Some(*sid) != self.owner.as_deref())
    }
}

/// NDR aligns numbers of four bytes and more.
fn align(r: &mut Reader<'_>) -> Result<(), Malformed> {
    r.skip(r.position().next_multiple_of(4) - r.position())
}

/// The positions in a descriptor are relative to the beginning of the value.
fn descriptor(bytes: &[u8], r: &mut Reader<'_>) -> Result<Option<NtAcl>, Malformed> {
    if r.u8()? != 1 {
        return Err(Malformed("a descriptor of a revision nobody knows"));
    }
    r.skip(1)?;
    let control = r.u16_le()?;
    let (owner, group) = (r.u32_le()?, r.u32_le()?);
    r.skip(4)?; // audits
    let dacl = r.u32_le()?;
    let at = |position: u32| {
        let mut r = Reader::new(bytes);
        r.skip(usize::try_from(position).unwrap_or(usize::MAX))?;
        Ok::<_, Malformed>(r)
    };
    let sid_at = |position: u32| match position {
        0 => Ok(None),
        position => sid(&mut at(position)?).map(Some),
    };
    if control & DACL_PRESENT == 0 {
        return Ok(None);
    }
    let entries = if dacl == 0 { None } else { Some(list(&mut at(dacl)?)?) };
    Ok(Some(NtAcl {
        owner: sid_at(owner)?,
        group: sid_at(group)?,
        entries,
        protected: control & DACL_PROTECTED != 0,
        auto_inherited: control & DACL_AUTO_INHERITED != 0,
    }))
}

fn list(r: &mut Reader<'_>) -> Result<Vec<SidAce>, Malformed> {
    r.skip(4)?; // revision, size
    let count = r.u32_le()? as usize;
    if count > MAX_ENTRIES {
        return Err(Malformed("more entries than an ACL has"));
    }
    (0..count).map(|_| ace(r)).collect()
}

fn ace(r: &mut Reader<'_>) -> Result<SidAce, Malformed> {
    let (kind, flags, size) = (r.u8()?, r.u8()?, r.u16_le()?);
    let body = r.take(usize::from(size).checked_sub(4).ok_or(Malformed("an entry without a size"))?)?;
    let mut r = Reader::new(body);
    let mask = r.u32_le()?;
    let mapped =
        GENERIC.iter().filter(|(generic, _)| mask & generic != 0).fold(mask, |all, (_, file)| all | file);
    let (rights, inherit) = (Rights(mapped & Rights::ALL.0), Inherit(flags & INHERIT_FLAGS));
    let plain =
        |kind, r: &mut Reader<'_>| Ok(SidAce { kind, inherit, rights, sid: sid(r)?, is_unclear: false });
    match kind {
        ALLOWED => plain(EntryKind::Allow, &mut r),
        DENIED => plain(EntryKind::Deny, &mut r),
        _ => {
            let allows = OTHERS_ALLOWED.contains(&kind);
            let rights = if allows { Rights::NONE } else { rights };
            Ok(SidAce { kind: EntryKind::Deny, inherit, rights, sid: Box::default(), is_unclear: true })
        }
    }
}

/// A SID as bytes: revision, number of parts, authority, parts.
fn sid(r: &mut Reader<'_>) -> Result<Box<[u8]>, Malformed> {
    let (revision, parts) = (r.u8()?, r.u8()?);
    let len = 6 + 4 * usize::from(parts);
    if revision != 1 || len + 2 > MAX_FOREIGN {
        return Err(Malformed("not a SID"));
    }
    Ok([&[revision, parts][..], r.take(len)?].concat().into())
}

/// The users that a SID means on every host.
fn well_known(sid: &[u8], entry: Inherit) -> Option<Who> {
    let is_passed_on = entry.intersects(Inherit::FILES.union(Inherit::FOLDERS));
    let (authority, parts) = (sid.get(7)?, sid.get(8..)?.chunks_exact(4));
    let parts: Vec<u32> =
        parts.map(|part| u32::from_le_bytes([part[0], part[1], part[2], part[3]])).collect();
    match (*authority, &parts[..]) {
        (1, [0]) => Some(Who::Everyone),
        (3, [0]) if is_passed_on => Some(Who::Owner),
        (3, [1]) if is_passed_on => Some(Who::OwningGroup),
        (3, [4]) => Some(Who::OwnerRights),
        (5, [11]) => Some(Who::SignedIn),
        (22, [1, uid]) => Some(Who::User(*uid)),
        (22, [2, gid]) => Some(Who::Group(*gid)),
        _ => None,
    }
}

/// The bytes of a SID in text (`S-1-5-21-1-2-3-1000`); `None` for any other text.
pub fn sid_of_text(text: &str) -> Option<Box<[u8]>> {
    let mut numbers = text.strip_prefix("S-1-")?.split('-');
    let authority: u64 = numbers.next()?.parse().ok().filter(|number| *number < 1 << 48)?;
    let parts: Vec<u32> = numbers.map(|number| number.parse().ok()).collect::<Option<_>>()?;
    let count = u8::try_from(parts.len()).ok().filter(|count| 8 + 4 * usize::from(*count) <= MAX_FOREIGN)?;
    let mut sid = vec![1, count];
    sid.extend(&authority.to_be_bytes()[2..]);
    parts.iter().for_each(|part| sid.extend(part.to_le_bytes()));
    Some(sid.into())
}

/// A SID as text.
pub fn text_of_sid(sid: &[u8]) -> String {
    let authority =
        sid.get(2..8).unwrap_or_default().iter().fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
    let mut text = format!("S-1-{authority}");
    for part in sid.get(8..).unwrap_or_default().chunks_exact(4) {
        text.push_str(&format!("-{}", u32::from_le_bytes([part[0], part[1], part[2], part[3]])));
    }
    text
}
