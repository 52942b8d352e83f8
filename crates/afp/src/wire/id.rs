//! Files by their numbers. Apple Filing Protocol Reference, FPCreateID (whose request is
//! [`super::directory::OfPlace`]), FPDeleteID, FPResolveID.

use wire::{Malformed, Reader, Writer, layout};

use super::FileBitmap;
use super::strings::rest;

/// FPCreateID, reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId(pub u32);

impl FileId {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self(r.u32_be()?))
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u32_be(self.0);
    }
}

layout! {
    /// FPDeleteID, request.
    pub struct DeleteId [1] {
        pub volume: u16,
        pub id: u32,
    }

    /// FPResolveID, request.
    pub struct ResolveId [1] {
        pub volume: u16,
        pub id: u32,
        /// The parameters of the file.
        pub bitmap: FileBitmap,
    }

    /// FPResolveID, reply.
    pub struct ResolveIdReply<'a> {
        pub bitmap: FileBitmap,
        pub parameters: &'a [u8] => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_by_volume_and_number() {
        let bytes = b"\0\0\x01\0\0\0\x11\x01\x02";
        let resolve = ResolveId { volume: 1, id: 17, bitmap: FileBitmap(0x0102) };
        let mut w = Writer::new();
        resolve.encode(&mut w);
        assert_eq!((ResolveId::decode(&mut Reader::new(bytes)), w.as_bytes()), (Ok(resolve), &bytes[..]));
        let delete = DeleteId { volume: 1, id: 17 };
        let mut w = Writer::new();
        delete.encode(&mut w);
        assert_eq!((DeleteId::decode(&mut Reader::new(bytes)), w.as_bytes()), (Ok(delete), &bytes[..7]));
    }

    #[test]
    fn what_was_resolved_has_the_bitmap_before_it() {
        let bytes = b"\x01\0\0\0\0\x11";
        let resolved = ResolveIdReply { bitmap: FileBitmap::FILE_NUMBER, parameters: b"\0\0\0\x11" };
        let mut w = Writer::new();
        resolved.encode(&mut w);
        assert_eq!(
            (ResolveIdReply::decode(&mut Reader::new(bytes)), w.as_bytes()),
            (Ok(resolved), &bytes[..])
        );
        assert_eq!(FileId::decode(&mut Reader::new(&bytes[2..])), Ok(FileId(17)));
    }
}
