//! What `zfs receive` makes at a destination: the dataset DATASET/fourfold-received, read-only, mounted at
//! `.fourfold-snapshots/.received`. Its snapshots are named by the identities of the source's snapshots. A stream is there as
//! a whole or not at all, and on the disk when `zfs receive` ends.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Command;

use snapshots::{StreamFolder, steps};
use wire::hex;

use super::{FOLDER, ReceivedSnapshots, Receiving};
use crate::failure::{Failure, Result};
use crate::host;
use crate::record::StreamKey;
use crate::wire::Id;

pub(super) struct Snapshots {
    streamed: StreamFolder,
}

impl Snapshots {
    /// `None` if the dataset is not on ZFS.
    pub(super) fn of(dataset: &snapshots::Dataset) -> Option<Self> {
        let folder = dataset.folder().join(snapshots::FOLDER).join(FOLDER);
        Some(Self { streamed: dataset.streamed(&folder)? })
    }
}

impl ReceivedSnapshots for Snapshots {
    fn all(&self) -> Result<Vec<Id>> {
        Ok(self.streamed.snapshots()?.iter().filter_map(|name| hex::decode(name)).collect())
    }

    fn remove_others(&self, keep: Option<&Id>) -> Result<()> {
        let all = self.streamed.snapshots()?;
        let Some(keep) = keep.map(|id| hex::encode(id)).filter(|keep| all.contains(keep)) else {
            return self.remove_all();
        };
        Ok(all.iter().filter(|name| **name != keep).try_for_each(|name| self.streamed.remove(name))?)
    }

    fn remove_incomplete(&self) -> Result<()> {
        Ok(())
    }

    fn root(&self, id: &Id) -> Result<Option<OwnedFd>> {
        if self.streamed.snapshots()?.last() != Some(&hex::encode(id)) {
            return Ok(None);
        }
        self.streamed.mount()?;
        let folder: &Path = self.streamed.folder();
        host::root(folder).map(Some).map_err(Failure::io("open", folder.as_os_str().as_encoded_bytes()))
    }

    fn remove_all(&self) -> Result<()> {
        Ok(self.streamed.remove_all()?)
    }

    fn start(&self, id: &Id, _key: &StreamKey) -> Result<Receiving> {
        self.streamed.prepare()?;
        steps::pass()?;
        let mut command = Command::new("zfs");
        // Forced: what was changed in it since the last stream must not refuse the next one.
        command.args(["receive", "-F"]).arg(format!("{}@{}", self.streamed.name(), hex::encode(id)));
        Receiving::start(&mut command, None)
    }

    fn complete(&self, _id: &Id) -> Result<()> {
        Ok(steps::pass()?)
    }
}
