//! Putting an earlier state of a bundle in the place of a damaged one, which is kept beside it.
//!
//! ```text
//! restored copy, by a name that Macs do not know ─► no client writes? ─► the two change places ─► the damaged one gets its name
//! ```
//!
//! The change of places is one step of the host where it can do that, so a crash leaves the one or the other. All of this blocks,
//! on a thread of a tokio runtime that may block.

use std::collections::HashSet;

use super::BackupBundles;
use super::image::BackupImage;
use crate::backend::{Found, RenameMode};
use crate::caller::server;
use crate::restoring::settled;
use crate::state::{ClientId, Modes, Party};
use crate::{Actor, Caller, Error, FileId, Kind, Result, Volume};

/// The most levels of folders in a bundle that is removed.
const MOST_LEVELS: usize = 8;

impl BackupImage<'_> {
    /// Its files: the lists and the bands.
    pub fn files(&self) -> Result<HashSet<FileId>> {
        let mut files = HashSet::new();
        for folder in [Some(&self.folder), self.bands.as_ref()].into_iter().flatten() {
            each_entry(self.volume, folder, &mut |_, id| _ = files.insert(id))?;
        }
        Ok(files)
    }

    /// Whether a client has a file of it open for writing, over whichever protocol.
    pub fn is_written(&self) -> Result<bool> {
        let (files, view) = (self.files()?, self.volume.view());
        let opens = self.volume.site.state().opens(None, usize::MAX);
        let mut writing =
            opens.iter().filter(|open| open.view == view && open.access.intersects(Modes::WRITE));
        Ok(writing.any(|open| files.contains(&open.file)))
    }
}

impl BackupBundles<'_> {
    /// Puts the folder `new` in the place of the bundle, which then has the name `kept`. Without a bundle `new` only gets its name.
    ///
    /// # Errors
    /// `Busy`: a client writes into the bundle. `Exists`: something has the name `kept`. Others: the bundle is as it was.
    pub fn replace(self, new: &[u8], bundle: &[u8], kept: &[u8]) -> Result<()> {
        let root = self.volume.root()?;
        let there = match BackupImage::open(self.volume, bundle) {
            Ok(there) if there.is_written()? => return Err(Error::Busy),
            Ok(_) => true,
            Err(Error::NotFound) => false,
            Err(error) => return Err(error),
        };
        if !there {
            return self.rename_at_top(new, bundle);
        }
        if root.object.entry_attributes(server(), kept).is_ok() {
            return Err(Error::Exists);
        }
        match self.rename_by(new, bundle, RenameMode::Exchange) {
            Ok(()) => return self.rename_at_top(new, kept),
            Err(Error::NotSupported | Error::Invalid) => {} // the host cannot exchange
            Err(error) => return Err(error),
        }
        self.rename_at_top(bundle, kept)?;
        self.rename_at_top(new, bundle).inspect_err(|_| {
            if let Err(error) = self.rename_at_top(kept, bundle) {
                tracing::error!(%error, "a bundle is left by another name: {}", String::from_utf8_lossy(kept));
            }
        })
    }

    /// Gives a folder in the share's folder another name, which nothing may have.
    ///
    /// # Errors
    /// `Exists`, `NotFound`, or what the host says.
    pub fn rename_at_top(self, from: &[u8], to: &[u8]) -> Result<()> {
        self.rename_by(from, to, RenameMode::Keep)
    }

    fn rename_by(self, from: &[u8], to: &[u8], mode: RenameMode) -> Result<()> {
        let actor = ourselves();
        settled(self.volume, || {
            let root = self.volume.root()?;
            self.volume.rename(&actor, (&root, from), (&root, to), mode)
        })
        .map(drop)
    }

    /// Removes a folder in the share's folder with all that is in it. `goes_on` is asked after each entry.
    ///
    /// # Errors
    /// `Busy`: it was told to end. `NotFound`, or what the host says: the rest is still there.
    pub fn remove_at_top(self, name: &[u8], goes_on: &mut dyn FnMut() -> bool) -> Result<()> {
        let root = self.volume.root()?;
        let found = root.object.lookup(server(), name)?;
        self.remove_below(&root, name, &found, MOST_LEVELS, goes_on)
    }

    fn remove_below(
        self,
        folder: &Found,
        name: &[u8],
        found: &Found,
        levels: usize,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        if found.attributes.kind == Kind::Folder {
            let below = levels.checked_sub(1).ok_or(Error::TooMany)?;
            let mut names = Vec::new();
            each_entry(self.volume, found, &mut |name, _| names.push(name.to_vec()))?;
            for inner in names {
                match found.object.lookup(server(), &inner) {
                    Ok(entry) => self.remove_below(found, &inner, &entry, below, goes_on)?,
                    Err(Error::NotFound) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        let kind = if found.attributes.kind == Kind::Folder { Kind::Folder } else { Kind::File };
        let actor = ourselves();
        settled(self.volume, || {
            let fresh = Found { object: folder.object.clone(), attributes: folder.object.attributes()? };
            self.volume.remove(&actor, &fresh, name, kind)
        })?;
        if goes_on() { Ok(()) } else { Err(Error::Busy) }
    }
}

pub(super) fn ourselves() -> Actor {
    Actor::new(Caller::root(), Party::client(ClientId::unused()))
}

pub(super) fn each_entry(volume: &Volume, folder: &Found, see: &mut dyn FnMut(&[u8], FileId)) -> Result<()> {
    let mut cookie = 0;
    loop {
        let page = volume.list(server(), folder, cookie)?;
        page.named().for_each(|entry| see(entry.name(), entry.id));
        match page.entries().last() {
            Some(last) if !page.complete => cookie = last.cookie,
            _ => return Ok(()),
        }
    }
}
