//! How large a share for backups is said to be: for all Macs, and for one with a limit of its own.

use super::{BackupBundles, backup_stem, bundle_names, used_by};
use crate::backend::{Found, Space};
use crate::caller::server;
use crate::{Caller, Kind, Node, Result};

/// What Macs may take of a share for backups.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BackupLimits {
    /// All together; `None`: all of the disk.
    pub share: Option<u64>,
    /// Macs with a limit of their own, by the name of the bundle without its ending.
    pub macs: Vec<(String, u64)>,
}

impl BackupLimits {
    /// Whether the share has the size of its disk, for all Macs.
    pub fn is_empty(&self) -> bool {
        self.share.is_none() && self.macs.is_empty()
    }

    fn of(&self, bundle: &[u8]) -> Option<u64> {
        let name = backup_stem(bundle)?;
        self.macs.iter().find(|(mac, _)| mac.as_bytes() == name).map(|(_, limit)| *limit)
    }
}

impl BackupBundles<'_> {
    /// The space for backups of this caller: the limit, or the space of the file system of this file, whichever is less. The
    /// limits of Macs count for the user that their bundles belong to. A user with a bundle that has no limit has none.
    pub fn space(self, caller: &Caller, at: &Node, limits: &BackupLimits) -> Result<Space> {
        let space = self.volume.space(at)?;
        if limits.is_empty() {
            return Ok(space);
        }
        let root = self.volume.root()?;
        let bundles = bundle_names(self.volume, &root)?;
        let used = |names: &[&Vec<u8>]| -> u64 {
            names
                .iter()
                .filter_map(|name| used_by(self.volume, &root.object, name))
                .fold(0, u64::saturating_add)
        };
        let (mut total, mut available) = (space.total, space.available);
        let mut within = |limit: u64, used: u64| {
            total = total.min(limit);
            available = available.min(limit.saturating_sub(used));
        };
        if let Some(limit) = limits.share {
            within(limit, used(&bundles.iter().collect::<Vec<_>>()));
        }
        if !limits.macs.is_empty() {
            let own = self.own_bundles(caller, &root, &bundles);
            let each: Option<Vec<u64>> = own.iter().map(|name| limits.of(name)).collect();
            if let Some(each) = each.filter(|each| !each.is_empty()) {
                within(each.into_iter().fold(0, u64::saturating_add), used(&own));
            }
        }
        Ok(Space { total, available, ..space })
    }

    /// The bundles that belong to this caller.
    fn own_bundles<'b>(self, caller: &Caller, root: &Found, bundles: &'b [Vec<u8>]) -> Vec<&'b Vec<u8>> {
        let user = self.volume.backend.effective(caller).uid;
        let is_own = |name: &&Vec<u8>| {
            let found = root.object.entry_attributes(server(), name);
            found.is_ok_and(|found| found.kind == Kind::Folder && found.uid == user)
        };
        bundles.iter().filter(is_own).collect()
    }
}
