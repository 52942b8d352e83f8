//! Two files that exchange their contents: how some programs save, by writing a new file and then giving its contents to
//! the old one.
//!
//! The host exchanges the names of the two, which is one step, and their sidecars follow as they do
//! with any move. So the two forks of a file are never from two files, whatever happens in between.
//! After that, the other properties of the files are put back to the names where they were: Mac
//! metadata, named streams, extended attributes, owner, mode and ACL. An open of one of the files keeps its contents.

use super::permitted::{PermittedActor, Plan};
use crate::access::RightsAttribute;
use crate::backend::{Found, RenameMode};
use crate::described::metadata::file_at;
use crate::state::{Cause, Pins, Stream};
use crate::streams::MetadataWithStreams;
use crate::streams::xattrs::replace_xattrs;
use crate::{Access, Actor, Attributes, Beside, Caller, Error, Kind, Result, Volume, Xattr};

/// A file at its place.
#[derive(Clone, Copy)]
struct At<'a> {
    folder: &'a Found,
    name: &'a [u8],
}

/// The properties of a file that stay with its name.
struct Stays {
    described: Option<MetadataWithStreams>,
    attributes: Attributes,
    rights: Vec<RightsAttribute>,
    xattrs: Vec<Xattr>,
}

impl Volume {
    /// Exchanges the contents of two files: each is a folder and the stored name there. The caller may write both.
    pub async fn exchange(&self, actor: &Actor, one: (&Found, &[u8]), other: (&Found, &[u8])) -> Result<()> {
        let [first, second] = [one, other].map(|(folder, name)| At { folder, name });
        let permitted = self.permit(actor, Plan::Move(one, other, RenameMode::Exchange))?;
        let exchange = Exchange { volume: self, actor };
        for (at, cause) in [(first, Cause::Rename), (second, Cause::Remove)] {
            exchange.make_way(&permitted, at, cause).await?;
        }
        self.settled(|| exchange.make(first, second)).await
    }
}

/// An exchange of contents by one actor.
struct Exchange<'a> {
    volume: &'a Volume,
    actor: &'a Actor,
}

impl Exchange<'_> {
    /// Waits until clients that have the file open only in their caches have closed it. The exchange of the names does not
    /// wait for that: it fails where an open denies it.
    async fn make_way(&self, by: &PermittedActor<'_>, at: At<'_>, cause: Cause) -> Result<()> {
        let found = self.volume.lookup(&self.actor.caller, &at.folder.object, at.name)?;
        self.may_exchange(&found)?;
        by.recall_and_wait(found.object.id(), &Stream::Data, cause).await;
        Ok(())
    }

    fn may_exchange(&self, found: &Found) -> Result<()> {
        self.volume.may_change(found)?;
        match found.attributes.kind {
            Kind::File => {}
            Kind::Folder => return Err(Error::IsFolder),
            _ => return Err(Error::NotSupported),
        }
        let granted = self.volume.access(&self.actor.caller, found, Access::WRITE)?;
        if granted.contains(Access::WRITE) { Ok(()) } else { Err(Error::AccessDenied) }
    }

    fn make(&self, one: At<'_>, other: At<'_>) -> Result<()> {
        let files = [self.there(one)?.object.id(), self.there(other)?.object.id()];
        let _pins = self.volume.site.state.pin(&files)?;
        let (first, second) = (self.stays(one)?, self.stays(other)?);
        let (from, to) = ((one.folder, one.name), (other.folder, other.name));
        self.volume.rename(self.actor, from, to, RenameMode::Exchange)?;
        // From here on the exchange is made. What cannot be put back stays with the contents.
        for (at, stays) in [(one, &first), (other, &second)] {
            if let Err(error) = self.put_back(at, stays) {
                let name = at.name.escape_ascii();
                tracing::warn!(target: "metadata", %error, %name, "what describes a file went along when contents were exchanged");
            }
        }
        Ok(())
    }

    fn stays(&self, at: At<'_>) -> Result<Stays> {
        let found = self.there(at)?;
        let described = match &self.volume.streams {
            Some(streams) => {
                let mut described = streams.described(&file_at(&found, at.beside()))?;
                // The host knows when the contents were made, which is not when the file was.
                let metadata = &mut described.metadata;
                metadata.times.created = Some(metadata.created(&found.attributes));
                Some(described)
            }
            None => None,
        };
        let rights = self.volume.acl_storage().rights_of_file(&found)?;
        let xattrs = self.volume.xattrs(&found)?;
        Ok(Stays { described, attributes: found.attributes, rights, xattrs })
    }

    fn put_back(&self, at: At<'_>, stays: &Stays) -> Result<()> {
        let found = self.there(at)?;
        let _changing = self.volume.claim_pinned(&found, Some(at.beside()), Pins::default());
        if let (Some(streams), Some(described)) = (&self.volume.streams, &stays.described) {
            streams.describe_as(&file_at(&found, at.beside()), described)?;
        }
        replace_xattrs(&*found.object, &stays.xattrs)?;
        self.volume.acl_storage().put_rights_of_file(&found, &stays.attributes, &stays.rights)?;
        self.volume.site.inhibited.forget_all(); // what locks the one file locks the other now
        self.volume.unheard(&found.object);
        Ok(())
    }

    fn there(&self, at: At<'_>) -> Result<Found> {
        at.folder.object.lookup(&Caller::root(), at.name)
    }
}

impl<'a> At<'a> {
    fn beside(self) -> Beside<'a> {
        Beside { folder: &self.folder.object, name: self.name }
    }
}
