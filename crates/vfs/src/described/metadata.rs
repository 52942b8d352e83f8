//! A file's Mac and DOS metadata as a whole, for protocols that show them: read them, change them,
//! publish changes.

use std::sync::Arc;

use super::by_mode::{WRITE_BITS, locks, shown_dos, without_mode};
use super::description::{Description, DescriptionParts, Source};
use crate::access::Permissions;
use crate::acl::Rights;
use crate::backend::{Backend, Found};
use crate::changing::busy::Changing;
use crate::changing::inhibited::{InhibitedFileCache, inhibits};
use crate::changing::pipeline::describing::DescriptionChange;
use crate::events::Aspects;
use crate::mac::{Metadata, tags};
use crate::state::{Pins, Stream};
use crate::streams::{self, File, Streams};
use crate::{Actor, Beside, Details, Kind, Result, SetAttributes, Volume};

/// The owner's right to write, in a mode.
const OWNER_WRITES: u32 = 0o200;

/// The metadata of the files of a volume, as they are stored and as they are shown.
pub(crate) struct MetadataReader<'a> {
    permissions: Permissions<'a>,
    streams: Option<&'a Arc<Streams>>,
    backend: &'a dyn Backend,
    /// Learns of the locked files that are seen.
    inhibited: &'a InhibitedFileCache,
    /// Whether a file that its mode locks is shown as read-only.
    heeds_mode: bool,
}

impl Volume {
    /// What a file is besides its forks and the host's attributes. One call to the host tells that
    /// there is nothing. One more call looks for a sidecar if `place` is given. Without `place`,
    /// what only a sidecar says is not seen, which is right for the share's own folder. A file just
    /// made has `Metadata::default()`, and need not be asked.
    pub fn metadata(&self, of: &Found, place: Option<Beside<'_>>) -> Result<Metadata> {
        Ok(self.metadata_reader().shown(of, place)?.unwrap_or_default())
    }

    pub(crate) fn metadata_reader(&self) -> MetadataReader<'_> {
        MetadataReader {
            permissions: self.permissions(),
            streams: self.streams.as_ref(),
            backend: self.backend.as_ref(),
            inhibited: &self.site.inhibited,
            heeds_mode: self.options.read_only_by_mode,
        }
    }

    /// Describes a file. One call to the host tells that there is nothing to say. One more call
    /// looks for a sidecar if `place` is given. Without `place`, what only a sidecar says is not
    /// seen, which is right for the share's own folder.
    pub fn description(
        &self,
        of: &Found,
        place: Option<Beside<'_>>,
        wanted: DescriptionParts,
    ) -> Result<Description> {
        let details = Details { key: of.object.key(), attributes: of.attributes };
        if wanted == DescriptionParts::default() {
            return Ok(Description::plain(details));
        }
        let names = streams::names(&*of.object)?;
        let has_forks = matches!(of.attributes.kind, Kind::File | Kind::Folder);
        let streams = self.streams.as_deref().filter(|_| has_forks);
        let place = place.map(|place| (&**place.folder, place.name));
        let file = place.map(|(folder, name)| File { folder, name, object: &*of.object });
        let beside = streams.zip(file).is_some_and(|(streams, file)| streams.may_have_sidecar(&file));
        let (open, read) = (|| Ok(of.object.clone()), |name: &[u8]| of.object.xattr(name));
        let source = Source { details, names: &names, streams, place, beside, open: &open, read: &read };
        let gathered = source.gather(wanted)?;
        self.site.inhibited.learn(self.backend.as_ref(), of, &gathered.metadata);
        let in_team = self.permissions().team_of(&*of.object)?.is_some();
        let described = Description::new(details, &gathered, self.options.read_only_by_mode && !in_team);
        Ok(Description { has_acl: described.has_acl || in_team, ..described })
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
        let (pinned, reader) = (permitted.quiet()?.pinned()?, self.metadata_reader());
        let before = reader.stored(of, place)?.unwrap_or_default();
        let (after, unlocks) = reader.changed(of, &before, change)?;
        if unlocks {
            let mode = Some(of.attributes.mode | OWNER_WRITES);
            self.set_attributes(actor, of, &SetAttributes { mode, ..SetAttributes::default() })?;
        }
        if after == before {
            return Ok(());
        }
        self.site.inhibited.learn(self.backend.as_ref(), of, &after);
        let created = if after.times.created == before.times.created { Aspects(0) } else { Aspects::CREATED };
        let aspects = Aspects::ATTRIBUTES.union(created);
        let operation = pinned.of(aspects, twins(&before, &after)).announce()?;
        let stored = operation.apply(|_, by| match (&self.streams, place) {
            (Some(streams), Some(place)) => {
                let file = file_at(of, place);
                streams.store(by, &file, &after)?;
                streams.annotations().heed_model(&file, &before, &after)
            }
            _ => streams::store_alone(by, &*of.object, &after),
        });
        let kind = of.attributes.kind;
        if inhibits(&before, kind) != inhibits(&after, kind) {
            self.site.inhibited.forget_all();
        }
        stored
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

impl MetadataReader<'_> {
    /// The metadata that clients are shown. `None`: the file has no metadata, and no extended attribute either.
    pub(crate) fn shown(&self, of: &Found, place: Option<Beside<'_>>) -> Result<Option<Metadata>> {
        let stored = self.stored(of, place)?;
        if !self.is_locked_by_mode(of)? {
            return Ok(stored);
        }
        let mut metadata = stored.unwrap_or_default();
        metadata.dos = shown_dos(metadata.dos, true);
        Ok(Some(metadata))
    }

    /// Whether the mode of a file locks it, and the volume heeds that.
    pub(crate) fn is_locked_by_mode(&self, of: &Found) -> Result<bool> {
        // Few files have such a mode; only these are asked for an ACL.
        if !self.heeds_mode || of.attributes.mode & WRITE_BITS != 0 || self.is_in_team(of)? {
            return Ok(false);
        }
        let names = if self.permissions.has_acls()? { streams::names(&*of.object)? } else { Vec::new() };
        Ok(locks(&of.attributes, &|name| of.object.xattr(name), &names))
    }

    /// Whether roles decide about a file, so that its mode says nothing to clients.
    fn is_in_team(&self, of: &Found) -> Result<bool> {
        Ok(self.permissions.has_teams() && self.permissions.team_of(&*of.object)?.is_some())
    }

    /// The metadata as they are stored, whatever the mode says. `None`: the file has no metadata, and
    /// no extended attribute either.
    pub(crate) fn stored(&self, of: &Found, place: Option<Beside<'_>>) -> Result<Option<Metadata>> {
        let (object, file) = (&*of.object, place.map(|place| file_at(of, place)));
        let (names, at) = (streams::names(object)?, self.streams.zip(file));
        let beside = at.as_ref().is_some_and(|(streams, file)| streams.may_have_sidecar(file));
        let loaded = match &at {
            Some((streams, file)) => streams.load_among(file, &names, beside),
            None => streams::load_from(&|name| object.xattr(name), &names),
        };
        let metadata = loaded?.0;
        self.inhibited.learn(self.backend, of, &metadata);
        Ok((!metadata.is_empty() || streams::has_own(&names)).then_some(metadata))
    }

    /// The metadata after a change, and whether the mode has to change, too.
    fn changed(
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
    pub(crate) fn tags(&self, of: &Found, place: Option<Beside<'_>>) -> Result<Vec<String>> {
        match (self.streams, place) {
            (Some(streams), Some(place)) => streams.annotations().tags(&file_at(of, place)),
            _ => Ok(Vec::new()),
        }
    }

    /// Where a file was fetched from: URLs; empty if there are none, or if they cannot be read.
    pub(crate) fn origins(&self, of: &Found, place: Option<Beside<'_>>) -> Result<Vec<String>> {
        match (self.streams, place) {
            (Some(streams), Some(place)) => streams.annotations().origins(&file_at(of, place)),
            _ => Ok(Vec::new()),
        }
    }

    /// The comment of a file as the desktop database has it: in MacRoman.
    pub(crate) fn comment(&self, of: &Found, place: Option<Beside<'_>>) -> Result<Vec<u8>> {
        match (self.streams, place) {
            (Some(streams), Some(place)) => streams.annotations().comment(&file_at(of, place)),
            _ => Ok(self.stored(of, place)?.unwrap_or_default().comment),
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
