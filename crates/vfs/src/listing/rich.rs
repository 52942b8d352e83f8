//! What richer listings show of an entry.

use std::sync::atomic::Ordering;

use super::known::Nanos;
use super::{Details, Entry, Listing, Page};
use crate::backend::Glance;
use crate::caller::server;
use crate::described::by_mode::{WRITE_BITS, shown_dos};
use crate::described::description::{MetadataSummary, Source};
use crate::mac::layout::sidecar_name;
use crate::mac::{DosAttributes, FileBits, FinderInfo};
use crate::{Caller, Description, DescriptionParts, Error, Kind, Result, Time, streams};

/// A description as it is kept with an entry.
pub(super) struct Facts {
    dos: DosAttributes,
    created: Option<Nanos>,
    plain: bool,
    has_streams: bool,
    acl: AclKind,
    locked_by_mode: bool,
    /// Changes to the store until then.
    stored: u64,
    more: Option<Box<More>>,
}

/// The ACL that a file may have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AclKind {
    None,
    OfHost,
    Stored,
}

/// Facts that few files have.
#[derive(Default, PartialEq, Eq)]
struct More {
    finder_info: FinderInfo,
    bits: FileBits,
    backup: Option<Time>,
    /// A date that [`Nanos`] does not hold.
    far_created: Option<Time>,
    fork_len: u64,
    xattr_count: u32,
    xattr_bytes: u32,
}

impl Facts {
    /// `stored`: as of so many changes to the stores.
    fn new(gathered: &MetadataSummary, stored: u64) -> Self {
        let MetadataSummary { metadata, has_streams, has_acl, has_list, plain, .. } = gathered;
        let created = metadata.times.created;
        let more = More {
            finder_info: metadata.finder_info_with_date(),
            bits: metadata.bits,
            backup: metadata.times.backup,
            far_created: created.filter(|created| Nanos::new(*created).is_none()),
            fork_len: gathered.fork_len,
            xattr_count: gathered.xattr_count,
            xattr_bytes: gathered.xattr_bytes,
        };
        Self {
            dos: metadata.dos,
            created: created.and_then(Nanos::new),
            plain: *plain,
            has_streams: *has_streams,
            acl: match (has_list, has_acl) {
                (true, _) => AclKind::Stored,
                (false, true) => AclKind::OfHost,
                (false, false) => AclKind::None,
            },
            locked_by_mode: gathered.locked_by_mode,
            stored,
            more: (more != More::default()).then(|| Box::new(more)),
        }
    }
}

impl Page {
    /// As [`Page::details`], for clients that know modes only: a locked file has no right to write in
    /// its mode. Costs nothing more where no file is locked.
    pub fn details_with_locks(&self, caller: &Caller, entry: &Entry) -> Result<Details> {
        let may_be = self.inhibited.as_ref().is_some_and(|inhibited| inhibited.has_any());
        let is_file = entry.kind.is_none_or(|kind| kind == Kind::File);
        if !may_be || !is_file || &*entry.name == b".." {
            return self.details(caller, entry);
        }
        let rich = self.rich_details(caller, entry)?;
        let mut details = rich.details;
        if details.attributes.kind == Kind::File && rich.is_readonly() {
            details.attributes.mode &= !WRITE_BITS;
        }
        Ok(details)
    }

    /// An entry with everything that richer listings show. Asks the host for what is not known. A
    /// plain entry that is not known costs three calls.
    pub fn rich_details(&self, caller: &Caller, entry: &Entry) -> Result<Description> {
        if !self.may_search {
            return Err(Error::AccessDenied);
        }
        let listing = &*self.listing;
        let mut known = entry.details.lock();
        let changed = self.forget_changed(caller, entry, &mut known);
        let stored = listing.streams.as_ref().map_or(0, |streams| streams.own_store.changes());
        if let Some(known) = &*known
            && let Some(facts) = &known.facts
            && facts.stored == stored
        {
            return Ok(self.rich(known.details(entry.id), facts));
        }
        let caller = if self.by_acl { server() } else { caller };
        let (details, facts) = listing.ask(caller, &entry.name, changed, stored)?;
        let answer = self.rich(details, &facts);
        if let Some(inhibited) = &self.inhibited {
            inhibited.saw(answer.bits, facts.dos, details.attributes.kind);
        }
        if facts.more.is_some() {
            listing.more_bytes.fetch_add(size_of::<More>() + 16, Ordering::Relaxed);
        }
        *known = self.to_keep(entry, details, Some(facts));
        Ok(answer)
    }

    fn rich(&self, details: Details, facts: &Facts) -> Description {
        let none = More::default();
        let more = facts.more.as_deref().unwrap_or(&none);
        let attributes = &details.attributes;
        let earliest = attributes.modified.min(attributes.changed);
        Description {
            details,
            dos: shown_dos(facts.dos, self.rules.heeds_mode && facts.locked_by_mode),
            bits: more.bits,
            backup: more.backup,
            created: facts
                .created
                .map(Nanos::time)
                .or(more.far_created)
                .or(attributes.created)
                .unwrap_or(earliest),
            finder_info: more.finder_info,
            fork_len: more.fork_len,
            has_streams: facts.has_streams,
            xattr_count: more.xattr_count,
            xattr_bytes: more.xattr_bytes,
            has_acl: facts.acl != AclKind::None || self.rules.in_team,
            has_list: facts.acl == AclKind::Stored,
            plain: facts.plain,
        }
    }
}

impl Listing {
    /// Asks the host. `changed`: other names than those of the listing may be there by now.
    fn ask(&self, caller: &Caller, name: &[u8], changed: bool, stored: u64) -> Result<(Details, Facts)> {
        let glance = match name {
            b"." => {
                let (object, attributes) = (self.folder.clone(), self.folder.attributes()?);
                let xattrs = streams::names(&*object)?;
                Glance { key: object.key(), attributes, xattrs }
            }
            b".." => return Err(Error::NotSupported),
            name => self.folder.glance(caller, name)?,
        };
        let details = Details { key: glance.key, attributes: glance.attributes };
        let has_forks = matches!(glance.attributes.kind, Kind::File | Kind::Folder);
        let source = Source {
            details,
            names: &glance.xattrs,
            streams: self.streams.as_deref().filter(|_| has_forks),
            place: Some((&*self.folder, name)),
            beside: has_forks && name != b"." && self.may_have_sidecar(name, changed),
            open: &|| Ok(self.folder.lookup(caller, name)?.object),
            read: &|xattr| self.xattr(caller, name, xattr),
        };
        Ok((details, Facts::new(&source.gather(DescriptionParts::ALL)?, stored)))
    }

    fn xattr(&self, caller: &Caller, name: &[u8], xattr: &[u8]) -> Result<Vec<u8>> {
        if name == b"." { self.folder.xattr(xattr) } else { self.folder.glance_xattr(caller, name, xattr) }
    }

    /// Whether there may be a sidecar. A listing of the whole folder knows, until there is an
    /// event.
    fn may_have_sidecar(&self, name: &[u8], changed: bool) -> bool {
        if self.streams.is_none() {
            return false;
        }
        let sidecar = sidecar_name(name);
        if self.whole && !changed {
            self.sidecars.contains(&*sidecar)
        } else {
            self.folder.may_have(&sidecar)
        }
    }
}
