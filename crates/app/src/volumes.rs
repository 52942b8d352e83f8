//! The shared folders. Each is opened once for all protocols, and for all shares of the same
//! folder.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use admin::control::{LeaseStatus, LockStatus, OpenStatus, Status};
use admin::{Settings, ShareSettings};
use anyhow::Context;
use lock::{Mutex, rank};
use vfs::backend::host::{Host, HostOptions};
use vfs::index::{self, Index};
use vfs::state::{Caching, ClientId, LockKind, Modes};
use vfs::{CacheBudget, FileId, Site, Untrusted, Volume, VolumeOptions};

use crate::privileges;
use crate::running::{Current, OpenFile, View};

/// The most opens, and the most locks, of a share in a status.
const MOST_SHOWN: usize = 1000;

/// The volumes of the shares. They survive reloads, with their caches. Opens and locks of one
/// volume bind all volumes, because they are in one site.
pub(crate) struct Volumes {
    /// The state folder of this run, which clients cannot reach.
    state: PathBuf,
    index: Index,
    /// Memory for listings, which all volumes share.
    cache: Arc<CacheBudget>,
    /// The opens, locks and leases of all volumes.
    site: Arc<Site>,
    known: Mutex<HashMap<String, Known>, rank::SharedVolumes>,
}

#[derive(Clone)]
struct Known {
    folder: Folder,
    volume: Arc<Volume>,
}

/// The identity of a volume: equal values are one volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Folder {
    /// The device and inode number of the folder at the share's current path: they change if a disk
    /// is mounted there, or if the folder is replaced.
    device: u64,
    inode: u64,
    /// No share of the folder allows changes.
    read_only: bool,
    /// No share that shows files of the folder allows changes: the server changes nothing there
    /// either. Otherwise a removal that a client of another share has asked for may have to be done
    /// through this volume.
    no_changes: bool,
    sidecars: bool,
    cross_mounts: bool,
}

impl Folder {
    fn of(share: &ShareSettings, settings: &Settings) -> std::io::Result<Self> {
        let place =
            |share: &ShareSettings| std::fs::metadata(&share.path).map(|folder| (folder.dev(), folder.ino()));
        let (device, inode) = place(share)?;
        let is_same = |other: &&ShareSettings| place(other).is_ok_and(|place| place == (device, inode));
        let overlaps = |other: &&ShareSettings| {
            other.path.starts_with(&share.path) || share.path.starts_with(&other.path) || is_same(other)
        };
        let all = || settings.shares.iter().chain(&settings.absent);
        Ok(Self {
            device,
            inode,
            read_only: share.read_only && settings.shares.iter().filter(is_same).all(|other| other.read_only),
            // Also of those that are not served now: volumes stay when shares come and go.
            no_changes: share.read_only && all().filter(overlaps).all(|other| other.read_only),
            sidecars: share.mac_sidecars,
            cross_mounts: share.cross_mounts,
        })
    }
}

impl Volumes {
    /// Without volumes. The listings of all volumes may use `cache_bytes`.
    pub(crate) fn new(index: Index, state: &Path, cache_bytes: u64) -> Arc<Self> {
        let cache = CacheBudget::new(usize::try_from(cache_bytes).unwrap_or(usize::MAX));
        Arc::new(Self { state: state.into(), index, cache, site: Arc::default(), known: Mutex::default() })
    }

    /// The index, which stores volumes and hosts.
    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    /// The permanent identity of the share's volume.
    pub(crate) fn identity(&self, share: &ShareSettings) -> anyhow::Result<index::Volume> {
        self.index.volume(&share.name).context("the index in the state folder failed")
    }

    /// The id by which Macs recognize the share: from the settings, otherwise from the volume's
    /// identity.
    pub(crate) fn mac_id(&self, share: &ShareSettings) -> anyhow::Result<[u8; 16]> {
        share.volume_id.map_or_else(|| Ok(self.identity(share)?.id), Ok)
    }

    /// The share's volume; the same one as before, and as that of other shares, when it is the same folder. A volume that is not
    /// read-only can be of a share that is: the share's policy is for its protocols to keep.
    pub(crate) fn open(&self, share: &ShareSettings, settings: &Settings) -> anyhow::Result<Arc<Volume>> {
        let refused =
            || format!("the folder {} of the share {} cannot be opened", share.path.display(), share.name);
        share.look_again().with_context(refused)?;
        let folder = Folder::of(share, settings).with_context(refused)?;
        let mut volumes = self.known.lock();
        let is_same = |known: &&Known| known.folder == folder;
        let known = volumes.get(&share.name).filter(is_same).or_else(|| volumes.values().find(is_same));
        if let Some(known) = known.cloned() {
            let volume = known.volume.clone();
            volumes.insert(share.name.clone(), known);
            return Ok(volume);
        }
        let many = settings.shares.len().max(1);
        let options = HostOptions {
            open_files: privileges::files_to_keep_open() / many,
            read_only: folder.no_changes,
            private: Some(self.state.clone()),
            cross_mounts: folder.cross_mounts,
        };
        let host = Host::open(&share.path, &options).with_context(refused)?;
        share.look_again().with_context(refused)?; // or the folder below a mount point was opened
        let (read_only, cache, sidecars) = (folder.read_only, self.cache.clone(), folder.sidecars);
        let options = VolumeOptions { read_only, cache, sidecars };
        let volume = Arc::new(Volume::in_site(Arc::new(host), options, self.site.clone()));
        warn_of_misplaced(share, &volume);
        volumes.insert(share.name.clone(), Known { folder, volume: volume.clone() });
        Ok(volume)
    }

    /// The volumes, each with the names of its shares.
    fn all(&self) -> Vec<(String, Arc<Volume>)> {
        let mut all: Vec<(Vec<String>, Arc<Volume>)> = Vec::new();
        for (name, known) in &*self.known.lock() {
            match all.iter_mut().find(|(_, volume)| Arc::ptr_eq(volume, &known.volume)) {
                Some((names, _)) => names.push(name.clone()),
                None => all.push((vec![name.clone()], known.volume.clone())),
            }
        }
        let joined = all.into_iter().map(|(mut names, volume)| {
            names.sort();
            (names.join(", "), volume)
        });
        joined.collect()
    }

    /// Called regularly: trims caches.
    pub(crate) fn tend(&self) {
        self.all().iter().for_each(|(_, volume)| volume.tend());
    }
}

/// Logs objects in the place of the server's own folders in a share that cannot be used. Clients do
/// not see these, so only a local user can correct the problem.
fn warn_of_misplaced(share: &ShareSettings, volume: &Volume) {
    let misplaced = match volume.misplaced() {
        Ok(misplaced) => misplaced,
        Err(error) => {
            tracing::warn!(share = share.name, %error, "the server's own folders in the share cannot be looked at");
            return;
        }
    };
    for found in misplaced {
        let path = share.path.join(OsStr::from_bytes(found.name));
        let remedy = match found.why {
            Untrusted::NotAFolder => "move it away",
            Untrusted::OwnedBy(_) => {
                "give it and what is in it to the user whom the server runs as, or move it away"
            }
            Untrusted::WritableByOthers(_) => {
                "look at what is in it, then take the right to write from group and others"
            }
        };
        tracing::warn!(
            "{} has a name of the server's own, but {}: it is not used. The share {} is served without {}. \
             To put it right, {remedy}.",
            path.display(),
            found.why,
            share.name,
            found.missing,
        );
    }
}

impl View for Volumes {
    fn report(&self, status: &mut Status) {
        let names: HashMap<u32, String> =
            self.all().into_iter().map(|(shares, volume)| (volume.view(), shares)).collect();
        held(&self.site, &names, status);
    }

    fn is_in_use(&self, share: &str) -> bool {
        let Some(view) = self.known.lock().get(share).map(|known| known.volume.view()) else { return false };
        self.site.state().opens(None, usize::MAX).iter().any(|open| open.view == view)
    }

    fn find(&self, path: &Path) -> Option<anyhow::Result<OpenFile>> {
        let found = match std::fs::symlink_metadata(path) {
            Ok(found) => found,
            Err(error) => return Some(Err(anyhow::Error::new(error).context(path.display().to_string()))),
        };
        let parents: Vec<_> = path.ancestors().filter_map(|folder| std::fs::metadata(folder).ok()).collect();
        let known = self.known.lock();
        let holds = |known: &&Known| {
            let place = (known.folder.device, known.folder.inode);
            parents.iter().any(|folder| (folder.dev(), folder.ino()) == place)
        };
        let volume = known.values().find(holds)?.volume.clone();
        let (major, minor) = (rustix::fs::major(found.dev()), rustix::fs::minor(found.dev()));
        Some(Ok(OpenFile { volume, id: FileId::new(FileId::device_of(major, minor), found.ino()) }))
    }

    fn reload(&self, current: &Arc<Current>) -> Vec<String> {
        // The protocols open the volumes that they show. A volume that no share shows any more is
        // closed with its last session.
        let is_shown = |name: &String| current.settings.shares.iter().any(|share| share.name == *name);
        self.known.lock().retain(|name, _| is_shown(name));
        Vec::new()
    }
}

/// The opens, locks and leases; `shares` are the names of the shares of each volume.
fn held(site: &Site, shares: &HashMap<u32, String>, status: &mut Status) {
    let share = |view: u32| shares.get(&view).cloned().unwrap_or_default();
    let file = |id: FileId| site.open_name(id).map(|name| String::from_utf8_lossy(&name).into_owned());
    let modes = |modes: Modes| {
        let letters = [(Modes::READ, 'r'), (Modes::WRITE, 'w'), (Modes::DELETE, 'd')];
        letters.into_iter().filter(|(mode, _)| modes.intersects(*mode)).map(|(_, letter)| letter).collect()
    };
    let caching = |caching: Caching| {
        let letters = [(Caching::READ, 'r'), (Caching::WRITE, 'w'), (Caching::HANDLE, 'h')];
        letters.into_iter().filter(|(bit, _)| caching.intersects(*bit)).map(|(_, letter)| letter).collect()
    };
    let state = site.state();
    status.opens.extend(state.opens(None, MOST_SHOWN).into_iter().map(|open| OpenStatus {
        share: share(open.view),
        file: file(open.file),
        inode: open.file.inode,
        owner: owner(open.client),
        access: modes(open.access),
        deny: modes(open.deny),
    }));
    status.locks.extend(state.ranges(None, MOST_SHOWN).into_iter().map(|range| LockStatus {
        share: share(range.view),
        file: file(range.file),
        inode: range.file.inode,
        owner: owner(range.lock.owner.client),
        start: range.lock.range.start(),
        length: range.lock.range.length().unwrap_or(0),
        exclusive: range.lock.kind == LockKind::Exclusive,
    }));
    status.leases.extend(state.leases(MOST_SHOWN).into_iter().map(|lease| LeaseStatus {
        share: share(lease.view),
        file: file(lease.file),
        inode: lease.file.inode,
        owner: owner(lease.client),
        caching: caching(lease.held),
        recalled: lease.breaking,
    }));
}

/// Fills in the owners of opens, locks and leases: the client, its user and its address.
pub(crate) fn name_owners(
    people: impl Iterator<Item = (ClientId, String, Option<IpAddr>)>,
    status: &mut Status,
) {
    let people: HashMap<String, String> = people
        .map(|(client, name, from)| {
            let from = from.map_or(String::new(), |ip| format!(" at {ip}"));
            (owner(client), format!("{name}{from}"))
        })
        .collect();
    let opens = status.opens.iter_mut().map(|open| &mut open.owner);
    let locks = status.locks.iter_mut().map(|lock| &mut lock.owner);
    let leases = status.leases.iter_mut().map(|lease| &mut lease.owner);
    for owner in opens.chain(locks).chain(leases) {
        if let Some(person) = people.get(owner) {
            owner.clone_from(person);
        }
    }
}

/// The text for a client, until its protocol gives a better one.
fn owner(client: ClientId) -> String {
    format!("client {}", client.0)
}
