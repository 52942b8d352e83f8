//! A file with all that a Mac stores in it, whole and in memory, and the four forms in which it can be
//! sent through systems without forks: AppleSingle and AppleDouble (RFC 1740), MacBinary, BinHex (RFC
//! 1741).

use wire::{Malformed, Writer};

use super::apple_double::{self, AppleDouble, Container, ENTRY_LEN, EntryId, HEADER_LEN, VERSION_2};
use super::attr::{self, NewAttr};
use super::binary::{self, MacBinary, Variant};
use super::binhex::BinHex;
use super::bits::FileBits;
use super::fields::{Dates, Fields};
use super::finder_info::FinderInfo;
use super::problem::Problem;
use super::sidecar;
use crate::Time;
use crate::names::{decode_mac_roman, encode_mac_roman};

/// A portable form of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// One file with both forks and everything else.
    AppleSingle,
    /// Everything but the data fork, in a file beside it: `._name`.
    AppleDouble,
    /// Both forks, Finder info, two dates, the comment.
    MacBinary,
    /// Both forks, type, creator and flags, as text.
    BinHex,
}

/// A file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Portable {
    /// Its name in UTF-8; empty if the form has none.
    pub name: String,
    /// Finder info.
    pub finder_info: FinderInfo,
    /// The comment, in MacRoman.
    pub comment: Vec<u8>,
    /// Dates; those that the form has.
    pub dates: Dates,
    /// Mac attributes: the operations that are forbidden, and others.
    pub bits: FileBits,
    /// The data fork. Empty for AppleDouble, which does not have it.
    pub data: Vec<u8>,
    /// The resource fork.
    pub resource: Vec<u8>,
    /// Extended attributes.
    pub attributes: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The longest comment of MacBinary and of the Finder's desktop database.
const MAX_COMMENT: usize = 200;
/// The Finder's "Locked" in entry 10, RFC 1740 appendix A.
const LOCKED: u32 = 1;

impl Portable {
    /// What a form cannot hold of this file; nothing if it is kept whole.
    pub fn lost(&self, format: Format) -> Vec<&'static str> {
        let of_finder = |kept: FinderInfo| kept != self.finder_info;
        let Dates { created, modified, backup, accessed } = self.dates;
        let has_date = |dates: &[Option<Time>]| dates.iter().any(Option::is_some);
        let other_bits = self.bits != FileBits::default() && self.bits != FileBits::LOCKED;
        let mac_name = encode_mac_roman(&self.name);
        let is_short = (1..=binary::MAX_NAME).contains(&mac_name.len());
        let has_mac_name = is_short && decode_mac_roman(&mac_name) == self.name;
        let lost = match format {
            Format::AppleSingle | Format::AppleDouble => {
                let mut problems: Vec<Problem> = Vec::new();
                attr::writable(&self.attributes(), HEADER_LEN + 8 * ENTRY_LEN, &mut problems);
                [
                    (!problems.is_empty(), "some extended attributes"),
                    (false, ""),
                    (false, ""),
                    (false, ""),
                    (false, ""),
                    (false, ""),
                ]
            }
            Format::MacBinary => [
                (!self.attributes.is_empty(), "extended attributes"),
                (!has_mac_name, "the name"),
                (of_finder(in_mac_binary(&self.finder_info)), "a part of the Finder info"),
                (has_date(&[backup, accessed]), "dates of backup and access"),
                (other_bits, "some Mac attributes"),
                (self.comment.len() > MAX_COMMENT, "a part of the comment"),
            ],
            Format::BinHex => [
                (!self.attributes.is_empty(), "extended attributes"),
                (!has_mac_name, "the name"),
                (of_finder(in_bin_hex(&self.finder_info)), "a part of the Finder info"),
                (has_date(&[created, modified, backup, accessed]), "dates"),
                (self.bits != FileBits::default(), "Mac attributes"),
                (!self.comment.is_empty(), "the comment"),
            ],
        };
        lost.into_iter().filter_map(|(is_lost, what)| is_lost.then_some(what)).collect()
    }

    /// Writes a form. What it cannot hold is left out: [`Portable::lost`] names it.
    ///
    /// # Errors
    /// If the form has no place for the name, or for forks of this size.
    pub fn encode(&self, format: Format) -> Result<Vec<u8>, Malformed> {
        match format {
            Format::AppleSingle => self.apple(Container::Single),
            Format::AppleDouble => self.apple(Container::Double),
            Format::MacBinary => self.mac_binary(),
            Format::BinHex => {
                let name = encode_mac_roman(&self.name);
                let (data, resource) = (self.data.clone(), self.resource.clone());
                let whole = BinHex { name, finder_info: self.finder_info, data, resource };
                whole.encode().ok_or(Malformed("a name or a fork too long for BinHex"))
            }
        }
    }

    fn attributes(&self) -> Vec<NewAttr<'_>> {
        self.attributes.iter().map(|(name, value)| (&name[..], &value[..])).collect()
    }

    /// Finder info first and with the attributes behind it, as macOS expects it; the forks last.
    fn apple(&self, container: Container) -> Result<Vec<u8>, Malformed> {
        let (dates, locked) = (self.dates.to_bytes(), LOCKED.to_be_bytes());
        let bits = u32::from(self.bits.0).to_be_bytes();
        let mut entries: Vec<(EntryId, &[u8])> = Vec::new();
        let mut add = |id, bytes, is_there| {
            if is_there {
                entries.push((id, bytes));
            }
        };
        add(EntryId::REAL_NAME, self.name.as_bytes(), !self.name.is_empty());
        add(EntryId::COMMENT, &self.comment[..], !self.comment.is_empty());
        add(EntryId::FILE_DATES, &dates[..], self.dates != Dates::default());
        let is_locked = self.bits.contains(FileBits::LOCKED);
        add(EntryId::MAC_FILE_INFO, &locked[..], container == Container::Single && is_locked);
        add(EntryId::SERVER_FILE_INFO, &bits[..], self.bits != FileBits::default());
        add(EntryId::RESOURCE_FORK, &self.resource[..], true);
        add(EntryId::DATA_FORK, &self.data[..], container == Container::Single);
        let info_at = HEADER_LEN + ENTRY_LEN * (entries.len() + 1);
        let mut w = Writer::new();
        w.u32_be(if container == Container::Single { 0x0005_1600 } else { 0x0005_1607 });
        w.u32_be(VERSION_2);
        w.zeros(16);
        w.u16_be(entries.len() as u16 + 1);
        w.zeros(info_at - HEADER_LEN); // the rows, when all lengths are known
        w.put(self.finder_info.as_bytes());
        let attributes = self.attributes();
        let attributes = attr::writable(&attributes, info_at, &mut Vec::new());
        if !attributes.is_empty() {
            attr::write(&mut w, &attributes);
        }
        let long = |_| Malformed("a file of 4 GiB or more");
        let mut rows = vec![(EntryId::FINDER_INFO, info_at, w.len() - info_at)];
        for (id, bytes) in entries {
            rows.push((id, w.len(), bytes.len()));
            w.put(bytes);
        }
        for (number, (id, at, len)) in rows.into_iter().enumerate() {
            let row = HEADER_LEN + ENTRY_LEN * number;
            w.patch_u32_be(row, id.0);
            w.patch_u32_be(row + 4, u32::try_from(at).map_err(long)?);
            w.patch_u32_be(row + 8, u32::try_from(len).map_err(long)?);
        }
        Ok(w.into_bytes())
    }

    fn mac_binary(&self) -> Result<Vec<u8>, Malformed> {
        let long = |_| Malformed("a fork of 4 GiB or more");
        let comment = &self.comment[..self.comment.len().min(MAX_COMMENT)];
        let header = MacBinary {
            variant: Variant::Three,
            name: encode_mac_roman(&self.name),
            finder_info: in_mac_binary(&self.finder_info),
            protected: self.bits.contains(FileBits::LOCKED),
            data_len: u32::try_from(self.data.len()).map_err(long)?,
            resource_len: u32::try_from(self.resource.len()).map_err(long)?,
            created: self.dates.created,
            modified: self.dates.modified,
            comment_len: comment.len() as u16,
            secondary_len: 0,
        };
        let mut file = header.build()?;
        for part in [&self.data[..], &self.resource, comment] {
            file.extend_from_slice(part);
            file.resize(file.len().next_multiple_of(binary::BLOCK), 0);
        }
        Ok(file)
    }

    /// Recognizes the form of a file, and reads it. BinHex may unpack to `limit` bytes at most.
    ///
    /// # Errors
    /// If it is none of the forms, or damaged.
    pub fn decode(bytes: &[u8], limit: usize) -> Result<(Format, Self), Malformed> {
        match apple_double::recognize(bytes) {
            Some(Container::Single) => return Ok((Format::AppleSingle, Self::from_single(bytes)?)),
            Some(Container::Double) => return Ok((Format::AppleDouble, Self::from_double(bytes)?)),
            None => {}
        }
        match MacBinary::parse(bytes, bytes.len() as u64) {
            Ok(header) => Ok((Format::MacBinary, Self::from_binary(&header, bytes))),
            Err(not_binary) => match BinHex::decode(bytes, limit) {
                Ok(file) => Ok((Format::BinHex, Self::from_bin_hex(file))),
                Err(Malformed("not BinHex")) => Err(not_binary),
                Err(damaged) => Err(damaged),
            },
        }
    }

    /// Whether a file of this length that begins so is of one of the forms, perhaps damaged.
    pub fn is_recognized(beginning: &[u8], length: u64) -> bool {
        apple_double::recognize(beginning).is_some()
            || MacBinary::parse(beginning, length).is_ok()
            || !matches!(BinHex::decode(beginning, 0), Err(Malformed("not BinHex")))
    }

    fn from_double(bytes: &[u8]) -> Result<Self, Malformed> {
        let head = sidecar::parse(bytes, bytes.len() as u64)?;
        let fork = part(bytes, &head.resource_range);
        let attributes =
            head.xattrs.iter().filter_map(|attr| Some((attr.name.to_vec(), attr.value?.to_vec())));
        let attributes = attributes.collect();
        Ok(Self { attributes, ..Self::from_fields(head.fields, head.finder_info, fork) })
    }

    fn from_single(bytes: &[u8]) -> Result<Self, Malformed> {
        let file = AppleDouble::parse(bytes, bytes.len() as u64)?;
        let is_cut =
            |problem: &Problem| matches!(problem, Problem::MissingEntries { .. } | Problem::EntryPastEnd(_));
        if file.problems.iter().any(is_cut) {
            return Err(Malformed("the file is cut off"));
        }
        let mut problems = Vec::new();
        let fields = Fields::read(&file, &mut problems);
        let area = file.range(EntryId::FINDER_INFO).unwrap_or(0..0);
        let attributes = attr::read(bytes, area, &mut problems);
        let attributes =
            attributes.iter().filter_map(|attr| Some((attr.name.to_vec(), attr.value?.to_vec())));
        let attributes = attributes.collect();
        let fork = |id| file.range(id).map_or_else(Vec::new, |range| part(bytes, &range));
        let finder_info = fields.finder_info.unwrap_or_default();
        let this = Self::from_fields(fields, finder_info, fork(EntryId::RESOURCE_FORK));
        Ok(Self { attributes, data: fork(EntryId::DATA_FORK), ..this })
    }

    fn from_fields(fields: Fields, finder_info: FinderInfo, resource: Vec<u8>) -> Self {
        let bits = fields.bits();
        let name = fields.real_name.unwrap_or_default();
        let name = String::from_utf8(name).unwrap_or_else(|name| decode_mac_roman(name.as_bytes()));
        let (comment, dates) = (fields.comment.unwrap_or_default(), fields.dates.unwrap_or_default());
        Self { name, finder_info, comment, dates, bits, resource, ..Self::default() }
    }

    fn from_binary(header: &MacBinary, bytes: &[u8]) -> Self {
        let bits = if header.protected { FileBits::LOCKED } else { FileBits::default() };
        Self {
            name: decode_mac_roman(&header.name),
            finder_info: header.finder_info,
            comment: part(bytes, &header.comment_range()),
            dates: Dates { created: header.created, modified: header.modified, ..Dates::default() },
            bits,
            data: part(bytes, &header.data_range()),
            resource: part(bytes, &header.resource_range()),
            attributes: Vec::new(),
        }
    }

    fn from_bin_hex(file: BinHex) -> Self {
        let BinHex { name, finder_info, data, resource } = file;
        Self { name: decode_mac_roman(&name), finder_info, data, resource, ..Self::default() }
    }
}

/// A part of a file, as far as it is there: the padding after the last one is often left out.
fn part(bytes: &[u8], range: &std::ops::Range<u64>) -> Vec<u8> {
    let at = |place: u64| usize::try_from(place).unwrap_or(usize::MAX).min(bytes.len());
    bytes[at(range.start)..at(range.end).max(at(range.start))].to_vec()
}

/// What MacBinary III holds of Finder info: type, creator, flags, place, window, script, more flags.
fn in_mac_binary(info: &FinderInfo) -> FinderInfo {
    let mut kept = *info.as_bytes();
    kept[16..24].fill(0);
    kept[26..].fill(0);
    FinderInfo::new(kept)
}

/// What BinHex holds of it: type, creator, flags.
fn in_bin_hex(info: &FinderInfo) -> FinderInfo {
    FinderInfo::from_prefix(&info.as_bytes()[..10])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Portable {
        let mut finder_info = FinderInfo::NONE;
        finder_info.set_type(*b"TEXT", *b"ttxt");
        finder_info.set_label(6);
        let (name, data, resource) = ("Größe".to_owned(), b"data".to_vec(), vec![7; 300]);
        Portable { name, finder_info, data, resource, ..Portable::default() }
    }

    fn full() -> Portable {
        let at = |secs| Some(Time { secs, nanos: 0 });
        let dates = Dates { created: at(1_000_000_000), modified: at(1_100_000_000), ..Dates::default() };
        Portable { comment: b"a comment".to_vec(), dates, bits: FileBits::LOCKED, ..plain() }
    }

    #[test]
    fn a_form_that_loses_nothing_reads_back_the_same() {
        let tagged = Portable {
            attributes: vec![(b"com.apple.x".to_vec(), vec![1; 500]), (b"e".to_vec(), vec![])],
            ..full()
        };
        for (file, formats) in [
            (plain(), &[Format::AppleSingle, Format::MacBinary, Format::BinHex][..]),
            (full(), &[Format::AppleSingle, Format::MacBinary]),
            (tagged.clone(), &[Format::AppleSingle]),
            (Portable { data: vec![], ..tagged }, &[Format::AppleDouble]),
        ] {
            for format in formats {
                assert_eq!(file.lost(*format), Vec::<&str>::new(), "{format:?}");
                let bytes = file.encode(*format).unwrap();
                assert_eq!(Portable::decode(&bytes, 1 << 20), Ok((*format, file.clone())), "{format:?}");
            }
        }
    }

    #[test]
    fn what_a_form_cannot_hold_is_named() {
        let tagged = Portable { attributes: vec![(b"x".to_vec(), vec![1])], ..full() };
        assert_eq!(tagged.lost(Format::MacBinary), ["extended attributes"]);
        assert_eq!(
            tagged.lost(Format::BinHex),
            ["extended attributes", "dates", "Mac attributes", "the comment"]
        );
        let japanese = Portable { name: "日本".into(), ..plain() };
        assert_eq!(japanese.lost(Format::BinHex), ["the name"]);
        assert_eq!(japanese.lost(Format::AppleSingle), Vec::<&str>::new());
    }

    #[test]
    fn other_files_are_refused() {
        for bytes in [&b""[..], b"text", &[0; 200], b"\0\x05\x16\0"] {
            assert!(Portable::decode(bytes, 1 << 20).is_err());
        }
    }
}
