//! What a file is besides its data, gathered once: for a request about one file, or for an entry of a listing. Protocols pack
//! their own structures from it.

use super::by_mode::{locks, shown_dos};
use crate::acl::{POSIX_ACL, SAMBAS_ACL, STORED_ACL};
use crate::backend::{Node, Object};
use crate::listing::Details;
use crate::mac::{DosAttributes, FileBits, FinderInfo, Metadata};
use crate::streams::xattrs;
use crate::streams::{self, File, Streams};
use crate::{Kind, Result, Time};

/// What a file is besides its data.
#[derive(Debug, Clone, Copy)]
pub struct Description {
    /// The file's key and attributes.
    pub details: Details,
    /// DOS attributes.
    pub dos: DosAttributes,
    /// Mac attributes.
    pub bits: FileBits,
    /// The time of its last backup, if a client has set it.
    pub backup: Option<Time>,
    /// The time of its creation: [`Metadata::created`].
    pub created: Time,
    /// The 32 bytes, with the date it came into its folder; all zeros if there are none.
    pub finder_info: FinderInfo,
    /// The length of the resource fork.
    pub fork_len: u64,
    /// Whether it has named streams.
    pub has_streams: bool,
    /// How many extended attributes it has: [`Volume::xattrs`](crate::Volume::xattrs).
    pub xattr_count: u32,
    /// The bytes of their names and values.
    pub xattr_bytes: u32,
    /// Whether it may have an ACL, of this server or of the host, or is in a team folder: its mode does not say everything.
    pub has_acl: bool,
    /// Whether it may have an ACL of this server.
    pub has_list: bool,
    /// Whether it has none of all this: only data and the host's attributes.
    pub plain: bool,
}

/// Which parts of a description are asked for. The others need not be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DescriptionParts {
    /// DOS and Mac attributes, dates, Finder information; also how many extended attributes there are.
    pub metadata: bool,
    /// The length of the resource fork.
    pub fork_len: bool,
    /// Named streams, extended attributes.
    pub more: bool,
}

impl DescriptionParts {
    /// Everything.
    pub const ALL: Self = Self { metadata: true, fork_len: true, more: true };
    /// DOS and Mac attributes, dates, Finder information.
    pub const METADATA: Self = Self { metadata: true, fork_len: false, more: false };
}

/// A file to describe. It need not be open: an entry of a listing is read by its name.
pub(crate) struct Source<'a> {
    pub(crate) details: Details,
    /// The names of its attributes on the host.
    pub(crate) names: &'a [Vec<u8>],
    pub(crate) streams: Option<&'a Streams>,
    /// The folder that it is in and its name there, if that is known.
    pub(crate) place: Option<(&'a dyn Object, &'a [u8])>,
    /// Whether there may be a sidecar.
    pub(crate) beside: bool,
    /// Opens it.
    pub(crate) open: &'a dyn Fn() -> Result<Node>,
    /// Reads an attribute of it.
    pub(crate) read: &'a dyn Fn(&[u8]) -> Result<Vec<u8>>,
}

/// What was gathered of a file.
#[derive(Default)]
pub(crate) struct MetadataSummary {
    pub(crate) metadata: Metadata,
    pub(crate) fork_len: u64,
    pub(crate) has_streams: bool,
    pub(crate) xattr_count: u32,
    pub(crate) xattr_bytes: u32,
    pub(crate) has_acl: bool,
    pub(crate) has_list: bool,
    pub(crate) plain: bool,
    /// Its mode locks it: [`locks`].
    pub(crate) locked_by_mode: bool,
}

impl Source<'_> {
    pub(crate) fn gather(&self, wanted: DescriptionParts) -> Result<MetadataSummary> {
        let locked_by_mode = locks(&self.details.attributes, self.read, self.names);
        let has_acl = self.names.iter().any(|name| [POSIX_ACL, STORED_ACL, SAMBAS_ACL].contains(&&name[..]));
        let has_list = self.names.iter().any(|name| name == STORED_ACL);
        let in_store = match self.streams {
            Some(streams) if wanted.more => streams.has_stored_streams(&self.details.key)?,
            _ => false,
        };
        if !in_store && !self.may_be_elsewhere() && !streams::has_own(self.names) {
            return Ok(MetadataSummary {
                has_acl,
                has_list,
                plain: true,
                locked_by_mode,
                ..MetadataSummary::default()
            });
        }
        let (metadata, fork_len) = self.described(wanted)?;
        let xattrs = if wanted.more { xattrs::among(self.read, self.names)? } else { Vec::new() };
        let xattr_count = if wanted.more { xattrs.len() } else { xattrs::count(self.names) };
        let has_streams = in_store || streams::has_stream(self.names) || wanted.more && self.has_foreign()?;
        Ok(MetadataSummary {
            plain: metadata.is_empty() && fork_len == 0 && xattrs.is_empty() && !has_streams,
            metadata,
            fork_len,
            has_streams,
            xattr_count: xattr_count as u32,
            xattr_bytes: xattrs.iter().map(|xattr| xattr.name.len() + xattr.value.len()).sum::<usize>()
                as u32,
            has_acl,
            has_list,
            locked_by_mode,
        })
    }

    /// Whether other servers keep streams of it in files of their own.
    fn has_foreign(&self) -> Result<bool> {
        let (Some(streams), Some((folder, name))) = (self.streams, self.place) else { return Ok(false) };
        if !streams.others().may_be_elsewhere(folder, self.details.attributes.kind) {
            return Ok(false);
        }
        let object = (self.open)()?;
        streams.has_foreign(&File { folder, name, object: &*object })
    }

    /// Whether a file of another name may say something of this one.
    fn may_be_elsewhere(&self) -> bool {
        let kind = self.details.attributes.kind;
        let others = self.streams.zip(self.place);
        self.beside
            || others.is_some_and(|(streams, (folder, _))| streams.others().may_be_elsewhere(folder, kind))
    }

    /// The metadata and the length of the resource fork.
    fn described(&self, wanted: DescriptionParts) -> Result<(Metadata, u64)> {
        let elsewhere = self.may_be_elsewhere() || streams::has_fork_or_moves(self.names);
        let (Some(streams), Some((folder, name))) = (self.streams.filter(|_| elsewhere), self.place) else {
            return Ok((streams::load_from(self.read, self.names)?.0, 0));
        };
        let object = (self.open)()?;
        let file = File { folder, name, object: &*object };
        let metadata = match wanted.metadata {
            true => streams.load_among(&file, self.names, self.beside)?.0,
            false => Metadata::default(),
        };
        Ok((metadata, if wanted.fork_len { streams.fork_len(&file)? } else { 0 }))
    }
}

impl Description {
    /// Of a file that has nothing but data and the host's attributes.
    pub fn plain(details: Details) -> Self {
        Self::new(details, &MetadataSummary { plain: true, ..MetadataSummary::default() }, false)
    }

    /// Whether its contents may not be changed: Windows' read-only, a Mac's write inhibit.
    pub fn is_readonly(&self) -> bool {
        self.dos.contains(DosAttributes::READONLY) || self.bits.contains(FileBits::WRITE_INHIBIT)
    }

    /// The DOS attributes that clients of SMB are shown: a Mac's write inhibit is read-only to them.
    pub fn shown_dos(&self) -> DosAttributes {
        let is_file = self.details.attributes.kind == Kind::File;
        shown_dos(self.dos, is_file && self.bits.contains(FileBits::WRITE_INHIBIT))
    }

    /// `heeds_mode`: a file that its mode locks is shown as read-only.
    pub(crate) fn new(details: Details, gathered: &MetadataSummary, heeds_mode: bool) -> Self {
        let MetadataSummary {
            metadata,
            fork_len,
            has_streams,
            xattr_count,
            xattr_bytes,
            has_acl,
            has_list,
            plain,
            ..
        } = gathered;
        Self {
            details,
            dos: shown_dos(metadata.dos, heeds_mode && gathered.locked_by_mode),
            bits: metadata.bits,
            backup: metadata.times.backup,
            created: metadata.created(&details.attributes),
            finder_info: metadata.finder_info_with_date(),
            fork_len: *fork_len,
            has_streams: *has_streams,
            xattr_count: *xattr_count,
            xattr_bytes: *xattr_bytes,
            has_acl: *has_acl,
            has_list: *has_list,
            plain: *plain,
        }
    }
}
