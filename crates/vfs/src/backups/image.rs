//! A bundle as the server sees it: its lists, and its bands. Everything is read as the server itself, by the share's backend.

use super::journal::PointBands;
use super::{ImageProblem, each_name, read_end};
use crate::backend::Found;
use crate::caller::server;
use crate::mac::sparse_bundle::{BANDS, BundleInfo, INFO, TOKEN, band_number, is_encrypted};
use crate::mac::time_machine::{HISTORY, MACHINE, RESULTS};
use crate::{Attributes, Error, Kind, Result, Volume};

/// The most bands of a bundle that are looked at: 8 TB in bands of 8 MiB.
const MOST_BANDS: usize = 1_000_000;
/// The most names in the folder of bands that are no bands, as far as they are named.
const MOST_ODD: usize = 20;

/// A bundle in the folder of a share.
pub struct BackupImage<'a> {
    pub(super) volume: &'a Volume,
    /// Its folder.
    pub folder: Found,
    /// What its list says of its image; `None`: it has none that can be read.
    pub info: Option<BundleInfo>,
    /// Its folder of bands.
    pub(super) bands: Option<Found>,
    /// It is the bundle as it was at a point of its journal.
    pub(crate) point: Option<PointBands>,
}

/// A band.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Band {
    pub(super) number: u64,
    pub(super) name: Vec<u8>,
}

/// The names in the folder of bands.
#[derive(Debug, Default)]
pub(super) struct BandList {
    /// By their numbers.
    pub(super) bands: Vec<Band>,
    /// Names that no band has.
    pub(super) odd: Vec<Vec<u8>>,
}

impl<'a> BackupImage<'a> {
    /// Opens a bundle by its name.
    ///
    /// # Errors
    /// `NotFound`, or `NotFolder`: it is none.
    pub fn open(volume: &'a Volume, name: &[u8]) -> Result<Self> {
        let folder = volume.root()?.object.lookup(server(), name)?;
        if folder.attributes.kind != Kind::Folder {
            return Err(Error::NotFolder);
        }
        let bands = folder.object.lookup(server(), BANDS).ok();
        let bands = bands.filter(|bands| bands.attributes.kind == Kind::Folder);
        Ok(Self { volume, folder, info: None, bands, point: None }.with_info())
    }

    /// The same at a point. `folder` has the lists.
    pub(super) fn of_point(
        volume: &'a Volume,
        folder: Found,
        bands: Option<Found>,
        point: PointBands,
    ) -> Self {
        Self { volume, folder, info: None, bands, point: Some(point) }.with_info()
    }

    fn with_info(mut self) -> Self {
        self.info = self.list(INFO).as_deref().and_then(BundleInfo::read);
        self
    }

    /// The end of one of its lists; `None`: there is none that can be read.
    pub fn list(&self, name: &[u8]) -> Option<Vec<u8>> {
        let found = self.folder.object.lookup(server(), name).ok()?;
        (found.attributes.kind == Kind::File).then(|| read_end(&found).ok())?
    }

    /// The list with the Mac and the result of its last check.
    pub fn machine(&self) -> Option<Vec<u8>> {
        self.list(MACHINE)
    }

    /// The list of completed backups.
    pub fn history(&self) -> Option<Vec<u8>> {
        self.list(HISTORY)
    }

    /// The list with the last run.
    pub fn results(&self) -> Option<Vec<u8>> {
        self.list(RESULTS)
    }

    /// Whether a file beside the bands, or their folder, belongs to another user than the bundle.
    pub fn is_of_others(&self) -> bool {
        self.check_lists().iter().any(|problem| matches!(problem, ImageProblem::OtherOwner(_)))
    }

    /// Whether the image is encrypted; `None`: its token is missing.
    pub fn is_encrypted(&self) -> Option<bool> {
        self.list(TOKEN).as_deref().map(is_encrypted)
    }

    /// The attributes of one of its files.
    pub(super) fn attributes(&self, name: &[u8]) -> Option<Attributes> {
        self.folder.object.entry_attributes(server(), name).ok()
    }

    /// The bands, in their order. `TooMany`: more than a million.
    pub(super) fn bands(&self) -> Result<BandList> {
        if let Some(point) = &self.point {
            let band = |number: &u64| Band { number: *number, name: format!("{number:x}").into_bytes() };
            return Ok(BandList { bands: point.bands.keys().map(band).collect(), odd: Vec::new() });
        }
        let Some(folder) = &self.bands else { return Err(Error::NotFound) };
        let (mut found, mut is_too_many) = (BandList::default(), false);
        each_name(self.volume, folder, &mut |name| match band_number(name) {
            Some(_) if found.bands.len() >= MOST_BANDS => is_too_many = true,
            Some(number) => found.bands.push(Band { number, name: name.to_vec() }),
            None if found.odd.len() < MOST_ODD => found.odd.push(name.to_vec()),
            None => {}
        })?;
        if is_too_many {
            return Err(Error::TooMany);
        }
        found.bands.sort_by_key(|band| band.number);
        Ok(found)
    }

    pub(super) fn band(&self, name: &[u8]) -> Result<Found> {
        if let Some(point) = &self.point {
            return Ok(point.find(name)?.0);
        }
        self.bands.as_ref().ok_or(Error::NotFound)?.object.lookup(server(), name)
    }
}
