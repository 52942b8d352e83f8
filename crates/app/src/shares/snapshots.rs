//! The snapshots of the shares, as clients see them: trees that are attached to the share's own tree.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use admin::SnapshotFolder;
use lock::Mutex;
use siphasher::sip::SipHasher24;
use snapshots::{Dataset, EngineKind, Snapshot};
use vfs::backend::Backend;
use vfs::backend::ceph::Ceph;
use vfs::backend::forest::{Forest, Offer, Tree};
use vfs::backend::host::{Host, HostOptions, KeptFiles};

use crate::ranks;
use crate::shares::arriving::Arrival;

/// Files of one snapshot that are kept open between requests.
const OPEN_FILES: usize = 64;
/// How often an engine is asked that does not keep its snapshots in a folder of the share.
const ASK_EVERY: Duration = Duration::from_secs(30);

/// Gives what the server keeps beside files the keys of their copies. See [`snapshots::after_copy`].
pub(crate) fn put_keys_right(folder: &Path, copy: &Path) -> std::io::Result<()> {
    let open = |path: &Path, read_only| {
        let options = HostOptions {
            open_files: KeptFiles::new(OPEN_FILES),
            read_only,
            private: None,
            cross_mounts: false,
            snapshot_of: None,
            ..HostOptions::default()
        };
        Host::open(path, &options)
    };
    let rekeyed = open(folder, true).and_then(|live| vfs::streams::rekey_copy(&live, &open(copy, false)?));
    rekeyed.map_err(|error| std::io::Error::other(error.to_string()))
}

/// The files of a share as they are now.
#[derive(Clone)]
pub(crate) enum Live {
    /// A folder of the host, to which files may arrive.
    Host(Host, Option<Arrival>),
    Ceph(Ceph),
}

impl Live {
    pub(crate) fn backend(&self) -> Arc<dyn Backend> {
        match self {
            Self::Host(_, Some(arrival)) => arrival.files.clone(),
            Self::Host(host, None) => Arc::new(host.clone()),
            Self::Ceph(ceph) => Arc::new(ceph.clone()),
        }
    }

    /// A snapshot of these files, with their keys where the engine lets us know them.
    pub(crate) fn snapshot(&self, snapshot: &Snapshot, open_files: usize) -> vfs::Result<Arc<dyn Backend>> {
        match self {
            Self::Ceph(ceph) => Ok(Arc::new(ceph.snapshot(snapshot.name.as_bytes())?)),
            Self::Host(host, _) => {
                let options = HostOptions {
                    open_files: KeptFiles::new(open_files),
                    read_only: true,
                    private: None,
                    cross_mounts: false,
                    snapshot_of: Some(host.root()?.object.key()),
                    ..HostOptions::default()
                };
                Ok(Arc::new(Host::open(&snapshot.path, &options)?))
            }
        }
    }
}

/// A share's own tree, with its snapshots.
pub(crate) struct SnapshotView {
    forest: Arc<Forest>,
    dataset: Dataset,
    live: Live,
    state: Mutex<SnapshotState, ranks::ShownSnapshots>,
}

#[derive(Default)]
struct SnapshotState {
    attached: BTreeMap<String, (NonZeroU64, SystemTime)>,
    /// The folder of snapshots as it was when they were listed last, and when that was.
    seen: Option<((i64, i64), Instant)>,
}

impl SnapshotView {
    /// `None` if clients do not see the snapshots of the share, or if no engine makes any.
    pub(crate) fn new(live: &Live, folder: &Path, names: SnapshotFolder) -> Option<Self> {
        let listed = match names {
            SnapshotFolder::Off => return None,
            SnapshotFolder::Hidden => None,
            SnapshotFolder::Visible => Some(b"Snapshots".to_vec()),
        };
        let dataset = Dataset::find(folder).inspect_err(|why| tracing::debug!(%why, "no snapshots")).ok()?;
        let offer = Offer { hidden: vec![b".snapshot".to_vec(), b"~snapshot".to_vec()], listed };
        let forest = Arc::new(Forest::new(live.backend(), offer).ok()?);
        let shown = Self { forest, dataset, live: live.clone(), state: Mutex::default() };
        shown.look();
        Some(shown)
    }

    /// The tree with the snapshots.
    pub(crate) fn tree(&self) -> Arc<Forest> {
        self.forest.clone()
    }

    /// Does what [`SnapshotView::look`] does even if no change is seen from here.
    pub(crate) fn look_now(&self) {
        self.state.lock().seen = None;
        self.look();
    }

    /// Attaches new snapshots, and detaches those that are gone.
    pub(crate) fn look(&self) {
        let mut state = self.state.lock();
        let Some(now) = self.version() else { return };
        let is_same = |(before, at): &((i64, i64), Instant)| {
            let is_in_folder = matches!(self.dataset.engine(), EngineKind::Btrfs | EngineKind::Reflink);
            *before == now && (is_in_folder || at.elapsed() < ASK_EVERY)
        };
        if state.seen.as_ref().is_some_and(is_same) {
            return;
        }
        let found = match self.dataset.list() {
            Ok(found) => found,
            Err(error) => {
                let folder = self.dataset.folder().display();
                tracing::warn!(%folder, %error, "the snapshots cannot be listed");
                return;
            }
        };
        state.seen = Some((now, Instant::now()));
        let at = SystemTime::now().into();
        state.attached.retain(|name, (number, created)| {
            let is_here = found.iter().any(|one| one.name == *name && one.created == *created);
            if !is_here {
                let _ = self.forest.detach(*number, at); // it was attached
            }
            is_here
        });
        let new: Vec<Snapshot> =
            found.into_iter().filter(|one| !state.attached.contains_key(&one.name)).collect();
        for snapshot in new {
            match self.attach(&snapshot) {
                Ok(number) => _ = state.attached.insert(snapshot.name, (number, snapshot.created)),
                Err(error) => {
                    let (name, path) = (snapshot.name, snapshot.path.display());
                    tracing::warn!(name, %path, %error, "clients do not see a snapshot");
                }
            }
        }
    }

    fn attach(&self, snapshot: &Snapshot) -> vfs::Result<NonZeroU64> {
        if self.dataset.engine() == EngineKind::Zfs {
            self.dataset.mount(&snapshot.name).map_err(|error| {
                tracing::debug!(%error, "a snapshot is not mounted");
                vfs::Error::Io
            })?;
        }
        let tree = self.live.snapshot(snapshot, OPEN_FILES)?;
        let root = tree.lasting_key(&tree.root()?.object.key())?;
        // The same after a restart: clients have it in their handles.
        let number = SipHasher24::new().hash(&root.to_bytes());
        let number = NonZeroU64::new(number).unwrap_or(NonZeroU64::MIN);
        let tree = Arc::new(Tree::new(number, tree).taken(snapshot.created.into()));
        self.forest.offer(snapshot.name.as_bytes(), tree, SystemTime::now().into())?;
        Ok(number)
    }

    /// What changes when a snapshot is taken or removed. `None` if the share's folder cannot be asked.
    fn version(&self) -> Option<(i64, i64)> {
        match std::fs::metadata(self.dataset.folder().join(snapshots::FOLDER)) {
            Ok(found) => Some((found.mtime(), found.mtime_nsec())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some((0, 0)),
            Err(_) => None,
        }
    }
}
