//! Listings of folders. Apple Filing Protocol Reference, FPEnumerate, FPEnumerateExt,
//! FPEnumerateExt2: three forms of one command, with longer entries, then with longer numbers.

use wire::{Malformed, Reader, Writer, layout};

use super::directory::Place;
use super::strings::rest;
use super::{DirBitmap, FileBitmap, Path};

/// The form of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnumerateForm {
    /// FPEnumerate: the length of an entry has one byte.
    Plain,
    /// FPEnumerateExt, AFP 3.0: the length has two bytes.
    Ext,
    /// FPEnumerateExt2, AFP 3.1: the start index and the reply's size have four bytes.
    Ext2,
}

impl EnumerateForm {
    /// The framing of its entries.
    pub fn framing(self) -> Framing {
        Framing { is_wide: self != Self::Plain, counts_head: true }
    }
}

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enumerate<'a> {
    pub place: Place<'a>,
    /// The parameters of files; none: no files.
    pub files: FileBitmap,
    /// The parameters of folders; none: no folders.
    pub folders: DirBitmap,
    /// The most entries.
    pub count: u16,
    /// The first entry, counted from 1.
    pub start: u32,
    /// The most bytes of a reply.
    pub max_reply: u32,
}

impl<'a> Enumerate<'a> {
    pub fn decode(r: &mut Reader<'a>, form: EnumerateForm) -> Result<Self, Malformed> {
        r.skip(1)?; // padding
        let (volume, folder) = (r.u16_be()?, r.u32_be()?);
        let (files, folders) = (FileBitmap(r.u16_be()?), DirBitmap(r.u16_be()?));
        let count = r.u16_be()?;
        let (start, max_reply) = match form {
            EnumerateForm::Plain | EnumerateForm::Ext => (r.u16_be()?.into(), r.u16_be()?.into()),
            EnumerateForm::Ext2 => (r.u32_be()?, r.u32_be()?),
        };
        let place = Place { volume, folder, path: Path::decode(r)? };
        Ok(Self { place, files, folders, count, start, max_reply })
    }

    /// Numbers that have 16 bits in this form are truncated.
    pub fn encode(&self, form: EnumerateForm, w: &mut Writer) {
        w.u8(0);
        w.u16_be(self.place.volume);
        w.u32_be(self.place.folder);
        w.u16_be(self.files.0);
        w.u16_be(self.folders.0);
        w.u16_be(self.count);
        for number in [self.start, self.max_reply] {
            match form {
                EnumerateForm::Plain | EnumerateForm::Ext => {
                    w.u16_be(u16::try_from(number).unwrap_or(u16::MAX))
                }
                EnumerateForm::Ext2 => w.u32_be(number),
            }
        }
        self.place.path.encode(w);
    }
}

layout! {
    /// A reply.
    pub struct Reply<'a> {
        pub files: FileBitmap,
        pub folders: DirBitmap,
        pub count: u16,
        /// See [`Framing::entries`].
        pub entries: &'a [u8] => rest,
    }
}

impl<'a> Reply<'a> {
    /// Bytes before the entries.
    pub const HEAD: usize = 6;
    /// The position of the count.
    pub const COUNT_AT: usize = 4;
}

/// The framing of the entries of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Framing {
    /// The length has two bytes, and a byte of padding follows the flag; otherwise one byte and no
    /// padding.
    pub is_wide: bool,
    /// The length includes the bytes before the parameters.
    pub counts_head: bool,
}

/// An entry of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    pub is_folder: bool,
    /// The parameters of one of the bitmaps; a byte of padding may follow.
    pub parameters: &'a [u8],
}

impl Framing {
    /// Bytes before an entry's parameters.
    pub fn head(self) -> usize {
        if self.is_wide { 4 } else { 2 }
    }

    /// The entries of a reply; they end at an invalid one.
    pub fn entries<'a>(
        self,
        bytes: &'a [u8],
    ) -> impl Iterator<Item = Result<Entry<'a>, Malformed>> + use<'a> {
        let mut r = Reader::new(bytes);
        let mut failed = false;
        std::iter::from_fn(move || {
            if failed || r.remaining() == 0 {
                return None;
            }
            let entry = self.entry(&mut r);
            failed = entry.is_err();
            Some(entry)
        })
    }

    fn entry<'a>(self, r: &mut Reader<'a>) -> Result<Entry<'a>, Malformed> {
        let length = if self.is_wide { usize::from(r.u16_be()?) } else { usize::from(r.u8()?) };
        let is_folder = r.u8()? & super::file::IS_FOLDER != 0;
        if self.is_wide {
            r.skip(1)?; // padding
        }
        let before = if self.counts_head { self.head() } else { 0 };
        let length = length.checked_sub(before).ok_or(Malformed("an entry shorter than its head"))?;
        Ok(Entry { is_folder, parameters: r.take(length)? })
    }

    /// Writes an entry, whose parameters `put` appends, padded to an even length. An entry that is
    /// too long for its length field is not written; then the answer is false.
    pub fn put(self, w: &mut Writer, is_folder: bool, put: impl FnOnce(&mut Writer)) -> bool {
        let start = w.len();
        w.zeros(self.head());
        put(w);
        if !(w.len() - start).is_multiple_of(2) {
            w.u8(0);
        }
        let length = w.len() - start - if self.counts_head { 0 } else { self.head() };
        let kind = if is_folder { super::file::IS_FOLDER } else { 0 };
        let most = if self.is_wide { u16::MAX.into() } else { u8::MAX.into() };
        if length > most {
            w.truncate(start);
            return false;
        }
        if self.is_wide {
            w.patch_u16_be(start, length as u16);
            w.patch_u16_be(start + 2, u16::from(kind) << 8);
        } else {
            w.patch_u16_be(start, (length as u16) << 8 | u16::from(kind));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: Enumerate<'_> = Enumerate {
        place: Place { volume: 1, folder: 2, path: Path { kind: 2, hint: 0, bytes: b"d" } },
        files: FileBitmap(0x0142),
        folders: DirBitmap(0x0142),
        count: 20,
        start: 3,
        max_reply: 5280,
    };

    #[test]
    fn start_and_size_have_two_bytes_or_four() {
        let short = b"\0\0\x01\0\0\0\x02\x01\x42\x01\x42\0\x14\0\x03\x14\xa0\x02\x01d";
        let long = b"\0\0\x01\0\0\0\x02\x01\x42\x01\x42\0\x14\0\0\0\x03\0\0\x14\xa0\x02\x01d";
        for (form, bytes) in
            [(EnumerateForm::Plain, &short[..]), (EnumerateForm::Ext, short), (EnumerateForm::Ext2, long)]
        {
            assert_eq!(Enumerate::decode(&mut Reader::new(bytes), form), Ok(REQUEST));
            let mut w = Writer::new();
            REQUEST.encode(form, &mut w);
            assert_eq!(w.into_bytes(), bytes);
        }
    }

    #[test]
    fn entries_have_their_length_what_they_are_and_an_even_number_of_bytes() {
        // Reference, FPEnumerate: length (itself, and the flag, included), flag, parameters, padding. FPEnumerateExt: a
        // longer length, and a byte after the flag.
        let entries = |framing: Framing| {
            let mut w = Writer::new();
            assert!(framing.put(&mut w, false, |w| w.put(b"abc")));
            assert!(framing.put(&mut w, true, |w| w.put(b"de")));
            let bytes = w.into_bytes();
            let read: Vec<_> = framing.entries(&bytes).collect();
            let file = Entry { is_folder: false, parameters: b"abc\0" };
            assert_eq!(read, [Ok(file), Ok(Entry { is_folder: true, parameters: b"de" })]);
            bytes
        };
        assert_eq!(entries(EnumerateForm::Plain.framing()), b"\x06\0abc\0\x04\x80de");
        assert_eq!(entries(EnumerateForm::Ext.framing()), b"\0\x08\0\0abc\0\0\x06\x80\0de");
        assert_eq!(entries(Framing { is_wide: false, counts_head: false }), b"\x04\0abc\0\x02\x80de");
    }

    #[test]
    fn an_entry_that_its_length_field_cannot_tell_is_left_out() {
        let mut w = Writer::new();
        assert!(!EnumerateForm::Plain.framing().put(&mut w, false, |w| w.zeros(254)));
        assert!(w.is_empty());
        assert!(EnumerateForm::Plain.framing().put(&mut w, false, |w| w.zeros(252)));
        assert_eq!((w.len(), w.as_bytes()[0]), (254, 254));
    }

    #[test]
    fn an_entry_that_is_shorter_than_its_head_ends_the_list() {
        let mut entries = EnumerateForm::Ext2.framing().entries(b"\0\x03\0\0\0\x04\0\0");
        assert!(entries.next().is_some_and(|entry| entry.is_err()));
        assert_eq!(entries.next(), None);
    }
}
