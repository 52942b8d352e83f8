//! Changes of what describes a file: Mac metadata, extended attributes, streams.

use super::{Asks, PermittedChange, PinnedChange, QuietChange, Steps};
use crate::acl::Rights;
use crate::backend::{Found, Node};
use crate::changing::busy::Changing;
use crate::changing::permitted::{PermittedActor, Plan};
use crate::events::Aspects;
use crate::local::{EchoKind, Own};
use crate::mac::layout::sidecar_name;
use crate::state::{Cause, Pins, Stream};
use crate::{Access, Actor, Beside, Result, Volume};

/// A file, and the place by which it was found.
pub(crate) type FileAt<'a> = (&'a Found, Option<Beside<'a>>);

/// A change of metadata or extended attributes. What changes is known only after a look at what is there, while nobody else
/// changes it. So others are asked for their leases after that: when the change is announced.
pub(crate) struct DescriptionChange<'a> {
    of: FileAt<'a>,
    /// Another file, which must stay as it is meanwhile.
    beside: Option<(&'a Found, Beside<'a>)>,
    aspects: Aspects,
    /// Named streams that change with the metadata.
    twins: Vec<Stream>,
    claim: Option<Changing<'a>>,
}

impl<'a> DescriptionChange<'a> {
    pub(crate) fn permitted(
        volume: &'a Volume,
        actor: &'a Actor,
        of: FileAt<'a>,
        right: Rights,
    ) -> Result<PermittedChange<'a, Self>> {
        Ok(Self::by(volume.permit(actor, Plan::Describe(of.0, right))?, of, None))
    }

    /// By a client that may write the file, and that gives it what describes another one.
    pub(crate) fn permitted_like(
        volume: &'a Volume,
        actor: &'a Actor,
        of: (&'a Found, Beside<'a>),
        other: (&'a Found, Beside<'a>),
    ) -> Result<PermittedChange<'a, Self>> {
        let by = volume.permit(actor, Plan::Use(of.0, Access::WRITE))?;
        Ok(Self::by(by, (of.0, Some(of.1)), Some(other)))
    }

    pub(crate) fn by(
        by: PermittedActor<'a>,
        of: FileAt<'a>,
        beside: Option<(&'a Found, Beside<'a>)>,
    ) -> PermittedChange<'a, Self> {
        let steps = Self { of, beside, aspects: Aspects(0), twins: Vec::new(), claim: None };
        PermittedChange::new(by, steps)
    }
}

impl<'a> PinnedChange<'a, DescriptionChange<'a>> {
    /// What is about to change, as subscribers see it, and named streams that change with it.
    pub(crate) fn of(mut self, aspects: Aspects, twins: Vec<Stream>) -> Self {
        let steps = self.steps_mut();
        (steps.aspects, steps.twins) = (aspects, twins);
        self
    }
}

impl<'a> Asks<'a> for DescriptionChange<'a> {
    fn quiet(&mut self, _by: &PermittedActor<'a>) -> Result<()> {
        Ok(())
    }
}

impl<'a> Steps<'a> for DescriptionChange<'a> {
    type Made = ();

    fn pin(&mut self, by: &PermittedActor<'a>) -> Result<()> {
        let (volume, (of, place)) = (by.volume(), self.of);
        self.claim = Some(match (place, self.beside) {
            (Some(place), Some((other, at))) => {
                let both = [(of, place), (other, at)];
                let names = both.map(|(_, at)| (at.folder, at.name));
                let pins = volume.name_pins().pin(&names, &both.map(|(found, _)| found.object.id()))?;
                let places =
                    both.map(|(found, at)| [(at.folder.id(), at.name), (found.object.id(), &b""[..])]);
                volume.site.busy.change_pinned(&places.concat(), pins)
            }
            _ => volume.claim(of, place)?,
        });
        Ok(())
    }

    fn recall_pinned(&self, by: &PermittedActor<'a>) -> Result<()> {
        let id = self.of.0.object.id();
        self.twins.iter().try_for_each(|stream| by.recall_stream(id, stream, Cause::Write))?;
        by.recall(id, Cause::Attributes)
    }

    fn echo(&mut self, by: &PermittedActor<'a>) -> Own {
        let Some(place) = self.of.1 else { return Own::default() };
        let (folder, sidecar) = (place.folder.id(), sidecar_name(place.name));
        by.volume()
            .site
            .announce(&[(folder, place.name, EchoKind::Attributes), (folder, &sidecar, EchoKind::Anything)])
    }

    fn changed(&self) -> Option<(&Node, Stream, Cause)> {
        Some((&self.of.0.object, Stream::Data, Cause::Attributes))
    }

    fn tell(&self, by: &PermittedActor<'a>, _made: &()) {
        let (of, Some(place)) = self.of else { return };
        let file = (of.object.id(), of.attributes.kind);
        by.notices().modified((place.folder, place.name), file, self.aspects);
    }
}

/// The removal of a stream that is not the data fork.
pub(crate) struct StreamRemoval<'a> {
    of: (&'a Found, Beside<'a>),
    stream: &'a Stream,
    /// What keeps other servers from the streams. The thread that removes the stream takes it.
    pub(crate) pins: Pins,
}

impl<'a> StreamRemoval<'a> {
    pub(crate) fn permitted(
        volume: &'a Volume,
        actor: &'a Actor,
        of: (&'a Found, Beside<'a>),
        stream: &'a Stream,
    ) -> Result<PermittedChange<'a, Self>> {
        let by = volume.permit(actor, Plan::Describe(of.0, Rights::WRITE_NAMED))?;
        Ok(PermittedChange::new(by, Self { of, stream, pins: Pins::default() }))
    }
}

impl<'a> PermittedChange<'a, StreamRemoval<'a>> {
    /// Waits until others have given back their leases.
    pub(crate) async fn quiet_once_recalled(self) -> QuietChange<'a, StreamRemoval<'a>> {
        let (file, stream) = (self.steps.of.0.object.id(), self.steps.stream);
        self.by.recall_and_wait(file, stream, Cause::Truncate).await;
        QuietChange(self)
    }
}

impl<'a> QuietChange<'a, StreamRemoval<'a>> {
    /// Waits until the state of the file is here.
    pub(crate) async fn pinned_once_here(mut self) -> Result<PinnedChange<'a, StreamRemoval<'a>>> {
        let change = &mut self.0;
        change.steps.pins = change.by.volume().site.pin_streams(&change.steps.of.0.object).await?;
        Ok(PinnedChange(self.0))
    }
}

impl<'a> Steps<'a> for StreamRemoval<'a> {
    type Made = ();

    fn changed(&self) -> Option<(&Node, Stream, Cause)> {
        Some((&self.of.0.object, self.stream.clone(), Cause::Truncate))
    }

    fn tell(&self, by: &PermittedActor<'a>, _made: &()) {
        let (of, place) = self.of;
        let aspects = if *self.stream == Stream::Info { Aspects::ATTRIBUTES } else { Aspects::STREAM };
        let file = (of.object.id(), of.attributes.kind);
        by.notices().modified((place.folder, place.name), file, aspects);
    }
}
