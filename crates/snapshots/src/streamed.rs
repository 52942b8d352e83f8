//! A dataset of ZFS that takes what `zfs send` writes, below the dataset that it is for.
//!
//! It is mounted in a folder that clients do not see, and read-only, so that the next stream finds it as the last one has left it.

use std::path::{Path, PathBuf};

use crate::command::run;
use crate::engine::mounts;
use crate::engine::zfs::{self, Zfs};
use crate::{Dataset, Refusal};

/// The last component of its name.
const NAME: &str = "fourfold-received";

/// The place for streams of a dataset of ZFS.
#[derive(Debug, Clone)]
pub struct StreamFolder {
    name: String,
    folder: PathBuf,
}

impl Dataset {
    /// The name of a dataset of ZFS; `None` on other engines.
    #[must_use]
    pub fn zfs_name(&self) -> Option<&str> {
        self.engine_as::<Zfs>().map(Zfs::name)
    }

    /// The place for streams, to be mounted at `folder`; `None` on other engines than ZFS. Nothing is made.
    #[must_use]
    pub fn streamed(&self, folder: &Path) -> Option<StreamFolder> {
        let name = format!("{}/{NAME}", self.zfs_name()?);
        Some(StreamFolder { name, folder: folder.to_owned() })
    }
}

impl StreamFolder {
    /// `pool/name`
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is mounted.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The snapshots that are there, the oldest first.
    ///
    /// # Errors
    /// `zfs` fails.
    pub fn snapshots(&self) -> Result<Vec<String>, Refusal> {
        if zfs::exists(&self.name) { zfs::snapshots_of(&self.name) } else { Ok(Vec::new()) }
    }

    /// Prepares the dataset for a stream: makes it if it is not there, and unmounts it. It is mounted by [`Self::mount`] only, so
    /// that a crash leaves no second tree where clients look.
    ///
    /// # Errors
    /// `zfs` fails.
    pub fn prepare(&self) -> Result<(), Refusal> {
        if zfs::exists(&self.name) {
            // zfs-fuse goes on to show what it has in its cache of the files before.
            return if self.is_mounted()? { run("zfs", &["unmount", &self.name]).map(drop) } else { Ok(()) };
        }
        let place = format!("mountpoint={}", self.folder.display());
        let words = [
            "create",
            "-o",
            "canmount=noauto",
            "-o",
            "readonly=on",
            "-o",
            "snapdir=hidden",
            "-o",
            &place,
            &self.name,
        ];
        run("zfs", &words).map(drop)
    }

    /// Shows the newest snapshot in the folder.
    ///
    /// # Errors
    /// `zfs` fails, or the folder cannot be made.
    pub fn mount(&self) -> Result<(), Refusal> {
        if self.is_mounted()? {
            return Ok(());
        }
        std::fs::create_dir_all(&self.folder).map_err(Refusal::io("make", &self.folder))?;
        run("zfs", &["mount", &self.name]).map(drop)
    }

    fn is_mounted(&self) -> Result<bool, Refusal> {
        Ok(mounts::all()?.iter().any(|mount| mount.point == self.folder))
    }

    /// Removes a snapshot that is not the newest.
    ///
    /// # Errors
    /// `zfs` fails.
    pub fn remove(&self, snapshot: &str) -> Result<(), Refusal> {
        run("zfs", &["destroy", &format!("{}@{snapshot}", self.name)]).map(drop)
    }

    /// Removes the dataset with all that it has.
    ///
    /// # Errors
    /// `zfs` fails, or a program uses a file in it.
    pub fn remove_all(&self) -> Result<(), Refusal> {
        if zfs::exists(&self.name) {
            zfs::destroy(&self.name, &["-r"])?;
        }
        match std::fs::remove_dir(&self.folder) {
            Err(why) if why.kind() != std::io::ErrorKind::NotFound => {
                Err(Refusal::io("remove", &self.folder)(why))
            }
            _ => Ok(()),
        }
    }
}
