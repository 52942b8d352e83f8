//! A file's Mac and DOS metadata as a whole, for protocols that show them: read them, change them,
//! publish changes.

use super::by_mode::{WRITE_BITS, locks, shown_dos, without_mode};
use crate::acl::Rights;
use crate::backend::Found;
use crate::changing::busy::Changing;
use crate::changing::inhibited::inhibits;
use crate::changing::permitted::Plan;
use crate::changing::pipeline::describing::DescriptionChange;
use crate::events::Aspects;
use crate::mac::{Metadata, tags};
use crate::state::{Pins, Stream};
use crate::streams::{self, File};
use crate::{Actor, Attributes, Beside, Result, SetAttributes, Time, Volume};

/// The owner's right to write, in a mode.
const OWNER_WRITES: u32 = 0o200;

impl Volume {
    /// What a file is besides its forks and the host's attributes. One call to the host tells that
    /// there is nothing. One more call looks for a sidecar if `place` is given. Without `place`,
    /// what only a sidecar says is not seen, which is right for the share's own folder. A file just
    /// made has `Metadata::default()`, and need not be asked.
    pub fn metadata(&self, of: &Found, place: Option<Beside<'_>>) -> Result<Metadata> {
        Ok(self.metadata_if_any(of, place)?.unwrap_or_default())
    }

    /// The same. `None`: the file has no metadata, and no extended attribute either.
    pub fn metadata_if_any(&self, of: &Found, place: Option<Beside<'_>>) -> Result<Option<Metadata>> {
        let stored = self.stored_metadata(of, place)?;
        if !self.is_locked_by_mode(of)? {
            return Ok(stored);
        }
        let mut metadata = stored.unwrap_or_default();
        metadata.dos = shown_dos(metadata.dos, true);
        Ok(Some(metadata))
    }

    /// Whether the mode of a file locks it, and the volume heeds that.
    pub fn is_locked_by_mode(&self, of: &Found) -> Result<bool> {
        // Few files have such a mode; only these are asked for an ACL.
        if !self.heeds_mode() || of.attributes.mode & WRITE_BITS != 0 {
            return Ok(false);
        }
        let names = if self.has_acls()? { streams::names(&*of.object)? } else { Vec::new() };
        Ok(locks(&of.attributes, &|name| of.object.xattr(name), &names))
    }

    /// The metadata as they are stored, whatever the mode says. `None`: the file has no metadata, and
    /// no extended attribute either.
    pub fn stored_metadata(&self, of: &Found, place: Option<Beside<'_>>) -> Result<Option<Metadata>> {
        let (object, file) = (&*of.object, place.map(|place| file_at(of, place)));
        let (names, at) = (streams::names(object)?, self.streams.as_ref().zip(file));
        let beside = at.as_ref().is_some_and(|(streams, file)| streams.may_have_sidecar(file));
        let loaded = match &at {
            Some((streams, file)) => streams.load_among(file, &names, beside),
            None => streams::load_from(&|name| object.xattr(name), &names),
        };
        let metadata = loaded?.0;
        self.inhibitions().learn(of, &metadata);
        Ok((!metadata.is_empty() || streams::has_own(&names)).then_some(metadata))
    }

    /// The time when a file was made: the time that a client set, else the host's time of creation,
    /// else the earliest time that the host has.
    pub fn created(attributes: &Attributes, metadata: &Metadata) -> Time {
        let earliest = attributes.modified.min(attributes.changed);
        metadata.times.created.or(attributes.created).unwrap_or(earliest)
    }

    /// Changes the metadata of a file, while no other request changes them. The file's owner and
    /// callers that may write the file are allowed to do this. Nothing is written if nothing
    /// changes.
    pub fn change_metadata(
        &self,
        actor: &Actor,
        of: &Found,
        place: Option<Beside<'_>>,
        change: impl FnOnce(&mut Metadata),
    ) -> Result<()> {
        let permitted = DescriptionChange::permitted(self, actor, (of, place), Rights::WRITE_ATTRIBUTES)?;
        let pinned = permitted.quiet()?.pinned()?;
        let before = self.stored_metadata(of, place)?.unwrap_or_default();
        let (after, unlocks) = self.asked(of, &before, change)?;
        if unlocks {
            let mode = Some(of.attributes.mode | OWNER_WRITES);
            self.set_attributes(actor, of, &SetAttributes { mode, ..SetAttributes::default() })?;
        }
        if after == before {
            return Ok(());
        }
        self.inhibitions().learn(of, &after);
        let created = if after.times.created == before.times.created { Aspects(0) } else { Aspects::CREATED };
        let aspects = Aspects::ATTRIBUTES.union(created);
        let operation = pinned.of(aspects, twins(&before, &after)).announce()?;
        let stored = operation.apply(|_, by| match (&self.streams, place) {
            (Some(streams), Some(place)) => {
                let file = file_at(of, place);
                streams.store(by, &file, &after)?;
                streams.heed_model(&file, &before, &after)
            }
            _ => streams::store_alone(by, &*of.object, &after),
        });
        let kind = of.attributes.kind;
        if inhibits(&before, kind) != inhibits(&after, kind) {
            self.site.inhibited.forget_all();
        }
        stored
    }

    /// The metadata after a change, and whether the mode has to change, too.
    fn asked(
        &self,
        of: &Found,
        before: &Metadata,
        change: impl FnOnce(&mut Metadata),
    ) -> Result<(Metadata, bool)> {
        let mut after = before.clone();
        if !self.is_locked_by_mode(of)? {
            change(&mut after);
            return Ok((after, false));
        }
        after.dos = shown_dos(after.dos, true);
        change(&mut after);
        let asked = without_mode(before, after);
        Ok((asked.metadata, asked.unlocks))
    }

    /// The tags of a file, as the Finder shows them; empty if there are none, or if they cannot be read.
    pub fn tags(&self, of: &Found, place: Option<Beside<'_>>) -> Result<Vec<String>> {
        match (&self.streams, place) {
            (Some(streams), Some(place)) => streams.tags(&file_at(of, place)),
            _ => Ok(Vec::new()),
        }
    }

    /// The comment of a file as the desktop database has it: in MacRoman.
    pub fn comment(&self, of: &Found, place: Option<Beside<'_>>) -> Result<Vec<u8>> {
        match (&self.streams, place) {
            (Some(streams), Some(place)) => streams.comment(&file_at(of, place)),
            _ => Ok(self.stored_metadata(of, place)?.unwrap_or_default().comment),
        }
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
        let permitted = self.permit(actor, Plan::Describe(made, Rights::NONE))?;
        let by = permitted.identity();
        self.inhibitions().learn(made, metadata);
        match &self.streams {
            Some(streams)
                if metadata.concerns_macs()
                    && streams.may_be_elsewhere(&**place.folder, made.attributes.kind) =>
            {
                streams.store(by, &file_at(made, place), metadata)?;
            }
            _ => streams::store_first(by, &*made.object, metadata)?,
        }
        self.unheard(&made.object);
        Ok(())
    }

    /// After a Mac has made a file or folder: gives it Netatalk's header in `.AppleDouble`, if its folder has that layout. Netatalk
    /// makes one for each file, but can do without.
    pub fn give_header(&self, made: &Found, place: Beside<'_>) {
        if let Some(streams) = &self.streams
            && let Err(error) = streams.give_header(&file_at(made, place))
        {
            let name = place.name.escape_ascii();
            tracing::debug!(target: "metadata", %error, %name, "a new file has no header in .AppleDouble");
        }
    }

    /// Keeps other threads and other servers from changing the file's streams and metadata, by its place and by
    /// itself. `LeaseRecall` if another server has the state of the file, `Stale` if another server has moved it away and
    /// something of it would be stored beside it.
    pub(crate) fn claim(&self, of: &Found, place: Option<Beside<'_>>) -> Result<Changing<'_>> {
        let pins = self.site.state.pin(&[of.object.id()])?;
        self.name_pins().is_still_at(of, place)?;
        Ok(self.claim_pinned(of, place, pins))
    }

    /// The same with the state of the file here, or with what keeps it here.
    pub(crate) fn claim_pinned(&self, of: &Found, place: Option<Beside<'_>>, pins: Pins) -> Changing<'_> {
        let itself = (of.object.id(), &b""[..]);
        match place {
            Some(place) => self.site.busy.change_pinned(&[(place.folder.id(), place.name), itself], pins),
            None => self.site.busy.change_pinned(&[itself], pins),
        }
    }
}

/// The named streams that change with the metadata.
fn twins(before: &Metadata, after: &Metadata) -> Vec<Stream> {
    let relabelled = before.finder_info.label() != after.finder_info.label();
    let changes = [(tags::TAGS, relabelled), (tags::COMMENT, before.comment != after.comment)];
    changes.into_iter().filter(|(_, changes)| *changes).map(|(name, _)| Stream::Named(name.into())).collect()
}

/// A file as `streams` wants it.
pub(crate) fn file_at<'a>(of: &'a Found, place: Beside<'a>) -> File<'a> {
    File { folder: &**place.folder, name: place.name, object: &*of.object }
}
