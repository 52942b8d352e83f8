//! Folders, and the place in a volume with which most commands begin. Apple Filing Protocol
//! Reference, FPCreateDir, FPOpenDir, FPCloseDir, FPSetDirParms.

use wire::{Malformed, Reader, Writer, layout};

use super::{Path, SetParameters};

layout! {
    /// A place in a volume: a folder, and a path from there.
    pub struct Place<'a> {
        pub volume: u16,
        pub folder: u32,
        pub path: Path<'a>,
    }

    /// FPCreateDir, FPOpenDir, FPDelete, FPCreateID: a request that names a place alone.
    pub struct OfPlace<'a> [1] {
        pub place: Place<'a>,
    }

    /// FPCloseDir, request.
    pub struct CloseDir [1] {
        pub volume: u16,
        pub folder: u32,
    }
}

/// The reply to FPCreateDir and FPOpenDir.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirId(pub u32);

impl DirId {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.u32_be().map(Self)
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u32_be(self.0);
    }
}

/// FPSetDirParms, FPSetFileParms, FPSetFileDirParms, request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetParms<'a> {
    pub place: Place<'a>,
    /// The parameters to set.
    pub bitmap: u16,
    /// The values: see [`SetParms::set`].
    pub parameters: &'a [u8],
}

impl<'a> SetParms<'a> {
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let start = r.position();
        r.skip(1)?; // padding
        let (volume, folder, bitmap) = (r.u16_be()?, r.u32_be()?, r.u16_be()?);
        let place = Place { volume, folder, path: Path::decode(r)? };
        // Padding to an even offset; the command's number comes before the bytes here.
        if (r.position() - start).is_multiple_of(2) && r.remaining() > 0 {
            r.skip(1)?;
        }
        Ok(Self { place, bitmap, parameters: r.rest() })
    }

    /// The values. A bitmap with parameters that cannot be set gives no values.
    pub fn set(&self) -> Result<SetParameters, Malformed> {
        SetParameters::decode(&mut Reader::new(self.parameters), self.bitmap)
    }

    pub fn encode(&self, w: &mut Writer) {
        let start = w.len();
        w.u8(0);
        w.u16_be(self.place.volume);
        w.u32_be(self.place.folder);
        w.u16_be(self.bitmap);
        self.place.path.encode(w);
        if (w.len() - start).is_multiple_of(2) {
            w.u8(0);
        }
        w.put(self.parameters);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(encode: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut w = Writer::new();
        encode(&mut w);
        w.into_bytes()
    }

    #[test]
    fn a_place_is_a_volume_a_folder_and_a_path() {
        let request = b"\0\x01\x02\0\0\0\x11\x02\x03abc";
        let of = OfPlace { place: Place { volume: 0x0102, folder: 17, path: Path::long(b"abc") } };
        assert_eq!(OfPlace::decode(&mut Reader::new(request)), Ok(of));
        assert_eq!(bytes(|w| of.encode(w)), request);
    }

    #[test]
    fn what_is_set_begins_at_an_even_offset_of_the_whole_request() {
        // FPSetDirParms: command, padding, volume, folder, bitmap, path: 10 bytes; with "a" as a long name 13.
        for (name, padding) in [(&b"a"[..], &b"\0"[..]), (b"ab", b"")] {
            let head = [&b"\0\0\x01\0\0\0\x02\0\x01\x02"[..], &[name.len() as u8], name].concat();
            let request = [&head, padding, b"\x80\x01"].concat();
            let set = SetParameters { attributes: Some(0x8001), ..SetParameters::default() };
            let place = Place { volume: 1, folder: 2, path: Path::long(name) };
            let parms = SetParms { place, bitmap: 1, parameters: b"\x80\x01" };
            assert_eq!(parms.set(), Ok(set));
            assert_eq!(SetParms::decode(&mut Reader::new(&request)), Ok(parms));
            assert_eq!(bytes(|w| parms.encode(w)), request);
        }
    }

    #[test]
    fn folders_are_closed_by_their_id() {
        let close = CloseDir { volume: 1, folder: 0x0102_0304 };
        assert_eq!(bytes(|w| close.encode(w)), [0, 0, 1, 1, 2, 3, 4]);
        assert_eq!(CloseDir::decode(&mut Reader::new(&[0, 0, 1, 1, 2, 3, 4])), Ok(close));
        assert_eq!(DirId::decode(&mut Reader::new(&[0, 0, 0, 9])), Ok(DirId(9)));
    }
}
