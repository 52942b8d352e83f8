//! Files and folders. A place is a folder's number and a path from that folder.

use wire::Reader;

use super::{Client, Link, Result, path};
use crate::wire::directory::{DirId, OfPlace, Place};
use crate::wire::file::{CreateFile, FileDirParms, GetFileDirParms, Rename};
use crate::wire::{DirBitmap, FileBitmap, command};

/// The number of a volume's root folder.
pub const ROOT: u32 = 2;

fn at(volume: u16, folder: u32, name: &str) -> Place<'_> {
    Place { volume, folder, path: path(name) }
}

impl<L: Link> Client<L> {
    /// Makes an empty file in the volume's root folder.
    pub fn create(&mut self, volume: u16, name: &str) -> Result<()> {
        self.create_in(volume, ROOT, name)
    }

    /// Makes an empty file in any folder.
    pub fn create_in(&mut self, volume: u16, folder: u32, name: &str) -> Result<()> {
        let request = CreateFile { is_hard: false, place: at(volume, folder, name) };
        self.call(command::CREATE_FILE, |w| request.encode(w))?.well().map(drop)
    }

    /// Makes a folder and returns its number.
    pub fn create_folder(&mut self, volume: u16, folder: u32, name: &str) -> Result<u32> {
        let request = OfPlace { place: at(volume, folder, name) };
        let reply = self.call(command::CREATE_DIR, |w| request.encode(w))?.well()?;
        Ok(DirId::decode(&mut Reader::new(&reply))?.0)
    }

    /// Deletes a file or an empty folder.
    pub fn delete(&mut self, volume: u16, folder: u32, name: &str) -> Result<()> {
        let request = OfPlace { place: at(volume, folder, name) };
        self.call(command::DELETE, |w| request.encode(w))?.well().map(drop)
    }

    /// Renames a file or folder.
    pub fn rename(&mut self, volume: u16, folder: u32, name: &str, new_name: &str) -> Result<()> {
        let request = Rename { place: at(volume, folder, name), new_name: path(new_name) };
        self.call(command::RENAME, |w| request.encode(w))?.well().map(drop)
    }

    /// Returns the parameters that the bitmaps request, and whether the entry is a folder.
    pub fn parameters(
        &mut self,
        (volume, folder, name): (u16, u32, &str),
        files: FileBitmap,
        folders: DirBitmap,
    ) -> Result<(bool, Vec<u8>)> {
        let request = GetFileDirParms { place: at(volume, folder, name), files, folders };
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
}
