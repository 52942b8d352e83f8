//! Containers: what turns a file or a bundle into the bytes of a disk.

mod bundle;
mod encrypted;
mod plist;
mod sparse_image;
mod udif;

use std::sync::Arc;

use crate::check::Steps;
use crate::part::read_vec;
use crate::{Error, Passphrase, ReadAt, Result, Source};

/// A check of a container's own checksums.
pub type ContainerCheck = Box<dyn Fn(&mut Steps<'_>) -> Result<()> + Send + Sync>;

/// An image whose container is open.
pub struct Image {
    /// The bytes of the disk in it.
    pub disk: Arc<dyn ReadAt>,
    /// The container in the words of its maker, such as "sparse bundle, encrypted (AES-256)".
    pub format: String,
    /// What checks the container itself, if it has checksums.
    pub check: Option<ContainerCheck>,
}

/// Opens the container.
///
/// # Errors
///
/// As [`crate::open`].
pub fn open(source: &Source, passphrase: Option<&Passphrase>) -> Result<Image> {
    match source {
        Source::Bundle(files) => bundle::open(files, passphrase),
        Source::File(file) => {
            let Some(header) = encrypted::header(file.as_ref())? else { return open_plain(file.clone()) };
            let key = header.unlock(file.as_ref(), passphrase)?;
            let format = key.format();
            let image = open_plain(Arc::new(header.decrypted(file.clone(), key)))?;
            Ok(Image { format: format!("{}, {format}", image.format), ..image })
        }
    }
}

fn open_plain(file: Arc<dyn ReadAt>) -> Result<Image> {
    if file.length() == 0 {
        return Err(Error::damaged("disk image", 0, "it is empty"));
    }
    let first = read_vec(file.as_ref(), 0, file.length().min(8) as usize)?;
    if first.starts_with(sparse_image::MAGIC) {
        let disk = Arc::new(sparse_image::SparseImage::open(file)?);
        return Ok(Image { disk, format: "sparse image".into(), check: None });
    }
    if let Some(trailer) = udif::Trailer::find(file.as_ref())? {
        let image = Arc::new(udif::Udif::open(file, &trailer)?);
        let format = image.format();
        let checked = image.clone();
        let check: ContainerCheck = Box::new(move |steps| checked.check(steps));
        return Ok(Image { disk: image, format, check: Some(check) });
    }
    Ok(Image { disk: file, format: "raw image".into(), check: None })
}

/// What the fuzz targets call.
pub mod parsers {
    pub use super::plist::{Value, parse as parse_plist};
}
