//! Space as the host accounts for it, and limits that the host keeps: quota groups of btrfs, and ZFS.
//!
//! btrfs accounts for space once a quota is set in the file system. The kernel shows the numbers of each subvolume `ID`
//! in `/sys/fs/btrfs/UUID/qgroups/0_ID`. The limit of a dataset is that of its group `0/ID`, so that what only snapshots
//! contain does not count. If there are datasets below it, they and its subvolume are members of the group `44/ID`, which
//! has the same limit. Without members this group says that the limit is ours.
//!
//! After a snapshot of a subvolume that is a member of a group, and after the removal of a large one, the kernel's numbers
//! are no longer right, and it says so. Then it is told to count anew, which it does in the background.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use formats::mountinfo::MountInfo;

use crate::command::run;
use crate::engine::mounts;
use crate::engine::zfs::Zfs;
use crate::{Dataset, EngineKind, Refusal, Snapshot};

/// The level of our quota groups. Others may use the low ones.
const LEVEL: u32 = 44;
const BTRFS: &str = "/sys/fs/btrfs";

/// The space of a dataset, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// What the dataset and its snapshots take. btrfs does not tell what two snapshots share and the dataset does not
    /// have any more: that is missing.
    pub used: u64,
    /// What the files of the dataset take as they are now.
    pub referenced: u64,
}

impl Dataset {
    /// What the host says the dataset takes. `None` if it does not account for that.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        match self.engine() {
            EngineKind::Btrfs => {
                let referenced = number(&Group::of(self.folder()).ok()?.own().join("referenced"))?;
                let snapshots: u64 = self.snapshot_usage().values().sum();
                Some(Usage { used: referenced + snapshots, referenced })
            }
            EngineKind::Zfs => {
                let zfs = self.zfs()?;
                let words = ["get", "-H", "-p", "-o", "value", "used,referenced", zfs];
                let said = run("zfs", &words).ok()?;
                let mut values = said.lines().map(|line| line.trim().parse().ok());
                Some(Usage { used: values.next()??, referenced: values.next()?? })
            }
            EngineKind::Reflink | EngineKind::Ceph => None,
        }
    }

    /// The space that the removal of each snapshot alone would free, as far as the host knows it.
    #[must_use]
    pub fn snapshot_usage(&self) -> BTreeMap<String, u64> {
        let snapshots = self.list().unwrap_or_default();
        match (self.engine(), self.zfs()) {
            (EngineKind::Btrfs, _) => exclusive(self.folder(), snapshots),
            (EngineKind::Zfs, Some(zfs)) => {
                let words = ["get", "-H", "-p", "-r", "-o", "name,value", "used", zfs];
                let Ok(said) = run("zfs", &words) else { return BTreeMap::new() };
                let row = |line: &str| {
                    let (name, used) = line.split_once('\t')?;
                    let name = name.strip_prefix(zfs)?.strip_prefix('@')?;
                    Some((name.to_owned(), used.trim().parse().ok()?))
                };
                said.lines().filter_map(row).collect()
            }
            _ => BTreeMap::new(),
        }
    }

    /// Whether the host can keep a limit for the dataset.
    #[must_use]
    pub fn has_quotas(&self) -> bool {
        matches!(self.engine(), EngineKind::Btrfs | EngineKind::Zfs)
    }

    /// Has the host keep a limit for the dataset and for those below it, whose folders are `below`. It needs root.
    ///
    /// # Errors
    /// The engine has no limits, or its command failed.
    pub fn set_quota(&self, limit: u64, below: &[&Path]) -> Result<(), Refusal> {
        match (self.engine(), self.zfs()) {
            (EngineKind::Btrfs, _) => Group::of(self.folder())?.limit(limit, below),
            (EngineKind::Zfs, Some(zfs)) => run("zfs", &["set", &format!("quota={limit}"), zfs]).map(drop),
            _ => {
                let folder = self.folder().display();
                Err(Refusal::Other(format!("{folder}: the host keeps no quotas here; the server counts")))
            }
        }
    }

    /// Removes the limit that [`Self::set_quota`] has set.
    ///
    /// # Errors
    /// The engine's command failed.
    pub fn remove_quota(&self) -> Result<(), Refusal> {
        match (self.engine(), self.zfs()) {
            (EngineKind::Btrfs, _) => {
                let group = Group::of(self.folder())?;
                if number(&group.ours().join("max_referenced")).is_none_or(|limit| limit == 0) {
                    return Ok(());
                }
                group.command(&["qgroup", "limit", "none", &group.own_name()])?;
                group.command(&["qgroup", "limit", "none", &group.name()])
            }
            (EngineKind::Zfs, Some(zfs)) => run("zfs", &["set", "quota=none", zfs]).map(drop),
            _ => Ok(()),
        }
    }

    /// Has btrfs count anew if its numbers are not right.
    pub fn mend_accounting(&self) {
        if self.engine() != EngineKind::Btrfs {
            return;
        }
        let Ok(Some(file_system)) = file_system(self.folder()) else { return };
        if number(&file_system.join("qgroups/inconsistent")) == Some(1) {
            // It fails if btrfs counts already.
            let _ = run("btrfs", &["quota".as_ref(), "rescan".as_ref(), self.folder().as_os_str()]);
        }
    }

    /// The files in which btrfs says how many bytes count for this limit, once the host keeps it. The largest number
    /// counts.
    #[must_use]
    pub fn quota_in_force(&self, limit: u64) -> Option<[PathBuf; 2]> {
        let group = (self.engine() == EngineKind::Btrfs).then(|| Group::of(self.folder()).ok()).flatten()?;
        let is_set = |group: PathBuf| number(&group.join("max_referenced")) == Some(limit);
        (is_set(group.ours()) && is_set(group.own()))
            .then(|| [group.own(), group.ours()].map(|group| group.join("referenced")))
    }

    fn zfs(&self) -> Option<&str> {
        self.engine_as::<Zfs>().map(Zfs::name)
    }
}

/// The quota group of a subvolume.
struct Group {
    /// `/sys/fs/btrfs/UUID`
    file_system: PathBuf,
    /// The number of the subvolume.
    id: u64,
    /// Where the file system is mounted. Through a folder that is full btrfs changes no limit, not even to a higher one.
    mount: PathBuf,
}

impl Group {
    fn of(subvolume: &Path) -> Result<Self, Refusal> {
        let words = ["inspect-internal".as_ref(), "rootid".as_ref(), subvolume.as_os_str()];
        let said = run("btrfs", &words)?;
        let unknown = || Refusal::Other(format!("{}: btrfs tells no number of it", subvolume.display()));
        let id = said.trim().parse().map_err(|_| unknown())?;
        let file_system = file_system(subvolume)?.ok_or_else(unknown)?;
        Ok(Self { file_system, id, mount: mount(subvolume)? })
    }

    /// What the kernel tells of the subvolume alone.
    fn own(&self) -> PathBuf {
        self.file_system.join(format!("qgroups/0_{}", self.id))
    }

    fn ours(&self) -> PathBuf {
        self.file_system.join(format!("qgroups/{LEVEL}_{}", self.id))
    }

    fn name(&self) -> String {
        format!("{LEVEL}/{}", self.id)
    }

    fn own_name(&self) -> String {
        format!("0/{}", self.id)
    }

    fn command(&self, words: &[&str]) -> Result<(), Refusal> {
        let words: Vec<&OsStr> = words.iter().map(AsRef::as_ref).chain([self.mount.as_os_str()]).collect();
        run("btrfs", &words).map(drop)
    }

    fn limit(&self, limit: u64, below: &[&Path]) -> Result<(), Refusal> {
        let btrfs = |words: &[&str]| self.command(words);
        if !self.file_system.join("qgroups").is_dir() {
            btrfs(&["quota", "enable"])?;
        }
        let name = self.name();
        if !self.ours().is_dir() {
            btrfs(&["qgroup", "create", &name])?;
        }
        let inner = below.iter().filter_map(|path| Self::of(path).ok());
        let mut inner = inner.filter(|group| group.file_system == self.file_system).peekable();
        let own = inner.peek().map(|_| self.own_name());
        for member in own.into_iter().chain(inner.map(|group| group.own_name())) {
            // The command counts anew if it must. It fails for what is a member already.
            match btrfs(&["qgroup", "assign", &member, &name]) {
                Err(Refusal::Command { said, .. }) if said.contains("File exists") => {}
                assigned => assigned?,
            }
        }
        // Ours first: it tells that the other limit is ours.
        let limit = limit.to_string();
        btrfs(&["qgroup", "limit", &limit, &name])?;
        btrfs(&["qgroup", "limit", &limit, &self.own_name()])
    }
}

/// What each snapshot of a subvolume has alone.
fn exclusive(folder: &Path, snapshots: Vec<Snapshot>) -> BTreeMap<String, u64> {
    let group = file_system(folder).ok().flatten().map(|file_system| file_system.join("qgroups"));
    let Some(groups) = group.filter(|groups| groups.is_dir()) else { return BTreeMap::new() };
    let ids = ids(folder);
    let of = |one: &Snapshot| {
        let id = ids.get(&one.name).copied().or_else(|| Some(Group::of(&one.path).ok()?.id))?;
        number(&groups.join(format!("0_{id}/exclusive")))
    };
    snapshots
        .into_iter()
        .filter_map(|one| Some((of(&one)?, one.name)))
        .map(|(bytes, name)| (name, bytes))
        .collect()
}

/// The numbers of the snapshots of a subvolume, by one command for all of them. Empty without root.
fn ids(folder: &Path) -> BTreeMap<String, u64> {
    let words = ["subvolume".as_ref(), "list".as_ref(), "-o".as_ref(), folder.as_os_str()];
    let said = run("btrfs", &words).unwrap_or_default();
    let row = |line: &str| {
        let (id, path) = line.strip_prefix("ID ")?.split_once(" path ")?;
        let (above, name) = path.rsplit_once('/')?;
        let id = id.split(' ').next()?.parse().ok()?;
        above.ends_with(crate::FOLDER).then(|| (name.to_owned(), id))
    };
    said.lines().filter_map(row).collect()
}

/// Where the file system of a folder is mounted as a whole, or else the mount of the folder.
fn mount(folder: &Path) -> Result<PathBuf, Refusal> {
    let here = mounts::of(&folder.canonicalize().map_err(Refusal::io("find", folder))?)?;
    let is_whole = |mount: &MountInfo| mount.source == here.source && mount.root == Path::new("/");
    let whole = mounts::all()?.into_iter().find(is_whole);
    Ok(whole.map_or(here.point, |mount| mount.point))
}

/// The folder of sysfs that describes the btrfs that a folder is on: that of the mounted device.
fn file_system(folder: &Path) -> Result<Option<PathBuf>, Refusal> {
    let source =
        PathBuf::from(mounts::of(&folder.canonicalize().map_err(Refusal::io("find", folder))?)?.source);
    let Ok(device) = fs::metadata(&source).map(|found| found.rdev()) else { return Ok(None) };
    let number = format!("{}:{}\n", rustix::fs::major(device), rustix::fs::minor(device));
    let is_it = |path: &PathBuf| {
        let devices = fs::read_dir(path.join("devices")).into_iter().flatten().flatten();
        devices
            .map(|entry| fs::read_to_string(entry.path().join("dev")))
            .any(|dev| dev.is_ok_and(|dev| dev == number))
    };
    let all = fs::read_dir(BTRFS).into_iter().flatten().flatten().map(|entry| entry.path());
    Ok(all.into_iter().find(is_it))
}

fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}
