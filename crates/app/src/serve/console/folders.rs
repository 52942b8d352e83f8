//! Folders of the server that could be shared: looked at, and made.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use admin::Settings;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags};
use web::shares::{HostFolder, HostFolders};

use crate::serve::running::Running;

/// The folders that are shown.
const MOST: usize = 1000;
/// The entries of a folder that are looked at.
const MOST_ENTRIES: usize = 100_000;

/// The folders in a folder that may be shared over the network; without one, the places to begin at.
pub(super) fn list(running: &Running, path: Option<&str>) -> Result<HostFolders, Vec<String>> {
    let current = running.current();
    let settings = &current.settings;
    let Some(path) = path else { return Ok(beginnings(settings)) };
    let folder = allowed(settings, Path::new(path))?;
    let (folders, more) = inside(settings, &folder).map_err(|error| unreadable(&folder, &error))?;
    let above = folder.parent().filter(|above| settings.check_shareable(above).is_ok()).map(Path::to_owned);
    Ok(HostFolders { path: Some(folder), above, folders, more })
}

/// `share-roots`, and the folders of shares that lie elsewhere.
fn beginnings(settings: &Settings) -> HostFolders {
    let of_shares = settings.shares.iter().filter(|share| !share.is_in_store()).map(|share| &share.path);
    let all = settings.server.share_roots.iter().chain(of_shares);
    let mut paths: Vec<PathBuf> = all.filter_map(|path| allowed(settings, path).ok()).collect();
    paths.sort();
    paths.dedup_by(|one, before| one.starts_with(before));
    let folder = |path: PathBuf| HostFolder {
        name: path.display().to_string(),
        shares: shares(settings, &path),
        path,
    };
    HostFolders { folders: paths.into_iter().map(folder).collect(), ..HostFolders::default() }
}

/// The path without links, if it may be shared.
fn allowed(settings: &Settings, path: &Path) -> Result<PathBuf, Vec<String>> {
    if !path.is_absolute() {
        return Err(vec![format!("{}: write the whole path, with / at its beginning", path.display())]);
    }
    settings.check_shareable(path).map_err(|why| vec![why])?;
    path.canonicalize().map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &io::Error) -> Vec<String> {
    vec![format!("{} cannot be read: {error}", path.display())]
}

/// The folders in a folder by their names. Links and hidden folders are left out.
fn inside(settings: &Settings, folder: &Path) -> io::Result<(Vec<HostFolder>, bool)> {
    let mut names = Vec::new();
    let mut entries = fs::read_dir(folder)?;
    for entry in entries.by_ref().take(MOST_ENTRIES) {
        let entry = entry?;
        if let Ok(name) = entry.file_name().into_string()
            && !name.starts_with('.')
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
        {
            names.push(name);
        }
    }
    names.sort_by_cached_key(|name| name.to_lowercase());
    let more = names.len() > MOST || entries.next().is_some();
    names.truncate(MOST);
    let found = names.into_iter().map(|name| {
        let path = folder.join(&name);
        HostFolder { shares: shares(settings, &path), name, path }
    });
    Ok((found.collect(), more))
}

/// The shares of a folder.
fn shares(settings: &Settings, folder: &Path) -> Vec<String> {
    let all = settings.shares.iter().chain(&settings.absent);
    all.filter(|share| share.path == folder).map(|share| share.name.clone()).collect()
}

/// A folder that was made, and where.
pub(super) struct NewFolder {
    above: rustix::fd::OwnedFd,
    name: std::ffi::OsString,
}

impl NewFolder {
    /// Removes it again. It is empty, or another program uses it.
    pub(super) fn undo(self) {
        let _ = rustix::fs::unlinkat(&self.above, &self.name, AtFlags::REMOVEDIR);
    }
}

/// Makes a folder with the owner and the mode of the one above it, which may be shared itself. No link is followed, also if
/// another program puts one in its place meanwhile. `None`: it is there already.
pub(super) fn make(settings: &Settings, folder: &Path) -> Result<Option<NewFolder>, Vec<String>> {
    let (Some(above), Some(name)) = (folder.parent(), folder.file_name()) else { return Ok(None) };
    if folder.symlink_metadata().is_ok() {
        return Ok(None);
    }
    let above = allowed(settings, above)?;
    let cannot = |error: io::Error| vec![format!("the folder {} cannot be made: {error}", folder.display())];
    made(&above, name).map(Some).map_err(cannot)
}

fn made(above: &Path, name: &OsStr) -> io::Result<NewFolder> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let above = rustix::fs::openat2(CWD, above, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    let above = File::from(above);
    let like = above.metadata()?;
    rustix::fs::mkdirat(&above, name, Mode::RWXU)?;
    let new = NewFolder { above: above.into(), name: name.to_owned() };
    let set = || -> io::Result<()> {
        let folder = File::from(rustix::fs::openat(&new.above, name, flags, Mode::empty())?);
        let _ = fchown(&folder, Some(like.uid()), Some(like.gid())); // only root may
        folder.set_permissions(fs::Permissions::from_mode(like.mode() & 0o7777))
    };
    match set() {
        Ok(()) => Ok(new),
        Err(error) => {
            new.undo();
            Err(error)
        }
    }
}
