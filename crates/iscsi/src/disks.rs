//! The server's own files that are served as disks, in a folder of the share that no client reaches.

use vfs::backend::{Found, NewKind, RenameMode, Stability};
use vfs::{Caller, OwnFolder, Result, Volume};

/// A disk. `NotPermitted` if something else is in the place of the disks' folder.
pub fn find(volume: &Volume, name: &[u8]) -> Result<Found> {
    volume.own_folders().find(OwnFolder::LUNS)?.lookup(&Caller::root(), name)
}

/// Makes an empty disk; `Exists` if there is one of this name.
pub fn make(volume: &Volume, name: &[u8]) -> Result<Found> {
    let folder = volume.own_folders().make(OwnFolder::LUNS)?;
    let made = folder.create(&Caller::root(), name, NewKind::File, 0o600)?;
    folder.sync(Stability::File)?;
    Ok(made)
}

/// Gives a disk another name; `Exists` if that name is taken.
pub fn rename(volume: &Volume, name: &[u8], new_name: &[u8]) -> Result<()> {
    let folder = volume.own_folders().find(OwnFolder::LUNS)?;
    folder.rename(&Caller::root(), name, &*folder, new_name, RenameMode::Keep)?;
    folder.sync(Stability::File)
}

/// Removes a disk. An initiator that has it open can go on using it.
pub fn remove(volume: &Volume, name: &[u8]) -> Result<()> {
    let folder = volume.own_folders().find(OwnFolder::LUNS)?;
    folder.remove(&Caller::root(), name)?;
    folder.sync(Stability::File)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use vfs::backend::memory::Memory;
    use vfs::{Error, VolumeOptions};

    use super::*;

    #[test]
    fn disks_are_made_once_renamed_and_removed() {
        let volume = Volume::new(Arc::new(Memory::ticking()), VolumeOptions::default());
        assert_eq!(find(&volume, b"a").err(), Some(Error::NotFound));
        make(&volume, b"a").unwrap();
        assert_eq!(make(&volume, b"a").err(), Some(Error::Exists));
        make(&volume, b"b").unwrap();
        assert_eq!(rename(&volume, b"a", b"b").err(), Some(Error::Exists));
        remove(&volume, b"b").unwrap();
        rename(&volume, b"a", b"b").unwrap();
        assert!(find(&volume, b"b").is_ok() && find(&volume, b"a").is_err());
        let read_only = VolumeOptions { read_only: true, ..VolumeOptions::default() };
        let volume = Volume::new(Arc::new(Memory::ticking()), read_only);
        assert_eq!(make(&volume, b"a").err(), Some(Error::ReadOnly));
    }
}
