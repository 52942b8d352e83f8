//! The shared folders. Each is opened once for all protocols, and for all shares of the same
//! folder.

mod held;
pub(crate) mod homes;
mod requests;
mod words;

use std::collections::{BTreeSet, HashMap};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use admin::control::Status;
use admin::{Settings, ShareSettings, SnapshotFolder};
use anyhow::Context;
use cluster::Cluster;
use lock::Mutex;
use namespace::Namespace;
use vfs::backend::forest::{Forest, Gate, Offer};
use vfs::backend::host::{Host, HostOptions, KeptFiles, ReadAhead, as_ourselves};
use vfs::caches::Cache;
use vfs::index::{self, Index};
use vfs::names::KeptCharacters;
use vfs::reserved::ReservedStreams;
use vfs::streams::Style;
use vfs::{CacheBudget, Denials, ModeRule, ShareRules, Site, Traffic, Volume, VolumeOptions};

use self::words::{denials, read_ahead, style};
pub(crate) use self::{held::name_owners, homes::Homes, requests::OpenFile};
use crate::gateway;
use crate::host::privileges;
use crate::people::roles;
use crate::ranks;
use crate::serve::component::{Component, ResourceCounts};
use crate::serve::current::Current;
use crate::shares::browsing::BrowsedShares;
use crate::shares::quotas::Quotas;
use crate::shares::searching::Indexes;
use crate::shares::snapshots::{Live, SnapshotView};
use crate::shares::{arriving, gates, misplaced, samba_acls, stores, team};

/// Bytes for listings of commands that work without a server.
const LISTINGS: usize = 64 << 20;

/// The volumes of the shares. They survive reloads, with their caches. Their opens and locks are in one site, so they bind all.
pub(crate) struct Volumes {
    /// The state folder of this run, which clients cannot reach.
    state: PathBuf,
    index: Index,
    /// Memory for listings, which all volumes share.
    cache: Arc<CacheBudget>,
    /// The files that all volumes keep open.
    files: Arc<KeptFiles>,
    /// The opens, locks and leases of all volumes.
    site: Arc<Site>,
    /// The other servers of the tree.
    pub(crate) cluster: Option<Arc<Cluster>>,
    quotas: Arc<Quotas>,
    /// Where links of the shares lead clients.
    namespace: Arc<Namespace>,
    known: Mutex<HashMap<String, VolumeEntry>, ranks::SharedVolumes>,
    /// The disk images that are served to people.
    browsed: BrowsedShares,
    homeless: Mutex<BTreeSet<String>, ranks::HomelessAccounts>,
    /// The indexes of the shares.
    pub(crate) indexes: Arc<Indexes>,
    /// A restore is going on: one at a time uses the server's own folder for copies.
    restoring: AtomicBool,
    /// A scrub is going on.
    scrubbing: AtomicBool,
    /// The rights of a tree are being looked at or changed.
    settling: AtomicBool,
}

#[derive(Clone)]
struct VolumeEntry {
    folder: Folder,
    volume: Arc<Volume>,
    forest: Arc<Forest>,
    live: Live,
    snapshots: Option<Arc<SnapshotView>>,
}

/// The identity of a volume: equal values are one volume.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    denials: Denials,
    style: Style,
    private_names: bool,
    kept: KeptCharacters,
    read_only_by_mode: bool,
    safe_save: bool,
    local_recall: bool,
    read_ahead: ReadAhead,
    shared: bool,
    snapshots: SnapshotFolder,
    arriving: bool,
    rules: Arc<ShareRules>,
    /// The share, if it is a team folder: its roles count for no other share of the folder.
    team: Option<String>,
}

impl Folder {
    fn of(share: &ShareSettings, settings: &Settings) -> std::io::Result<Self> {
        Ok(Self::at(place_on_host(share)?, share, settings))
    }

    fn is_same(share: &ShareSettings, other: &ShareSettings) -> bool {
        let is_one_place = || match (place_on_host(share), place_on_host(other)) {
            (Ok(one), Ok(other)) => one == other,
            _ => false, // of a store, or not there
        };
        share.path == other.path || is_one_place()
    }

    /// Also of those that are not served now: volumes stay when shares come and go.
    fn allows_no_changes(share: &ShareSettings, settings: &Settings) -> bool {
        let overlaps = |other: &&ShareSettings| {
            other.path.starts_with(&share.path)
                || share.path.starts_with(&other.path)
                || Self::is_same(share, other)
        };
        let mut all = settings.shares.iter().chain(&settings.absent).filter(overlaps);
        share.read_only && all.all(|other| other.read_only)
    }

    /// The folder with this device and inode number.
    fn at((device, inode): (u64, u64), share: &ShareSettings, settings: &Settings) -> Self {
        let mut same = settings.shares.iter().filter(|other| Self::is_same(share, other));
        Self {
            device,
            inode,
            read_only: share.read_only && same.all(|other| other.read_only),
            no_changes: Self::allows_no_changes(share, settings),
            sidecars: share.mac_sidecars,
            // The other servers know the file systems of shares' folders only.
            cross_mounts: share.cross_mounts && settings.server.cluster.is_none(),
            denials: denials(share.deny_modes),
            style: style(share.mac_layout),
            private_names: share.private_names,
            kept: share.characters.kept(),
            read_only_by_mode: share.read_only_by_mode,
            safe_save: share.safe_save,
            local_recall: share.local_recall,
            read_ahead: read_ahead(share.read_ahead),
            shared: share.shared || share.is_in_store() || settings.server.cluster.is_some(),
            snapshots: share.snapshot_folder,
            arriving: share.from.is_some(),
            rules: Arc::new(rules(share)),
            team: share.team.is_some().then(|| share.name.clone()),
        }
    }
}

/// How large the share is said to be to Macs that back up.
pub(crate) fn backup_limits(share: &ShareSettings) -> vfs::BackupLimits {
    match share.time_machine {
        true => vfs::BackupLimits { share: share.time_machine_size, macs: share.mac_limits() },
        false => vfs::BackupLimits::default(),
    }
}

/// The user that all users of a share act as, and the owner and mode of new files.
fn rules(share: &ShareSettings) -> ShareRules {
    let classic = &share.classic;
    ShareRules {
        forced: classic.forced.clone(),
        files: ModeRule { mask: classic.create_mask, set: classic.force_create_mode },
        folders: ModeRule { mask: classic.directory_mask, set: classic.force_directory_mode },
        inherits_owner: classic.inherit_owner,
    }
}

/// The device and inode number of a share's folder, unless it is in a store.
fn place_on_host(share: &ShareSettings) -> std::io::Result<(u64, u64)> {
    std::fs::metadata(&share.path).map(|folder| (folder.dev(), folder.ino()))
}

impl Volumes {
    /// Without volumes, but with their identities. The quotas of the settings are in force, and the server is a member of its cluster, or also its witness.
    pub(crate) async fn of_server(
        index: Index,
        state: &Path,
        settings: &Settings,
        witness: bool,
    ) -> anyhow::Result<Arc<Self>> {
        let volumes = Self::in_cluster(index, state, gateway::join(&settings.server, witness).await?);
        volumes.cluster.iter().for_each(|cluster| volumes.quotas.join(cluster));
        volumes.quotas.apply(settings);
        volumes.make_identities(settings);
        volumes.site.limit_opens(privileges::opens_of_clients(settings.server.open_files));
        samba_acls::tell(&volumes.site, settings);
        Ok(volumes)
    }

    /// Without volumes and quotas. The caches have small limits until others are set.
    pub(crate) fn new(index: Index, state: &Path) -> Arc<Self> {
        Self::in_cluster(index, state, None)
    }

    fn in_cluster(index: Index, state: &Path, membership: Option<gateway::Membership>) -> Arc<Self> {
        let cache = CacheBudget::new(LISTINGS);
        let files = KeptFiles::new(privileges::files_to_keep_open());
        let (cluster, site) = match membership {
            Some(gateway::Membership { cluster, site }) => (Some(cluster), site),
            None => (None, Arc::default()),
        };
        let (quotas, namespace) = (Arc::new(Quotas::new(state)), Arc::default());
        Arc::new(Self {
            state: state.into(),
            index,
            cache,
            files,
            site,
            cluster,
            quotas,
            namespace,
            known: Mutex::default(),
            browsed: BrowsedShares::default(),
            homeless: Mutex::default(),
            indexes: Arc::default(),
            restoring: AtomicBool::new(false),
            scrubbing: AtomicBool::new(false),
            settling: AtomicBool::new(false),
        })
    }

    /// The disk images that are served to people.
    pub(crate) fn browsed(&self) -> &BrowsedShares {
        &self.browsed
    }

    /// Where links of the shares lead clients.
    pub(crate) fn namespace(&self) -> &Arc<Namespace> {
        &self.namespace
    }

    /// The cache of listings, of all volumes.
    pub(crate) fn listings(&self) -> &Arc<CacheBudget> {
        &self.cache
    }

    /// The files that all volumes keep open.
    pub(crate) fn files(&self) -> &Arc<KeptFiles> {
        &self.files
    }

    /// The cache of stored ACLs.
    pub(crate) fn acls(&self) -> Arc<dyn Cache> {
        self.site.acl_cache()
    }

    /// The streams that are reserved.
    pub(crate) fn reserved(&self) -> &Arc<ReservedStreams> {
        self.site.reserved()
    }

    /// What clients have read and written.
    pub(crate) fn traffic(&self) -> Traffic {
        self.site.traffic()
    }

    /// The limit of listings has changed. They took `used` bytes before.
    pub(crate) fn limit_listings(&self, used: usize) {
        self.all().iter().for_each(|(_, volume)| volume.limit_listings(used));
        self.browsed.all().iter().for_each(|one| one.volume.limit_listings(used));
    }

    /// The quotas of the shares.
    pub(crate) fn quotas(&self) -> &Arc<Quotas> {
        &self.quotas
    }

    /// The index, which stores volumes and hosts.
    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    /// The state folder.
    pub(crate) fn state(&self) -> &Path {
        &self.state
    }

    /// Makes the identities of shares that are new, in one write for all. What fails here is said by [`Self::identity`] for each share.
    pub(crate) fn make_identities(&self, settings: &Settings) {
        let names: Vec<&str> = settings.shares.iter().map(|share| &*share.name).collect();
        if let Err(why) = self.index.volumes(&names) {
            tracing::debug!(%why, "the identities of shares are not known");
        }
    }

    /// The permanent identity of the share's volume in the state folder of this server.
    pub(crate) fn identity(&self, share: &ShareSettings) -> anyhow::Result<index::VolumeIdentity> {
        self.index.volume(&share.name).context("the index in the state folder failed")
    }

    /// The id by which Macs recognize the share: from the settings, otherwise from the volume's
    /// identity.
    pub(crate) fn mac_id(&self, share: &ShareSettings) -> anyhow::Result<[u8; 16]> {
        share.volume_id.map_or_else(|| Ok(gateway::identity(self, share)?.id), Ok)
    }

    /// The share's volume; the same one as before, and as that of other shares, when it is the same folder. A volume that is not
    /// read-only can be of a share that is: the share's policy is for its protocols to keep.
    pub(crate) fn open(&self, share: &ShareSettings, settings: &Settings) -> anyhow::Result<Arc<Volume>> {
        let refused =
            || format!("the folder {} of the share {} cannot be opened", share.path.display(), share.name);
        share.look_again().with_context(refused)?;
        let store = stores::open(share, Folder::allows_no_changes(share, settings)).with_context(refused)?;
        let folder = match &store {
            Some(ceph) => Ok(Folder::at(stores::place(ceph), share, settings)),
            None => Folder::of(share, settings),
        };
        let folder = folder.with_context(refused)?;
        let mut volumes = self.known.lock();
        let is_same = |known: &&VolumeEntry| known.folder == folder;
        let known = volumes.get(&share.name).filter(is_same).or_else(|| volumes.values().find(is_same));
        if let Some(known) = known.cloned() {
            let volume = known.volume.clone();
            volume.set_roles(roles::of(share));
            volumes.insert(share.name.clone(), known);
            return Ok(volume);
        }
        let live = match store {
            Some(ceph) => {
                stores::set_quota(share, &ceph);
                Live::Ceph(ceph)
            }
            None => {
                let host = self.open_host(share, &folder).with_context(refused)?;
                let how = (folder.style, folder.shared);
                let arriving = arriving::open(share, &host, how, &self.site).with_context(refused)?;
                Live::Host(host, arriving)
            }
        };
        gateway::share(self.cluster.as_ref(), &live).with_context(refused)?;
        let options = VolumeOptions {
            read_only: folder.read_only,
            cache: self.cache.clone(),
            sidecars: folder.sidecars,
            denials: folder.denials,
            style: folder.style,
            private_names: folder.private_names,
            kept: folder.kept,
            read_only_by_mode: folder.read_only_by_mode,
            safe_save: folder.safe_save,
            local_recall: folder.local_recall,
            shared: folder.shared,
            rules: folder.rules.clone(),
        };
        let snapshots = SnapshotView::new(&live, &share.path, folder.snapshots).map(Arc::new);
        let forest = match &snapshots {
            Some(snapshots) => snapshots.tree(),
            None => Arc::new(Forest::new(live.backend(), Offer::default()).with_context(refused)?),
        };
        forest.set_gates(gates(share, settings));
        let volume = Arc::new(Volume::in_site(forest.clone(), options, self.site.clone()));
        volume.set_roles(roles::of(share));
        misplaced::warn(share, &volume);
        team::prepare_served(share, &volume);
        if share.undoable_sessions(settings.server.cluster.is_some()) > 0 {
            volume.backup_journals().resume();
        }
        let entry = VolumeEntry { folder, volume: volume.clone(), forest, live, snapshots };
        volumes.insert(share.name.clone(), entry);
        Ok(volume)
    }

    fn open_host(&self, share: &ShareSettings, folder: &Folder) -> anyhow::Result<Host> {
        let options = HostOptions {
            open_files: self.files.clone(),
            read_only: folder.no_changes,
            private: Some(self.state.clone()),
            cross_mounts: folder.cross_mounts,
            shared: folder.shared,
            meter: self.quotas.meter((folder.device, folder.inode)),
            read_ahead: folder.read_ahead,
            ..HostOptions::default()
        };
        let host = Host::open(&share.path, &options)?;
        share.look_again()?; // or the folder below a mount point was opened
        Ok(host)
    }

    /// The server stops: no quota is counted any more, and what clients have written in the memory of client libraries goes to
    /// the disks of their clusters. What is on the host stays in the memory of the kernel. The server leaves its cluster.
    pub(crate) async fn stop(&self) {
        self.indexes.stop();
        self.quotas.stop();
        let of_store = |known: &&VolumeEntry| matches!(known.live, Live::Ceph(_));
        let volumes: Vec<_> =
            self.known.lock().values().filter(of_store).map(|known| known.volume.clone()).collect();
        let is_flushed = stores::flush(volumes).await;
        if let Some(cluster) = &self.cluster {
            cluster.leave(is_flushed).await;
        }
    }

    /// The files of a share whose volume is open.
    pub(crate) fn live(&self, share: &ShareSettings) -> Option<Live> {
        self.known.lock().get(&share.name).map(|known| known.live.clone())
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

    /// The volumes whose snapshots clients see.
    fn shown(&self) -> Vec<Arc<SnapshotView>> {
        self.known.lock().values().filter_map(|known| known.snapshots.clone()).collect()
    }

    /// Called regularly: trims caches.
    pub(crate) fn tend(&self) {
        self.shown().iter().for_each(|shown| shown.look());
        self.all().iter().for_each(|(_, volume)| volume.tend());
        self.browsed.all().iter().for_each(|one| one.volume.tend());
        let _ = as_ourselves(|| self.quotas.tend());
    }
}

/// The rules of the shares below `share` that clients of it are bound by, too.
fn gates(share: &ShareSettings, settings: &Settings) -> Vec<Gate> {
    gates::of(share, settings, |inner| match Folder::of(inner, settings) {
        Ok(folder) => folder.read_only,
        Err(_) => inner.read_only, // its folder is not there now
    })
}

/// Sets the rules of the shares inside others anew. Shares of one folder have one forest.
fn set_gates(known: &HashMap<String, VolumeEntry>, settings: &Settings) {
    for VolumeEntry { forest, .. } in known.values() {
        let shows = |share: &&ShareSettings| {
            known.get(&share.name).is_some_and(|known| Arc::ptr_eq(&known.forest, forest))
        };
        let shares = settings.shares.iter().filter(shows);
        forest.set_gates(shares.flat_map(|share| gates(share, settings)).collect());
    }
}

impl Component for Volumes {
    fn report(&self, status: &mut Status) {
        let names: HashMap<u32, String> =
            self.all().into_iter().map(|(shares, volume)| (volume.view(), shares)).collect();
        held::held(&self.site, &names, status);
        status.open_files = held::open_files(self.site.open_counts());
        let known = self.known.lock();
        status.arriving = arriving::status(known.iter().map(|(share, known)| (&**share, &known.live)));
        drop(known);
        status.searches = self.indexes.status();
    }

    fn count(&self, held: &mut ResourceCounts) {
        held::count(&self.site, held);
    }

    fn snapshots_changed(&self) {
        self.shown().iter().for_each(|shown| shown.look_now());
        self.indexes.look_at_snapshots();
    }

    fn reload(&self, current: &Arc<Current>) -> Vec<String> {
        // Protocols open the volumes that they show. A volume that no share shows closes with its last session.
        let is_shown = |name: &String| current.settings.shares.iter().any(|share| share.name == *name);
        let mut known = self.known.lock();
        known.retain(|name, _| is_shown(name) || homes::is_home(name, &current.settings));
        set_gates(&known, &current.settings);
        drop(known);
        self.quotas.apply(&current.settings);
        self.site.limit_opens(privileges::opens_of_clients(current.settings.server.open_files));
        self.indexes.apply(self, current)
    }
}
