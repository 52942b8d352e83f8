//! The target of a command's folder and path.

use std::sync::OnceLock;

use vfs::backend::Found;
use vfs::{Beside, Caller, Kind};

use super::ids::EntryPlace;
use super::open_volume::OpenVolume;
use crate::catalogue::CatalogId;
use crate::wire::path::Step;
use crate::wire::{Path, ResultCode};

/// The target of a path: an existing entry, or the place for one.
pub(in crate::server) struct Target {
    found: Option<Found>,
    /// The place: `None` for the volume's root folder. If the path was empty, it is determined on
    /// demand.
    place: OnceLock<Option<EntryPlace>>,
}

/// A point on the path.
enum PathPoint {
    /// Above the volume's root folder, which is the only entry there.
    Above,
    Folder(Found),
}

impl OpenVolume {
    /// Follows a path from the folder with this number.
    pub(in crate::server) fn resolve(
        &self,
        caller: &Caller,
        folder: u32,
        path: &Path<'_>,
    ) -> Result<Target, ResultCode> {
        if !(Path::SHORT..=Path::UTF8).contains(&path.kind) {
            return Err(ResultCode::PARAM_ERROR);
        }
        let mut at = match CatalogId(folder) {
            CatalogId::PARENT_OF_ROOT => PathPoint::Above,
            CatalogId(id) => {
                let folder = self.folder(id)?;
                self.may_reach(caller, &folder)?;
                PathPoint::Folder(folder)
            }
        };
        let mut steps = path.steps().peekable();
        while let Some(step) = steps.next() {
            at = match (at, step) {
                (PathPoint::Folder(folder), Step::Up) if self.is_root(&folder) => PathPoint::Above,
                (PathPoint::Folder(folder), Step::Up) => PathPoint::Folder(self.tree().parent(&folder)?),
                (PathPoint::Above, Step::Down(name)) if self.is_named(path.kind, name) => {
                    PathPoint::Folder(self.tree().root()?)
                }
                (PathPoint::Above, Step::Up | Step::Down(_)) => return Err(ResultCode::OBJECT_NOT_FOUND),
                (PathPoint::Folder(folder), Step::Down(name)) => {
                    let entry = self.entry(caller, &folder, path.kind, name)?;
                    if steps.peek().is_none() {
                        let place = EntryPlace { folder, name: entry.name };
                        return Ok(Target { found: entry.found, place: OnceLock::from(Some(place)) });
                    }
                    match entry.found.filter(|found| found.attributes.kind == Kind::Folder) {
                        Some(found) => PathPoint::Folder(found),
                        None => return Err(ResultCode::OBJECT_NOT_FOUND),
                    }
                }
            };
        }
        match at {
            PathPoint::Above => Err(ResultCode::OBJECT_NOT_FOUND),
            PathPoint::Folder(found) => Ok(Target { found: Some(found), place: OnceLock::new() }),
        }
    }
}

impl Target {
    /// An existing entry.
    pub(in crate::server) fn at(found: Found, place: Option<EntryPlace>) -> Self {
        Self { found: Some(found), place: OnceLock::from(place) }
    }

    /// The existing entry. A missing entry is an error.
    pub(in crate::server) fn found(&self) -> Result<&Found, ResultCode> {
        self.found.as_ref().ok_or(ResultCode::OBJECT_NOT_FOUND)
    }

    /// The existing entry, if there is one.
    pub(in crate::server) fn existing(&self) -> Option<&Found> {
        self.found.as_ref()
    }

    /// The existing entry if it is a folder.
    pub(in crate::server) fn folder(&self) -> Result<&Found, ResultCode> {
        let found = self.found()?;
        if is_folder(found) { Ok(found) } else { Err(ResultCode::OBJECT_TYPE_ERROR) }
    }

    /// The existing entry if it is a file, or if clients see it as one.
    pub(in crate::server) fn file(&self) -> Result<&Found, ResultCode> {
        let found = self.found()?;
        if is_folder(found) { Err(ResultCode::OBJECT_TYPE_ERROR) } else { Ok(found) }
    }

    /// The folder of the entry or of its place, and its stored name there; `None` for the volume's
    /// root folder.
    pub(in crate::server) fn place(&self, volume: &OpenVolume) -> Result<Option<&EntryPlace>, ResultCode> {
        if let Some(place) = self.place.get() {
            return Ok(place.as_ref());
        }
        let place = volume.place_of_folder(self.found()?)?;
        Ok(self.place.get_or_init(|| place).as_ref())
    }

    /// The place, for operations that are impossible on the volume's root folder.
    pub(in crate::server) fn place_below(&self, volume: &OpenVolume) -> Result<&EntryPlace, ResultCode> {
        self.place(volume)?.ok_or(ResultCode::ACCESS_DENIED)
    }

    /// The entry's number.
    pub(in crate::server) fn id(&self, volume: &OpenVolume) -> Result<CatalogId, ResultCode> {
        volume.id_of(&self.found()?.object.key())
    }
}

impl EntryPlace {
    /// The place in the form for `vfs`.
    pub(in crate::server) fn beside(&self) -> Beside<'_> {
        Beside { folder: &self.folder.object, name: &self.name }
    }
}

/// Refuses a path above the volume's root folder if a command needs a file or a name: this is an
/// invalid request, not a missing entry.
pub(in crate::server) fn refuse_above(folder: u32, path: &Path<'_>) -> Result<(), ResultCode> {
    let is_above = CatalogId(folder) == CatalogId::PARENT_OF_ROOT && path.is_empty();
    if is_above { Err(ResultCode::PARAM_ERROR) } else { Ok(()) }
}

pub(in crate::server) fn is_folder(found: &Found) -> bool {
    found.attributes.kind == Kind::Folder
}
