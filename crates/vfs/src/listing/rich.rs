//! What richer listings show of an entry.

use std::sync::atomic::Ordering;

use super::known::Nanos;
use super::{Details, Entry, Listing, Page};
use crate::acl::{POSIX, STORED_ACL, server};
use crate::backend::Glance;
use crate::mac::layout::sidecar_name;
use crate::mac::{DosAttributes, FileBits, FinderInfo, Metadata};
use crate::streams::{self, File};
use crate::{Caller, Error, Kind, Result, Time, xattrs};

/// An entry with what only some protocols show.
#[derive(Debug, Clone, Copy)]
pub struct Rich {
    /// The file's key and attributes.
    pub details: Details,
    /// DOS attributes.
    pub dos: DosAttributes,
    /// Mac attributes.
    pub bits: FileBits,
    /// When it was last backed up, if anybody said so.
    pub backup: Option<Time>,
    /// When it was made: [`crate::Volume::created`].
    pub created: Time,
    /// The 32 bytes, with the date it came into its folder; all zeros when there are none.
    pub finder_info: FinderInfo,
    /// The length of the resource fork.
    pub fork_len: u64,
    /// Whether it has named streams.
    pub has_streams: bool,
    /// How many extended attributes it has: [`crate::Volume::xattrs`].
    pub xattr_count: u32,
    /// The bytes of their names and values.
    pub xattr_bytes: u32,
    /// Whether it may have an ACL, of ours or the host's: its mode does not say everything.
    pub has_acl: bool,
    /// Whether it has none of all this: nothing but data and the host's attributes.
    pub plain: bool,
}

/// The same, as it is kept with an entry.
pub(super) struct Facts {
    dos: DosAttributes,
    created: Option<Nanos>,
    plain: bool,
    has_streams: bool,
    has_acl: bool,
    /// Changes to the store until then.
    stored: u64,
    more: Option<Box<More>>,
}

/// What few files have.
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

impl Page {
    /// An entry with everything that richer listings show; asks the host for what is not known. A plain entry that is
    /// not known costs three calls.
    pub fn rich_details(&self, caller: &Caller, entry: &Entry) -> Result<Rich> {
        if !self.may_search {
            return Err(Error::AccessDenied);
        }
        let listing = &*self.listing;
        let mut known = entry.details.lock();
        let changed = self.forget_changed(caller, entry, &mut known);
        let stored = listing.streams.as_ref().map_or(0, |streams| streams.stored_changes());
        if let Some(known) = &*known
            && let Some(facts) = &known.facts
            && facts.stored == stored
        {
            return Ok(rich(known.details(entry.id), facts));
        }
        let caller = if self.by_acl { server() } else { caller };
        let (details, facts) = listing.ask(caller, &entry.name, changed, stored)?;
        let answer = rich(details, &facts);
        if let Some(inhibited) = &self.inhibited {
            inhibited.saw(answer.bits, answer.dos, details.attributes.kind);
        }
        if facts.more.is_some() {
            listing.more_bytes.fetch_add(size_of::<More>() + 16, Ordering::Relaxed);
        }
        *known = self.to_keep(entry, details, Some(facts));
        Ok(answer)
    }
}

fn rich(details: Details, facts: &Facts) -> Rich {
    let none = More::default();
    let more = facts.more.as_deref().unwrap_or(&none);
    let attributes = &details.attributes;
    let earliest = attributes.modified.min(attributes.changed);
    Rich {
        details,
        dos: facts.dos,
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
        has_acl: facts.has_acl,
        plain: facts.plain,
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
        let in_store = match &self.streams {
            Some(streams) if has_forks => streams.has_stored_streams(&glance.key)?,
            _ => false,
        };
        let beside = has_forks && name != b"." && self.may_have_sidecar(name, changed);
        let has_acl = glance.xattrs.iter().any(|xattr| xattr == POSIX || xattr == STORED_ACL);
        let user = |xattr: &Vec<u8>| xattr.starts_with(b"user.");
        if !in_store && !beside && !glance.xattrs.iter().any(user) {
            let (dos, created, plain, has_streams) = (DosAttributes::default(), None, true, false);
            return Ok((details, Facts { dos, created, plain, has_streams, has_acl, stored, more: None }));
        }
        let (metadata, fork_len) = self.described(caller, name, &glance, beside)?;
        let xattrs = xattrs::among(|xattr| self.xattr(caller, name, xattr), &glance.xattrs)?;
        let more = More {
            finder_info: metadata.finder_info_with_date(),
            bits: metadata.bits,
            backup: metadata.times.backup,
            far_created: metadata.times.created.filter(|created| Nanos::new(*created).is_none()),
            fork_len,
            xattr_count: xattrs.len() as u32,
            xattr_bytes: xattrs.iter().map(|one| one.name.len() + one.value.len()).sum::<usize>() as u32,
        };
        let has_streams = in_store || streams::has_stream(&glance.xattrs);
        let more = (more != More::default()).then(|| Box::new(more));
        let plain = metadata.is_empty() && more.is_none() && !has_streams;
        let (dos, created) = (metadata.dos, metadata.times.created.and_then(Nanos::new));
        Ok((details, Facts { dos, created, plain, has_streams, has_acl, stored, more }))
    }

    /// The metadata and the length of the resource fork.
    fn described(
        &self,
        caller: &Caller,
        name: &[u8],
        glance: &Glance,
        beside: bool,
    ) -> Result<(Metadata, u64)> {
        let elsewhere = beside || streams::has_fork_or_moves(&glance.xattrs);
        if let Some(streams) = self.streams.as_ref().filter(|_| elsewhere) {
            let found = self.folder.lookup(caller, name)?;
            let file = File { folder: &*self.folder, name, object: &*found.object };
            let metadata = streams.load_among(&file, &glance.xattrs, beside)?.0;
            return Ok((metadata, streams.fork_len(&file)?));
        }
        let read = |xattr: &[u8]| self.xattr(caller, name, xattr);
        Ok((streams::load_from(&read, &glance.xattrs)?.0, 0))
    }

    fn xattr(&self, caller: &Caller, name: &[u8], xattr: &[u8]) -> Result<Vec<u8>> {
        if name == b"." { self.folder.xattr(xattr) } else { self.folder.glance_xattr(caller, name, xattr) }
    }

    /// Whether there may be a sidecar. A listing of the whole folder knows, until something is heard.
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
