//! Searching a volume. Apple Filing Protocol Reference, FPCatSearch, FPCatSearchExt.
//!
//! Two specifications of one layout describe the search: values and lower bounds in the first,
//! masks and upper bounds in the second. Parameters are in the order of their bits; names come
//! after all others. The place of a name has its offset, counted from the first parameter.

use wire::{Malformed, Reader, Writer, layout};

use super::enumerate::Framing;
use super::strings::{pascal, rest};
use super::{DirBitmap, FileBitmap, Path, Version};

/// The form of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchForm {
    /// FPCatSearch: the length of a specification or result has one byte.
    Plain,
    /// FPCatSearchExt, AFP 3.0: the length has two bytes.
    Ext,
}

impl SearchForm {
    /// The framing of results.
    pub fn framing(self) -> Framing {
        Framing { is_wide: self == Self::Ext, counts_head: false }
    }
}

wire::number! {
    /// The parameters to compare, Apple Filing Protocol Reference, "FPCatSearch", ReqBitmap: those of
    /// files and folders, and whether a part of a name matches.
    pub RequestBitmap: u32 {
        ATTRIBUTES = 1 << 0,
        PARENT_ID = 1 << 1,
        CREATED = 1 << 2,
        MODIFIED = 1 << 3,
        BACKUP = 1 << 4,
        FINDER_INFO = 1 << 5,
        LONG_NAME = 1 << 6,
        /// For folders.
        OFFSPRING_COUNT = 1 << 9,
        /// For files: the same bit.
        DATA_LENGTH = 1 << 9,
        /// For files.
        RESOURCE_LENGTH = 1 << 10,
        /// For files.
        EXTENDED_DATA_LENGTH = 1 << 11,
        UTF8_NAME = 1 << 13,
        /// For files.
        EXTENDED_RESOURCE_LENGTH = 1 << 14,
        /// A name matches if it contains the requested one.
        PARTIAL_NAME = 1 << 31,
        /// All bits with a meaning for files and folders alike.
        COMMON = 0x8000_207f,
        /// All bits with a meaning if only files are searched.
        OF_FILES = Self::COMMON.0 | 0x4e00,
        /// All bits with a meaning if only folders are searched.
        OF_FOLDERS = Self::COMMON.0 | 0x0200,
        /// All bits that came with AFP 3.
        SINCE_3 = Self::EXTENDED_DATA_LENGTH.0 | Self::UTF8_NAME.0 | Self::EXTENDED_RESOURCE_LENGTH.0,
    }
}

impl RequestBitmap {
    /// Whether it has all bits of `other`.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether all bits have a meaning for this search.
    pub fn is_known(self, files: FileBitmap, folders: DirBitmap) -> bool {
        let known = match (files.is_empty(), folders.is_empty()) {
            (false, true) => Self::OF_FILES,
            (true, false) => Self::OF_FOLDERS,
            _ => Self::COMMON,
        };
        known.contains(self)
    }

    /// Whether a version has all of its bits.
    pub fn is_of(self, version: Version) -> bool {
        version.is_3() || self.0 & Self::SINCE_3.0 == 0
    }
}

/// A specification. Values that its bitmap leaves out are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Specification<'a> {
    pub attributes: u16,
    pub parent: u32,
    /// Dates are seconds from the year 2000.
    pub created: i32,
    pub modified: i32,
    pub backup: i32,
    pub finder_info: [u8; 32],
    pub long_name: &'a [u8],
    pub offspring: u16,
    pub data_length: u32,
    pub resource_length: u32,
    pub extended_data_length: u64,
    /// With the script of the name in the client's view.
    pub utf8_name: (u32, &'a [u8]),
    pub extended_resource_length: u64,
}

/// Whether only folders are searched: then a bit has another meaning.
fn only_folders(files: FileBitmap) -> bool {
    files.is_empty()
}

impl<'a> Specification<'a> {
    /// Decodes a whole specification. If the bitmap has unknown bits, nothing is decoded, because the
    /// offsets are unknown. Names without a meaning are not checked: clients send none there, or
    /// invalid ones.
    fn decode(
        bytes: &'a [u8],
        bitmap: RequestBitmap,
        of: (FileBitmap, DirBitmap),
        with_names: bool,
    ) -> Result<Self, Malformed> {
        let mut spec = Self::default();
        if !bitmap.is_known(of.0, of.1) {
            return Ok(spec);
        }
        let mut r = Reader::new(bytes);
        let has = |bit| bitmap.contains(bit);
        if has(RequestBitmap::ATTRIBUTES) {
            spec.attributes = r.u16_be()?;
        }
        if has(RequestBitmap::PARENT_ID) {
            spec.parent = r.u32_be()?;
        }
        if has(RequestBitmap::CREATED) {
            spec.created = r.i32_be()?;
        }
        if has(RequestBitmap::MODIFIED) {
            spec.modified = r.i32_be()?;
        }
        if has(RequestBitmap::BACKUP) {
            spec.backup = r.i32_be()?;
        }
        if has(RequestBitmap::FINDER_INFO) {
            spec.finder_info = r.array()?;
        }
        if has(RequestBitmap::LONG_NAME) {
            let offset = r.u16_be()?;
            if with_names {
                spec.long_name = pascal::read(&mut at(bytes, offset)?)?;
            }
        }
        spec.decode_lengths(&mut r, bitmap, only_folders(of.0))?;
        if has(RequestBitmap::UTF8_NAME) {
            let offset = r.u16_be()?;
            r.skip(4)?; // padding
            if with_names {
                let mut name = at(bytes, offset)?;
                let (hint, length) = (name.u32_be()?, name.u16_be()?);
                spec.utf8_name = (hint, name.take(length.into())?);
            }
        }
        if has(RequestBitmap::EXTENDED_RESOURCE_LENGTH) {
            spec.extended_resource_length = r.u64_be()?;
        }
        Ok(spec)
    }

    fn decode_lengths(
        &mut self,
        r: &mut Reader<'_>,
        bitmap: RequestBitmap,
        only_folders: bool,
    ) -> Result<(), Malformed> {
        match bitmap.contains(RequestBitmap::OFFSPRING_COUNT) {
            true if only_folders => self.offspring = r.u16_be()?,
            true => self.data_length = r.u32_be()?,
            false => {}
        }
        if bitmap.contains(RequestBitmap::RESOURCE_LENGTH) {
            self.resource_length = r.u32_be()?;
        }
        if bitmap.contains(RequestBitmap::EXTENDED_DATA_LENGTH) {
            self.extended_data_length = r.u64_be()?;
        }
        Ok(())
    }

    /// Writes it with its length, which counts the bytes after it; the shorter form has a byte of
    /// padding before it.
    fn encode(&self, form: SearchForm, bitmap: RequestBitmap, of: (FileBitmap, DirBitmap), w: &mut Writer) {
        let start = w.len();
        w.zeros(2);
        if bitmap.is_known(of.0, of.1) {
            self.encode_parameters(bitmap, only_folders(of.0), w);
        }
        let length = w.len() - start - 2;
        match form {
            SearchForm::Plain => w.patch_u16_be(start, (length.min(u8::MAX.into()) as u16) << 8),
            SearchForm::Ext => w.patch_u16_be(start, length.min(u16::MAX.into()) as u16),
        }
    }

    fn encode_parameters(&self, bitmap: RequestBitmap, only_folders: bool, w: &mut Writer) {
        let from = w.len();
        let has = |bit| bitmap.contains(bit);
        let (mut long_at, mut utf8_at) = (None, None);
        if has(RequestBitmap::ATTRIBUTES) {
            w.u16_be(self.attributes);
        }
        if has(RequestBitmap::PARENT_ID) {
            w.u32_be(self.parent);
        }
        let dates = [
            (RequestBitmap::CREATED, self.created),
            (RequestBitmap::MODIFIED, self.modified),
            (RequestBitmap::BACKUP, self.backup),
        ];
        dates.into_iter().filter(|(bit, _)| has(*bit)).for_each(|(_, date)| w.i32_be(date));
        if has(RequestBitmap::FINDER_INFO) {
            w.put(&self.finder_info);
        }
        if has(RequestBitmap::LONG_NAME) {
            long_at = Some(w.len());
            w.u16_be(0);
        }
        match has(RequestBitmap::OFFSPRING_COUNT) {
            true if only_folders => w.u16_be(self.offspring),
            true => w.u32_be(self.data_length),
            false => {}
        }
        if has(RequestBitmap::RESOURCE_LENGTH) {
            w.u32_be(self.resource_length);
        }
        if has(RequestBitmap::EXTENDED_DATA_LENGTH) {
            w.u64_be(self.extended_data_length);
        }
        if has(RequestBitmap::UTF8_NAME) {
            utf8_at = Some(w.len());
            w.zeros(6);
        }
        if has(RequestBitmap::EXTENDED_RESOURCE_LENGTH) {
            w.u64_be(self.extended_resource_length);
        }
        if let Some(at) = long_at {
            w.patch_u16_be(at, (w.len() - from) as u16);
            pascal::put(w, self.long_name);
        }
        if let Some(at) = utf8_at {
            w.patch_u16_be(at, (w.len() - from) as u16);
            let name = &self.utf8_name.1[..self.utf8_name.1.len().min(u16::MAX.into())];
            w.u32_be(self.utf8_name.0);
            w.u16_be(name.len() as u16);
            w.put(name);
        }
    }

    /// The requested name, if there is one, as a path of one name.
    pub fn name(&self, bitmap: RequestBitmap) -> Option<Path<'a>> {
        if bitmap.contains(RequestBitmap::UTF8_NAME) {
            let (hint, bytes) = self.utf8_name;
            return Some(Path { kind: Path::UTF8, hint, bytes });
        }
        bitmap.contains(RequestBitmap::LONG_NAME).then(|| Path::long(self.long_name))
    }
}

/// A reader from an offset on.
fn at(bytes: &[u8], offset: u16) -> Result<Reader<'_>, Malformed> {
    bytes.get(offset.into()..).map(Reader::new).ok_or(Malformed("a name beyond its specification"))
}

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchRequest<'a> {
    pub volume: u16,
    /// The most matches of a reply.
    pub matches: u32,
    /// Zeros, or the position of this search's last reply.
    pub position: [u8; 16],
    /// The parameters of matching files; none: no files.
    pub files: FileBitmap,
    /// The parameters of matching folders; none: no folders.
    pub folders: DirBitmap,
    pub bitmap: RequestBitmap,
    /// Values and lower bounds.
    pub lower: Specification<'a>,
    /// Masks and upper bounds. Its names have no meaning.
    pub upper: Specification<'a>,
}

impl<'a> SearchRequest<'a> {
    pub fn decode(r: &mut Reader<'a>, form: SearchForm) -> Result<Self, Malformed> {
        r.skip(1)?; // padding
        let volume = r.u16_be()?;
        let matches = r.u32_be()?;
        r.skip(4)?; // reserved
        let position = r.array()?;
        let (files, folders) = (FileBitmap(r.u16_be()?), DirBitmap(r.u16_be()?));
        let bitmap = RequestBitmap(r.u32_be()?);
        let of = (files, folders);
        let lower = Specification::decode(specification(r, form)?, bitmap, of, true)?;
        let upper = Specification::decode(specification(r, form)?, bitmap, of, false)?;
        Ok(Self { volume, matches, position, files, folders, bitmap, lower, upper })
    }

    pub fn encode(&self, form: SearchForm, w: &mut Writer) {
        w.u8(0);
        w.u16_be(self.volume);
        w.u32_be(self.matches);
        w.u32_be(0);
        w.put(&self.position);
        w.u16_be(self.files.0);
        w.u16_be(self.folders.0);
        w.u32_be(self.bitmap.0);
        for specification in [&self.lower, &self.upper] {
            specification.encode(form, self.bitmap, (self.files, self.folders), w);
        }
    }
}

/// The bytes of a specification.
fn specification<'a>(r: &mut Reader<'a>, form: SearchForm) -> Result<&'a [u8], Malformed> {
    let length = match form {
        SearchForm::Plain => {
            let length = r.u8()?;
            r.skip(1)?; // padding
            length.into()
        }
        SearchForm::Ext => r.u16_be()?,
    };
    r.take(length.into())
}

layout! {
    /// A reply.
    pub struct Reply<'a> {
        pub position: [u8; 16],
        pub files: FileBitmap,
        pub folders: DirBitmap,
        pub count: u32,
        /// See [`Framing::entries`].
        pub entries: &'a [u8] => rest,
    }
}

impl<'a> Reply<'a> {
    /// Bytes before the entries.
    pub const HEAD: usize = 24;
    /// The position of the count.
    pub const COUNT_AT: usize = 20;
}

#[cfg(test)]
mod tests {
    use super::*;

    const BY_NAME: SearchRequest<'_> = SearchRequest {
        volume: 1,
        matches: 10,
        position: [0; 16],
        files: FileBitmap(0x0042),
        folders: DirBitmap(0x0042),
        bitmap: RequestBitmap(0x8000_0041),
        lower: Specification { attributes: 0x0020, long_name: b"Data", ..SPECIFICATION },
        upper: Specification { attributes: 0x01a0, ..SPECIFICATION },
    };

    const SPECIFICATION: Specification<'_> = Specification {
        attributes: 0,
        parent: 0,
        created: 0,
        modified: 0,
        backup: 0,
        finder_info: [0; 32],
        long_name: b"",
        offspring: 0,
        data_length: 0,
        resource_length: 0,
        extended_data_length: 0,
        utf8_name: (0, b""),
        extended_resource_length: 0,
    };

    fn laid_out(form: SearchForm, search: SearchRequest<'_>, specifications: &[u8]) {
        let mut bytes = vec![0, 0, 1, 0, 0, 0, 10, 0, 0, 0, 0];
        bytes.extend(search.position);
        bytes.extend(search.files.0.to_be_bytes());
        bytes.extend(search.folders.0.to_be_bytes());
        bytes.extend(search.bitmap.0.to_be_bytes());
        bytes.extend(specifications);
        assert_eq!(SearchRequest::decode(&mut Reader::new(&bytes), form), Ok(search));
        let mut w = Writer::new();
        search.encode(form, &mut w);
        assert_eq!(w.into_bytes(), bytes);
    }

    #[test]
    fn specifications_have_a_length_and_their_names_at_the_end() {
        // Reference, FPCatSearch: attributes (bit 0), the offset of the long name (bit 6), the
        // name; a length before all.
        laid_out(SearchForm::Plain, BY_NAME, b"\x09\0\0\x20\0\x04\x04Data\x05\0\x01\xa0\0\x04\0");
        laid_out(SearchForm::Ext, BY_NAME, b"\0\x09\0\x20\0\x04\x04Data\0\x05\x01\xa0\0\x04\0");
    }

    #[test]
    fn utf8_names_have_four_bytes_after_their_offset() {
        let utf8_name = (Path::HINT_UTF8, &b"x"[..]);
        let search = SearchRequest {
            bitmap: RequestBitmap::UTF8_NAME,
            lower: Specification { utf8_name, ..SPECIFICATION },
            upper: SPECIFICATION,
            ..BY_NAME
        };
        let lower = b"\0\x0d\0\x06\0\0\0\0\x08\0\x01\x03\0\x01x";
        let upper = b"\0\x0c\0\x06\0\0\0\0\0\0\0\0\0\0";
        laid_out(SearchForm::Ext, search, &[&lower[..], upper].concat());
        assert_eq!(search.lower.name(search.bitmap), Some(Path::utf8(b"x")));
    }

    #[test]
    fn bit_9_is_a_length_of_files_or_a_count_of_folders_and_of_both_nothing() {
        let bitmap = RequestBitmap(1 << 9);
        let only = |files, folders, lower| SearchRequest {
            files: FileBitmap(files),
            folders: DirBitmap(folders),
            bitmap,
            lower,
            upper: SPECIFICATION,
            ..BY_NAME
        };
        let files = only(0x40, 0, Specification { data_length: 0x0102_0304, ..SPECIFICATION });
        laid_out(SearchForm::Ext, files, b"\0\x04\x01\x02\x03\x04\0\x04\0\0\0\0");
        let folders = only(0, 0x40, Specification { offspring: 0x0102, ..SPECIFICATION });
        laid_out(SearchForm::Ext, folders, b"\0\x02\x01\x02\0\x02\0\0");
        laid_out(SearchForm::Ext, only(0x40, 0x40, SPECIFICATION), b"\0\0\0\0");
        assert!(!bitmap.is_known(FileBitmap(0x40), DirBitmap(0x40)));
    }

    #[test]
    fn a_specification_with_less_than_its_bitmap_says_is_malformed() {
        let decoded = |specifications: &[u8], bit: u32| {
            let mut bytes = vec![0; 27];
            bytes.extend([0, 0x42, 0, 0]);
            bytes.extend(bit.to_be_bytes());
            bytes.extend(specifications);
            SearchRequest::decode(&mut Reader::new(&bytes), SearchForm::Ext).map(drop)
        };
        assert!(decoded(b"\0\0\0\0", 1).is_err(), "no attributes");
        assert!(decoded(b"\xff\xff\0\0", 1).is_err(), "longer than the request");
        assert!(decoded(b"\0\x02\0\xff\0\x02\0\0", 1 << 6).is_err(), "a name beyond the end");
        assert!(decoded(b"\0\x06\0\x06\0\0\0\0\0\x06\0\x06\0\0\0\0", 1 << 13).is_err());
        assert!(decoded(b"\0\x02\0\x01\0\x02\0\0", 1).is_ok());
    }
}
