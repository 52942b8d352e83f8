//! Folders of shares: made, moved, deleted.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use formats::mountinfo::{self, MountInfo};
use snapshots::Dataset;

/// A folder that was made, if it was missing.
pub(super) struct DatasetFolder(Option<PathBuf>);

impl DatasetFolder {
    /// Removes it again.
    pub(super) fn undo(self) {
        if let Some(folder) = self.0 {
            let _ = fs::remove_dir(folder); // it is empty, or another program uses it
        }
    }
}

/// Makes a folder with the owner and the mode of the one above it. One that is there stays as it is.
///
/// In a dataset of an engine with datasets it becomes one, which has snapshots of its own.
pub(super) fn make(folder: &Path, above: Option<&Dataset>) -> anyhow::Result<DatasetFolder> {
    let shown = folder.display();
    if folder.is_dir() {
        return Ok(DatasetFolder(None));
    }
    match (above, folder.file_name()) {
        (Some(above), Some(name)) => _ = above.make_subdataset(Path::new(name))?,
        _ => fs::create_dir(folder).with_context(|| format!("the folder {shown} cannot be made"))?,
    }
    let made = DatasetFolder(Some(folder.into()));
    if let Some(above) = folder.parent().and_then(|above| fs::metadata(above).ok()) {
        let _ = chown(folder, Some(above.uid()), Some(above.gid())); // only root may
        let mode = fs::Permissions::from_mode(above.mode() & 0o7777);
        fs::set_permissions(folder, mode).with_context(|| format!("the rights of {shown} cannot be set"))?;
    }
    Ok(made)
}

/// Whether nothing but these folders, and nothing in them, is in a folder. A missing folder is empty.
pub(super) fn is_empty(folder: &Path, but: &[PathBuf]) -> anyhow::Result<bool> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error).with_context(|| format!("{} cannot be read", folder.display())),
    };
    for entry in entries {
        let path = entry?.path();
        if !but.contains(&path) || !is_empty(&path, but)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Refuses to delete the folder of a share in which, or on which, another file system is mounted, or of which a snapshot is
/// held.
pub(super) fn check_deletable(share: &str, folder: &Path) -> anyhow::Result<()> {
    if let Ok(dataset) = Dataset::find(folder)
        && let Some(held) = dataset.list()?.iter().find(|snapshot| !snapshot.held.is_empty())
    {
        let (name, tag) = (&held.name, &held.held[0]);
        bail!("{share}@{name} is held: release it first, `fourfold snapshot release {tag} {share}@{name}`");
    }
    let list = fs::read("/proc/self/mountinfo").context("the mounts cannot be read")?;
    for MountInfo { point, .. } in mountinfo::mounts(&list) {
        if point.starts_with(folder) {
            bail!("a file system is mounted at {}: unmount it first", point.display());
        }
    }
    Ok(())
}

/// Deletes a folder, its snapshots and all that is in it. It follows no links.
pub(super) fn delete(folder: &Path) -> anyhow::Result<()> {
    if let Ok(dataset) = Dataset::find(folder) {
        for snapshot in dataset.list()? {
            dataset.remove(&snapshot.name)?;
        }
        ::replicate::forget(&dataset)?;
    }
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            let what =
                format!("the share is removed, but not all files of {} could be deleted", folder.display());
            Err(error).context(what)
        }
        _ => Ok(()),
    }
}

/// Moves a folder, not onto another one and not to another file system.
pub(super) fn rename(from: &Path, to: &Path) -> anyhow::Result<()> {
    let flags = rustix::fs::RenameFlags::NOREPLACE;
    match rustix::fs::renameat_with(rustix::fs::CWD, from, rustix::fs::CWD, to, flags) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::NOENT) if fs::metadata(from).is_err() => Ok(()), // a missing folder needs no move
        Err(rustix::io::Errno::EXIST) => bail!("{} is there already: move it away", to.display()),
        Err(rustix::io::Errno::XDEV) => bail!(
            "{} is on another file system: set `path` of the share to where its folder is now, then rename it",
            to.display()
        ),
        Err(error) => {
            Err(error).with_context(|| format!("{} cannot be moved to {}", from.display(), to.display()))
        }
    }
}

/// The bytes that are available on the file system of a folder, and its size.
pub(crate) fn space(folder: &Path) -> io::Result<(u64, u64)> {
    let found = rustix::fs::statvfs(folder)?;
    Ok((found.f_bavail.saturating_mul(found.f_frsize), found.f_blocks.saturating_mul(found.f_frsize)))
}
