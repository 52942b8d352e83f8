//! Space, and the quotas of folders, which the cluster keeps: the client library refuses what would exceed them.

use cephfs::{Inode, LIVE};

use super::object::CephObject;
use super::{Ceph, CephVolume, failed};
use crate::backend::{Allowance, Object, Space};
use crate::{Error, Kind, Result};

/// The limit of a folder in bytes, and what its files take. The cluster counts that, some seconds late.
const LIMIT: &[u8] = b"ceph.quota.max_bytes";
const USED: &[u8] = b"ceph.dir.rbytes";
/// The most folders with a quota of their own that one folder is in.
const DEEPEST: usize = 64;

impl Ceph {
    /// The limit of the share's folder in bytes.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub fn quota(&self) -> Result<Option<u64>> {
        limit(&self.shared.root)
    }

    /// Sets the limit of the share's folder.
    ///
    /// # Errors
    /// The user of Ceph may not set quotas (`p` in its capabilities).
    pub fn set_quota(&self, limit: u64) -> Result<()> {
        let (who, value) = (self.shared.mount.server(), limit.to_string());
        self.shared.root.set_xattr(&who, LIMIT, value.as_bytes(), 0).map_err(failed("ceph_ll_setxattr"))
    }
}

impl CephVolume {
    pub(super) fn space(&self, at: &CephObject) -> Result<Space> {
        let told = at.inode.space().map_err(failed("ceph_ll_statfs"))?;
        let space = Space {
            total: told.f_blocks * told.f_frsize,
            free: told.f_bfree * told.f_frsize,
            available: told.f_bavail * told.f_frsize,
            files: told.f_files,
            files_free: told.f_ffree,
            block_size: u32::try_from(told.f_frsize).unwrap_or(4096),
            quota: None,
        };
        let least = if self.snapshot == LIVE { self.least_allowance(at)? } else { None };
        let Some((limit, allowance)) = least else { return Ok(space) };
        // Without a manager the cluster knows nothing of its disks.
        let cap = |of: u64, by: u64| if space.total == 0 { by } else { of.min(by) };
        Ok(Space {
            total: cap(space.total, limit),
            free: cap(space.free, allowance.left),
            available: cap(space.available, allowance.left),
            quota: Some(allowance),
            ..space
        })
    }

    /// The quota that leaves least, of a folder and those above it up to the share's. Of a file that of the share's folder.
    fn least_allowance(&self, at: &CephObject) -> Result<Option<(u64, Allowance)>> {
        let mut least = allowance(&self.root)?;
        if at.kind() != Kind::Folder {
            return Ok(least);
        }
        let mut above: Option<Inode> = None;
        for _ in 0..DEEPEST {
            let inode = above.as_ref().unwrap_or(&at.inode);
            if inode.stat().map_err(failed("ceph_ll_getattr"))?.inode == self.root_number {
                break;
            }
            let own = allowance(inode)?;
            let leaves_less =
                |(_, own): &(u64, Allowance)| least.is_none_or(|(_, least)| own.left < least.left);
            least = own.filter(leaves_less).or(least);
            let (up, _) = inode.lookup(&self.mount.server(), b"..").map_err(failed("ceph_ll_lookup"))?;
            above = Some(up);
        }
        Ok(least)
    }
}

fn allowance(folder: &Inode) -> Result<Option<(u64, Allowance)>> {
    let Some(limit) = limit(folder)? else { return Ok(None) };
    let used = number(folder, USED)?.unwrap_or(0);
    Ok(Some((limit, Allowance { left: limit.saturating_sub(used), used })))
}

fn limit(folder: &Inode) -> Result<Option<u64>> {
    Ok(number(folder, LIMIT)?.filter(|limit| *limit > 0))
}

fn number(folder: &Inode, name: &[u8]) -> Result<Option<u64>> {
    match folder.xattr(name).map_err(failed("ceph_ll_getxattr")) {
        Ok(value) => Ok(String::from_utf8_lossy(&value).trim_end_matches('\0').parse().ok()),
        Err(Error::NoSuchAttribute) => Ok(None),
        Err(error) => Err(error),
    }
}
