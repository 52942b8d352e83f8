//! What `btrfs receive` makes at a destination.
//!
//! ```text
//! FOLDER/.fourfold-snapshots/.received/
//!     IDENTITY/        the newest snapshot of the source that came by a stream, read-only
//!     new-IDENTITY/    one that is not yet complete, or not yet on the disk
//! ```
//! The next stream is the difference to it. The live tree gets the changed files from it, with shared blocks.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use snapshots::steps;
use wire::hex;

use super::{FOLDER, ReceivedSnapshots, Receiving, Rewriting};
use crate::failure::{Failure, Result};
use crate::host;
use crate::native::Program;
use crate::record::StreamKey;
use crate::wire::Id;

const PROGRAM: &str = "btrfs";
const NEW: &str = "new-";
/// The number of the root folder of each subvolume of btrfs.
const SUBVOLUME: u64 = 256;

/// The folder of received snapshots of a dataset.
pub(super) struct Subvolumes {
    folder: PathBuf,
}

impl Subvolumes {
    pub(super) fn of(dataset: &Path) -> Self {
        Self { folder: dataset.join(snapshots::FOLDER).join(FOLDER) }
    }

    fn names(&self) -> Result<Vec<OsString>> {
        let entries = match std::fs::read_dir(&self.folder) {
            Err(why) if why.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(self.failed("list"))?,
        };
        Ok(entries.flatten().map(|entry| entry.file_name()).collect())
    }

    fn remove(&self, is_unwanted: impl Fn(&str) -> bool) -> Result<()> {
        for name in self.names()?.into_iter().filter(|name| is_unwanted(&name.to_string_lossy())) {
            let path = self.folder.join(name);
            let Ok(there) = path.symlink_metadata() else { continue };
            if there.is_dir() && there.ino() == SUBVOLUME {
                let mut command = Command::new(PROGRAM);
                command.args(["subvolume", "delete"]).arg(path);
                let _ = Program::run(&mut command)?;
            } else {
                // A stream may have made it beside its subvolume.
                let _ =
                    if there.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
            }
        }
        Ok(())
    }

    fn failed<E: Into<std::io::Error>>(&self, what: &'static str) -> impl FnOnce(E) -> Failure + use<E> {
        Failure::io(what, self.folder.as_os_str().as_encoded_bytes())
    }
}

impl ReceivedSnapshots for Subvolumes {
    fn all(&self) -> Result<Vec<Id>> {
        Ok(self.names()?.iter().filter_map(|name| hex::decode(name.to_str()?)).collect())
    }

    fn remove_others(&self, keep: Option<&Id>) -> Result<()> {
        let keep = keep.map(|id| hex::encode(id));
        self.remove(|name| Some(name) != keep.as_deref())
    }

    fn remove_incomplete(&self) -> Result<()> {
        self.remove(|name| hex::decode::<16>(name).is_none())
    }

    fn root(&self, id: &Id) -> Result<Option<OwnedFd>> {
        match host::root(&self.folder.join(hex::encode(id))) {
            Err(why) if why.kind() == ErrorKind::NotFound => Ok(None),
            root => root.map(Some).map_err(self.failed("open")),
        }
    }

    fn remove_all(&self) -> Result<()> {
        self.remove_others(None)?;
        match std::fs::remove_dir(&self.folder) {
            Err(why) if why.kind() != ErrorKind::NotFound => Err(self.failed("remove")(why)),
            _ => Ok(()),
        }
    }

    fn start(&self, id: &Id, key: &StreamKey) -> Result<Receiving> {
        match std::fs::DirBuilder::new().mode(0o700).create(&self.folder) {
            Err(why) if why.kind() != ErrorKind::AlreadyExists => return Err(self.failed("make")(why)),
            _ => {}
        }
        let mut command = Command::new(PROGRAM);
        // The paths of a stream must not lead out of this folder.
        command.args(["receive", "-q", "-C"]).arg(&self.folder);
        let name = format!("{NEW}{}", hex::encode(id)).into_bytes();
        Receiving::start(&mut command, Some(Rewriting::new(name, key)))
    }

    fn complete(&self, id: &Id) -> Result<()> {
        let name = hex::encode(id);
        let folder = host::root(&self.folder).map_err(self.failed("open"))?;
        steps::pass()?;
        rustix::fs::syncfs(&folder).map_err(self.failed("write"))?;
        steps::pass()?;
        rustix::fs::renameat(&folder, format!("{NEW}{name}"), &folder, name)
            .map_err(self.failed("rename"))?;
        rustix::fs::fsync(&folder).map_err(self.failed("write"))?;
        Ok(steps::pass()?)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_a_stream_has_made_beside_its_subvolume_is_removed() {
        let dataset = tempfile::tempdir().unwrap();
        let kept = dataset.path().join("kept");
        std::fs::write(&kept, "live").unwrap();
        let received = Subvolumes::of(dataset.path());
        let folder = received.folder.clone();
        std::fs::create_dir_all(folder.join("stray/below")).unwrap();
        std::fs::write(folder.join("stray/below/file"), "1").unwrap();
        std::fs::write(folder.join(std::ffi::OsStr::from_bytes(b"\xff")), "1").unwrap();
        symlink(dataset.path(), folder.join("link")).unwrap();
        received.remove_all().unwrap();
        assert!(!folder.exists());
        assert_eq!(std::fs::read(kept).unwrap(), b"live");
    }
}
