//! The shared folders, each opened once for all protocols.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use admin::control::{LeaseStatus, LockStatus, OpenStatus, Status};
use admin::{Settings, ShareSettings};
use anyhow::Context;
use lock::{Mutex, rank};
use vfs::backend::host::{Host, HostOptions};
use vfs::index::{self, Catalogue, Index};
use vfs::state::{Caching, ClientId, LockKind, Modes};
use vfs::{CacheBudget, FileId, Untrusted, Volume, VolumeOptions};

use crate::privileges;
use crate::running::{Current, View};

/// Most opens, and most locks, of a share that a status lists.
const MOST_SHOWN: usize = 1000;

/// Volumes by share name, kept over reloads with their caches and locks.
pub(crate) struct Volumes {
    /// The state folder of this run, which no client reaches.
    state: PathBuf,
    index: Index,
    /// Memory for listings, which all volumes share.
    cache: Arc<CacheBudget>,
    known: Mutex<HashMap<String, Known>, rank::SharedVolumes>,
}

struct Known {
    path: PathBuf,
    read_only: bool,
    volume: Arc<Volume>,
}

impl Volumes {
    /// No volume is open yet. Listings of all of them may take so many bytes.
    pub(crate) fn new(index: Index, state: &Path, cache_bytes: u64) -> Arc<Self> {
        let cache = CacheBudget::new(usize::try_from(cache_bytes).unwrap_or(usize::MAX));
        Arc::new(Self { state: state.into(), index, cache, known: Mutex::default() })
    }

    /// Where volumes and hosts are remembered over restarts.
    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    /// Who the share's volume is, for ever.
    pub(crate) fn identity(&self, share: &ShareSettings) -> anyhow::Result<index::Volume> {
        self.index.volume(&share.name).context("the index in the state folder failed")
    }

    /// By what Macs remember the share: the settings say, else who the volume is.
    pub(crate) fn mac_id(&self, share: &ShareSettings) -> anyhow::Result<[u8; 16]> {
        share.volume_id.map_or_else(|| Ok(self.identity(share)?.id), Ok)
    }

    /// The 32-bit numbers of the share's files.
    pub(crate) fn catalogue(&self, share: &ShareSettings, volume: &Volume) -> anyhow::Result<Catalogue> {
        let root = volume.root().context("the folder cannot be looked at")?.object.key();
        let catalogue = self.index.catalogue(self.identity(share)?, root);
        catalogue.context("the index in the state folder failed")
    }

    /// The share's volume; the same one as before when nothing about its folder has changed.
    pub(crate) fn open(&self, share: &ShareSettings, settings: &Settings) -> anyhow::Result<Arc<Volume>> {
        let mut volumes = self.known.lock();
        if let Some(known) = volumes.get(&share.name)
            && (&known.path, known.read_only) == (&share.path, share.read_only)
        {
            return Ok(known.volume.clone());
        }
        let many = settings.shares.len().max(1);
        let options = HostOptions {
            open_files: privileges::files_to_keep_open() / many,
            read_only: share.read_only,
            private: Some(self.state.clone()),
        };
        let host = Host::open(&share.path, &options).with_context(|| {
            format!("the folder {} of the share {} cannot be opened", share.path.display(), share.name)
        })?;
        let (read_only, cache) = (share.read_only, self.cache.clone());
        let options = VolumeOptions { read_only, cache, sidecars: share.mac_sidecars };
        let volume = Arc::new(Volume::new(Arc::new(host), options));
        warn_of_misplaced(share, &volume);
        let known = Known { path: share.path.clone(), read_only: share.read_only, volume: volume.clone() };
        volumes.insert(share.name.clone(), known);
        Ok(volume)
    }

    /// Looks after caches.
    pub(crate) fn tend(&self) {
        let volumes: Vec<Arc<Volume>> =
            self.known.lock().values().map(|known| known.volume.clone()).collect();
        volumes.iter().for_each(|volume| volume.tend());
    }
}

/// Tells what is in the place of the server's own folders in a share and cannot be used. Clients see none of
/// it, so only a person on this machine can put it right.
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
        self.known.lock().iter().for_each(|(share, known)| held(share, &known.volume, status));
    }

    fn reload(&self, _: &Arc<Current>) -> Vec<String> {
        Vec::new() // the protocols open what they show
    }
}

/// What is open, locked and cached in one share.
fn held(share: &str, volume: &Volume, status: &mut Status) {
    let file = |id: FileId| volume.open_name(id).map(|name| String::from_utf8_lossy(&name).into_owned());
    let modes = |modes: Modes| {
        let letters = [(Modes::READ, 'r'), (Modes::WRITE, 'w'), (Modes::DELETE, 'd')];
        letters.into_iter().filter(|(mode, _)| modes.meets(*mode)).map(|(_, letter)| letter).collect()
    };
    let caching = |caching: Caching| {
        let letters = [(Caching::READ, 'r'), (Caching::WRITE, 'w'), (Caching::HANDLE, 'h')];
        letters.into_iter().filter(|(bit, _)| caching.meets(*bit)).map(|(_, letter)| letter).collect()
    };
    let state = volume.state();
    status.opens.extend(state.opens(None, MOST_SHOWN).into_iter().map(|open| OpenStatus {
        share: share.into(),
        file: file(open.file),
        inode: open.file.0,
        owner: owner(open.client),
        access: modes(open.access),
        deny: modes(open.deny),
    }));
    status.locks.extend(state.ranges(None, MOST_SHOWN).into_iter().map(|range| LockStatus {
        share: share.into(),
        file: file(range.file),
        inode: range.file.0,
        owner: owner(range.lock.owner.client),
        start: range.lock.range.start(),
        length: range.lock.range.length().unwrap_or(0),
        exclusive: range.lock.kind == LockKind::Exclusive,
    }));
    status.leases.extend(state.leases(MOST_SHOWN).into_iter().map(|lease| LeaseStatus {
        share: share.into(),
        file: file(lease.file),
        inode: lease.file.0,
        owner: owner(lease.client),
        caching: caching(lease.held),
        recalled: lease.breaking,
    }));
}

/// Says who the owners of opens, locks and leases are: a client, its user, and from where.
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

/// A client, until its protocol says who that is.
fn owner(client: ClientId) -> String {
    format!("client {}", client.0)
}
