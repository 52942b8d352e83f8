//! `._name` as a part of `name`: found by look-up, left out of listings, moved and removed with its file.

use std::sync::Arc;

use crate::backend::{Found, NewKind, NewOwner, Node, Object, RenameMode};
use crate::changing::busy::Changing;
use crate::finding::entry_name::{EntryName, EntryNames, Target};
use crate::mac::layout;
use crate::names::has_other_forms;
use crate::streams::{File, SidecarView, Streams, SyntheticSidecar};
use crate::{Caller, Error, Kind, Result, Site, Volume};

/// What a look-up found.
pub enum LookupResult {
    /// An entry of the folder.
    File(Found),
    /// The Mac metadata of the entry beside it, as the file that a Mac expects there.
    Sidecar(SyntheticSidecar),
}

/// The entries of folders, each as a pair of a file and its sidecar.
pub(crate) struct FilePairs<'a> {
    names: EntryNames<'a>,
    site: &'a Site,
    streams: Option<&'a Arc<Streams>>,
}

impl Volume {
    /// The entries of folders, each with its sidecar.
    pub(crate) fn pairs(&self) -> FilePairs<'_> {
        FilePairs { names: self.names(), site: &self.site, streams: self.streams.as_ref() }
    }
}

impl FilePairs<'_> {
    /// After a client has put its writes to a file on the disk: if that is a sidecar, what it says is taken into the
    /// model now, where other servers and protocols read it. Its own bytes are safe, so a failure is no failure of the
    /// write: the model takes them in when it is next looked at.
    pub(crate) async fn absorb_written(&self, node: &Node) {
        if let Err(error) = self.try_to_absorb(node).await {
            tracing::warn!(target: "metadata", %error, file = ?node.id(), "a sidecar could not be taken into its file's metadata yet");
        }
    }

    async fn try_to_absorb(&self, node: &Node) -> Result<()> {
        let Some(streams) = self.streams else { return Ok(()) };
        let Some(place) = streams.sidecar_files().sidecar_place(node.as_ref())? else { return Ok(()) };
        let pins = self.site.pin_streams(&place.owner).await?;
        let places = [(place.folder.id(), &*place.name), (place.owner.id(), b"")];
        let _changing = self.site.busy.change_pinned(&places, pins);
        streams.absorb(&File { folder: &*place.folder, name: &place.name, object: &*place.owner })
    }

    /// Makes an entry, or lets the server make it for an owner. `Exists` also where an entry has this name in another form.
    pub(crate) fn create(
        &self,
        caller: &Caller,
        folder: &Found,
        name: &EntryName<'_>,
        new: NewKind<'_>,
        (mode, owner): (u32, Option<NewOwner<'_>>),
    ) -> Result<Found> {
        let is_file = matches!(new, NewKind::File);
        let streams = self.streams.filter(|_| is_file && layout::is_sidecar_name(name));
        let _changing = match streams {
            Some(_) => Some(self.site.busy.change(&[(folder.object.id(), &**name)])),
            None => self.claim_forms(folder, name),
        };
        self.names.refuse_other_form(caller, folder, name)?;
        if let Some(streams) = streams {
            match streams.sidecar_files().view(caller, folder.object.as_ref(), name)? {
                SidecarView::OnDisk(_) | SidecarView::Synthesized(_) => return Err(Error::Exists),
                SidecarView::Absent => {
                    if let Some(found) =
                        streams.sidecar_files().materialize(caller, folder.object.as_ref(), name)?
                    {
                        return Ok(found);
                    }
                }
                SidecarView::Plain => {}
            }
        }
        match owner {
            Some(owner) => folder.object.create_owned(name, new, mode, owner),
            None => folder.object.create(caller, name, new, mode),
        }
    }

    /// Gives a file another name.
    pub(crate) fn link(
        &self,
        caller: &Caller,
        target: &Found,
        folder: &Found,
        name: &EntryName<'_>,
    ) -> Result<()> {
        let _changing = self.claim_forms(folder, name);
        self.names.refuse_other_form(caller, folder, name)?;
        folder.object.link(caller, target.object.as_ref(), name)
    }

    /// Removes an entry with its sidecar. The caller has claimed the place. `going` is the file that
    /// the caller has found there, if it has looked.
    pub(crate) fn remove(
        &self,
        caller: &Caller,
        folder: &Node,
        name: &EntryName<'_>,
        (kind, going): (Kind, Option<&Found>),
    ) -> Result<()> {
        let folder = folder.as_ref();
        match (self.streams, kind) {
            (None, Kind::Folder) => folder.remove_folder(caller, name),
            (None, _) => folder.remove_found(caller, name, going.map(|going| &*going.object)),
            (Some(streams), Kind::Folder) => streams.pairs().remove_folder(caller, folder, name),
            (Some(streams), _) => {
                if layout::is_sidecar_name(name)
                    && streams.sidecar_files().remove_view(caller, folder, name)?
                {
                    return Ok(());
                }
                streams.pairs().remove(caller, folder, name, going)
            }
        }
    }

    /// Moves an entry with its sidecar, and gives the name that it has then. Calls `may_go` and `moved` while
    /// both places are claimed.
    pub(crate) fn rename(
        &self,
        caller: &Caller,
        from: (&Found, &EntryName<'_>),
        to: (&Found, &Target<'_>),
        mode: RenameMode,
        may_go: impl FnOnce() -> Result<()>,
        moved: impl FnOnce(&[u8]),
    ) -> Result<Vec<u8>> {
        let Target { there, ends_as } = to.1;
        let _changing =
            self.site.busy.change(&[(from.0.object.id(), &**from.1), (to.0.object.id(), &**there)]);
        may_go()?;
        self.names.refuse_new_form(caller, from, (to.0, there))?;
        let (from, folder) = ((from.0.object.as_ref(), &**from.1), to.0.object.as_ref());
        let move_pair = |from: (&dyn Object, &[u8]), to: (&dyn Object, &[u8]), mode| match self.streams {
            Some(streams) => streams.pairs().rename(caller, from, to, mode),
            None => from.0.rename(caller, from.1, to.0, to.1, mode),
        };
        let is_sidecar = |name: &[u8]| layout::is_sidecar_name(name);
        if let Some(streams) = self.streams.filter(|_| is_sidecar(from.1) && is_sidecar(there))
            && streams.sidecar_files().has_followed(from, (folder, there))?
        {
            return Ok(there.to_vec());
        }
        move_pair(from, (folder, there), mode)?;
        // The entry that was replaced had the name in another normal form. The host replaces an entry in one
        // step only under the entry's own name, so the client's form comes second; without it the name is not
        // wrong.
        let takes_form =
            there != ends_as && move_pair((folder, there), (folder, ends_as), RenameMode::Keep).is_ok();
        let ended_as = if takes_form { ends_as } else { there };
        moved(ended_as);
        match self.streams {
            Some(streams) if is_sidecar(ended_as) => streams.pairs().placed(folder, ended_as)?,
            _ => {}
        }
        Ok(ended_as.to_vec())
    }

    /// Keeps other threads from making an entry whose name is another form of this one, and
    /// from changing its sidecar. Does nothing for a name that has one form only.
    fn claim_forms(&self, folder: &Found, name: &EntryName<'_>) -> Option<Changing<'_>> {
        has_other_forms(name).then(|| self.site.busy.change(&[(folder.object.id(), &**name)]))
    }
}
