//! The entries of QUERY_DIRECTORY, MS-FSCC 2.4. A listing may have 100,000 of them: nothing is allocated for one.

use wire::{Malformed, Reader, Writer};

use super::posix::{PosixAttributes, PosixInfo};
use super::readdirattr::MacAttributes;
use super::{FileAttributes, FileClass, chain};
use crate::wire::text;
use crate::wire::time::NtTime;

/// Which of the layouts, by class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// FileDirectoryInformation.
    Directory,
    /// FileFullDirectoryInformation.
    Full,
    /// FileBothDirectoryInformation.
    Both,
    /// FileNamesInformation.
    Names,
    /// FileIdBothDirectoryInformation.
    IdBoth,
    /// The same with [`MacAttributes`] in the places of EaSize and ShortName.
    IdBothMac,
    /// FileIdFullDirectoryInformation.
    IdFull,
    /// FileIdGlobalTxDirectoryInformation.
    IdGlobalTx,
    /// FileIdExtdDirectoryInformation.
    IdExtd,
    /// FileIdExtdBothDirectoryInformation.
    IdExtdBoth,
    /// FilePosixInformation of the POSIX extensions, with the name behind it.
    Posix,
}

impl Form {
    /// The form of a class. `None` if the class is no listing.
    pub fn of(class: FileClass) -> Option<Self> {
        Some(match class {
            FileClass::DIRECTORY => Self::Directory,
            FileClass::FULL_DIRECTORY => Self::Full,
            FileClass::BOTH_DIRECTORY => Self::Both,
            FileClass::NAMES => Self::Names,
            FileClass::ID_BOTH_DIRECTORY => Self::IdBoth,
            FileClass::ID_FULL_DIRECTORY => Self::IdFull,
            FileClass::ID_GLOBAL_TX_DIRECTORY => Self::IdGlobalTx,
            FileClass::ID_EXTD_DIRECTORY => Self::IdExtd,
            FileClass::ID_EXTD_BOTH_DIRECTORY => Self::IdExtdBoth,
            FileClass::POSIX => Self::Posix,
            _ => return None,
        })
    }

    /// Where the name begins, which is how long an entry is without it. In [`Form::Posix`] the SIDs and the name's length are
    /// between.
    pub const fn name_offset(self) -> usize {
        match self {
            Self::Names => 12,
            Self::Directory => 64,
            Self::Full => 68,
            Self::IdFull => 80,
            Self::IdExtd | Self::Posix => 88,
            Self::IdGlobalTx => 92,
            Self::Both => 94,
            Self::IdBoth | Self::IdBothMac => 104,
            Self::IdExtdBoth => 114,
        }
    }

    fn short_name_offset(self) -> Option<usize> {
        match self {
            Self::Both | Self::IdBoth => Some(68),
            Self::IdExtdBoth => Some(88),
            _ => None,
        }
    }

    fn file_id_offset(self) -> Option<usize> {
        match self {
            Self::IdGlobalTx => Some(64),
            Self::IdFull | Self::IdExtd | Self::IdExtdBoth => Some(72),
            Self::IdBoth | Self::IdBothMac => Some(96),
            Self::Directory | Self::Full | Self::Both | Self::Names | Self::Posix => None,
        }
    }

    fn has_ea_size(self) -> bool {
        !matches!(self, Self::Directory | Self::Names | Self::IdGlobalTx | Self::Posix)
    }

    /// Whether the reparse tag has a place of its own; elsewhere it takes that of EaSize.
    fn has_reparse_tag(self) -> bool {
        matches!(self, Self::IdExtd | Self::IdExtdBoth)
    }
}

/// The properties of a file in an entry, besides its names. Not every form shows all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts {
    pub creation_time: NtTime,
    pub last_access_time: NtTime,
    pub last_write_time: NtTime,
    pub change_time: NtTime,
    pub end_of_file: u64,
    pub allocation_size: u64,
    pub attributes: FileAttributes,
    pub ea_size: u32,
    /// Only if the file has [`FileAttributes::REPARSE_POINT`].
    pub reparse_tag: u32,
    /// 0 if there is none. It is also the first part of the 128 bits of the extended forms.
    pub file_id: u64,
}

/// A name as clients see it: characters that Windows forbids have been mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryName<'a> {
    /// The stored name, where it is the same text.
    Utf8(&'a str),
    /// UTF-16, perhaps with unpaired surrogates.
    Units(&'a [u16]),
}

impl EntryName<'_> {
    fn byte_len(&self) -> usize {
        match self {
            Self::Utf8(name) if name.is_ascii() => name.len() * 2,
            Self::Utf8(name) => name.encode_utf16().count() * 2,
            Self::Units(units) => units.len() * 2,
        }
    }

    fn encode(&self, w: &mut Writer) {
        match self {
            Self::Utf8(name) if name.is_ascii() => name.as_bytes().chunks(64).for_each(|part| ascii(part, w)),
            Self::Utf8(name) => name.encode_utf16().for_each(|unit| w.u16_le(unit)),
            Self::Units(units) => text::put(w, units),
        }
    }
}

/// At most 64 characters.
fn ascii(name: &[u8], w: &mut Writer) {
    let mut wide = [0; 128];
    for (at, byte) in name.iter().enumerate() {
        wide[at * 2] = *byte;
    }
    w.put(&wide[..name.len() * 2]);
}

/// An entry to be sent.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    pub facts: Facts,
    pub name: EntryName<'a>,
    /// At most 12 units; mostly empty.
    pub short_name: &'a [u16],
    /// For [`Form::IdBothMac`] only.
    pub mac: Option<&'a MacAttributes>,
    /// For [`Form::Posix`], which is nothing without it.
    pub posix: Option<&'a PosixAttributes>,
}

impl Entry<'_> {
    fn posix_info(&self, form: Form) -> Option<PosixInfo> {
        let posix = self.posix.filter(|_| form == Form::Posix)?;
        Some(PosixInfo { facts: self.facts, posix: *posix })
    }
}

/// The entries of one reply, which has limited room.
#[derive(Debug)]
pub struct Listing {
    form: Form,
    start: usize,
    limit: usize,
    last: Option<usize>,
}

impl Listing {
    /// Entries that go where `w` stands, and take at most `room` bytes.
    pub fn begin(w: &Writer, form: Form, room: usize) -> Self {
        Self { form, start: w.len(), limit: w.len().saturating_add(room), last: None }
    }

    /// Whether nothing has been added.
    pub fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    /// Adds an entry, at a multiple of 8 bytes. Returns false and changes nothing if it does not
    /// fit.
    #[must_use]
    pub fn push(&mut self, w: &mut Writer, entry: &Entry<'_>) -> bool {
        let padding = (w.len() - self.start).next_multiple_of(8) - (w.len() - self.start);
        let name_len = entry.name.byte_len();
        let posix = entry.posix_info(self.form);
        let fixed_len = posix.map_or(self.form.name_offset(), |info| POSIX_HEAD + info.byte_len() + 4);
        let at = w.len() + padding;
        if at + fixed_len + name_len > self.limit {
            return false;
        }
        w.zeros(padding);
        if let Some(last) = self.last {
            w.patch_u32_le(last, (at - last) as u32);
        }
        self.last = Some(at);
        match posix {
            Some(info) => {
                w.zeros(POSIX_HEAD);
                info.encode(w);
                w.u32_le(name_len as u32);
            }
            None => w.put(&fixed(self.form, entry, name_len as u32)[..fixed_len]),
        }
        entry.name.encode(w);
        true
    }
}

/// NextEntryOffset and FileIndex, before what a listing has of the class for files.
const POSIX_HEAD: usize = 8;

/// All of the longest form but the name.
type FixedFields = [u8; Form::IdExtdBoth.name_offset()];

fn fixed(form: Form, entry: &Entry<'_>, name_len: u32) -> FixedFields {
    let (mut out, facts) = ([0; _], &entry.facts);
    if form == Form::Names {
        put(&mut out, 8, name_len.to_le_bytes());
        return out;
    }
    put(&mut out, 8, facts.creation_time.0.to_le_bytes());
    put(&mut out, 16, facts.last_access_time.0.to_le_bytes());
    put(&mut out, 24, facts.last_write_time.0.to_le_bytes());
    put(&mut out, 32, facts.change_time.0.to_le_bytes());
    put(&mut out, 40, facts.end_of_file.to_le_bytes());
    put(&mut out, 48, facts.allocation_size.to_le_bytes());
    put(&mut out, 56, facts.attributes.0.to_le_bytes());
    put(&mut out, 60, name_len.to_le_bytes());
    let is_reparse_point = facts.attributes.contains(FileAttributes::REPARSE_POINT);
    if let Some(mac) = entry.mac.filter(|_| form == Form::IdBothMac) {
        mac.put(&mut out);
    } else if form.has_ea_size() {
        put(&mut out, 64, facts.ea_size.to_le_bytes());
    }
    if is_reparse_point && form.has_reparse_tag() {
        put(&mut out, 68, facts.reparse_tag.to_le_bytes());
    } else if is_reparse_point && form.has_ea_size() {
        put(&mut out, 64, facts.reparse_tag.to_le_bytes());
    }
    if let Some(at) = form.short_name_offset() {
        put_short_name(&mut out[at..at + 26], entry.short_name);
    }
    if let Some(at) = form.file_id_offset() {
        put(&mut out, at, facts.file_id.to_le_bytes());
    }
    out
}

/// Puts bytes at an offset of an entry.
pub(super) fn put<const N: usize>(out: &mut [u8], at: usize, bytes: [u8; N]) {
    out[at..at + N].copy_from_slice(&bytes);
}

/// ShortNameLength u8 in bytes, reserved u8, ShortName of 24 bytes.
fn put_short_name(out: &mut [u8], name: &[u16]) {
    let name = &name[..name.len().min(12)];
    out[0] = (name.len() * 2) as u8;
    for (at, unit) in name.iter().enumerate() {
        put(out, 2 + at * 2, unit.to_le_bytes());
    }
}

/// An entry as a client gets it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnedEntry {
    pub facts: Facts,
    pub name: Vec<u16>,
    pub short_name: Vec<u16>,
    pub mac: Option<MacAttributes>,
    pub posix: Option<PosixAttributes>,
}

impl OwnedEntry {
    /// The same, to be sent.
    pub fn entry(&self) -> Entry<'_> {
        let name = EntryName::Units(&self.name);
        let (mac, posix) = (self.mac.as_ref(), self.posix.as_ref());
        Entry { facts: self.facts, name, short_name: &self.short_name, mac, posix }
    }
}

/// The entries of a reply.
pub fn decode(form: Form, bytes: &[u8]) -> Result<Vec<OwnedEntry>, Malformed> {
    chain::entries(bytes).map(|entry| listed(form, entry?.rest())).collect()
}

/// `bytes` begin after NextEntryOffset.
fn listed(form: Form, bytes: &[u8]) -> Result<OwnedEntry, Malformed> {
    let at = |offset: usize| {
        let mut r = Reader::new(bytes);
        r.skip(offset - 4).map(|()| r)
    };
    if form == Form::Posix {
        let mut r = at(POSIX_HEAD)?;
        let (info, name) = (PosixInfo::decode(&mut r)?, text::counted(&mut r)?);
        return Ok(OwnedEntry { facts: info.facts, name, posix: Some(info.posix), ..OwnedEntry::default() });
    }
    let mut name = at(form.name_offset())?;
    if form == Form::Names {
        let name_len = at(8)?.u32_le()?;
        return Ok(OwnedEntry { name: text::units(&mut name, name_len as usize)?, ..OwnedEntry::default() });
    }
    let mut facts = facts(&mut at(8)?)?;
    let name = text::units(&mut name, at(60)?.u32_le()? as usize)?;
    let is_reparse_point = facts.attributes.contains(FileAttributes::REPARSE_POINT);
    let tag_at = if form.has_reparse_tag() { 68 } else { 64 };
    if is_reparse_point && form.has_ea_size() {
        facts.reparse_tag = at(tag_at)?.u32_le()?;
    }
    if form.has_ea_size() && form != Form::IdBothMac && !(is_reparse_point && tag_at == 64) {
        facts.ea_size = at(64)?.u32_le()?;
    }
    if let Some(offset) = form.file_id_offset() {
        facts.file_id = at(offset)?.u64_le()?;
    }
    let short_name = form.short_name_offset().map(|offset| short_name(&mut at(offset)?)).transpose()?;
    let mac = (form == Form::IdBothMac).then(|| MacAttributes::decode(&mut at(64)?)).transpose()?;
    let mac = mac.map(|mac| if is_reparse_point { mac.without_access() } else { mac });
    Ok(OwnedEntry { facts, name, short_name: short_name.unwrap_or_default(), mac, posix: None })
}

fn facts(r: &mut Reader<'_>) -> Result<Facts, Malformed> {
    Ok(Facts {
        creation_time: NtTime(r.u64_le()?),
        last_access_time: NtTime(r.u64_le()?),
        last_write_time: NtTime(r.u64_le()?),
        change_time: NtTime(r.u64_le()?),
        end_of_file: r.u64_le()?,
        allocation_size: r.u64_le()?,
        attributes: FileAttributes(r.u32_le()?),
        ..Facts::default()
    })
}

fn short_name(r: &mut Reader<'_>) -> Result<Vec<u16>, Malformed> {
    let len = usize::from(r.u8()?);
    r.skip(1)?;
    match len <= 24 {
        true => text::units(r, len),
        false => Err(Malformed("short name longer than 12 characters")),
    }
}

#[cfg(test)]
mod tests;
