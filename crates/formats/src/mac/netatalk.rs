//! Netatalk's own AppleDouble layouts: the extended attribute of Netatalk 3 and 4, which Samba's `fruit` shares, the
//! header file of Netatalk 2, and the extended attribute files of both.

use wire::Malformed;

use super::apple_double::{self, AppleDouble, ByteOrder, Container, Entry, EntryId, Slot};
use super::fields::{Dates, Fields, IdHint};
use super::finder_info::FinderInfo;
use super::problem::Problem;

/// The extended attribute's size. Both Netatalk and Samba read into a buffer of just this size and take anything longer
/// for damaged, so nothing may ever be added.
pub const METADATA_LEN: usize = 402;
/// The longest comment in either layout.
pub const MAX_COMMENT: usize = 200;
/// Where the resource fork begins in a Netatalk 2 header file.
pub const HEADER_FILE_LEN: usize = 741;

const MAX_NAME: usize = 255;

/// Reads the value of `user.org.netatalk.Metadata`. Entries count by id, wherever they lie.
pub fn parse(bytes: &[u8]) -> Result<(Fields, Vec<Problem>), Malformed> {
    let mut file = AppleDouble::parse(bytes, bytes.len() as u64)?;
    let mut problems = std::mem::take(&mut file.problems);
    // The room reserved for empty entries at the end belongs to them.
    problems.retain(|problem| !matches!(problem, Problem::TrailingBytes(_)));
    let fields = Fields::read(&file, &mut problems);
    Ok((fields, problems))
}

/// Writes the value of `user.org.netatalk.Metadata`: always [`METADATA_LEN`] bytes. Real name and kept entries have no
/// place in it; a comment is cut at [`MAX_COMMENT`] bytes.
pub fn build(fields: &Fields) -> Vec<u8> {
    let parts = NetatalkParts::new(fields);
    // Places as both servers fix them, rows in the ascending order both write.
    let slots = [
        Slot::new(EntryId::COMMENT, 0x9A, parts.comment),
        Slot::new(EntryId::FILE_DATES, 0x162, &parts.dates),
        Slot::new(EntryId::FINDER_INFO, 0x7A, &parts.finder_info),
        Slot::new(EntryId::SERVER_FILE_INFO, 0x172, &parts.server_info),
        Slot::new(EntryId::NETATALK_DEV, 0x176, parts.hint(|hint| &hint.dev)),
        Slot::new(EntryId::NETATALK_INO, 0x17E, parts.hint(|hint| &hint.ino)),
        Slot::new(EntryId::NETATALK_SYN, 0x186, parts.hint(|hint| &hint.syn)),
        Slot::new(EntryId::NETATALK_ID, 0x18E, parts.hint(|hint| &hint.id)),
    ];
    apple_double::build(Container::Double, [0; 16], &slots, METADATA_LEN)
}

/// Writes the header of a Netatalk 2 `.AppleDouble/` file, [`HEADER_FILE_LEN`] bytes; the resource fork follows.
pub fn build_header_file(fields: &Fields, resource_len: u32) -> Vec<u8> {
    let parts = NetatalkParts::new(fields);
    let name = fields.real_name.as_deref().unwrap_or_default();
    let kept = |id, max: usize| {
        let entry = fields.kept.iter().find(|entry| entry.id == id && entry.bytes.len() <= max);
        entry.map_or(&[][..], |entry| &entry.bytes[..])
    };
    let slots = [
        Slot { id: EntryId::RESOURCE_FORK, offset: 741, length: resource_len, bytes: &[] },
        Slot::new(EntryId::REAL_NAME, 182, &name[..name.len().min(MAX_NAME)]),
        Slot::new(EntryId::COMMENT, 437, parts.comment),
        Slot::new(EntryId::FILE_DATES, 637, &parts.dates),
        Slot::new(EntryId::FINDER_INFO, 653, &parts.finder_info),
        Slot::new(EntryId::PRODOS_FILE_INFO, 705, kept(EntryId::PRODOS_FILE_INFO, 8)),
        Slot::new(EntryId::SHORT_NAME, 693, kept(EntryId::SHORT_NAME, 12)),
        Slot::new(EntryId::SERVER_FILE_INFO, 689, &parts.server_info),
        Slot::new(EntryId::DIRECTORY_ID, 685, kept(EntryId::DIRECTORY_ID, 4)),
        Slot::new(EntryId::NETATALK_DEV, 713, parts.hint(|hint| &hint.dev)),
        Slot::new(EntryId::NETATALK_INO, 721, parts.hint(|hint| &hint.ino)),
        Slot::new(EntryId::NETATALK_SYN, 729, parts.hint(|hint| &hint.syn)),
        Slot::new(EntryId::NETATALK_ID, 737, parts.hint(|hint| &hint.id)),
    ];
    apple_double::build(Container::Double, [0; 16], &slots, HEADER_FILE_LEN)
}

/// The same header with other values of the model: the beginning of the file, up to the end of what has changed in it. Other
/// entries stay as they are. `None` if the table does not have these entries, or no room for them.
pub fn update_header(old: &[u8], fields: &Fields) -> Option<Vec<u8>> {
    let (parts, mut header) = (NetatalkParts::new(fields), HeaderFile::of(old)?);
    header.put_fixed(EntryId::FINDER_INFO, &parts.finder_info)?;
    header.put_fixed(EntryId::FILE_DATES, &parts.dates)?;
    header.put_fixed(EntryId::SERVER_FILE_INFO, &parts.server_info)?;
    header.put_text(EntryId::COMMENT, parts.comment)?;
    Some(header.bytes)
}

/// The same header with another name of the file. `None` if it has no room for it.
pub fn with_name(old: &[u8], name: &[u8]) -> Option<Vec<u8>> {
    let mut header = HeaderFile::of(old)?;
    header.put_text(EntryId::REAL_NAME, &name[..name.len().min(MAX_NAME)])?;
    Some(header.bytes)
}

/// A header file up to its fork, to be changed in place.
struct HeaderFile {
    entries: Vec<Entry>,
    bytes: Vec<u8>,
}

impl HeaderFile {
    /// `None` unless the fork is the last entry, and a fork of any length may follow.
    fn of(old: &[u8]) -> Option<Self> {
        let file = AppleDouble::parse(old, old.len() as u64).ok()?;
        let fork = file.entry(EntryId::RESOURCE_FORK)?;
        let is_last = file.entries.iter().all(|entry| entry.offset <= fork.offset);
        let is_ours = file.container == Container::Double && file.order == ByteOrder::Big && is_last;
        let bytes = old.get(..fork.offset as usize).filter(|_| is_ours)?.to_vec();
        Some(Self { entries: file.entries, bytes })
    }

    fn put_fixed(&mut self, id: EntryId, value: &[u8]) -> Option<()> {
        let entry = self.entries.iter().find(|entry| entry.id == id)?;
        let at = entry.offset as usize;
        let place =
            self.bytes.get_mut(at..at + value.len()).filter(|_| entry.length as usize >= value.len())?;
        place.copy_from_slice(value);
        Some(())
    }

    /// A value of any length, up to where the next entry begins. Its row says how long it is.
    fn put_text(&mut self, id: EntryId, value: &[u8]) -> Option<()> {
        let number = self.entries.iter().position(|entry| entry.id == id)?;
        let at = self.entries[number].offset as usize;
        let following = self.entries.iter().map(|entry| entry.offset as usize).filter(|&offset| offset > at);
        let room = following.min()?.checked_sub(at)?;
        let length_at = apple_double::HEADER_LEN + apple_double::ENTRY_LEN * number + 8;
        let place = self.bytes.get_mut(at..at + value.len()).filter(|_| value.len() <= room)?;
        place.copy_from_slice(value);
        let length = u32::try_from(value.len()).ok()?;
        self.bytes.get_mut(length_at..length_at + 4)?.copy_from_slice(&length.to_be_bytes());
        Some(())
    }
}

/// The bytes of the entries both layouts share.
struct NetatalkParts<'a> {
    finder_info: [u8; FinderInfo::LEN],
    comment: &'a [u8],
    dates: [u8; Dates::LEN],
    server_info: [u8; 4],
    id_hint: Option<&'a IdHint>,
}

impl<'a> NetatalkParts<'a> {
    fn new(fields: &'a Fields) -> Self {
        let comment = fields.comment.as_deref().unwrap_or_default();
        Self {
            finder_info: *fields.finder_info.unwrap_or_default().as_bytes(),
            comment: &comment[..comment.len().min(MAX_COMMENT)],
            dates: fields.dates.unwrap_or_default().to_bytes(),
            server_info: fields.server_info.unwrap_or_default().to_be_bytes(),
            id_hint: fields.id_hint.as_ref(),
        }
    }

    /// A private entry's bytes; without a hint it is there but empty, as in Netatalk.
    fn hint<const N: usize>(&self, entry: impl Fn(&IdHint) -> &[u8; N]) -> &'a [u8] {
        self.id_hint.map_or(&[], |hint| entry(hint))
    }
}

#[cfg(test)]
mod tests;
