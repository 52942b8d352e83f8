//! Files, and operations on both files and folders. Apple Filing Protocol Reference,
//! FPGetFileDirParms, FPCreateFile, FPRename, FPMoveAndRename, FPCopyFile, FPExchangeFiles.
//! (FPDelete names only a place: [`super::directory::OfPlace`]; FPSetFileParms and
//! FPSetFileDirParms are [`super::directory::SetParms`].)

use wire::{Malformed, Reader, Writer, layout};

use super::directory::Place;
use super::strings::{high_bit, rest};
use super::{DirBitmap, FileBitmap, Path};

/// FPGetFileDirParms, request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GetFileDirParms<'a> {
    pub place: Place<'a>,
    /// The parameters of a file.
    pub files: FileBitmap,
    /// The parameters of a folder.
    pub folders: DirBitmap,
}

impl<'a> GetFileDirParms<'a> {
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        r.skip(1)?; // padding
        let (volume, folder) = (r.u16_be()?, r.u32_be()?);
        let (files, folders) = (FileBitmap(r.u16_be()?), DirBitmap(r.u16_be()?));
        Ok(Self { place: Place { volume, folder, path: Path::decode(r)? }, files, folders })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u8(0);
        w.u16_be(self.place.volume);
        w.u32_be(self.place.folder);
        w.u16_be(self.files.0);
        w.u16_be(self.folders.0);
        self.place.path.encode(w);
    }
}

layout! {
    /// FPGetFileDirParms, reply.
    pub struct FileDirParms<'a> {
        pub files: FileBitmap,
        pub folders: DirBitmap,
        pub is_folder: bool => high_bit [1],
        /// The parameters of one of the bitmaps.
        pub parameters: &'a [u8] => rest,
    }
}

/// The flag of a folder.
pub const IS_FOLDER: u8 = 0x80;

layout! {
    /// FPCreateFile, request.
    pub struct CreateFile<'a> {
        /// An existing file is replaced.
        pub is_hard: bool => high_bit,
        pub place: Place<'a>,
    }
}

impl<'a> CreateFile<'a> {}

layout! {
    /// FPRename, request.
    pub struct Rename<'a> [1] {
        pub place: Place<'a>,
        pub new_name: Path<'a>,
    }
}

/// FPMoveAndRename, request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoveAndRename<'a> {
    /// The file or folder to move.
    pub from: Place<'a>,
    pub to_folder: u32,
    /// The path from `to_folder` to the new folder.
    pub to_path: Path<'a>,
    /// Empty: the name is unchanged.
    pub new_name: Path<'a>,
}

impl<'a> MoveAndRename<'a> {
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        r.skip(1)?; // padding
        let (volume, folder, to_folder) = (r.u16_be()?, r.u32_be()?, r.u32_be()?);
        let from = Place { volume, folder, path: Path::decode(r)? };
        Ok(Self { from, to_folder, to_path: Path::decode(r)?, new_name: Path::decode(r)? })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u8(0);
        w.u16_be(self.from.volume);
        w.u32_be(self.from.folder);
        w.u32_be(self.to_folder);
        self.from.path.encode(w);
        self.to_path.encode(w);
        self.new_name.encode(w);
    }
}

/// FPCopyFile, request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyFile<'a> {
    /// The file.
    pub from: Place<'a>,
    /// The folder of the copy.
    pub to: Place<'a>,
    /// Empty: the file's own name.
    pub new_name: Path<'a>,
}

impl<'a> CopyFile<'a> {
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        r.skip(1)?; // padding
        let from = (r.u16_be()?, r.u32_be()?);
        let to = (r.u16_be()?, r.u32_be()?);
        let place = |(volume, folder), path| Place { volume, folder, path };
        let from = place(from, Path::decode(r)?);
        let to = place(to, Path::decode(r)?);
        Ok(Self { from, to, new_name: Path::decode(r)? })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u8(0);
        for place in [&self.from, &self.to] {
            w.u16_be(place.volume);
            w.u32_be(place.folder);
        }
        self.from.path.encode(w);
        self.to.path.encode(w);
        self.new_name.encode(w);
    }
}

/// FPExchangeFiles, request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeFiles<'a> {
    pub one: Place<'a>,
    pub other_folder: u32,
    pub other_path: Path<'a>,
}

impl<'a> ExchangeFiles<'a> {
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        r.skip(1)?; // padding
        let (volume, folder, other_folder) = (r.u16_be()?, r.u32_be()?, r.u32_be()?);
        let one = Place { volume, folder, path: Path::decode(r)? };
        Ok(Self { one, other_folder, other_path: Path::decode(r)? })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u8(0);
        w.u16_be(self.one.volume);
        w.u32_be(self.one.folder);
        w.u32_be(self.other_folder);
        self.one.path.encode(w);
        self.other_path.encode(w);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that decoding and encoding follow the layout.
    macro_rules! laid_out {
        ($type:ty, $bytes:expr, $value:expr) => {
            let (bytes, value): (&[u8], $type) = ($bytes, $value);
            assert_eq!(<$type>::decode(&mut Reader::new(bytes)), Ok(value));
            let mut w = Writer::new();
            value.encode(&mut w);
            assert_eq!(w.into_bytes(), bytes);
        };
    }

    const PLACE: Place<'_> = Place { volume: 1, folder: 2, path: Path { kind: 2, hint: 0, bytes: b"f" } };

    #[test]
    fn parameters_are_asked_for_by_two_bitmaps_and_answered_with_what_it_is() {
        laid_out!(
            GetFileDirParms<'_>,
            b"\0\0\x01\0\0\0\x02\x07\xff\x1f\xff\x02\x01f",
            GetFileDirParms { place: PLACE, files: FileBitmap(0x07ff), folders: DirBitmap(0x1fff) }
        );
        laid_out!(
            FileDirParms<'_>,
            b"\0\x01\0\x01\x80\0\0\x20",
            FileDirParms {
                files: FileBitmap::ATTRIBUTES,
                folders: DirBitmap::ATTRIBUTES,
                is_folder: true,
                parameters: b"\0\x20",
            }
        );
    }

    #[test]
    fn a_hard_create_is_said_by_the_flag_before_the_volume() {
        laid_out!(
            CreateFile<'_>,
            b"\x80\0\x01\0\0\0\x02\x02\x01f",
            CreateFile { is_hard: true, place: PLACE }
        );
        laid_out!(
            CreateFile<'_>,
            b"\0\0\x01\0\0\0\x02\x02\x01f",
            CreateFile { is_hard: false, place: PLACE }
        );
    }

    #[test]
    fn a_rename_has_the_new_name_after_the_path() {
        let new_name = Path::utf8(b"new");
        laid_out!(
            Rename<'_>,
            b"\0\0\x01\0\0\0\x02\x02\x01f\x03\x08\0\x01\x03\0\x03new",
            Rename { place: PLACE, new_name }
        );
    }

    #[test]
    fn a_move_has_both_folders_then_three_paths() {
        laid_out!(
            MoveAndRename<'_>,
            b"\0\0\x01\0\0\0\x02\0\0\0\x03\x02\x01f\x02\x00\x02\x01g",
            MoveAndRename { from: PLACE, to_folder: 3, to_path: Path::long(b""), new_name: Path::long(b"g") }
        );
    }

    #[test]
    fn a_copy_has_both_places_folders_first() {
        laid_out!(
            CopyFile<'_>,
            b"\0\0\x01\0\0\0\x02\0\x09\0\0\0\x03\x02\x01f\x02\x01d\x02\x01g",
            CopyFile {
                from: PLACE,
                to: Place { volume: 9, folder: 3, path: Path::long(b"d") },
                new_name: Path::long(b"g"),
            }
        );
    }

    #[test]
    fn an_exchange_is_within_one_volume() {
        laid_out!(
            ExchangeFiles<'_>,
            b"\0\0\x01\0\0\0\x02\0\0\0\x03\x02\x01f\x02\x01g",
            ExchangeFiles { one: PLACE, other_folder: 3, other_path: Path::long(b"g") }
        );
    }
}
