//! Sparse bundles: a folder with `Info.plist` and bands, which are files of one size. A band that is missing, or shorter
//! than the others, reads as zeros.

use std::sync::Arc;

use formats::mac::sparse_bundle::{BANDS, INFO, MAX_INFO};

use super::encrypted::{self, ChunkKey};
use super::{Image, plist};
use crate::cache::Cache;
use crate::part::{check_range, read_vec};
use crate::{Error, Files, Passphrase, ReadAt, Result};

/// The file that has the header of an encrypted bundle.
const TOKEN: &str = "token";
/// What `diskimage-bundle-type` says.
const KIND: &str = "com.apple.diskimage.sparsebundle";
/// The largest bands that are accepted, in bytes. hdiutil makes bands of at most 8 GiB.
const MAX_BAND: u64 = 8 << 30;
/// How many bands are open at once.
const OPEN_BANDS: usize = 32;

/// Opens a bundle.
pub(super) fn open(files: &Arc<dyn Files>, passphrase: Option<&Passphrase>) -> Result<Image> {
    let bands = Arc::new(Bands::open(files.clone())?);
    let token = match files.open(TOKEN) {
        Ok(token) => Some(token),
        Err(Error::NotFound) => None,
        Err(error) => return Err(error),
    };
    let header = token.as_ref().map(|token| encrypted::header(token.as_ref())).transpose()?.flatten();
    let (Some(header), Some(token)) = (header, token) else {
        return Ok(Image { disk: bands, format: "sparse bundle".into(), check: None });
    };
    let key: ChunkKey = header.unlock(token.as_ref(), passphrase)?;
    let format = format!("sparse bundle, {}", key.format());
    Ok(Image { disk: Arc::new(header.decrypted_bands(bands, key)), format, check: None })
}

/// The bands of a bundle as one disk.
struct Bands {
    files: Arc<dyn Files>,
    /// The folder of the bands.
    folder: &'static str,
    band_size: u64,
    size: u64,
    /// Bands that were opened; `None` for one that does not exist.
    opened: Cache<u64, Option<Arc<dyn ReadAt>>>,
}

impl Bands {
    fn open(files: Arc<dyn Files>) -> Result<Self> {
        let name = std::str::from_utf8(INFO).expect("a name in ASCII");
        let damaged = |problem: &str| Error::damaged("Info.plist of the sparse bundle", 0, problem);
        let info = match files.open(name) {
            Err(Error::NotFound) => return Err(damaged("it is missing")),
            other => other?,
        };
        if info.length() > MAX_INFO as u64 {
            return Err(damaged("it is too long"));
        }
        let list = read_vec(info.as_ref(), 0, info.length() as usize)?;
        let list = plist::parse(&list).ok_or_else(|| damaged("it is no property list in XML"))?;
        if list.get("diskimage-bundle-type").and_then(plist::Value::text) != Some(KIND) {
            return Err(Error::NotSupported("a bundle of another type than a sparse bundle".into()));
        }
        let number = |key: &str| list.get(key).and_then(plist::Value::unsigned);
        let band_size = number("band-size").filter(|size| (1..=MAX_BAND).contains(size));
        let band_size = band_size.ok_or_else(|| damaged("it has no size of a band"))?;
        let size = number("size").ok_or_else(|| damaged("it has no size of the disk"))?;
        let folder = std::str::from_utf8(BANDS).expect("a name in ASCII");
        Ok(Self { files, folder, band_size, size, opened: Cache::new(OPEN_BANDS) })
    }

    fn band(&self, number: u64) -> Result<Option<Arc<dyn ReadAt>>> {
        if let Some(band) = self.opened.get(&number) {
            return Ok(band);
        }
        let band = match self.files.open(&format!("{}/{number:x}", self.folder)) {
            Ok(band) => Some(band),
            Err(Error::NotFound) => None,
            Err(error) => return Err(error),
        };
        self.opened.insert(number, band.clone(), 1);
        Ok(band)
    }
}

impl ReadAt for Bands {
    fn length(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_range("sparse bundle", self.size, offset, buffer.len())?;
        let (mut at, mut left) = (offset, buffer);
        while !left.is_empty() {
            let (number, inside) = (at / self.band_size, at % self.band_size);
            let count = left.len().min(usize::try_from(self.band_size - inside).unwrap_or(usize::MAX));
            let (piece, rest) = left.split_at_mut(count);
            let band = self.band(number)?;
            let stored = band.as_ref().map_or(0, |band| band.length().saturating_sub(inside));
            let stored = usize::try_from(stored).unwrap_or(usize::MAX).min(count);
            let (data, hole) = piece.split_at_mut(stored);
            if let Some(band) = band.filter(|_| !data.is_empty()) {
                band.read_at(inside, data)?;
            }
            hole.fill(0);
            at += count as u64;
            left = rest;
        }
        Ok(())
    }
}
