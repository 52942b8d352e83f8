//! Pools: btrfs in image files, for hosts whose file systems make no snapshots.
//!
//! The state folder remembers the pools in `pools.toml`. An entry is written before the first step
//! of a creation and is dropped after the last step of a destruction, so that recovery knows what a
//! crash left:
//!
//! ```text
//! making     IMAGE.new may exist: it is removed. IMAGE exists: it is whole, and the pool is kept
//! removing   IMAGE is removed
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use auth::durable;
use rustix::fs::{CWD, FallocateFlags, RenameFlags, renameat_with};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::command::run;
use crate::engine::{mounts, sync_folder};
use crate::{Refusal, steps, table_file};

const FORMAT: u32 = 1;
/// mkfs.btrfs needs 109 MiB.
const SMALLEST: u64 = 128 << 20;
/// A pool that is in use for half a second is refused.
const UNMOUNT_TRIES: usize = 6;
const UNMOUNT_PAUSE: Duration = Duration::from_millis(100);

/// The pools that a state folder remembers.
#[derive(Debug)]
pub struct Pools {
    state: PathBuf,
}

/// One pool. Scripts read it: fields may be added, never renamed or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pool {
    /// The image file.
    pub image: PathBuf,
    /// The folder where it is mounted.
    pub folder: PathBuf,
    /// Whether it is mounted now.
    pub is_mounted: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Phase {
    Making,
    #[default]
    Ready,
    Removing,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    image: PathBuf,
    folder: PathBuf,
    #[serde(default)]
    phase: Phase,
}

#[derive(Default, Serialize, Deserialize)]
struct PoolFile {
    format: u32,
    #[serde(default)]
    pool: Vec<Entry>,
}

impl Pools {
    /// The pools that this state folder remembers.
    #[must_use]
    pub fn new(state: &Path) -> Self {
        Self { state: state.to_owned() }
    }

    /// Makes an image file with a btrfs, and mounts it at `folder`, which is made if it is missing.
    /// The file gets all its blocks, so that the pool never finds the host's disk full.
    ///
    /// # Errors
    /// This is not root, the size is too small, something is in the way, or a program failed.
    pub fn create(&self, image: &Path, size: u64, folder: &Path) -> Result<Pool, Refusal> {
        must_be_root()?;
        if size < SMALLEST {
            let why = format!("a pool of {size} bytes is too small for btrfs; the smallest has 128 MiB");
            return Err(Refusal::Other(why));
        }
        let (image, folder) = (absolute(image)?, absolute(folder)?);
        let _lock = self.locked()?;
        self.finish()?;
        for path in [&image, &fresh(&image)] {
            if path.symlink_metadata().is_ok() {
                return Err(Refusal::InTheWay { path: path.clone() });
            }
        }
        if fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some()) || folder.is_file() {
            return Err(Refusal::InTheWay { path: folder });
        }
        if image.starts_with(&folder) {
            return Err(Refusal::Other(format!(
                "{} is in {}, where the pool would hide its own file; put the file elsewhere",
                image.display(),
                folder.display()
            )));
        }
        let entry = Entry { image: image.clone(), folder: folder.clone(), phase: Phase::Making };
        self.change(|entries| entries.push(entry))?;
        steps::pass()?;
        let made = make(&image, size);
        if !matches!(made, Ok(()) | Err(Refusal::Stopped)) {
            // The first error is the one to tell.
            let _ = self.finish();
        }
        made?;
        steps::pass()?;
        self.set_phase(&image, Phase::Ready)?;
        steps::pass()?;
        let pool = Pool { image, folder, is_mounted: false };
        mount(&pool)?;
        Ok(Pool { is_mounted: true, ..pool })
    }

    /// All pools, also those that are not mounted.
    ///
    /// # Errors
    /// The file of the state folder cannot be read.
    pub fn list(&self) -> Result<Vec<Pool>, Refusal> {
        let mounts = mounts::all()?;
        let is_mounted = |folder: &Path| mounts.iter().any(|mount| mount.point == folder);
        let ready = self.read()?.into_iter().filter(|entry| entry.phase == Phase::Ready);
        let pool = |Entry { image, folder, .. }| Pool { is_mounted: is_mounted(&folder), image, folder };
        Ok(ready.map(pool).collect())
    }

    /// Mounts the pools that are not mounted, at the start of a server. Returns those that could not
    /// be mounted, each with the reason.
    ///
    /// # Errors
    /// The file of the state folder cannot be read.
    pub fn mount_all(&self) -> Result<Vec<(Pool, Refusal)>, Refusal> {
        if self.read()?.is_empty() {
            return Ok(Vec::new());
        }
        let _lock = self.locked()?;
        self.finish()?;
        let missing = self.list()?.into_iter().filter(|pool| !pool.is_mounted);
        let tried = missing.map(|pool| mount(&pool).map_err(|why| (pool, why)));
        Ok(tried.filter_map(Result::err).collect())
    }

    /// Unmounts a pool, forgets it, and removes its image with everything in it.
    ///
    /// # Errors
    /// This is not root, there is no such pool, or a process uses it.
    pub fn destroy(&self, image: &Path) -> Result<(), Refusal> {
        must_be_root()?;
        let image = absolute(image)?;
        let _lock = self.locked()?;
        self.finish()?;
        let Some(pool) = self.list()?.into_iter().find(|pool| pool.image == image) else {
            let why = format!("{} is no pool; `fourfold pool list` shows all", image.display());
            return Err(Refusal::Other(why));
        };
        if pool.is_mounted {
            unmount(&pool.folder).map_err(|why| {
                Refusal::Other(format!(
                    "the pool {} is in use ({why}); remove its shares from the settings, stop what uses {}, \
                     and try again",
                    image.display(),
                    pool.folder.display()
                ))
            })?;
            steps::pass()?;
        }
        self.set_phase(&image, Phase::Removing)?;
        steps::pass()?;
        self.finish()
    }

    /// Finishes or undoes what a crash left half done.
    fn finish(&self) -> Result<(), Refusal> {
        for entry in self.read()? {
            match entry.phase {
                Phase::Ready => {}
                Phase::Making => {
                    remove(&fresh(&entry.image))?;
                    if entry.image.exists() {
                        self.set_phase(&entry.image, Phase::Ready)?;
                    } else {
                        self.forget(&entry.image)?;
                    }
                }
                Phase::Removing => {
                    remove(&entry.image)?;
                    steps::pass()?;
                    // A folder with files in it stays.
                    let _ = fs::remove_dir(&entry.folder);
                    self.forget(&entry.image)?;
                }
            }
        }
        Ok(())
    }

    fn forget(&self, image: &Path) -> Result<(), Refusal> {
        self.change(|entries| entries.retain(|entry| entry.image != image))
    }

    fn set_phase(&self, image: &Path, phase: Phase) -> Result<(), Refusal> {
        self.change(|entries| {
            entries.iter_mut().filter(|entry| entry.image == image).for_each(|entry| entry.phase = phase);
        })
    }

    fn path(&self) -> PathBuf {
        self.state.join("pools.toml")
    }

    fn locked(&self) -> Result<File, Refusal> {
        let path = self.state.join("pools.lock");
        durable::lock(&path).map_err(Refusal::io("lock", &path))
    }

    fn read(&self) -> Result<Vec<Entry>, Refusal> {
        let written = table_file::read(&self.path(), FORMAT, |written: &PoolFile| written.format)?;
        Ok(written.map(|written| written.pool).unwrap_or_default())
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Entry>)) -> Result<(), Refusal> {
        let mut pool = self.read()?;
        change(&mut pool);
        table_file::write(&self.path(), &PoolFile { format: FORMAT, pool })
    }
}

/// Makes the image under another name, and gives it its own name when it is whole.
fn make(image: &Path, size: u64) -> Result<(), Refusal> {
    let fresh = fresh(image);
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh);
    let file = file.map_err(Refusal::io("make", &fresh))?;
    match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, size) {
        Err(Errno::OPNOTSUPP) => file.set_len(size),
        given => given.map_err(Into::into),
    }
    .map_err(Refusal::io("make", &fresh))?;
    steps::pass()?;
    run("mkfs.btrfs", &["-q".as_ref(), fresh.as_os_str()])?;
    file.sync_all().map_err(Refusal::io("write", &fresh))?;
    steps::pass()?;
    renameat_with(CWD, &fresh, CWD, image, RenameFlags::NOREPLACE).map_err(Refusal::io("rename", &fresh))?;
    image.parent().map_or(Ok(()), sync_folder)
}

fn mount(pool: &Pool) -> Result<(), Refusal> {
    fs::create_dir_all(&pool.folder).map_err(Refusal::io("make", &pool.folder))?;
    let words = ["-o".as_ref(), "loop".as_ref(), pool.image.as_os_str(), pool.folder.as_os_str()];
    run("mount", &words).map(drop)
}

/// Unmounts a folder. A child of any program between fork and exec holds the files that its parent has just closed, so
/// the first refusals may be over in a moment.
fn unmount(folder: &Path) -> Result<(), Refusal> {
    for _ in 1..UNMOUNT_TRIES {
        match run("umount", &[folder]) {
            Err(Refusal::Command { .. }) => thread::sleep(UNMOUNT_PAUSE),
            ended => return ended.map(drop),
        }
    }
    run("umount", &[folder]).map(drop)
}

fn fresh(image: &Path) -> PathBuf {
    let mut name = image.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

fn remove(path: &Path) -> Result<(), Refusal> {
    match fs::remove_file(path) {
        Err(why) if why.kind() != ErrorKind::NotFound => {
            Err(Refusal::Io { what: "remove", path: path.to_owned(), why })
        }
        _ => Ok(()),
    }
}

/// The path without links, of a file that need not exist in a folder that must.
fn absolute(path: &Path) -> Result<PathBuf, Refusal> {
    let missing = || io::Error::from(ErrorKind::InvalidInput);
    let name = path.file_name().ok_or_else(missing).map_err(Refusal::io("use", path))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(folder.canonicalize().map_err(Refusal::io("find", folder))?.join(name))
}

fn must_be_root() -> Result<(), Refusal> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Err(Refusal::Other("only root may mount pools; run the command as root".into()))
}
