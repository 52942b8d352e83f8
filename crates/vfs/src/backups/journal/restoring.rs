//! Putting a bundle back to a point of its journal.
//!
//! ```text
//! a new folder, which no client can enter ─► the lists of the point ─► its bands ─► it changes places with the bundle
//! band in a journal:      a copy
//! band of the bundle:     shares its blocks, or is the same file by another name until the two have changed places, or a copy
//! ```
//!
//! The journal stays as it is until the folder has taken the place of the bundle, so a crash at any moment leaves a way back.

use super::point::{is_list, names};
use super::{BackupJournals, copy_into, keep_access};
use crate::backend::copying::keep_times;
use crate::backend::{Found, NewKind, Node, Stability, XattrMode};
use crate::backups::image::BackupImage;
use crate::backups::replacing::{each_entry, ourselves};
use crate::caller::server;
use crate::mac::sparse_bundle::BANDS;
use crate::restoring::settled;
use crate::{Access, Error, Kind, Result};

/// How bands that have not changed get into the new folder. Tried from the first to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sharing {
    /// Their blocks are shared.
    Blocks,
    /// They are the same files, by another name.
    File,
    /// They are copied.
    Nothing,
}

impl BackupJournals<'_> {
    /// Makes the bundle of a point in a new folder of the share. False: `bytes`, which is told how many bytes were made since the
    /// last call, has ended it.
    ///
    /// # Errors
    /// `Stale`: something else than a client has changed a band. Others: the disk fails. What was made stays.
    pub fn stage(
        self,
        (bundle, point): (&[u8], &str),
        staging: &[u8],
        bytes: &mut dyn FnMut(u64) -> bool,
    ) -> Result<bool> {
        let volume = self.volume;
        let live = BackupImage::open(volume, bundle)?;
        let (Some(live_bands), image) = (live.bands.as_ref(), BackupImage::at_point(volume, bundle, point)?)
        else {
            return Err(Error::NotFound);
        };
        let bands_of_point = image.point.as_ref().ok_or(Error::NotFound)?;
        let made = settled(volume, || {
            let root = volume.root()?;
            volume.create(&ourselves(), &root, staging, NewKind::Folder, 0o700)
        })?;
        let folder = made.found.object;
        let mut goes_on = true;
        each_list(&image.folder, &mut |name, list| {
            copy_into(&folder, name, list, &mut |count| goes_on &= bytes(count)).map(drop)
        })?;
        let bands = folder.create(server(), BANDS, NewKind::Folder, 0o700)?.object;
        let mut sharing = Sharing::Blocks;
        for (number, state) in &*bands_of_point.bands {
            let name = format!("{number:x}");
            let (found, is_live) = bands_of_point.find(name.as_bytes())?;
            if (found.attributes.size, found.attributes.modified) != *state {
                return Err(Error::Stale);
            }
            let mut count = |count| goes_on &= bytes(count);
            match is_live {
                true => share(&bands, name.as_bytes(), &found, &mut sharing, &mut count)?,
                false => drop(copy_into(&bands, name.as_bytes(), &found, &mut count)?),
            }
            if !goes_on {
                return Ok(false);
            }
        }
        like_folder(&bands, live_bands)?;
        like_folder(&folder, &live.folder)?;
        Ok(goes_on)
    }

    /// Lets a staged point and the bundle change places. The bundle has the name `kept` from then on, without the bands that are
    /// still those of the new one. The points from this one on are gone.
    ///
    /// # Errors
    /// `Busy`: a client writes into the bundle. Others: the bundle is as it was.
    pub fn put_back(self, (bundle, point): (&[u8], &str), staging: &[u8], kept: &[u8]) -> Result<()> {
        self.volume.backup_bundles().replace(staging, bundle, kept)?;
        self.leave_to(bundle, kept).and_then(|()| self.drop_points(bundle, point)).unwrap_or_else(|error| {
            tracing::warn!(%error, bundle = %bundle.escape_ascii(), "what a rollback does not need is still there");
        });
        self.resume_one(bundle)
    }

    /// Removes the bands of the old bundle that are files of the new one.
    fn leave_to(self, bundle: &[u8], old: &[u8]) -> Result<()> {
        let bands = |name| BackupImage::open(self.volume, name)?.bands.ok_or(Error::NotFound);
        let (new, old) = (bands(bundle)?, bands(old)?);
        let mut names = Vec::new();
        each_entry(self.volume, &old, &mut |name, file| names.push((name.to_vec(), file)))?;
        for (name, file) in names {
            if new.object.lookup(server(), &name).is_ok_and(|band| band.object.id() == file) {
                old.object.remove(server(), &name)?;
            }
        }
        Ok(())
    }
}

/// Puts a band of the bundle into a new folder, too.
fn share(
    bands: &Node,
    name: &[u8],
    band: &Found,
    sharing: &mut Sharing,
    bytes: &mut dyn FnMut(u64),
) -> Result<()> {
    if *sharing == Sharing::Blocks {
        let to = bands.create(server(), name, NewKind::File, 0o600)?;
        band.object.prepare(server(), &band.attributes, Access::READ, true)?;
        to.object.prepare(server(), &to.attributes, Access::READ.union(Access::WRITE), true)?;
        match to.object.clone_range(server(), &*band.object, 0, 0, 0) {
            Ok(()) => {
                bytes(band.attributes.size);
                return like_file(&to, band);
            }
            Err(_) => bands.remove(server(), name)?,
        }
        *sharing = Sharing::File;
    }
    if *sharing == Sharing::File {
        if bands.link(server(), &*band.object, name).is_ok() {
            bytes(0);
            return Ok(());
        }
        *sharing = Sharing::Nothing;
    }
    copy_into(bands, name, band, bytes).map(drop)
}

/// The lists of a point.
fn each_list(folder: &Found, act: &mut dyn FnMut(&[u8], &Found) -> Result<()>) -> Result<()> {
    for name in names(&folder.object)?.iter().filter(|name| is_list(name)) {
        let found = folder.object.lookup(server(), name)?;
        if found.attributes.kind == Kind::File {
            act(name, &found)?;
        }
    }
    Ok(())
}

/// Gives a file or folder the owner, mode and times of another one.
fn like_file(new: &Found, old: &Found) -> Result<()> {
    keep_access(old, &*new.object)?;
    keep_times(old, &*new.object)?;
    new.object.sync(Stability::File)
}

/// Gives a new folder what the one has that it replaces.
fn like_folder(new: &Node, old: &Found) -> Result<()> {
    for name in old.object.list_xattrs().unwrap_or_default() {
        // An attribute that cannot be set is not needed to read the bundle.
        if let Ok(value) = old.object.xattr(&name) {
            let _ = new.set_xattr(server(), &name, &value, XattrMode::Set);
        }
    }
    let new = Found { attributes: new.attributes()?, object: new.clone() };
    like_file(&new, old)
}
