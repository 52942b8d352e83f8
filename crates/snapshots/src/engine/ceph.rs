//! Snapshots of a folder of CephFS that is not mounted on this machine, by Ceph's client library. The cluster makes and lists
//! them, with their times; holds are in an attribute of the folder that users can neither see nor change.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cephfs::{Inode, Mount, New, Place, SNAPSHOTS};
use rustix::io::Errno;

use super::Engine;
use super::table::RecordTable;
use crate::{EngineKind, Refusal, Snapshot};

/// When a snapshot was taken: seconds, a point, nanoseconds.
const TAKEN: &[u8] = b"ceph.snap.btime";

#[derive(Debug)]
pub(crate) struct Ceph {
    place: Place,
}

/// The folder, found anew for each operation: a mount that is not used is not kept.
struct CephFolder {
    folder: Arc<Inode>,
    path: PathBuf,
}

impl Ceph {
    pub(crate) fn new(place: Place) -> Self {
        Self { place }
    }

    fn open(&self) -> Result<CephFolder, Refusal> {
        let path = self.place.path();
        let mount = Mount::open(&self.place.source).map_err(|why| Refusal::Other(why.to_string()))?;
        let walk = || {
            let mut folder = mount.root()?;
            for name in self.place.names()? {
                (folder, _) = folder.lookup(&mount.server(), name)?;
            }
            Ok(folder)
        };
        let folder = walk().map_err(Refusal::io::<Errno>("open", &path))?;
        Ok(CephFolder { folder: Arc::new(folder), path })
    }
}

impl CephFolder {
    fn snapshots(&self) -> Result<Inode, Refusal> {
        let found = self.folder.lookup(&self.folder.mount().server(), SNAPSHOTS);
        found.map(|(inode, _)| inode).map_err(Refusal::io("read", &self.path))
    }

    fn place(&self, name: &str) -> PathBuf {
        self.path.join(".snap").join(name)
    }

    /// The holds. Those of snapshots that another program has removed are dropped with the next change.
    fn table(&self) -> Result<RecordTable, Refusal> {
        RecordTable::of_folder(&self.folder, &self.path)
    }

    fn change_held(&self, name: &str, change: impl FnOnce(&mut Vec<String>)) -> Result<(), Refusal> {
        let (mut table, all) = (self.table()?, self.names()?);
        table.retain(|known| all.iter().any(|name| name == known))?;
        if table.get(name).is_none() {
            table.put(name, self.taken(name)?)?;
        }
        let Some(entry) = table.get(name) else { return Ok(()) };
        let mut entry = entry.clone();
        change(&mut entry.held);
        table.replace(entry)
    }

    /// The snapshots of this folder. Those of the folders above are shown as `_NAME_INODE`.
    fn names(&self) -> Result<Vec<String>, Refusal> {
        let failed = || Refusal::io::<Errno>("list", &self.path);
        let mut names = Vec::new();
        let mut list = self.snapshots()?.list().map_err(failed())?;
        while let Some(entry) = list.next_entry().map_err(failed())? {
            let is_own = !entry.name.starts_with(b".") && !entry.name.starts_with(b"_");
            names.extend(String::from_utf8(entry.name).ok().filter(|_| is_own));
        }
        Ok(names)
    }

    fn taken(&self, name: &str) -> Result<SystemTime, Refusal> {
        let place = self.place(name);
        let (inode, stat) = self
            .snapshots()?
            .lookup(&self.folder.mount().server(), name.as_bytes())
            .map_err(Refusal::io("read", &place))?;
        let text = inode.xattr(TAKEN).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let told = text.trim_end_matches('\0').split_once('.');
        let told = told.and_then(|(secs, nanos)| Some((secs.parse().ok()?, nanos.parse().ok()?)));
        let (secs, nanos) = told.unwrap_or((u64::try_from(stat.changed.0).unwrap_or(0), 0));
        Ok(UNIX_EPOCH + Duration::new(secs, nanos))
    }
}

impl Engine for Ceph {
    fn kind(&self) -> EngineKind {
        EngineKind::Ceph
    }

    fn create(&self, name: &str, _now: SystemTime) -> Result<(), Refusal> {
        let opened = self.open()?;
        let who = opened.folder.mount().server();
        // What clients have written, and is in this process, is part of it; other clients of the cluster write theirs.
        opened.folder.mount().sync().map_err(Refusal::io("write", &opened.path))?;
        match opened.snapshots()?.make(&who, name.as_bytes(), New::Folder, 0o755) {
            Ok(_) => Ok(()),
            Err(Errno::EXIST) => Err(Refusal::Exists { name: name.to_owned() }),
            Err(why) => Err(Refusal::io("make", &opened.place(name))(why)),
        }
    }

    fn remove(&self, name: &str) -> Result<(), Refusal> {
        let opened = self.open()?;
        let who = opened.folder.mount().server();
        let removed = opened.snapshots()?.remove_folder(&who, name.as_bytes());
        removed.map_err(Refusal::io("remove", &opened.place(name)))
    }

    fn list(&self) -> Result<Vec<Snapshot>, Refusal> {
        let opened = self.open()?;
        let table = opened.table()?;
        let mut all = Vec::new();
        for name in opened.names()? {
            // One that another program has removed meanwhile is left out.
            let Ok(created) = opened.taken(&name) else { continue };
            let held = table.get(&name).map(|entry| entry.held.clone()).unwrap_or_default();
            all.push(Snapshot { created, guid: None, path: opened.place(&name), held, name });
        }
        all.sort_by(|a, b| b.name.cmp(&a.name));
        Ok(all)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), Refusal> {
        let opened = self.open()?;
        let (who, all) = (opened.folder.mount().server(), opened.snapshots()?);
        if opened.names()?.iter().any(|name| name == to) {
            return Err(Refusal::Exists { name: to.to_owned() });
        }
        opened.table()?.copy(from, to)?; // before: a crash between the two leaves the snapshot held
        all.rename(&who, from.as_bytes(), &all, to.as_bytes())
            .map_err(Refusal::io("rename", &opened.place(from)))
    }

    fn hold(&self, name: &str, tag: &str) -> Result<(), Refusal> {
        self.open()?.change_held(name, |held| held.push(tag.to_owned()))
    }

    fn release(&self, name: &str, tag: &str) -> Result<(), Refusal> {
        self.open()?.change_held(name, |held| held.retain(|other| other != tag))
    }

    fn make_subdataset(&self, path: &Path) -> Result<(), Refusal> {
        Err(Refusal::Path { path: path.to_owned(), why: "a share with a `store` has no datasets inside it" })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
