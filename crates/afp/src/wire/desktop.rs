//! The desktop database: icons, applications for creators, comments. Apple Filing Protocol
//! Reference, FPOpenDT, FPCloseDT, FPAddIcon, FPGetIcon, FPGetIconInfo, FPAddAPPL, FPRemoveAPPL,
//! FPGetAPPL, FPAddComment, FPGetComment, FPRemoveComment.

use wire::{Malformed, Reader, Writer};

use super::padding::{pad_to_even, skip_to_even};
use super::strings::{pascal, put_pascal};
use super::{FileBitmap, Path};

/// A creator or a type: four bytes.
pub type FourBytes = [u8; 4];

/// FPOpenDT, request.
pub use super::volume::OfVolume as OpenDt;

/// FPOpenDT, reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenDtReply {
    pub desktop: u16,
}

impl OpenDtReply {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { desktop: r.u16_be()? })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u16_be(self.desktop);
    }
}

/// FPCloseDT, request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CloseDt {
    pub desktop: u16,
}

impl CloseDt {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(1)?; // padding
        Ok(Self { desktop: r.u16_be()? })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u8(0);
        w.u16_be(self.desktop);
    }
}

/// FPAddIcon, request. The bitmap follows as the data of a DSI write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddIcon {
    pub desktop: u16,
    pub creator: FourBytes,
    pub kind: FourBytes,
    /// Size and depth.
    pub icon: u8,
    /// A value of the client.
    pub tag: u32,
    /// Bytes of the bitmap.
    pub size: u16,
}

impl AddIcon {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(1)?; // padding
        let (desktop, creator, kind, icon) = (r.u16_be()?, r.array()?, r.array()?, r.u8()?);
        r.skip(1)?; // padding
        Ok(Self { desktop, creator, kind, icon, tag: r.u32_be()?, size: r.u16_be()? })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u8(0);
        w.u16_be(self.desktop);
        w.put(&self.creator);
        w.put(&self.kind);
        w.u8(self.icon);
        w.u8(0);
        w.u32_be(self.tag);
        w.u16_be(self.size);
    }
}

/// FPGetIcon, request. The reply is the bitmap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GetIcon {
    pub desktop: u16,
    pub creator: FourBytes,
    pub kind: FourBytes,
    /// Size and depth.
    pub icon: u8,
    /// How many bytes of the bitmap to return.
    pub length: u16,
}

impl GetIcon {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(1)?; // padding
        let (desktop, creator, kind, icon) = (r.u16_be()?, r.array()?, r.array()?, r.u8()?);
        r.skip(1)?; // padding
        Ok(Self { desktop, creator, kind, icon, length: r.u16_be()? })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u8(0);
        w.u16_be(self.desktop);
        w.put(&self.creator);
        w.put(&self.kind);
        w.u8(self.icon);
        w.u8(0);
        w.u16_be(self.length);
    }
}

/// FPGetIconInfo, request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GetIconInfo {
    pub desktop: u16,
    pub creator: FourBytes,
    /// The index among the creator's icons, from 1.
    pub index: u16,
}

impl GetIconInfo {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(1)?; // padding
        Ok(Self { desktop: r.u16_be()?, creator: r.array()?, index: r.u16_be()? })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u8(0);
        w.u16_be(self.desktop);
        w.put(&self.creator);
        w.u16_be(self.index);
    }
}

/// FPGetIconInfo, reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IconInfo {
    pub tag: u32,
    pub kind: FourBytes,
    pub icon: u8,
    pub size: u16,
}

impl IconInfo {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (tag, kind, icon) = (r.u32_be()?, r.array()?, r.u8()?);
        r.skip(1)?; // padding
        Ok(Self { tag, kind, icon, size: r.u16_be()? })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u32_be(self.tag);
        w.put(&self.kind);
        w.u8(self.icon);
        w.u8(0);
        w.u16_be(self.size);
    }
}

/// FPAddAPPL, request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddAppl<'a> {
    pub desktop: u16,
    pub directory: u32,
    pub creator: FourBytes,
    /// A value of the client.
    pub tag: u32,
    pub path: Path<'a>,
}

impl<'a> AddAppl<'a> {
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        r.skip(1)?; // padding
        let (desktop, directory, creator) = (r.u16_be()?, r.u32_be()?, r.array()?);
        Ok(Self { desktop, directory, creator, tag: r.u32_be()?, path: Path::decode(r)? })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u8(0);
        w.u16_be(self.desktop);
        w.u32_be(self.directory);
        w.put(&self.creator);
        w.u32_be(self.tag);
        self.path.encode(w);
    }
}

/// FPRemoveAPPL, request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoveAppl<'a> {
    pub desktop: u16,
    pub directory: u32,
    pub creator: FourBytes,
    pub path: Path<'a>,
}

impl<'a> RemoveAppl<'a> {
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        r.skip(1)?; // padding
        let (desktop, directory, creator) = (r.u16_be()?, r.u32_be()?, r.array()?);
        Ok(Self { desktop, directory, creator, path: Path::decode(r)? })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u8(0);
        w.u16_be(self.desktop);
        w.u32_be(self.directory);
        w.put(&self.creator);
        self.path.encode(w);
    }
}

/// FPGetAPPL, request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GetAppl {
    pub desktop: u16,
    pub creator: FourBytes,
    /// The index among the creator's applications, from 1; 0 is the first, too.
    pub index: u16,
    /// The parameters to return.
    pub bitmap: FileBitmap,
}

impl GetAppl {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(1)?; // padding
        let (desktop, creator) = (r.u16_be()?, r.array()?);
        Ok(Self { desktop, creator, index: r.u16_be()?, bitmap: FileBitmap(r.u16_be()?) })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u8(0);
        w.u16_be(self.desktop);
        w.put(&self.creator);
        w.u16_be(self.index);
        w.u16_be(self.bitmap.0);
    }
}

/// The beginning of the reply to FPGetAPPL. The parameters follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appl {
    pub bitmap: FileBitmap,
    pub tag: u32,
}

impl Appl {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { bitmap: FileBitmap(r.u16_be()?), tag: r.u32_be()? })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u16_be(self.bitmap.0);
        w.u32_be(self.tag);
    }
}

/// FPAddComment, request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddComment<'a> {
    pub desktop: u16,
    pub directory: u32,
    pub path: Path<'a>,
    pub comment: &'a [u8],
}

impl<'a> AddComment<'a> {
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let OfFile { desktop, directory, path } = OfFile::decode(r)?;
        skip_to_even(r)?;
        Ok(Self { desktop, directory, path, comment: Comment::decode(r)?.0 })
    }

    pub fn encode(&self, w: &mut Writer) {
        let start = w.len();
        OfFile { desktop: self.desktop, directory: self.directory, path: self.path }.encode(w);
        pad_to_even(w, start);
        Comment(self.comment).encode(w);
    }
}

/// FPGetComment and FPRemoveComment, request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OfFile<'a> {
    pub desktop: u16,
    pub directory: u32,
    pub path: Path<'a>,
}

impl<'a> OfFile<'a> {
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        r.skip(1)?; // padding
        Ok(Self { desktop: r.u16_be()?, directory: r.u32_be()?, path: Path::decode(r)? })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u8(0);
        w.u16_be(self.desktop);
        w.u32_be(self.directory);
        self.path.encode(w);
    }
}

/// FPGetComment, reply. A comment longer than its length field is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comment<'a>(pub &'a [u8]);

impl<'a> Comment<'a> {
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        pascal(r).map(Self)
    }

    pub fn encode(&self, w: &mut Writer) {
        put_pascal(w, self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes the bytes, and encodes the value.
    macro_rules! is {
        ($type:ident, $bytes:expr, $value:expr) => {
            assert_eq!($type::decode(&mut Reader::new($bytes)), Ok($value));
            let mut w = Writer::new();
            $value.encode(&mut w);
            assert_eq!(w.as_bytes(), $bytes);
            assert!($type::decode(&mut Reader::new(&$bytes[..$bytes.len() - 1])).is_err());
        };
    }

    // The layouts are those of the request and reply blocks of the Apple Filing Protocol Reference.

    #[test]
    fn the_desktop_database_is_opened_and_closed_by_number() {
        is!(OpenDt, b"\0\0\x03", OpenDt { volume: 3 });
        is!(OpenDtReply, b"\0\x04", OpenDtReply { desktop: 4 });
        is!(CloseDt, b"\0\0\x04", CloseDt { desktop: 4 });
    }

    #[test]
    fn an_icon_is_known_by_creator_type_and_kind_of_icon() {
        let (creator, kind) = (*b"ttxt", *b"3DMF");
        let add = AddIcon { desktop: 1, creator, kind, icon: 4, tag: 0x0102_0304, size: 64 };
        is!(AddIcon, b"\0\0\x01ttxt3DMF\x04\0\x01\x02\x03\x04\0\x40", add);
        let get = GetIcon { desktop: 1, creator, kind, icon: 1, length: 256 };
        is!(GetIcon, b"\0\0\x01ttxt3DMF\x01\0\x01\0", get);
        is!(GetIconInfo, b"\0\0\x01ttxt\0\x02", GetIconInfo { desktop: 1, creator, index: 2 });
        let info = IconInfo { tag: 7, kind, icon: 1, size: 256 };
        is!(IconInfo, b"\0\0\0\x073DMF\x01\0\x01\0", info);
    }

    #[test]
    fn an_application_is_known_by_creator_and_place() {
        let (creator, path) = (*b"ttxt", Path::long(b"App"));
        let add = AddAppl { desktop: 1, directory: 2, creator, tag: 9, path };
        is!(AddAppl, b"\0\0\x01\0\0\0\x02ttxt\0\0\0\x09\x02\x03App", add);
        let remove = RemoveAppl { desktop: 1, directory: 2, creator, path };
        is!(RemoveAppl, b"\0\0\x01\0\0\0\x02ttxt\x02\x03App", remove);
        let get = GetAppl { desktop: 1, creator, index: 1, bitmap: FileBitmap(0x42) };
        is!(GetAppl, b"\0\0\x01ttxt\0\x01\0\x42", get);
        is!(Appl, b"\0\x42\0\0\0\x09", Appl { bitmap: FileBitmap(0x42), tag: 9 });
    }

    #[test]
    fn a_comment_begins_at_an_even_offset() {
        // Eight bytes with the command, then the path: of odd length, and of even length.
        let file = |path| AddComment { desktop: 1, directory: 2, path, comment: b"essai" };
        is!(AddComment, b"\0\0\x01\0\0\0\x02\x02\x01f\0\x05essai", file(Path::long(b"f")));
        is!(AddComment, b"\0\0\x01\0\0\0\x02\x02\x02fi\x05essai", file(Path::long(b"fi")));
        let path = Path::utf8(b"f");
        is!(
            OfFile,
            b"\0\0\x01\0\0\0\x02\x03\x08\0\x01\x03\0\x01f",
            OfFile { desktop: 1, directory: 2, path }
        );
        is!(Comment, b"\x05essai", Comment(b"essai"));
    }
}
