//! A disk image in a share, as `images` reads it: with the rights of the person that asks, and never changed.
//!
//! Whether a caller may read a file is judged when it is opened, by mode and ACL, as for a client of NFS. A file that changes
//! after it was read first is stale: half of an image before a change and half of it after fit together by chance only.

use std::collections::HashMap;
use std::sync::Arc;

use images::{Files, ReadAt, Source};
use lock::Mutex;

use crate::backend::{Found, Node, Wait};
use crate::backups::PointBands;
use crate::caller::server;
use crate::mac::sparse_bundle::{BANDS, band_number};
use crate::{Access, BackupImage, Caller, Error, Kind, Result, Time, Volume, ranks};

/// The most names that are told of a folder in a bundle.
const MOST_NAMES: usize = 10_000_000;

/// The image that a file or a bundle is, as a caller may read it.
///
/// # Errors
///
/// `AccessDenied`: the caller may not read it. `Invalid`: it is neither a file nor a folder.
pub fn image_at(volume: &Arc<Volume>, caller: &Caller, found: &Found) -> Result<Source> {
    match found.attributes.kind {
        Kind::File => Ok(Source::File(Arc::new(ImageFile::open(volume, caller, found)?))),
        Kind::Folder => {
            let folder = found.object.clone();
            let bundle = ImageBundle {
                volume: volume.clone(),
                caller: caller.clone(),
                folder,
                seen: Mutex::default(),
            };
            bundle.permitted(found)?;
            Ok(Source::Bundle(Arc::new(bundle)))
        }
        _ => Err(Error::Invalid),
    }
}

/// The image in a bundle as the server itself reads it, also at a point of its journal.
///
/// # Errors
///
/// As [`image_at`].
pub fn image_of(volume: &Arc<Volume>, bundle: &BackupImage<'_>) -> Result<Source> {
    match bundle.point.clone() {
        None => image_at(volume, server(), &bundle.folder),
        Some(bands) => {
            let (volume, lists) = (volume.clone(), bundle.folder.object.clone());
            Ok(Source::Bundle(Arc::new(PointImage { volume, lists, bands })))
        }
    }
}

/// A bundle at a point of its journal.
struct PointImage {
    volume: Arc<Volume>,
    /// The folder that has its lists.
    lists: Node,
    bands: PointBands,
}

impl Files for PointImage {
    fn open(&self, path: &str) -> images::Result<Arc<dyn ReadAt>> {
        let open = || {
            let found = match path.split_once('/') {
                None => self.lists.lookup(server(), path.as_bytes())?,
                Some((_, band)) => {
                    let number = band_number(band.as_bytes()).ok_or(Error::NotFound)?;
                    let (found, _) = self.bands.find(band.as_bytes())?;
                    let now = (found.attributes.size, found.attributes.modified);
                    match self.bands.is_other(number, now) {
                        true if self.bands.has(number) => return Err(Error::Stale),
                        true => return Err(Error::NotFound),
                        false => found,
                    }
                }
            };
            if found.attributes.kind != Kind::File {
                return Err(Error::IsFolder);
            }
            ImageFile::open(&self.volume, server(), &found)
        };
        Ok(Arc::new(open().map_err(fact)?))
    }

    fn list(&self, folder: &str) -> images::Result<Vec<String>> {
        match folder.as_bytes() == BANDS {
            true => Ok(self.bands.names().collect()),
            false => Err(images::Error::NotFound),
        }
    }
}

/// Of when a file is: its length, and when its data were changed.
type Version = (u64, Time);

/// A file of an image.
struct ImageFile {
    object: Node,
    version: Version,
}

impl ImageFile {
    fn open(volume: &Volume, caller: &Caller, found: &Found) -> Result<Self> {
        if !volume.access(caller, found, Access::READ)?.contains(Access::READ) {
            return Err(Error::AccessDenied);
        }
        let Found { object, attributes } = found.clone();
        object.prepare(server(), &attributes, Access::READ, true)?;
        Ok(Self { object, version: (attributes.size, attributes.modified) })
    }
}

impl ReadAt for ImageFile {
    fn length(&self) -> u64 {
        self.version.0
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> images::Result<()> {
        let end = offset.checked_add(buffer.len() as u64).filter(|end| *end <= self.version.0);
        if end.is_none() {
            let problem = format!("{} bytes are wanted, and the file has {}", buffer.len(), self.version.0);
            return Err(images::Error::Damaged { structure: "the image".into(), place: offset, problem });
        }
        let read = || {
            let now = self.object.attributes()?;
            if (now.size, now.modified) != self.version {
                return Err(Error::Stale);
            }
            let mut bytes = Vec::with_capacity(buffer.len());
            self.object.read_at(offset, buffer.len(), &mut bytes, Wait::Allowed)?;
            if bytes.len() == buffer.len() { Ok(bytes) } else { Err(Error::Stale) }
        };
        buffer.copy_from_slice(&read().map_err(images::Error::Source)?);
        Ok(())
    }
}

/// A bundle: its files, whose paths have `/` between the names.
struct ImageBundle {
    volume: Arc<Volume>,
    caller: Caller,
    folder: Node,
    /// The files that were opened, as they were then.
    seen: Mutex<HashMap<String, Version>, ranks::ImageBands>,
}

impl ImageBundle {
    fn find(&self, path: &str) -> Result<Found> {
        let mut at = Found { object: self.folder.clone(), attributes: self.folder.attributes()? };
        for name in path.split('/').filter(|name| !matches!(*name, "" | ".")) {
            if name == ".." {
                return Err(Error::Invalid);
            }
            at = self.volume.lookup(&self.caller, &at.object, name.as_bytes())?;
        }
        Ok(at)
    }

    /// Fails unless the caller may list and enter a folder.
    fn permitted(&self, folder: &Found) -> Result<()> {
        let both = Access::READ.union(Access::EXECUTE);
        let granted = self.volume.access(&self.caller, folder, both)?;
        if granted.contains(both) { Ok(()) } else { Err(Error::AccessDenied) }
    }

    fn names(&self, path: &str) -> Result<Vec<String>> {
        let folder = self.find(path)?;
        let (mut names, mut cookie) = (Vec::new(), 0);
        loop {
            let page = self.volume.list(&self.caller, &folder, cookie)?;
            names.extend(page.named().map(|entry| String::from_utf8_lossy(entry.name()).into_owned()));
            if names.len() > MOST_NAMES {
                return Err(Error::TooMany);
            }
            match page.entries().last() {
                Some(last) if !page.complete => cookie = last.cookie,
                _ => return Ok(names),
            }
        }
    }
}

impl Files for ImageBundle {
    fn open(&self, path: &str) -> images::Result<Arc<dyn ReadAt>> {
        let open = || {
            let found = self.find(path)?;
            if found.attributes.kind != Kind::File {
                return Err(Error::IsFolder);
            }
            ImageFile::open(&self.volume, &self.caller, &found)
        };
        let file = open().map_err(fact)?;
        let first = *self.seen.lock().entry(path.to_owned()).or_insert(file.version);
        if first == file.version { Ok(Arc::new(file)) } else { Err(images::Error::Source(Error::Stale)) }
    }

    fn list(&self, folder: &str) -> images::Result<Vec<String>> {
        self.names(folder).map_err(fact)
    }
}

fn fact(error: Error) -> images::Error {
    if error == Error::NotFound { images::Error::NotFound } else { images::Error::Source(error) }
}
