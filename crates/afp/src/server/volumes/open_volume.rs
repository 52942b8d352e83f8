//! The open volumes of a session.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use auth::Grant;
use lock::RwLock;
use namespace::Document;
use vfs::backend::Found;
use vfs::{Kind, Volume};

use super::reach::Ways;
use crate::ranks;
use crate::server::config::Share;
use crate::server::limits::MAX_VOLUMES;
use crate::wire::ResultCode;

/// An open volume of one session.
pub(in crate::server) struct OpenVolume {
    /// The session's number of it.
    pub(in crate::server) id: u16,
    /// The share.
    pub(in crate::server) share: Arc<Share>,
    /// The session's rights in it.
    pub(in crate::server) grant: Grant,
    /// The folders above folders, remembered for a short time.
    pub(in crate::server) ways: Ways,
    /// The address of the client, if it was connected when it opened the volume.
    client: Option<IpAddr>,
}

impl OpenVolume {
    /// The document that the client sees in the place of a link to other servers.
    pub(in crate::server) fn document(&self, found: &Found) -> Option<Document> {
        let links = self.share.options.links.as_ref().filter(|_| found.attributes.kind == Kind::Link)?;
        let client = self.client.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        Document::of(links, &found.object.read_link().ok()?, client)
    }

    /// The volume in `vfs`.
    pub(in crate::server) fn tree(&self) -> &Arc<Volume> {
        &self.share.volume
    }

    /// Runs an operation. When it meets a lease of another client, waits until that is returned and runs it again.
    pub(in crate::server) async fn once_recalled<T>(
        &self,
        run: impl FnMut() -> vfs::Result<T>,
    ) -> vfs::Result<T> {
        self.tree().settled(run).await
    }

    /// Refuses changes where nobody may make any.
    pub(in crate::server) fn may_change(&self) -> Result<(), ResultCode> {
        let is_locked = self.grant == Grant::ReadOnly || self.tree().is_read_only();
        if is_locked { Err(ResultCode::VOLUME_LOCKED) } else { Ok(()) }
    }
}

/// A session's open volumes.
#[derive(Default)]
pub(in crate::server) struct Volumes {
    open: RwLock<BTreeMap<u16, Arc<OpenVolume>>, ranks::AfpVolumes>,
}

impl Volumes {
    /// The volume with this number.
    pub(in crate::server) fn find(&self, id: u16) -> Option<Arc<OpenVolume>> {
        self.open.read().get(&id).cloned()
    }

    /// Opens a share. If it is already open, this is the same volume.
    pub(in crate::server) fn open(
        &self,
        share: &Arc<Share>,
        grant: Grant,
        client: Option<IpAddr>,
    ) -> Result<Arc<OpenVolume>, ResultCode> {
        let mut open = self.open.write();
        if let Some(volume) = open.values().find(|volume| volume.share.name == share.name) {
            return Ok(volume.clone());
        }
        if open.len() >= MAX_VOLUMES {
            return Err(ResultCode::MISC_ERROR);
        }
        let id = (1..).find(|id| !open.contains_key(id)).ok_or(ResultCode::MISC_ERROR)?;
        let volume = Arc::new(OpenVolume { id, share: share.clone(), grant, ways: Ways::default(), client });
        open.insert(id, volume.clone());
        Ok(volume)
    }

    /// Closes a volume.
    pub(in crate::server) fn close(&self, id: u16) -> Option<Arc<OpenVolume>> {
        self.open.write().remove(&id)
    }

    /// Closes all volumes.
    pub(in crate::server) fn close_all(&self) {
        self.open.write().clear();
    }

    /// All volumes.
    pub(in crate::server) fn all(&self) -> Vec<Arc<OpenVolume>> {
        self.open.read().values().cloned().collect()
    }
}
