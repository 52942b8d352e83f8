//! `fourfold backups cp`: files out of the backups of a Mac, or out of any disk image of a share.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use admin::Settings;
use admin::control::Progress;
use anyhow::{Context, bail};
use vfs::backend::host::{Host, HostOptions};
use vfs::names::from_text_view;
use vfs::{
    CacheBudget, Error, Restore, RestoreObserver, RestoreOptions, RestoreOutcome, Volume, VolumeOptions,
};

use super::local::{LocalImage, caller};
use crate::cli::CopyBackup;
use crate::terminal::progress::ProgressDisplay;
use crate::terminal::{exit, out};

/// Memory for listings.
const CACHE_BYTES: usize = 16 << 20;

/// Copies.
pub(super) fn run(settings: &Settings, asked: &CopyBackup) -> anyhow::Result<ExitCode> {
    let Some((image, path)) = split(&asked.from) else {
        return Err(exit::usage_error(format!(
            "{:?} names no file in an image: write MAC:/PATH, such as \"Ada's Mac:/Users/ada\"",
            asked.from
        )));
    };
    let image = LocalImage::find(image, settings)?;
    let opened = image.open(asked.passphrase_stdin)?;
    opened.closed.iter().for_each(|line| out::error_line(format_args!("fourfold: not shown: {line}")));
    let own = caller();
    let backend = opened.copied(image.place.identity(&image.found), (own.uid, own.gid));
    let options =
        VolumeOptions { read_only: true, cache: CacheBudget::new(CACHE_BYTES), ..VolumeOptions::default() };
    let from = Volume::new(backend, options);
    let source: Vec<Vec<u8>> = path.split('/').filter(|name| !name.is_empty()).map(from_text_view).collect();
    let (folder, name) = target(&asked.to, source.last())?;
    let host = Host::open(&folder, &HostOptions::default())
        .with_context(|| format!("{} cannot be opened", folder.display()))?;
    let to = Volume::new(Arc::new(host), VolumeOptions::default());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let _entered = runtime.enter();
    let options = RestoreOptions { keep: !asked.replace, past_damage: true, ..RestoreOptions::default() };
    let mut copied = CopyRecorder::new(&folder);
    let source: Vec<&[u8]> = source.iter().map(Vec::as_slice).collect();
    let target: Vec<&[u8]> = name.iter().map(Vec::as_slice).collect();
    let mut restore = Restore::new(&from, &to, options, &mut copied);
    let done = restore.run(&source, &target);
    restore.remove_staging();
    copied.progress.end();
    done.map_err(|error| match error {
        Error::NotFound => anyhow::anyhow!("there is no {path} in {}", image.place.text()),
        other => anyhow::Error::new(other).context("the copy ended early"),
    })?;
    let CopyRecorder { copied, same, refused, .. } = copied;
    out::line(format_args!("{copied} copied, {same} were the same already, {refused} not copied"))?;
    Ok(if refused == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The image and the path in it. The image may have a `:` in its name.
fn split(text: &str) -> Option<(&str, &str)> {
    let at = text.find(":/")?;
    let (image, path) = (&text[..at], &text[at + 1..]);
    (!image.is_empty()).then_some((image, path))
}

/// The folder that the copy goes to, and its name there; `None`: all that is in the image goes into the folder.
fn target(to: &Path, source: Option<&Vec<u8>>) -> anyhow::Result<(PathBuf, Option<Vec<u8>>)> {
    let Some(source) = source else {
        if !to.is_dir() {
            // Backups are private, whatever the umask.
            let made = std::fs::DirBuilder::new().mode(0o700).create(to);
            made.with_context(|| format!("{} cannot be made", to.display()))?;
        }
        return Ok((to.to_owned(), None));
    };
    if to.is_dir() {
        return Ok((to.to_owned(), Some(source.clone())));
    }
    let name = to.file_name().with_context(|| format!("{} names no file", to.display()))?;
    let folder = match to.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    if !folder.is_dir() {
        bail!("there is no folder {}; make it first", folder.display());
    }
    Ok((folder, Some(name.as_bytes().to_vec())))
}

/// Counts what was copied, and names what was not.
struct CopyRecorder<'a> {
    folder: &'a Path,
    copied: u64,
    same: u64,
    refused: u64,
    bytes: u64,
    progress: ProgressDisplay,
}

impl<'a> CopyRecorder<'a> {
    fn new(folder: &'a Path) -> Self {
        Self { folder, copied: 0, same: 0, refused: 0, bytes: 0, progress: ProgressDisplay::default() }
    }
}

impl RestoreObserver for CopyRecorder<'_> {
    fn done(&mut self, path: &[u8], what: RestoreOutcome) {
        let why = match what {
            RestoreOutcome::Restored => return self.copied += 1,
            RestoreOutcome::Unchanged | RestoreOutcome::Removed => return self.same += 1,
            RestoreOutcome::OtherTree => "another file system is mounted there".to_owned(),
            RestoreOutcome::Refused(Error::Exists) => {
                "another file has this name; --replace replaces it".into()
            }
            RestoreOutcome::Refused(Error::Io) => "it cannot be read: the image is damaged there".into(),
            RestoreOutcome::Refused(Error::NotSupported) => "it is stored in a form that is not read".into(),
            RestoreOutcome::Refused(error) => error.to_string(),
        };
        self.refused += 1;
        let path = self.folder.join(OsStr::from_bytes(path));
        out::error_line(format_args!("fourfold: {}: {why}", path.display()));
    }

    fn bytes(&mut self, count: u64) -> bool {
        self.bytes = self.bytes.saturating_add(count);
        self.progress.show(Progress { done: self.bytes, total: 0 });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_in_an_image_begins_with_a_slash() {
        assert_eq!(split("Ada's Mac@monday:/Users"), Some(("Ada's Mac@monday", "/Users")));
        assert_eq!(split("Files/a:b.dmg:/"), Some(("Files/a:b.dmg", "/")));
        assert_eq!((split("Ada's Mac"), split(":/x")), (None, None));
    }

    #[test]
    fn a_copy_goes_into_a_folder_or_gets_a_new_name() {
        let top = tempfile::tempdir().unwrap();
        let source = b"May.pages".to_vec();
        let into = target(top.path(), Some(&source)).unwrap();
        assert_eq!(into, (top.path().to_owned(), Some(source.clone())));
        let named = target(&top.path().join("June"), Some(&source)).unwrap();
        assert_eq!(named, (top.path().to_owned(), Some(b"June".to_vec())));
        assert!(target(&top.path().join("none/June"), Some(&source)).is_err());
        let all = target(&top.path().join("disk"), None).unwrap();
        assert_eq!(all, (top.path().join("disk"), None));
        assert!(top.path().join("disk").is_dir());
    }
}
