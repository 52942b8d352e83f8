//! A volume for clients that keep files open and cached: what they ask of a file at once, and how they give back what they
//! have open inside a folder.

use std::time::Duration;

use tokio::time::timeout;

use crate::acl::Rights;
use crate::backend::{Found, Node};
use crate::changing::permitted::Plan;
use crate::changing::safe_save::SafeSave;
use crate::described::metadata::file_at;
use crate::mac::Metadata;
use crate::names::Folding;
use crate::open::Still;
use crate::state::Stream;
use crate::streams::is_of_mac;
use crate::{Actor, Attributes, Beside, Caller, Description, Error, Kind, Result, Time, Volume, streams};

/// A volume as clients use it that keep files open and cached.
#[derive(Clone, Copy)]
pub struct CachingTree<'a> {
    pub(crate) volume: &'a Volume,
}

impl Volume {
    /// This volume as clients use it that keep files open and cached.
    pub fn caching_tree(&self) -> CachingTree<'_> {
        CachingTree { volume: self }
    }
}

impl CachingTree<'_> {
    /// Everything that the caller may do to an entry of a listing of `folder`, as
    /// [`Volume::rights`] defines it. `above` are the caller's rights to the folder itself. The
    /// host is asked only about files that have more than a mode.
    pub fn listed_rights(
        &self,
        caller: &Caller,
        (folder, above): (&Found, Rights),
        name: &[u8],
        listed: &Description,
    ) -> Result<Rights> {
        self.volume.permissions().listed_rights(caller, (folder, above), name, listed)
    }

    /// The metadata that clients are shown. `None`: the file has no metadata, and no extended attribute either.
    pub fn metadata_if_any(&self, of: &Found, place: Option<Beside<'_>>) -> Result<Option<Metadata>> {
        self.volume.metadata_reader().shown(of, place)
    }

    /// Gives a file its first metadata: a file that the caller has just made and that no other
    /// client knows yet. Nothing is read first. DOS attributes alone cost one call to the host.
    pub fn describe_new(
        &self,
        actor: &Actor,
        made: &Found,
        place: Beside<'_>,
        metadata: &Metadata,
    ) -> Result<()> {
        let permitted = self.volume.permit(actor, Plan::Describe(made, Rights::NONE))?;
        let by = permitted.identity();
        self.volume.site.inhibited.learn(self.volume.backend.as_ref(), made, metadata);
        match &self.volume.streams {
            Some(streams)
                if metadata.concerns_macs()
                    && streams.others().may_be_elsewhere(&**place.folder, made.attributes.kind) =>
            {
                streams.store(by, &file_at(made, place), metadata)?;
            }
            _ => streams::store_first(by, &*made.object, metadata)?,
        }
        self.volume.unheard(&made.object);
        Ok(())
    }

    /// Whether another server may keep dates and DOS attributes of the file in a file beside it, as Netatalk does in `.AppleDouble`. A
    /// sidecar does not have them.
    pub fn may_have_header(&self, place: Beside<'_>) -> bool {
        let streams =
            self.volume.streams.as_deref().filter(|streams| streams.others().looks_for_other_files());
        streams.is_some_and(|streams| streams.others().may_be_elsewhere(&**place.folder, Kind::File))
    }

    /// The file or folder that a link in `folder` leads to. `None` if there is no such file, or if the link is absolute,
    /// leads out of the volume, or leads through too many links and names.
    pub fn follow_link(
        &self,
        caller: &Caller,
        folder: &Found,
        link: &Found,
        folding: Folding,
    ) -> Result<Option<Found>> {
        self.volume.names().follow_link(caller, folder, link, folding)
    }

    /// Has all clients close what they have open only in their caches inside a folder, at any depth. `None` if anything is open
    /// there after that, by a client of any server; else nothing is opened there until the answer is dropped. `LeaseRecall`:
    /// another server has not answered in time.
    pub async fn hold_below(self, actor: &Actor, folder: &Node) -> Result<Option<Still>> {
        self.recall_below(actor, folder).await;
        let Some(here) = self.volume.site.hold_below(folder.id()) else { return Ok(None) };
        let Some(asked) = self.volume.site.state.hold_elsewhere(folder.id(), actor.party) else {
            return Ok(Some(Still::new(here, None)));
        };
        let limit = self.volume.site.state.longest_recall() + Duration::from_secs(2);
        match timeout(limit, asked).await {
            // An open of a lost server may have been inherited meanwhile.
            Ok(Ok(Some(_))) if self.open_below(folder) => Ok(None),
            Ok(Ok(elsewhere)) => Ok(elsewhere.map(|elsewhere| Still::new(here, Some(elsewhere)))),
            _ => Err(Error::LeaseRecall(folder.id())),
        }
    }

    /// Whether anything inside a folder, at any depth, is open by a client of this server, as far as opens have said where
    /// their files are. First call [`CachingTree::recall_below`], because some files may be open only in a cache.
    pub fn open_below(&self, folder: &Node) -> bool {
        !self.volume.site.files_open_below(folder.id(), 1).is_empty()
    }

    /// Asks the clients of this server that keep files inside a folder open only in their caches to close them, and waits until
    /// they have. A client that is not connected closes them as well.
    pub async fn recall_below(self, actor: &Actor, folder: &Node) {
        let files = self.volume.site.files_open_below(folder.id(), usize::MAX);
        self.volume.site.recall_opens(actor.party, &files).await;
    }

    /// Whether a stream stays when this client overwrites its file in place.
    pub fn keeps_overwritten(&self, actor: &Actor, stream: &Stream) -> bool {
        let is_of_mac = match stream {
            Stream::Info | Stream::Resource => true,
            Stream::Named(name) => is_of_mac(name.as_bytes()),
            Stream::Data => false,
        };
        is_of_mac && SafeSave::by(self.volume, actor).keeps()
    }

    /// Shows another time of the last change of attributes than the host's, until there is another change. `now` are the
    /// file's attributes as of now.
    pub fn show_changed(&self, now: &Attributes, shown: Time) {
        self.volume.site.changed.show(now, shown);
    }
}
