//! Shares with a `store`: folders of CephFS, which the server reaches by Ceph's client library.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::time::Duration;

use admin::settings::Absence;
use admin::{Settings, ShareSettings};
use anyhow::Context;
use cephfs::{CephRefusal, Place};
use vfs::Volume;
use vfs::backend::ceph::{Ceph, CephOptions};

/// How long a cluster may take to write what clients have written, before the server stops.
const SYNC_WITHIN: Duration = Duration::from_secs(10);
/// Set in the device numbers of such folders, which so are never those of the host.
const OF_STORE: u64 = 1 << 63;

/// Tells clusters who this process is. If a share needs the client library, it is opened.
///
/// A server that is alone has the same identity after each start, and then ends the sessions that it had before. With other gateways it
/// has another one after each start: they end its sessions when it is lost, perhaps while it is starting again.
///
/// # Errors
/// The library is missing or too old.
pub(crate) fn prepare(settings: &Settings, identity: &[u8]) -> anyhow::Result<()> {
    let hex: String = identity.iter().map(|byte| format!("{byte:02x}")).collect();
    let start = if settings.server.cluster.is_some() { format!("-{:016x}", random()) } else { String::new() };
    cephfs::set_identity(&format!("fourfold-{hex}{start}"));
    let Some(share) = settings.shares.iter().find(|share| share.is_in_store()) else { return Ok(()) };
    let version = cephfs::version().with_context(|| format!("the share {} has a `store`", share.name))?;
    tracing::debug!(version, "Ceph's client library is open");
    Ok(())
}

fn random() -> u64 {
    std::hash::RandomState::new().build_hasher().finish()
}

/// What evicts lost gateways.
pub(crate) struct Evicting;

impl cluster::Stores for Evicting {
    fn identity(&self) -> String {
        cephfs::identity().unwrap_or_default().to_owned()
    }

    fn are_used(&self) -> bool {
        cephfs::is_used()
    }

    fn evict(&self, identity: &str) -> Result<(), String> {
        cephfs::evict(identity).map_err(|error| error.to_string())
    }
}

/// Whether the folder of a share can be opened now. `None`: it is on the host.
pub(crate) fn find(share: &ShareSettings) -> Option<Result<(), Absence>> {
    let place = Place::of(&share.path)?;
    let opened = Ceph::open(&place, &CephOptions::default());
    Some(opened.map(drop).map_err(|why| Absence::of_store(&why)))
}

/// The settings without the shares whose clusters do not answer now. They are looked for again.
pub(crate) fn divided(settings: Settings) -> Settings {
    let mut settings = settings;
    for share in &mut settings.shares {
        if let Some(Err(absence)) = find(share) {
            tracing::warn!(share = share.name, "the share is not served: {absence}");
            share.absence = Some(absence);
        }
    }
    settings.divided()
}

/// The folder of a share. `None`: it is on the host.
pub(crate) fn open(share: &ShareSettings, read_only: bool) -> Result<Option<Ceph>, CephRefusal> {
    Place::of(&share.path).map(|place| Ceph::open(&place, &CephOptions { read_only })).transpose()
}

/// The device and inode number of such a folder.
pub(crate) fn place(ceph: &Ceph) -> (u64, u64) {
    let id = ceph.root_id();
    (OF_STORE | u64::from(id.device), id.inode)
}

/// The server has stopped: ends the mounts, unless a call still waits for a cluster.
pub(crate) fn end(within: Duration) {
    if vfs::disk_calls().waiting > 0 || !cephfs::unmount_all(within) {
        tracing::warn!("a cluster does not answer: it takes a minute to notice that the server has ended");
    }
}

/// Has stores write what clients have written, before the server stops. Answers whether nothing of it is left to be written: otherwise
/// the other servers evict this one.
pub(crate) async fn flush(volumes: Vec<Arc<Volume>>) -> bool {
    let mut is_flushed = true;
    for volume in volumes {
        let failure = match tokio::time::timeout(SYNC_WITHIN, volume.sync_all()).await {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer in {} s", SYNC_WITHIN.as_secs()),
        };
        tracing::warn!(error = failure, "what clients have written is not on the disks of the cluster");
        is_flushed = false;
    }
    is_flushed && are_quiet().await
}

/// Whether no call waits for a store or a disk any more, or none does soon. Such a call could write later.
async fn are_quiet() -> bool {
    const LOOK_EVERY: Duration = Duration::from_millis(50);
    const MOST_LOOKS: usize = 20;
    for _ in 0..MOST_LOOKS {
        if vfs::disk_calls().waiting == 0 {
            return true;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    false
}

/// The quota of the settings is one of the cluster. Without one in the settings that of the cluster stays.
pub(crate) fn set_quota(share: &ShareSettings, ceph: &Ceph) {
    let Some(limit) = share.quota else { return };
    let set = ceph.quota().and_then(|now| if now == Some(limit) { Ok(()) } else { ceph.set_quota(limit) });
    if let Err(error) = set {
        tracing::warn!(
            share = share.name,
            %error,
            "the cluster does not take the quota: the user of the server needs `p` in its capabilities of the metadata server"
        );
    }
}
