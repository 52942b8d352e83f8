//! Snapshots that are folders of one folder: of btrfs, as copies that share blocks, of CephFS.
//!
//! ```text
//! FOLDER/.fourfold-snapshots/        mode 0700
//!     NAME/                          a snapshot (of CephFS: FOLDER/.snap/NAME)
//!     .making-NAME/                  a copy of the tree that is not yet whole
//!     .removing-NAME/                a copy of the tree that is being removed
//!     .table                         times and holds
//!     .lock                          held while a process changes snapshots
//! ```
//! A folder NAME is always whole: btrfs and CephFS make it in one step, and a copy gets this name
//! when it is whole and on the disk. Recovery removes what has one of the other names.

use std::any::Any;
use std::fs::{self, DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use auth::durable;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::table::{Entry, RecordTable};
use super::{Engine, is_btrfs, subvolume, sync_folder};
use super::{removal, tree};
use crate::command::run;
use crate::copied::copied;
use crate::{EngineKind, FOLDER, Refusal, Snapshot, steps};

const MAKING: &str = ".making-";
const REMOVING: &str = ".removing-";

/// How the folder of a snapshot is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Btrfs,
    Reflink,
    Ceph,
}

#[derive(Debug)]
pub(crate) struct Shelf {
    folder: PathBuf,
    way: Way,
}

impl Shelf {
    pub(crate) fn new(folder: &Path, way: Way) -> Self {
        Self { folder: folder.to_owned(), way }
    }

    /// The folder of the table, and of the snapshots unless CephFS keeps them.
    fn own(&self) -> PathBuf {
        self.folder.join(FOLDER)
    }

    fn snapshots(&self) -> PathBuf {
        if self.way == Way::Ceph { self.folder.join(".snap") } else { self.own() }
    }

    fn place(&self, name: &str) -> PathBuf {
        self.snapshots().join(name)
    }

    fn locked(&self) -> Result<(File, RecordTable), Refusal> {
        let lock = OwnShelf(self.own()).locked()?;
        let mut table = RecordTable::read(&self.own())?;
        table.retain(|name| self.exists(name))?;
        Ok((lock, table))
    }

    fn exists(&self, name: &str) -> bool {
        self.place(name).symlink_metadata().is_ok()
    }

    fn must_be_free(&self, name: &str) -> Result<(), Refusal> {
        if self.exists(name) { Err(Refusal::Exists { name: name.to_owned() }) } else { Ok(()) }
    }

    fn must_exist(&self, name: &str) -> Result<(), Refusal> {
        let missing = || Refusal::Missing { name: name.to_owned(), folder: self.folder.clone() };
        if self.exists(name) { Ok(()) } else { Err(missing()) }
    }

    fn take(&self, name: &str) -> Result<(), Refusal> {
        let place = self.place(name);
        match self.way {
            Way::Btrfs => {
                let words = ["subvolume".as_ref(), "snapshot".as_ref(), "-r".as_ref()];
                run("btrfs", &[&words[..], &[self.folder.as_os_str(), place.as_os_str()]].concat()).map(drop)
            }
            Way::Ceph => fs::create_dir(&place).map_err(Refusal::io("make", &place)),
            Way::Reflink => {
                let making = self.own().join(format!("{MAKING}{name}"));
                tree::copy(&self.folder, &making, FOLDER)?;
                steps::pass()?;
                copied(&self.folder, &making)?;
                tree::sync(&making)?;
                steps::pass()?;
                self.move_new(&making, &place)
            }
        }
    }

    /// The removal of a snapshot's folder: in one step, or under a name that recovery removes.
    fn drop_folder(&self, name: &str) -> Result<(), Refusal> {
        let place = self.place(name);
        match self.way {
            Way::Btrfs => {
                let words = ["subvolume".as_ref(), "delete".as_ref(), place.as_os_str()];
                run("btrfs", &words).map(drop)
            }
            Way::Ceph => fs::remove_dir(&place).map_err(Refusal::io("remove", &place)),
            Way::Reflink => {
                let removing = self.own().join(format!("{REMOVING}{name}"));
                self.move_new(&place, &removing)?;
                steps::pass()?;
                remove_tree(&removing)
            }
        }
    }

    fn move_new(&self, from: &Path, to: &Path) -> Result<(), Refusal> {
        let moved = match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // ceph-fuse has no flags of renames.
            Err(rustix::io::Errno::INVAL) => fs::rename(from, to),
            moved => moved.map_err(Into::into),
        };
        moved.map_err(Refusal::io("rename", from))?;
        if self.way == Way::Ceph { Ok(()) } else { sync_folder(&self.own()) }
    }

    /// A snapshot that the table does not have was made by another program: the time is that of the
    /// folder's last change.
    fn described(&self, table: &RecordTable, name: String) -> Option<Snapshot> {
        let path = self.place(&name);
        let created = match table.get(&name) {
            Some(entry) => entry.created(),
            None => changed(&path)?,
        };
        let held = table.get(&name).map(|entry| entry.held.clone()).unwrap_or_default();
        Some(Snapshot { name, created, guid: None, path, held })
    }

    fn change_held(&self, name: &str, change: impl Fn(&mut Vec<String>)) -> Result<(), Refusal> {
        let (_lock, mut table) = self.locked()?;
        self.must_exist(name)?;
        if table.get(name).is_none() {
            table.put(name, changed(&self.place(name)).unwrap_or(UNIX_EPOCH))?;
        }
        let Some(entry) = table.get(name) else { return Ok(()) };
        let mut entry: Entry = entry.clone();
        change(&mut entry.held);
        table.replace(entry)
    }
}

/// The server's own folder for snapshots in the folder of a dataset.
struct OwnShelf(PathBuf);

impl OwnShelf {
    /// Makes the folder if it is missing, takes its lock, and removes what is not whole.
    fn locked(&self) -> Result<File, Refusal> {
        match DirBuilder::new().mode(0o700).create(&self.0) {
            Err(why) if why.kind() != ErrorKind::AlreadyExists => {
                return Err(Refusal::Io { what: "make", path: self.0.clone(), why });
            }
            _ => {}
        }
        self.trusted()?;
        let lock = self.0.join(".lock");
        let lock = durable::lock(&lock).map_err(Refusal::io("lock", &lock))?;
        self.tidy_up()?;
        Ok(lock)
    }

    /// Users of the share could have made the folder before the server did.
    fn trusted(&self) -> Result<(), Refusal> {
        let facts = match self.0.symlink_metadata() {
            Err(why) if why.kind() == ErrorKind::NotFound => return Ok(()),
            facts => facts.map_err(Refusal::io("read", &self.0))?,
        };
        let why = if !facts.is_dir() {
            "it is not a folder"
        } else if ![0, rustix::process::geteuid().as_raw()].contains(&facts.uid()) {
            "it belongs to another user than root"
        } else if facts.mode() & 0o077 != 0 {
            "other users have access to it"
        } else {
            return Ok(());
        };
        Err(Refusal::Unsafe { path: self.0.clone(), why })
    }

    fn tidy_up(&self) -> Result<(), Refusal> {
        for name in names(&self.0)? {
            if [MAKING, REMOVING].iter().any(|start| name.starts_with(start)) {
                remove_tree(&self.0.join(&name))?;
            }
        }
        Ok(())
    }
}

impl Engine for Shelf {
    fn kind(&self) -> EngineKind {
        match self.way {
            Way::Btrfs => EngineKind::Btrfs,
            Way::Reflink => EngineKind::Reflink,
            Way::Ceph => EngineKind::Ceph,
        }
    }

    fn create(&self, name: &str, now: SystemTime) -> Result<(), Refusal> {
        let (_lock, mut table) = self.locked()?;
        self.must_be_free(name)?;
        table.put(name, now)?;
        steps::pass()?;
        let taken = self.take(name);
        if !matches!(taken, Ok(()) | Err(Refusal::Stopped)) {
            // The first error is the one to tell.
            let _ = OwnShelf(self.own()).tidy_up().and_then(|()| table.retain(|name| self.exists(name)));
        }
        taken
    }

    fn remove(&self, name: &str) -> Result<(), Refusal> {
        let (_lock, mut table) = self.locked()?;
        self.must_exist(name)?;
        if let Some(entry) = table.get(name).filter(|entry| !entry.held.is_empty()) {
            return Err(Refusal::Held { name: name.to_owned(), tags: entry.held.clone() });
        }
        self.drop_folder(name)?;
        steps::pass()?;
        table.retain(|other| other != name)
    }

    fn list(&self) -> Result<Vec<Snapshot>, Refusal> {
        OwnShelf(self.own()).trusted()?;
        let table = RecordTable::read(&self.own())?;
        let names = names(&self.snapshots())?.into_iter();
        // CephFS shows the snapshots of parents as `_NAME_INODE`.
        let names =
            names.filter(|name| !name.starts_with('.') && (self.way != Way::Ceph || !name.starts_with('_')));
        let mut all: Vec<_> = names.filter_map(|name| self.described(&table, name)).collect();
        all.sort_by(|a, b| b.name.cmp(&a.name));
        Ok(all)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), Refusal> {
        let (_lock, mut table) = self.locked()?;
        self.must_exist(from)?;
        self.must_be_free(to)?;
        table.copy(from, to)?;
        steps::pass()?;
        self.move_new(&self.place(from), &self.place(to))?;
        steps::pass()?;
        table.retain(|name| name != from)
    }

    fn hold(&self, name: &str, tag: &str) -> Result<(), Refusal> {
        self.change_held(name, |held| held.push(tag.to_owned()))
    }

    fn release(&self, name: &str, tag: &str) -> Result<(), Refusal> {
        self.change_held(name, |held| held.retain(|other| other != tag))
    }

    fn make_subdataset(&self, path: &Path) -> Result<(), Refusal> {
        let place = self.folder.join(path);
        if self.way != Way::Ceph && is_btrfs(&self.folder) {
            return subvolume(&place);
        }
        fs::create_dir(&place).map_err(Refusal::io("make", &place))
    }

    fn settle(&self) -> Result<(), Refusal> {
        if self.way != Way::Btrfs {
            return Ok(());
        }
        run("btrfs", &["filesystem".as_ref(), "sync".as_ref(), self.folder.as_os_str()])?;
        run("btrfs", &["subvolume".as_ref(), "sync".as_ref(), self.folder.as_os_str()]).map(drop)
    }

    fn recover(&self) -> Result<(), Refusal> {
        if self.own().symlink_metadata().is_ok() { self.locked().map(drop) } else { Ok(()) }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The names in a folder, empty if it is missing. Names that are not UTF-8 are no snapshots.
fn names(folder: &Path) -> Result<Vec<String>, Refusal> {
    let entries = match fs::read_dir(folder) {
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(Refusal::io("list", folder))?,
    };
    Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

/// The time of the last change of a folder.
fn changed(folder: &Path) -> Option<SystemTime> {
    let facts = folder.symlink_metadata().ok().filter(fs::Metadata::is_dir)?;
    Some(UNIX_EPOCH + Duration::from_secs(u64::try_from(facts.ctime()).unwrap_or(0)))
}

/// Removes a file or a folder, if it exists.
fn remove_tree(path: &Path) -> Result<(), Refusal> {
    removal::remove(path).map_err(Refusal::io("remove", path))
}
