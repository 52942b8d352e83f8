//! Opening an image: what is in it, and how it is shown.

use std::sync::Arc;

use admin::control::TypedPassphrase;
use anyhow::{Context, anyhow};
use images::Passphrase;
use images::tree::FileSystem;
use vfs::backend::Backend;
use vfs::backend::image::{Image, ImageOptions, ShownModes};
use vfs::backend::{Found, host::as_ourselves};
use vfs::{Caller, Volume, image_at};

/// An image that is open.
pub(crate) struct OpenedImage {
    files: Arc<dyn FileSystem>,
    /// What is in it, for people.
    pub(crate) format: String,
    pub(crate) case_sensitive: bool,
    /// It was opened with a passphrase.
    pub(crate) is_encrypted: bool,
    /// File systems in it that cannot be shown, with the reasons.
    pub(crate) closed: Vec<String>,
}

impl OpenedImage {
    /// An image with these files, for tests.
    #[cfg(test)]
    pub(super) fn of(files: Arc<dyn FileSystem>, is_encrypted: bool) -> Self {
        let (format, case_sensitive) = (files.format(), files.case_sensitive());
        Self { files, format, case_sensitive, is_encrypted, closed: Vec::new() }
    }

    /// Its files, which one user sees.
    pub(crate) fn backend(&self, identity: u64, owner: (u32, u32)) -> Arc<dyn Backend> {
        self.shown(ImageOptions { identity, owner, modes: ShownModes::Private })
    }

    /// The same with the permission bits that are stored, to be copied.
    pub(crate) fn copied(&self, identity: u64, owner: (u32, u32)) -> Arc<dyn Backend> {
        self.shown(ImageOptions { identity, owner, modes: ShownModes::Stored })
    }

    fn shown(&self, options: ImageOptions) -> Arc<dyn Backend> {
        Arc::new(Image::new(self.files.clone(), options))
    }

    /// Its files, as `images` reads them.
    pub(crate) fn files(&self) -> &dyn FileSystem {
        &*self.files
    }
}

/// What opens an image. The copy that was sent is gone with the request.
pub(crate) fn passphrase(typed: &TypedPassphrase) -> Passphrase {
    Passphrase::new(typed.0.clone())
}

/// Opens what a caller has found. `None`: a passphrase is needed, or it is not this one.
///
/// # Errors
/// The caller may not read it, it is no image that is known, or it is damaged.
pub(crate) fn open(
    volume: &Arc<Volume>,
    caller: &Caller,
    found: &Found,
    passphrase: Option<&Passphrase>,
) -> anyhow::Result<Option<OpenedImage>> {
    let source = image_at(volume, caller, found);
    let source = source.map_err(|error| match error {
        vfs::Error::AccessDenied => anyhow!("the account may not read the image"),
        vfs::Error::Invalid => anyhow!("it is neither a file nor a bundle"),
        other => anyhow::Error::new(other),
    })?;
    let opened = images::open(&source, passphrase);
    as_ourselves(|| ())?; // the thread has looked at files as the caller
    let volumes = match opened {
        Err(images::Error::Passphrase) => return Ok(None),
        other => other.context("the image cannot be opened")?,
    };
    let closed =
        volumes.iter().filter_map(|one| Some(format!("{}: {}", one.name, one.files.as_ref().err()?)));
    let closed: Vec<String> = closed.collect();
    let formats = volumes.iter().map(|one| one.format.clone()).collect::<Vec<_>>().join(", ");
    let is_locked = |one: &images::Volume| matches!(one.files, Err(images::Error::Passphrase));
    if passphrase.is_none() && !volumes.is_empty() && volumes.iter().all(is_locked) {
        return Ok(None);
    }
    let files = match images::shelf(volumes) {
        Err(images::Error::Passphrase) => return Ok(None),
        other => other.context("nothing in the image can be shown")?,
    };
    Ok(Some(OpenedImage {
        case_sensitive: files.case_sensitive(),
        files,
        format: formats,
        is_encrypted: passphrase.is_some(),
        closed,
    }))
}
