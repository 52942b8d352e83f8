//! Disk images in shares, opened by the command itself with the rights of the user who runs it.

use std::sync::Arc;

use admin::{Settings, ShareSettings};
use anyhow::{Context, bail};
use auth::Identity;
use images::Passphrase;
use snapshots::{Dataset, Snapshot};
use vfs::backend::Found;
use vfs::backend::host::{Host, HostOptions, KeptFiles};
use vfs::{CacheBudget, Caller, Error, Volume, VolumeOptions};

use crate::shares::browsing::{self, ImagePlace, OpenedImage};
use crate::terminal::password::{self, Source};

/// Files that are kept open: bands of an image.
const OPEN_FILES: usize = 64;
/// Memory for listings.
const CACHE_BYTES: usize = 16 << 20;
/// In the state folder: where snapshots are mounted that the engine shows only so.
const MOUNTS: &str = "mounts";
/// How often a passphrase is asked.
const TRIES: usize = 3;

/// An image in a share.
pub(super) struct LocalImage {
    pub(super) place: ImagePlace,
    pub(super) volume: Arc<Volume>,
    pub(super) found: Found,
}

impl LocalImage {
    /// The image that a text names.
    pub(super) fn find(text: &str, settings: &Settings) -> anyhow::Result<Self> {
        let find = |place: &ImagePlace| -> anyhow::Result<(Arc<Volume>, Found)> {
            let volume = volume(place, settings)?;
            if place.is_lun {
                let found = place.find_lun(&volume, &settings.server.state)?;
                return Ok((volume, found));
            }
            let plain = ImagePlace { snapshot: None, ..place.clone() };
            let found = plain.find_in(&volume, &caller()).map_err(anyhow::Error::new)?;
            Ok((volume, found))
        };
        let (place, (volume, found)) = ImagePlace::named(text, settings, find)?;
        Ok(Self { place, volume, found })
    }

    /// Opens it; asks for the passphrase of an encrypted one.
    pub(super) fn open(&self, stdin: bool) -> anyhow::Result<OpenedImage> {
        if let Some(opened) = browsing::open(&self.volume, &caller(), &self.found, None)? {
            return Ok(opened);
        }
        for _ in 0..if stdin { 1 } else { TRIES } {
            let typed = password::once(
                &format!("the encrypted image {}", self.place.text()),
                Source::new(stdin, None),
            )?;
            let passphrase = Passphrase::new(typed);
            if let Some(opened) = browsing::open(&self.volume, &caller(), &self.found, Some(&passphrase))? {
                return Ok(opened);
            }
            crate::terminal::out::error_line("fourfold: the passphrase is wrong");
        }
        bail!("the passphrase does not open {}", self.place.text())
    }
}

/// The user who runs the command.
pub(super) fn caller() -> Caller {
    Identity::own()
}

/// The snapshots of a share, the newest first. None if no engine makes any.
pub(super) fn snapshots_of(share: &ShareSettings) -> Vec<Snapshot> {
    let mut all = Dataset::find(&share.path).and_then(|dataset| dataset.list()).unwrap_or_default();
    all.sort_by_key(|one| std::cmp::Reverse(one.created));
    all
}

/// The files of a share, or of a snapshot of it.
pub(super) fn volume(place: &ImagePlace, settings: &Settings) -> anyhow::Result<Arc<Volume>> {
    let share = place.settings(settings)?;
    let path = match &place.snapshot {
        None => share.path.clone(),
        Some(name) => {
            let dataset = Dataset::find(&share.path)?.with_mounts(&settings.server.state.join(MOUNTS));
            if !dataset.list()?.iter().any(|one| one.name == *name) {
                return Err(anyhow::Error::new(Error::NotFound));
            }
            dataset.mount(name)?
        }
    };
    let options =
        HostOptions { open_files: KeptFiles::new(OPEN_FILES), read_only: true, ..HostOptions::default() };
    let host = Host::open(&path, &options).with_context(|| format!("{} cannot be opened", path.display()))?;
    let options =
        VolumeOptions { read_only: true, cache: CacheBudget::new(CACHE_BYTES), ..VolumeOptions::default() };
    Ok(Arc::new(Volume::new(Arc::new(host), options)))
}
