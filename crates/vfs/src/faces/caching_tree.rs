//! A volume for clients that keep files open and cached: what they ask of a file at once, and how they give back what they
//! have open inside a folder. [`CachingTree::hold_below`] and [`CachingTree::follow_link`] are beside their subjects.

use crate::acl::Rights;
use crate::backend::Found;
use crate::changing::permitted::Plan;
use crate::described::metadata::file_at;
use crate::mac::Metadata;
use crate::{Actor, Beside, Caller, Description, Kind, Result, Volume, streams};

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
                    && streams.may_be_elsewhere(&**place.folder, made.attributes.kind) =>
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
        let streams = self.volume.streams.as_deref().filter(|streams| streams.looks_for_other_files());
        streams.is_some_and(|streams| streams.may_be_elsewhere(&**place.folder, Kind::File))
    }
}
