//! Lists that clients send. A client reads a list, changes an entry and sends all of it back. The list that it was shown may have
//! entries that no client can set anew: identities that only another protocol knows, or inheritance that only folders can have.
//! So entries are compared as they are on the wire, before they are understood; those that come back stay what they were.

use vfs::Kind;
use vfs::acl::{Acl, Entries, Entry, MAX_ENTRIES, recognized};

use super::{
    AUTO_INHERIT, DEFAULTED, GROUP, INHERITANCE, INHERITED, PROTECTED, Rights, SPECIAL, check_for, entry, put,
};
use crate::server::naming::Naming;
use crate::wire::v4::acls::{Ace, AceType, Aces};
use crate::wire::v4::types::Status;
use crate::wire::xdr::Decode;
use wire::{Reader, Writer};

/// An entry in the form in which clients read it and send it, without what means nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WireEntry {
    kind: AceType,
    flags: u32,
    mask: u32,
    who: Vec<u8>,
}

impl WireEntry {
    fn of(ace: &Ace<'_>, is_dacl: bool) -> Self {
        let has_meaning = INHERITANCE | GROUP | if is_dacl { INHERITED } else { 0 };
        let mut flags = ace.flags & has_meaning;
        if SPECIAL.iter().any(|(name, _)| name.as_bytes() == &*ace.who) {
            flags &= !GROUP;
        }
        Self { kind: ace.kind, flags, mask: ace.mask & Rights::ALL.0, who: ace.who.to_vec() }
    }

    /// As a client reads it.
    fn shown(naming: &Naming, entry: &Entry, is_dacl: bool) -> Option<Self> {
        let mut w = Writer::new();
        put(naming, entry, is_dacl, &mut w);
        let ace = Ace::decode(&mut Reader::new(w.as_bytes())).ok()?;
        Some(Self::of(&ace, is_dacl))
    }
}

/// An entry, and what it means to a file that has no such entry yet.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SentEntry {
    wire: WireEntry,
    meaning: Result<Entry, Status>,
}

/// A list that a client sets by `acl` or `dacl`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server::v4) struct SentList {
    entries: Vec<SentEntry>,
    /// aclflag4, which only `dacl` has.
    flags: Option<u32>,
}

impl SentList {
    /// The value of `acl`.
    pub(in crate::server::v4) fn acl(naming: &Naming, aces: &Aces<'_>) -> Result<Self, Status> {
        Ok(Self { entries: listed(naming, aces, false)?, flags: None })
    }

    /// The value of `dacl`.
    pub(in crate::server::v4) fn dacl(naming: &Naming, flags: u32, aces: &Aces<'_>) -> Result<Self, Status> {
        if flags & !(AUTO_INHERIT | PROTECTED | DEFAULTED) != 0 {
            return Err(Status::INVAL);
        }
        Ok(Self { entries: listed(naming, aces, true)?, flags: Some(flags) })
    }

    /// The entries for something new of this kind.
    pub(in crate::server::v4) fn entries(&self, kind: Kind) -> Result<Entries, Status> {
        let list: Vec<Entry> =
            self.entries.iter().map(|sent| sent.meaning.clone()).collect::<Result<_, _>>()?;
        check_for(kind, &list)?;
        let (protected, auto_inherited) = self.marks().unwrap_or_default();
        Ok(Entries { list, protected, auto_inherited })
    }

    /// The entries for a file of this kind that has `before`; `None` if the client sends what it has read. `acl` has no flags, and does
    /// not say what was inherited: those stay.
    pub(in crate::server::v4) fn after(
        &self,
        naming: &Naming,
        before: &Acl,
        kind: Kind,
    ) -> Result<Option<Entries>, Status> {
        let was = &before.entries;
        let (protected, auto_inherited) = self.marks().unwrap_or((was.protected, was.auto_inherited));
        let sent: Vec<&WireEntry> = self.entries.iter().map(|sent| &sent.wire).collect();
        let shown: Vec<Option<WireEntry>> =
            was.list.iter().map(|entry| WireEntry::shown(naming, entry, self.flags.is_some())).collect();
        let list = match recognized(&was.list, &sent, &shown) {
            None if (protected, auto_inherited) == (was.protected, was.auto_inherited) => return Ok(None),
            None => was.list.clone(),
            Some(known) => self.with_new(known, kind)?,
        };
        Ok(Some(Entries { list, protected, auto_inherited }))
    }

    /// The entries that are known, and those that are new.
    fn with_new(&self, known: Vec<Option<Entry>>, kind: Kind) -> Result<Vec<Entry>, Status> {
        let entry = |(known, sent): (Option<Entry>, &SentEntry)| match known {
            Some(entry) => Ok(entry),
            None => {
                let new = sent.meaning.clone()?;
                check_for(kind, std::slice::from_ref(&new))?;
                Ok(new)
            }
        };
        known.into_iter().zip(&self.entries).map(entry).collect()
    }

    /// Whether it is protected, and whether its entries are inherited automatically, if it says so.
    fn marks(&self) -> Option<(bool, bool)> {
        self.flags.map(|flags| (flags & PROTECTED != 0, flags & AUTO_INHERIT != 0))
    }
}

fn listed(naming: &Naming, aces: &Aces<'_>, is_dacl: bool) -> Result<Vec<SentEntry>, Status> {
    if aces.count() > MAX_ENTRIES {
        return Err(Status::FBIG);
    }
    let sent = |ace: Ace<'_>| SentEntry {
        wire: WireEntry::of(&ace, is_dacl),
        meaning: entry(naming, &ace, is_dacl),
    };
    Ok(aces.iter().map(sent).collect())
}
