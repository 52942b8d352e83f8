//! A folder whose snapshots can be taken as a whole.

use std::cmp::Reverse;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use crate::engine::ceph::Ceph;
use crate::engine::shelf::{Shelf, Way};
use crate::engine::zfs::Zfs;
use crate::engine::{Engine, detect};
use crate::{Refusal, name};

/// What makes the snapshots of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// A subvolume of btrfs: atomic.
    Btrfs,
    /// A dataset of ZFS: atomic.
    Zfs,
    /// A copy of the tree whose files share their blocks: each file is one moment, the tree is not.
    Reflink,
    /// A folder of CephFS: atomic.
    Ceph,
}

/// One snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Its name, unique in the dataset.
    pub name: String,
    /// When it was taken, in UTC.
    pub created: SystemTime,
    /// A number of the host that no other snapshot has, if it gives one: the times of ZFS are whole seconds.
    pub guid: Option<u64>,
    /// The folder with its content. For ZFS without `.zfs` it exists after [`Dataset::mount`].
    pub path: PathBuf,
    /// The tags of its holds. A held snapshot is not removed.
    pub held: Vec<String>,
}

/// A folder with snapshots.
#[derive(Debug)]
pub struct Dataset {
    folder: PathBuf,
    engine: Box<dyn Engine>,
}

impl Dataset {
    /// Finds the engine that holds this folder.
    ///
    /// # Errors
    /// The folder cannot be read, or no engine makes snapshots of it; the sentence says what to do.
    pub fn find(folder: &Path) -> Result<Self, Refusal> {
        if let Some(place) = cephfs::Place::of(folder) {
            return Ok(Self { folder: folder.to_owned(), engine: Box::new(Ceph::new(place)) });
        }
        let folder = folder.canonicalize().map_err(Refusal::io("find", folder))?;
        let engine = detect(&folder)?;
        Ok(Self { folder, engine })
    }

    /// The same, for a folder that is known to be one of CephFS.
    #[must_use]
    pub fn ceph(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), engine: Box::new(Shelf::new(folder, Way::Ceph)) }
    }

    /// Where an engine mounts what it can show only by mounting: a folder of the state folder.
    #[must_use]
    pub fn with_mounts(mut self, mounts: &Path) -> Self {
        if let Some(zfs) = self.engine_as::<Zfs>() {
            self.engine = Box::new(zfs.with_mounts(mounts));
        }
        self
    }

    /// The folder, as an absolute path without links.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What makes its snapshots.
    #[must_use]
    pub fn engine(&self) -> EngineKind {
        self.engine.kind()
    }

    /// Takes a snapshot. After a crash it is there as a whole, or not at all. ZFS and CephFS use
    /// their own clock.
    ///
    /// # Errors
    /// The name is invalid or taken, or the engine failed.
    pub fn create(&self, name: &str, now: SystemTime) -> Result<(), Refusal> {
        name::check(name)?;
        let created = self.engine.create(name, now);
        self.mend_accounting();
        created
    }

    /// Removes a snapshot.
    ///
    /// # Errors
    /// It is held or missing, or the engine failed.
    pub fn remove(&self, name: &str) -> Result<(), Refusal> {
        let snapshot = self.snapshot(name)?;
        if !snapshot.held.is_empty() {
            return Err(Refusal::Held { name: snapshot.name, tags: snapshot.held });
        }
        let removed = self.engine.remove(name);
        self.mend_accounting();
        removed
    }

    /// All snapshots, the newest first.
    ///
    /// # Errors
    /// The table of snapshots cannot be read, or the engine failed.
    pub fn list(&self) -> Result<Vec<Snapshot>, Refusal> {
        let mut all = self.engine.list()?;
        all.reverse(); // those of one time, too
        all.sort_by_key(|snapshot| Reverse(snapshot.created));
        Ok(all)
    }

    /// The snapshot of this name.
    ///
    /// # Errors
    /// The dataset has no snapshot of this name.
    pub fn snapshot(&self, name: &str) -> Result<Snapshot, Refusal> {
        name::check(name)?;
        let missing = || Refusal::Missing { name: name.to_owned(), folder: self.folder.clone() };
        self.engine.list()?.into_iter().find(|snapshot| snapshot.name == name).ok_or_else(missing)
    }

    /// Gives a snapshot another name. Its time and holds stay.
    ///
    /// # Errors
    /// It is missing, or the new name is invalid or taken.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), Refusal> {
        name::check(to)?;
        self.snapshot(from)?;
        self.engine.rename(from, to)
    }

    /// Forbids the removal of a snapshot until the tag is released.
    ///
    /// # Errors
    /// The snapshot is missing, or held by this tag already.
    pub fn hold(&self, name: &str, tag: &str) -> Result<(), Refusal> {
        name::check(tag)?;
        if self.snapshot(name)?.held.iter().any(|held| held == tag) {
            let why = format!("is held by the tag {tag} already");
            return Err(Refusal::Tag { name: name.to_owned(), why });
        }
        self.engine.hold(name, tag)
    }

    /// Releases one tag of a snapshot.
    ///
    /// # Errors
    /// The snapshot is missing, or not held by this tag.
    pub fn release(&self, name: &str, tag: &str) -> Result<(), Refusal> {
        name::check(tag)?;
        if !self.snapshot(name)?.held.iter().any(|held| held == tag) {
            let why = format!("is not held by the tag {tag}");
            return Err(Refusal::Tag { name: name.to_owned(), why });
        }
        self.engine.release(name, tag)
    }

    /// The folder with a snapshot's content, mounted if the engine shows it only so.
    ///
    /// # Errors
    /// It is missing, or it cannot be mounted.
    pub fn mount(&self, name: &str) -> Result<PathBuf, Refusal> {
        let snapshot = self.snapshot(name)?;
        self.engine.mount(&snapshot)?;
        Ok(snapshot.path)
    }

    /// Makes a dataset below this one: a subvolume, a ZFS dataset, or a plain folder.
    ///
    /// # Errors
    /// The path leaves this dataset or exists, or the engine failed.
    pub fn make_subdataset(&self, path: &Path) -> Result<PathBuf, Refusal> {
        inside(path)?;
        let place = self.folder.join(path);
        if place.symlink_metadata().is_ok() {
            return Err(Refusal::InTheWay { path: place });
        }
        let parent = place.parent().unwrap_or(&place);
        let real = parent.canonicalize().map_err(Refusal::io("find", parent))?;
        if !real.starts_with(&self.folder) {
            return Err(Refusal::Path { path: path.to_owned(), why: "it leaves the dataset by a link" });
        }
        self.engine.make_subdataset(path)?;
        Ok(place)
    }

    pub(crate) fn engine_as<T: 'static>(&self) -> Option<&T> {
        self.engine.as_any().downcast_ref()
    }

    pub(crate) fn settle(&self) -> Result<(), Refusal> {
        self.engine.settle()
    }

    /// Finishes or undoes what a crash left half done. Each change of the dataset does this first.
    ///
    /// # Errors
    /// The engine failed.
    pub fn recover(&self) -> Result<(), Refusal> {
        self.engine.recover()
    }
}

/// Whether a path is relative and goes only down.
pub(crate) fn inside(path: &Path) -> Result<(), Refusal> {
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if path.as_os_str().is_empty() || !is_plain {
        let why = "the path is empty, absolute, or contains . or ..";
        return Err(Refusal::Path { path: path.to_owned(), why });
    }
    Ok(())
}
