//! The desktop database: icons, applications for creators, comments. Apple Filing Protocol
//! Reference, FPOpenDT, FPCloseDT, FPAddIcon, FPGetIcon, FPGetIconInfo, FPAddAPPL, FPRemoveAPPL,
//! FPGetAPPL, FPAddComment, FPGetComment, FPRemoveComment.

use wire::{Malformed, Reader, Writer, layout};

use super::strings::{even, pascal};
use super::{FileBitmap, Path};

/// A creator or a type: four bytes.
pub type FourBytes = [u8; 4];

/// FPOpenDT, request.
pub use super::volume::OfVolume as OpenDt;

layout! {
    /// FPOpenDT, reply.
    pub struct OpenDtReply {
        pub desktop: u16,
    }

    /// FPCloseDT, request.
    pub struct CloseDt [1] {
        pub desktop: u16,
    }

    /// FPAddIcon, request. The bitmap follows as the data of a DSI write.
    pub struct AddIcon [1] {
        pub desktop: u16,
        pub creator: FourBytes,
        pub kind: FourBytes,
        /// Size and depth.
        pub icon: u8 [1],
        /// A value of the client.
        pub tag: u32,
        /// Bytes of the bitmap.
        pub size: u16,
    }

    /// FPGetIcon, request. The reply is the bitmap.
    pub struct GetIcon [1] {
        pub desktop: u16,
        pub creator: FourBytes,
        pub kind: FourBytes,
        /// Size and depth.
        pub icon: u8 [1],
        /// How many bytes of the bitmap to return.
        pub length: u16,
    }

    /// FPGetIconInfo, request.
    pub struct GetIconInfo [1] {
        pub desktop: u16,
        pub creator: FourBytes,
        /// The index among the creator's icons, from 1.
        pub index: u16,
    }

    /// FPGetIconInfo, reply.
    pub struct IconInfo {
        pub tag: u32,
        pub kind: FourBytes,
        pub icon: u8 [1],
        pub size: u16,
    }

    /// FPAddAPPL, request.
    pub struct AddAppl<'a> [1] {
        pub desktop: u16,
        pub directory: u32,
        pub creator: FourBytes,
        /// A value of the client.
        pub tag: u32,
        pub path: Path<'a>,
    }

    /// FPRemoveAPPL, request.
    pub struct RemoveAppl<'a> [1] {
        pub desktop: u16,
        pub directory: u32,
        pub creator: FourBytes,
        pub path: Path<'a>,
    }

    /// FPGetAPPL, request.
    pub struct GetAppl [1] {
        pub desktop: u16,
        pub creator: FourBytes,
        /// The index among the creator's applications, from 1; 0 is the first, too.
        pub index: u16,
        /// The parameters to return.
        pub bitmap: FileBitmap,
    }

    /// The beginning of the reply to FPGetAPPL. The parameters follow.
    pub struct Appl {
        pub bitmap: FileBitmap,
        pub tag: u32,
    }

    /// FPAddComment, request.
    pub struct AddComment<'a> [1] {
        pub desktop: u16,
        pub directory: u32,
        pub path: Path<'a> [even],
        pub comment: &'a [u8] => pascal,
    }

    /// FPGetComment and FPRemoveComment, request.
    pub struct OfFile<'a> [1] {
        pub desktop: u16,
        pub directory: u32,
        pub path: Path<'a>,
    }
}

/// FPGetComment, reply. A comment longer than its length field is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comment<'a>(pub &'a [u8]);

impl<'a> Comment<'a> {
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        pascal::read(r).map(Self)
    }

    pub fn encode(&self, w: &mut Writer) {
        pascal::put(w, self.0);
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
