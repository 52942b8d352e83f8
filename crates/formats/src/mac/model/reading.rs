//! Reads the Mac metadata of a file out of all the parts in which it can be stored. What cannot be parsed is kept.

use wire::Malformed;

use super::{Metadata, StoredParts};
use crate::mac::apple_double::{AppleDouble, EntryId};
use crate::mac::fields::{Fields, KeptEntry};
use crate::mac::finder_info::FinderInfo;
use crate::mac::info_stream::InfoStream;
use crate::mac::netatalk;
use crate::mac::problem::{Problem, Source};
use crate::mac::samba::DosAttrib;
use crate::mac::sidecar;
use crate::mac::{DosAttributes, FileBits};

/// Reads the parts, first come first served; see [`Metadata::from_parts`].
pub(super) fn read(parts: &StoredParts<'_>) -> (Metadata, Vec<Problem>) {
    let mut reading = Reading::default();
    reading.value(Source::Netatalk, parts.netatalk, Reading::netatalk);
    if let Some((head, total)) = parts.netatalk2 {
        let result = reading.netatalk2(head, total);
        reading.note(Source::Netatalk2, result);
    }
    reading.value(Source::InfoStream, parts.info_stream, Reading::info_stream);
    if let Some(bytes) = parts.finder_info {
        reading.metadata.fill_finder_info(FinderInfo::from_prefix(bytes));
    }
    if let Some((head, total)) = parts.sidecar {
        let result = reading.sidecar(head, total);
        reading.note(Source::Sidecar, result);
    }
    reading.metadata.derive_dos();
    reading.value(Source::DosAttrib, parts.dosattrib, Reading::dosattrib);
    reading.value(Source::Kept, parts.kept, Reading::kept);
    (reading.metadata, reading.problems)
}

#[derive(Default)]
struct Reading {
    metadata: Metadata,
    /// Whether there is a header file of Netatalk, which counts.
    has_header: bool,
    problems: Vec<Problem>,
}

impl Reading {
    /// Reads a value that a rewrite will replace, so that it is kept when it cannot be read. Files stay where they are.
    fn value(
        &mut self,
        source: Source,
        bytes: Option<&[u8]>,
        read: fn(&mut Self, &[u8]) -> Result<(), Malformed>,
    ) {
        let Some(bytes) = bytes else { return };
        let result = read(self, bytes);
        if result.is_err() && !bytes.is_empty() {
            self.keep_unreadable(source, bytes);
        }
        self.note(source, result);
    }

    /// A crash between the write of what is kept and the write of what replaces it leaves a value in both places.
    fn keep_unreadable(&mut self, source: Source, bytes: &[u8]) {
        let kept = &mut self.metadata.kept.unreadable;
        let same = kept.iter().filter(|(of, _)| *of == source);
        if same.clone().all(|(_, known)| known != bytes) && same.clone().nth(MOST_OF_ONE - 1).is_none() {
            kept.push((source, bytes.to_vec()));
        }
    }

    fn note(&mut self, source: Source, result: Result<(), Malformed>) {
        if let Err(why) = result {
            self.problems.push(Problem::Unreadable(source, why));
        }
    }

    fn netatalk(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let (mut fields, problems) = netatalk::parse(bytes)?;
        self.problems.extend(problems);
        for entry in &fields.kept {
            self.problems.push(Problem::UnknownEntry(entry.id.0));
        }
        if let Some(name) = fields.real_name.take() {
            self.metadata.keep(KeptEntry { id: EntryId::REAL_NAME, bytes: name });
        }
        self.metadata.fill(fields);
        Ok(())
    }

    fn netatalk2(&mut self, head: &[u8], total: u64) -> Result<(), Malformed> {
        let file = AppleDouble::parse(head, total)?;
        self.problems.extend_from_slice(&file.problems);
        let fields = Fields::read(&file, &mut self.problems);
        self.has_header = self.metadata.bits == FileBits::default();
        self.metadata.fill(fields);
        Ok(())
    }

    fn info_stream(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let stream = InfoStream::parse(bytes)?;
        self.metadata.fill_finder_info(stream.finder_info);
        self.metadata.times.backup = self.metadata.times.backup.or(stream.backup);
        Ok(())
    }

    fn sidecar(&mut self, head: &[u8], total: u64) -> Result<(), Malformed> {
        let sidecar = sidecar::parse(head, total)?;
        self.metadata.merge_sidecar(&sidecar);
        self.problems.extend(sidecar.problems);
        Ok(())
    }

    fn dosattrib(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let value = DosAttrib::parse(bytes)?;
        // Samba notes attributes of every file that it makes, and knows no header of Netatalk: what that says counts, too.
        let of_macs = DosAttributes::HIDDEN | DosAttributes::SYSTEM | DosAttributes::READONLY;
        let of_header = self.metadata.dos.intersection(of_macs);
        let of_header = if self.has_header { of_header } else { DosAttributes::empty() };
        self.metadata.dos = value.attributes | of_header;
        self.metadata.times.created = value.created.or(self.metadata.times.created);
        self.metadata.kept.itime = value.itime;
        Ok(())
    }

    fn kept(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let file = AppleDouble::parse(bytes, bytes.len() as u64)?;
        if !file.problems.is_empty() {
            return Err(Malformed("we write no such thing"));
        }
        for entry in &file.entries {
            let bytes = file.bytes(entry.id).unwrap_or_default();
            match unreadable_source(entry.id) {
                Some(source) => self.keep_unreadable(source, bytes),
                // The whole of a comment that was cut, while it is still the one that was cut.
                None if entry.id == EntryId::COMMENT => {
                    if bytes.starts_with(&self.metadata.comment) {
                        self.metadata.comment = bytes.to_vec();
                    }
                }
                None => self.metadata.keep(KeptEntry { id: entry.id, bytes: bytes.to_vec() }),
            }
        }
        Ok(())
    }
}

/// Private entry ids under which values are stored that could not be read. An AppleDouble file has each id once: the
/// second value of a source has the first one's id plus [`NEXT_ID`], and so on.
const UNREADABLE: [(Source, EntryId); 4] = [
    (Source::Netatalk, EntryId(0x8046_4601)),
    (Source::InfoStream, EntryId(0x8046_4602)),
    (Source::DosAttrib, EntryId(0x8046_4603)),
    (Source::Kept, EntryId(0x8046_4604)),
];
const NEXT_ID: u32 = 0x10;
/// Different values of one source that are kept. The oldest ones are dropped.
const MOST_OF_ONE: usize = 4;

/// The entries under which these values are stored.
pub(super) fn unreadable_entries(values: &[(Source, Vec<u8>)]) -> impl Iterator<Item = (EntryId, &[u8])> {
    UNREADABLE.iter().flat_map(move |(source, id)| {
        let of_source = values.iter().filter(move |(of, _)| of == source);
        (id.0..).step_by(NEXT_ID as usize).map(EntryId).zip(of_source.map(|(_, bytes)| &bytes[..]))
    })
}

fn unreadable_source(id: EntryId) -> Option<Source> {
    let is_of = |first: EntryId| {
        let beyond = id.0.wrapping_sub(first.0);
        beyond.is_multiple_of(NEXT_ID) && beyond / NEXT_ID < MOST_OF_ONE as u32
    };
    UNREADABLE.iter().find(|(_, first)| is_of(*first)).map(|(source, _)| *source)
}
