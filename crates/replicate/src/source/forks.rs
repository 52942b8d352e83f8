//! The forks and streams that are in the server's own folder, by the files that they belong to.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::Stat;
use wire::hex;

use crate::failure::{Failure, Result};
use crate::host::{self, join};
use crate::keys::{STORE, TreeKeys};

/// An incomplete file of the server, which means nothing.
const UNFINISHED: &[u8] = b"unfinished";

/// Which file a folder of forks belongs to.
#[derive(Default)]
pub(crate) struct Forks {
    /// By the inode number in this tree.
    by_inode: HashMap<u64, Vec<u8>>,
    /// By the path, if this tree has other inodes than the one that the keys are of.
    by_path: HashMap<Vec<u8>, Vec<u8>>,
}

/// The forks of one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ForkFolder {
    /// The path of their folder.
    pub(crate) folder: Vec<u8>,
    /// Their names.
    pub(crate) names: Vec<Vec<u8>>,
}

impl Forks {
    /// `keys` are those of the tree in which the keys are valid; `live` is its folder if that is another tree.
    pub(crate) fn read(root: &OwnedFd, keys: &TreeKeys, live: Option<&Path>) -> Result<Self> {
        let store = match host::folder(root, STORE) {
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            store => store.map_err(Failure::io("open", STORE))?,
        };
        let mut by_inode = HashMap::new();
        for name in host::names(&store).map_err(Failure::io("list", STORE))? {
            let key = std::str::from_utf8(&name).ok().and_then(hex::decode_any);
            if let Some(inode) = key.and_then(|key| keys.inode(&key)) {
                by_inode.insert(inode, join(STORE, &name));
            }
        }
        let mut forks = Self { by_inode, by_path: HashMap::new() };
        if let Some(live) = live.filter(|_| !forks.by_inode.is_empty()) {
            forks.by_path = forks.paths_in(live)?;
            forks.by_inode.clear();
        }
        Ok(forks)
    }

    /// Where the files of the inodes are in a tree.
    fn paths_in(&self, live: &Path) -> Result<HashMap<Vec<u8>, Vec<u8>>> {
        let failed = |what, path: &[u8]| Failure::io::<std::io::Error>(what, path);
        let root = host::root(live).map_err(failed("open", b""))?;
        let device = host::stat(&root, b".").map_err(failed("read", b""))?.map(|stat| stat.st_dev);
        let (mut paths, mut folders) = (HashMap::new(), vec![Vec::new()]);
        while let Some(folder) = folders.pop() {
            // What users remove meanwhile is left out.
            let Ok(opened) = host::folder(&root, &folder) else { continue };
            for name in host::names(&opened).map_err(failed("list", &folder))? {
                let Ok(Some(stat)) = host::stat(&opened, &name) else { continue };
                let path = join(&folder, &name);
                if let Some(found) = self.by_inode.get(&stat.st_ino).filter(|_| Some(stat.st_dev) == device) {
                    paths.insert(path.clone(), found.clone());
                }
                if host::is_folder(&stat) && Some(stat.st_dev) == device && !super::is_own(&path) {
                    folders.push(path);
                }
            }
        }
        Ok(paths)
    }

    /// The folder with the forks of an entry.
    fn folder(&self, path: &[u8], stat: &Stat) -> Option<&Vec<u8>> {
        self.by_inode.get(&stat.st_ino).or_else(|| self.by_path.get(path))
    }
}

impl super::Tree {
    /// The forks of an entry, in the order of their names.
    pub(crate) fn forks(&self, path: &[u8], stat: &Stat) -> Result<ForkFolder> {
        let Some(folder) = self.forks.folder(path, stat) else { return Ok(ForkFolder::default()) };
        let opened = self.folder(folder)?;
        let mut names = host::names(&opened).map_err(Failure::io("list", folder))?;
        names.retain(|name| name != UNFINISHED);
        Ok(ForkFolder { folder: folder.clone(), names })
    }

    /// Whether the forks of an entry are other ones than in an older tree.
    pub(super) fn has_other_forks(
        &self,
        path: &[u8],
        stat: &Stat,
        older: &Self,
        then: &Stat,
    ) -> Result<bool> {
        let (now, before) = (self.forks(path, stat)?, older.forks(path, then)?);
        if now.names != before.names {
            return Ok(true);
        }
        let facts = |tree: &Self, folder: &[u8], name: &[u8]| {
            let stat = tree.stat(&join(folder, name))?;
            let facts = |stat: Stat| (stat.st_size, host::modified(&stat), stat.st_mode, stat.st_uid);
            Ok::<_, Failure>(stat.map(facts))
        };
        for name in &now.names {
            if facts(self, &now.folder, name)? != facts(older, &before.folder, name)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
