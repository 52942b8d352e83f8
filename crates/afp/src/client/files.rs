//! Files and folders. A place is a folder's number and a path from that folder.

use wire::{Malformed, Reader};

use super::dialect::ClientName;
use super::{Client, Dialect, Link, Result};
use crate::wire::directory::{DirId, OfPlace, Place};
use crate::wire::enumerate::{Enumerate, EnumerateForm, Reply};
use crate::wire::file::{CopyFile, CreateFile, FileDirParms, GetFileDirParms, Rename};
use crate::wire::strings::pascal;
use crate::wire::{DirBitmap, FileBitmap, Path, ResultCode, command};

/// The number of a volume's root folder.
pub const ROOT: u32 = 2;

/// An entry of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryOfList {
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Its long name, in MacRoman.
    pub name: Vec<u8>,
}

fn at(volume: u16, folder: u32, name: &ClientName) -> Place<'_> {
    Place { volume, folder, path: name.path() }
}

impl<L: Link> Client<L> {
    /// Makes an empty file in the volume's root folder.
    pub fn create(&mut self, volume: u16, name: &str) -> Result<()> {
        self.create_in(volume, ROOT, name)
    }

    /// Makes an empty file in any folder.
    pub fn create_in(&mut self, volume: u16, folder: u32, name: &str) -> Result<()> {
        let name = self.dialect.name(name);
        let request = CreateFile { is_hard: false, place: at(volume, folder, &name) };
        self.call(command::CREATE_FILE, |w| request.encode(w))?.well().map(drop)
    }

    /// Makes a folder and returns its number.
    pub fn create_folder(&mut self, volume: u16, folder: u32, name: &str) -> Result<u32> {
        let name = self.dialect.name(name);
        let request = OfPlace { place: at(volume, folder, &name) };
        let reply = self.call(command::CREATE_DIR, |w| request.encode(w))?.well()?;
        Ok(DirId::decode(&mut Reader::new(&reply))?.0)
    }

    /// Deletes a file or an empty folder.
    pub fn delete(&mut self, volume: u16, folder: u32, name: &str) -> Result<()> {
        let name = self.dialect.name(name);
        let request = OfPlace { place: at(volume, folder, &name) };
        self.call(command::DELETE, |w| request.encode(w))?.well().map(drop)
    }

    /// Renames a file or folder.
    pub fn rename(&mut self, volume: u16, folder: u32, name: &str, new_name: &str) -> Result<()> {
        let (name, new_name) = (self.dialect.name(name), self.dialect.name(new_name));
        let request = Rename { place: at(volume, folder, &name), new_name: new_name.path() };
        self.call(command::RENAME, |w| request.encode(w))?.well().map(drop)
    }

    /// Returns the parameters that the bitmaps request, and whether the entry is a folder.
    pub fn parameters(
        &mut self,
        (volume, folder, name): (u16, u32, &str),
        files: FileBitmap,
        folders: DirBitmap,
    ) -> Result<(bool, Vec<u8>)> {
        let name = self.dialect.name(name);
        let request = GetFileDirParms { place: at(volume, folder, &name), files, folders };
        let reply = self.call(command::GET_FILE_DIR_PARMS, |w| request.encode(w))?.well()?;
        let answer = FileDirParms::decode(&mut Reader::new(&reply))?;
        Ok((answer.is_folder, answer.parameters.to_vec()))
    }

    /// The number of a file.
    pub fn file_number(&mut self, volume: u16, folder: u32, name: &str) -> Result<u32> {
        let (_, bytes) =
            self.parameters((volume, folder, name), FileBitmap::FILE_NUMBER, DirBitmap::DIR_ID)?;
        Ok(Reader::new(&bytes).u32_be()?)
    }

    /// Copies a file on the server, in its folder.
    pub fn copy(&mut self, volume: u16, folder: u32, name: &str, new_name: &str) -> Result<()> {
        let (name, new_name) = (self.dialect.name(name), self.dialect.name(new_name));
        let to = Place { volume, folder, path: Path { bytes: &[], ..name.path() } };
        let request = CopyFile { from: at(volume, folder, &name), to, new_name: new_name.path() };
        self.call(command::COPY_FILE, |w| request.encode(w))?.well().map(drop)
    }

    /// All entries of a folder, by FPEnumerate.
    pub fn enumerate(&mut self, volume: u16, folder: u32) -> Result<Vec<EntryOfList>> {
        let place = Place { volume, folder, path: Path::long(&[]) };
        let (files, folders) = (FileBitmap::LONG_NAME, DirBitmap::LONG_NAME);
        let mut entries = Vec::new();
        loop {
            let start = entries.len() as u32 + 1;
            let max_reply = Dialect::BLOCK as u32;
            let request = Enumerate { place, files, folders, count: u16::MAX, start, max_reply };
            let frame = self.call(command::ENUMERATE, |w| request.encode(EnumerateForm::Plain, w))?;
            if frame.code() == ResultCode::OBJECT_NOT_FOUND {
                return Ok(entries);
            }
            let reply = frame.well()?;
            let reply = Reply::decode(&mut Reader::new(&reply))?;
            let before = entries.len();
            for entry in EnumerateForm::Plain.framing().entries(reply.entries) {
                let entry = entry?;
                // The parameters are the name's offset, and there the name.
                let mut r = Reader::new(entry.parameters);
                let offset = r.u16_be()?;
                let mut r = Reader::new(entry.parameters);
                r.skip(offset.into())?;
                let name = pascal::read(&mut r)?.to_vec();
                entries.push(EntryOfList { is_folder: entry.is_folder, name });
            }
            if entries.len() == before {
                return Err(Malformed("a list without entries").into());
            }
        }
    }
}
