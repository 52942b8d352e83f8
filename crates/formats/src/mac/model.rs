//! The one model of what a file is besides its forks.

use super::apple_double::{self, Container, EntryId};
use super::attr::NewAttr;
use super::bits::{DosAttributes, FileBits, FinderFlags};
use super::fields::{Dates, Fields, IdHint, KeptEntry};
use super::finder_info::FinderInfo;
use super::info_stream::InfoStream;
use super::netatalk;
use super::problem::{Problem, Source};
use super::samba::DosAttrib;
use super::sidecar::{self, SidecarHead};
use super::time;
use crate::{Attributes, Time};

/// What a file is besides its forks and its POSIX attributes: the one model that all clients see and all layouts on the
/// disk are read into.
///
/// Some facts are known under two names: hidden is also the Finder's invisible flag, read-only is also write-inhibit.
/// Reading a layout keeps both as they are; the setters change both.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Metadata {
    /// Finder info without its date, which is in `times`; see [`Metadata::finder_info_with_date`].
    pub finder_info: FinderInfo,
    /// The Finder's comment, in whatever encoding the client used.
    pub comment: Vec<u8>,
    /// Times that the host does not keep.
    pub times: Times,
    /// DOS attributes.
    pub dos: DosAttributes,
    /// Mac attributes: mainly the operations that are forbidden.
    pub bits: FileBits,
    kept: PreservedValues,
}

/// Times that the host does not keep, or that the server cannot set there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "obvious")]
pub struct Times {
    pub created: Option<Time>,
    pub backup: Option<Time>,
    /// When it came into its folder.
    pub added: Option<Time>,
}

/// Values that this server does not use but a rewrite must not lose.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct PreservedValues {
    modified: Option<Time>,
    accessed: Option<Time>,
    /// The upper half of entry 14.
    server_info: u16,
    id_hint: Option<IdHint>,
    itime: Option<u64>,
    entries: Vec<KeptEntry>,
    unreadable: Vec<(Source, Vec<u8>)>,
}

/// Everything stored about one file, as bytes; `None` where there is no such thing.
#[derive(Debug, Clone, Copy, Default)]
pub struct StoredParts<'a> {
    /// The extended attribute `user.org.netatalk.Metadata`.
    pub netatalk: Option<&'a [u8]>,
    /// The beginning and the length of `.AppleDouble/<name>`.
    pub netatalk2: Option<(&'a [u8], u64)>,
    /// The stream `AFP_AfpInfo`.
    pub info_stream: Option<&'a [u8]>,
    /// A Mac's own attribute `com.apple.FinderInfo`, which a copy of a file from a Mac has.
    pub finder_info: Option<&'a [u8]>,
    /// The beginning and the length of `._name`.
    pub sidecar: Option<(&'a [u8], u64)>,
    /// The extended attribute `user.DOSATTRIB`.
    pub dosattrib: Option<&'a [u8]>,
    /// The extended attribute in which the server keeps the value of [`Metadata::to_kept`].
    pub kept: Option<&'a [u8]>,
}

impl Metadata {
    /// Reads everything there is. If several sources have the same value, the first in the order of
    /// [`StoredParts`] counts. But DOS attributes and the creation time are those of `dosattrib` if it
    /// has them. Values that cannot be read are kept for [`Metadata::to_kept`], and named.
    pub fn from_parts(parts: &StoredParts<'_>) -> (Self, Vec<Problem>) {
        reading::read(parts)
    }

    /// Reads `user.org.netatalk.Metadata` alone.
    pub fn from_netatalk(bytes: &[u8]) -> (Self, Vec<Problem>) {
        Self::from_parts(&StoredParts { netatalk: Some(bytes), ..StoredParts::default() })
    }

    /// From the entries of an AppleSingle or AppleDouble file to be imported.
    pub fn from_fields(fields: Fields) -> Self {
        let mut metadata = Self::default();
        metadata.fill(fields);
        metadata.derive_dos();
        metadata
    }

    /// Writes `user.org.netatalk.Metadata`, always 402 bytes. Netatalk shows an unset creation time as 1931: set it first.
    pub fn to_netatalk(&self) -> Vec<u8> {
        netatalk::build(&self.to_fields())
    }

    /// Writes `user.DOSATTRIB`.
    pub fn to_dosattrib(&self) -> Vec<u8> {
        DosAttrib { attributes: self.dos, created: self.times.created, itime: self.kept.itime }.build()
    }

    /// The same without the creation time.
    pub fn to_undated_dosattrib(&self) -> Vec<u8> {
        DosAttrib { attributes: self.dos, created: None, itime: self.kept.itime }.build()
    }

    /// Whether afpd has written a header for the file that can hold its whole creation time: the unit there is the second.
    pub fn is_dated_by_netatalk(&self) -> bool {
        let has_its_number = self.kept.id_hint.is_some_and(|hint| hint.ino != [0; 8]);
        has_its_number && time::from_2000(time::to_2000(self.times.created)) == self.times.created
    }

    /// Writes the stream `AFP_AfpInfo`.
    pub fn to_info_stream(&self) -> Vec<u8> {
        let finder_info = self.finder_info_with_date();
        InfoStream { backup: self.times.backup, finder_info, prodos: [0; 6] }.build()
    }

    /// The same in the place of a stream that is there: what this server does not use of it stays,
    /// and so do bytes that another server has appended.
    pub fn update_info_stream(&self, before: &[u8]) -> Vec<u8> {
        let prodos = InfoStream::parse(before).map_or([0; 6], |stream| stream.prodos);
        let stream =
            InfoStream { backup: self.times.backup, finder_info: self.finder_info_with_date(), prodos };
        let appended = before.get(super::info_stream::LEN..).unwrap_or_default();
        [&stream.build()[..], appended].concat()
    }

    /// What neither `AFP_AfpInfo` nor `user.DOSATTRIB` can hold of this; `None` if there is nothing.
    pub fn beyond_info_stream(&self) -> Option<Self> {
        let mut beyond = self.clone();
        beyond.finder_info = FinderInfo::NONE;
        beyond.times.backup = None;
        beyond.times.added = None;
        let mut said = Self { dos: self.dos, ..Self::default() };
        said.set_dos(self.dos);
        let is_said = |bits: FileBits| bits.difference(said.bits) == FileBits::default();
        // Attributes of a Mac that say no more than those of DOS.
        if is_said(self.bits) {
            beyond.bits = FileBits::default();
        }
        let says = Self { dos: DosAttributes::default(), times: Times::default(), ..beyond.clone() };
        (says != Self::default()).then_some(beyond)
    }

    /// Writes what stands before the resource fork in a `._name` as a Mac expects it; see [`sidecar::synthesize`].
    pub fn to_sidecar(&self, xattrs: &[NewAttr<'_>], resource_len: u64) -> (Vec<u8>, Vec<Problem>) {
        sidecar::synthesize(&self.finder_info_with_date(), xattrs, resource_len)
    }

    /// Writes what stands before the resource fork in a `._name` on the disk; see [`sidecar::stored_header`].
    pub fn to_stored_sidecar(&self, resource_len: u64) -> Vec<u8> {
        sidecar::stored_header(&self.finder_info_with_date(), resource_len)
    }

    /// Writes the header of a Netatalk 2 `.AppleDouble/<name>`; the resource fork follows.
    pub fn to_netatalk2(&self, name: &[u8], resource_len: u32) -> Vec<u8> {
        let fields = Fields { real_name: Some(name.to_vec()), ..self.to_fields() };
        netatalk::build_header_file(&fields, resource_len)
    }

    /// The beginning of such a file with these values in it; see [`netatalk::update_header`].
    pub fn update_netatalk2(&self, before: &[u8]) -> Option<Vec<u8>> {
        netatalk::update_header(before, &self.to_fields())
    }

    /// The values for which the layouts above have no place, to be stored beside them; `None` if
    /// there are none.
    pub fn to_kept(&self) -> Option<Vec<u8>> {
        let mut entries: Vec<(EntryId, &[u8])> = Vec::new();
        if self.comment.len() > netatalk::MAX_COMMENT {
            entries.push((EntryId::COMMENT, &self.comment));
        }
        entries.extend(self.kept.entries.iter().map(|entry| (entry.id, &entry.bytes[..])));
        entries.extend(reading::unreadable_entries(&self.kept.unreadable));
        entries.truncate(apple_double::MAX_ENTRIES);
        (!entries.is_empty()).then(|| apple_double::pack(Container::Double, [0; 16], &entries))
    }

    /// The stored values that could not be read.
    pub fn unreadable(&self) -> impl Iterator<Item = (Source, &[u8])> {
        self.kept.unreadable.iter().map(|(source, bytes)| (*source, &bytes[..]))
    }

    /// Netatalk's catalogue node id for the file, if it left one.
    pub fn id_hint(&self) -> Option<&IdHint> {
        self.kept.id_hint.as_ref()
    }

    /// The time when a file was made: the time that a client set, else the host's time of creation,
    /// else the earliest time that the host has.
    pub fn created(&self, attributes: &Attributes) -> Time {
        let earliest = attributes.modified.min(attributes.changed);
        self.times.created.or(attributes.created).unwrap_or(earliest)
    }

    /// Whether there is anything but DOS attributes, of which Macs know nothing.
    pub fn concerns_macs(&self) -> bool {
        Self { dos: DosAttributes::default(), ..self.clone() } != Self::default()
    }

    /// Whether there is nothing to store.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The 32 bytes as they are on the disk, with the date the file came into its folder.
    pub fn finder_info_with_date(&self) -> FinderInfo {
        let mut info = self.finder_info;
        if self.times.added.is_some() {
            info.set_date_added(self.times.added);
        }
        info
    }

    /// Takes Finder info from a client. Its invisible flag is also the DOS attribute; a date in it is taken, none leaves
    /// the one there is.
    pub fn set_finder_info(&mut self, info: FinderInfo) {
        self.put_finder_info(info);
        let invisible = info.flags().contains(FinderFlags::IS_INVISIBLE);
        self.dos.set(DosAttributes::HIDDEN, invisible);
        self.bits.set(FileBits::INVISIBLE, invisible);
    }

    /// Hides it from all clients, or shows it to them.
    pub fn set_hidden(&mut self, on: bool) {
        self.dos.set(DosAttributes::HIDDEN, on);
        self.bits.set(FileBits::INVISIBLE, on);
        let mut flags = self.finder_info.flags();
        flags.set(FinderFlags::IS_INVISIBLE, on);
        self.finder_info.set_flags(flags);
    }

    /// Whether any client hid it.
    pub fn is_hidden(&self) -> bool {
        self.dos.contains(DosAttributes::HIDDEN)
            || self.bits.contains(FileBits::INVISIBLE)
            || self.finder_info.flags().contains(FinderFlags::IS_INVISIBLE)
    }

    /// Allows or forbids changes to its contents.
    pub fn set_readonly(&mut self, on: bool) {
        self.dos.set(DosAttributes::READONLY, on);
        self.bits.set(FileBits::WRITE_INHIBIT, on);
    }

    /// Whether any client forbade changes to its contents.
    pub fn is_readonly(&self) -> bool {
        self.dos.contains(DosAttributes::READONLY) || self.bits.contains(FileBits::WRITE_INHIBIT)
    }

    /// Whether it has the read-only attribute of Windows, which forbids more than a Mac's write
    /// inhibit: no client may remove the file, and only a client of SMB may rename it. A file that a
    /// Mac has locked has all bits of its own.
    pub fn has_read_only_attribute(&self) -> bool {
        self.dos.contains(DosAttributes::READONLY) && !self.bits.contains(FileBits::LOCKED)
    }

    /// The Mac attributes that Macs are shown: those of the file, and what its DOS attributes mean.
    pub fn shown_bits(&self) -> FileBits {
        shown_bits(self.bits, self.dos)
    }

    /// The Finder's "Locked": contents, name and existence.
    pub fn set_locked(&mut self, on: bool) {
        self.set_readonly(on);
        self.bits.set(FileBits::LOCKED, on);
    }

    /// Makes it a system file, or not.
    pub fn set_system(&mut self, on: bool) {
        self.dos.set(DosAttributes::SYSTEM, on);
        self.bits.set(FileBits::SYSTEM, on);
    }

    /// Marks it as changed since the last backup, or not.
    pub fn set_archive(&mut self, on: bool) {
        self.dos.set(DosAttributes::ARCHIVE, on);
        self.bits.set(FileBits::BACKUP_NEEDED, on);
    }

    /// Takes DOS attributes from a client, and their meaning for a Mac.
    ///
    /// If a client makes a file writable that is locked as a Mac locks it, this unlocks it: a
    /// client that has only DOS attributes could not do so otherwise. A file that is read-only
    /// already stays as it is: the client has sent the attributes that it was shown.
    pub fn set_dos(&mut self, dos: DosAttributes) {
        let (was_readonly, before) = (self.is_readonly(), self.dos);
        self.dos = dos;
        if !dos.contains(DosAttributes::READONLY) && self.bits.contains(FileBits::WRITE_INHIBIT) {
            self.bits.set(FileBits::LOCKED, false);
        }
        self.set_hidden(dos.contains(DosAttributes::HIDDEN));
        match was_readonly && dos.contains(DosAttributes::READONLY) {
            true => self.dos.set(DosAttributes::READONLY, before.contains(DosAttributes::READONLY)),
            false => self.set_readonly(dos.contains(DosAttributes::READONLY)),
        }
        self.set_system(dos.contains(DosAttributes::SYSTEM));
        self.set_archive(dos.contains(DosAttributes::ARCHIVE));
    }

    /// Takes Mac attributes from a client, and their meaning for DOS. A locked file is read-only to
    /// DOS. Some of the three bits are not: Windows has no such attribute. The client has changed
    /// [`Metadata::shown_bits`].
    pub fn set_bits(&mut self, bits: FileBits) {
        let keeps_attribute = self.has_read_only_attribute() && bits.contains(FileBits::LOCKED);
        let before = self.bits & FileBits::LOCKED;
        self.bits = bits;
        if keeps_attribute {
            self.bits = bits.difference(FileBits::LOCKED) | before;
        }
        self.set_hidden(bits.contains(FileBits::INVISIBLE));
        self.dos.set(DosAttributes::READONLY, bits.contains(FileBits::LOCKED));
        self.set_system(bits.contains(FileBits::SYSTEM));
        self.set_archive(bits.contains(FileBits::BACKUP_NEEDED));
    }

    /// Takes from a sidecar found on the disk the values that no other source has. The caller
    /// stores the attributes in it.
    pub fn merge_sidecar(&mut self, head: &SidecarHead<'_>) {
        self.fill(head.fields.clone());
        self.fill_finder_info(head.finder_info);
    }

    /// Takes the values that a client set by writing a sidecar: its Finder info counts, even if it
    /// is empty.
    pub fn absorb_sidecar(&mut self, head: &SidecarHead<'_>) {
        self.set_finder_info(head.finder_info);
        self.fill(head.fields.clone());
    }

    fn put_finder_info(&mut self, mut info: FinderInfo) {
        if let Some(added) = info.date_added() {
            self.times.added = Some(added);
            info.set_date_added(None);
        }
        self.finder_info = info;
    }

    fn fill_finder_info(&mut self, info: FinderInfo) {
        if self.finder_info.is_none() {
            let added = self.times.added;
            self.put_finder_info(info);
            self.times.added = added.or(self.times.added);
        }
    }

    /// Takes the values that are not known yet.
    fn fill(&mut self, fields: Fields) {
        let dates = fields.dates.unwrap_or_default();
        self.fill_finder_info(fields.finder_info.unwrap_or_default());
        if self.comment.is_empty() {
            self.comment = fields.comment.clone().unwrap_or_default();
        }
        self.times.created = self.times.created.or(dates.created);
        self.times.backup = self.times.backup.or(dates.backup);
        self.kept.modified = self.kept.modified.or(dates.modified);
        self.kept.accessed = self.kept.accessed.or(dates.accessed);
        self.kept.id_hint = self.kept.id_hint.or(fields.id_hint);
        if self.bits == FileBits::default() {
            self.bits = fields.bits();
            self.kept.server_info = (fields.server_info.unwrap_or_default() >> 16) as u16;
        }
        fields.kept.into_iter().for_each(|entry| self.keep(entry));
    }

    fn keep(&mut self, entry: KeptEntry) {
        // Netatalk 2 writes empty entries into every file; they have no meaning.
        let says_something = entry.bytes.iter().any(|&byte| byte != 0);
        if says_something && !self.kept.entries.iter().any(|kept| kept.id == entry.id) {
            self.kept.entries.push(entry);
        }
    }

    fn to_fields(&self) -> Fields {
        Fields {
            finder_info: Some(self.finder_info_with_date()),
            comment: Some(self.comment.clone()),
            dates: Some(Dates {
                created: self.times.created,
                modified: self.kept.modified,
                backup: self.times.backup,
                accessed: self.kept.accessed,
            }),
            server_info: Some(u32::from(self.kept.server_info) << 16 | u32::from(self.bits.0)),
            real_name: None,
            id_hint: self.kept.id_hint,
            kept: self.kept.entries.clone(),
        }
    }

    /// The meaning of the Mac attributes for DOS, for a file that has no DOS attributes yet.
    fn derive_dos(&mut self) {
        let invisible = self.is_hidden();
        let has = |bit| self.bits.contains(bit);
        let mut dos = DosAttributes::empty();
        dos.set(DosAttributes::HIDDEN, invisible);
        dos.set(DosAttributes::READONLY, has(FileBits::LOCKED));
        dos.set(DosAttributes::SYSTEM, has(FileBits::SYSTEM));
        dos.set(DosAttributes::ARCHIVE, has(FileBits::BACKUP_NEEDED));
        self.dos = dos;
    }
}

/// The Mac attributes that Macs are shown: a file with the read-only attribute is locked.
pub fn shown_bits(bits: FileBits, dos: DosAttributes) -> FileBits {
    if dos.contains(DosAttributes::READONLY) { bits | FileBits::LOCKED } else { bits }
}

mod reading;
#[cfg(test)]
mod tests;
