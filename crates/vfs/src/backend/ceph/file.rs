//! The bytes of a file.

use std::sync::Arc;

use cephfs::DataFile;
use rustix::io::Errno;

use super::failed;
use super::object::{CephObject, DataHandle};
use crate::backend::{Object, Stability, Wait};
use crate::{Error, Kind, Result};

impl CephObject {
    /// Opens the data as the server, unless it is open. Permission has been checked.
    pub(super) fn open_for(&self, writes: bool) -> Result<()> {
        let mut opened = self.opened.lock();
        if opened.file.is_some() && (opened.writes || !writes) {
            return Ok(());
        }
        let file = self.inode.open(&self.shared.mount.server(), writes).map_err(failed("ceph_ll_open"))?;
        *opened = DataHandle { file: Some(Arc::new(file)), writes };
        Ok(())
    }

    fn data(&self, writes: bool) -> Result<Arc<DataFile>> {
        let opened = self.opened.lock();
        opened.file.clone().filter(|_| opened.writes || !writes).ok_or(Error::Invalid)
    }

    /// The library does not say whether it has the bytes in memory, so that each read may wait.
    pub(super) fn read_data(
        &self,
        offset: u64,
        length: usize,
        into: &mut Vec<u8>,
        wait: Wait,
    ) -> Result<usize> {
        if wait == Wait::Never {
            return Err(Error::WouldBlock);
        }
        let before = into.len();
        match self.data(false)?.read(offset, length, into) {
            Ok(()) => Ok(into.len() - before),
            Err(errno) => {
                into.truncate(before);
                Err(failed("ceph_ll_read")(errno))
            }
        }
    }

    pub(super) fn write_data(&self, offset: u64, data: &[u8], stability: Stability) -> Result<()> {
        self.shared.to_change()?;
        let file = self.data(true)?;
        file.write(offset, data).map_err(failed("ceph_ll_write"))?;
        match stability {
            Stability::Unstable => Ok(()),
            Stability::Data | Stability::File => {
                file.sync(stability == Stability::Data).map_err(failed("ceph_ll_fsync"))
            }
        }
    }

    /// The cluster reserves nothing: this makes sure that there is room now, and makes the file longer if `mode` says so.
    pub(super) fn preallocate(&self, offset: u64, length: u64, mode: libc::c_int) -> Result<()> {
        self.shared.to_change()?;
        let file = self.data(true)?;
        let end = offset.checked_add(length).ok_or(Error::FileTooLarge)?;
        let missing = end.saturating_sub(self.attributes()?.size).min(length);
        let space = self.shared.space(self)?;
        if space.total > 0 && missing > space.available {
            return Err(Error::NoSpace);
        }
        if length == 0 {
            return Ok(());
        }
        file.allocate(mode, offset, length).map_err(failed("ceph_ll_fallocate"))
    }

    pub(super) fn punch_hole(&self, offset: u64, length: u64) -> Result<()> {
        self.shared.to_change()?;
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        self.data(true)?.allocate(mode, offset, length).map_err(failed("ceph_ll_fallocate"))
    }

    /// The cluster knows no holes: all of a file is data.
    pub(super) fn seek_to(&self, offset: u64, data: bool) -> Result<Option<u64>> {
        let whence = if data { libc::SEEK_DATA } else { libc::SEEK_HOLE };
        match self.data(false)?.seek(offset, whence) {
            Ok(at) => Ok(Some(at)),
            Err(Errno::NXIO) => Ok(None),
            Err(errno) => Err(failed("ceph_ll_lseek")(errno)),
        }
    }

    /// For a folder: the changes of its entries.
    pub(super) fn sync_to(&self, stability: Stability) -> Result<()> {
        let data_only = match stability {
            Stability::Unstable => return Ok(()),
            Stability::Data => self.kind() == Kind::File,
            Stability::File => false,
        };
        self.inode.sync(data_only).map_err(failed("ceph_ll_sync_inode"))
    }
}
