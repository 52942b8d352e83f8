//! Changes of a stream through an open, which has decided that they are permitted. A client that has a file open waits for
//! others.

use std::sync::Arc;

use super::{Operation, PermittedChange, QuietChange, Steps};
use crate::backend::Node;
use crate::changing::coherence::who;
use crate::changing::forks::ForkChange;
use crate::changing::permitted::PermittedActor;
use crate::events::Deliveries;
use crate::local::{EchoKind, Own};
use crate::state::{Cause, Stream};
use crate::{Open, Result};

/// A change of an open stream.
pub(crate) struct OpenChange<'a> {
    open: &'a Open,
    stream: Stream,
    cause: Cause,
    /// The change of the fork behind `._name`.
    fork: Option<ForkChange<'a>>,
    notice: OpenNotice,
}

/// What subscribers are to be told.
enum OpenNotice {
    /// Nothing: there are no subscribers, or the file has no place.
    Nothing,
    /// They have been told of an earlier change through the same open, and have not taken that from their queues.
    Waiting,
    /// The file at this place is changed. `before`: the deliveries until then, if the host will not report the change, too.
    Written { folder: Node, name: Arc<[u8]>, before: Option<Deliveries> },
}

impl<'a> OpenChange<'a> {
    /// A write. `by`: the open was asked whether it may write.
    pub(crate) fn to_write(by: PermittedActor<'a>, open: &'a Open) -> PermittedChange<'a, Self> {
        Self::of(by, open, Cause::Write)
    }

    /// What describes the file. `by`: the open was asked whether it may write.
    pub(crate) fn to_describe(by: PermittedActor<'a>, open: &'a Open) -> PermittedChange<'a, Self> {
        Self::of(by, open, Cause::Attributes)
    }

    /// Another length. `by`: the open was asked whether it may write, or the protocol lets it empty the stream.
    pub(crate) fn to_resize(by: PermittedActor<'a>, open: &'a Open) -> PermittedChange<'a, Self> {
        Self::of(by, open, Cause::Truncate)
    }

    fn of(by: PermittedActor<'a>, open: &'a Open, cause: Cause) -> PermittedChange<'a, Self> {
        let stream = open.guard().stream();
        PermittedChange::new(by, Self { open, stream, cause, fork: None, notice: OpenNotice::Nothing })
    }
}

impl<'a> PermittedChange<'a, OpenChange<'a>> {
    /// Waits until others have given back their leases, and asks them about a range of the stream.
    pub(crate) async fn quiet_range(
        self,
        (offset, length): (u64, u64),
    ) -> Result<QuietChange<'a, OpenChange<'a>>> {
        let open = self.steps.open;
        self.by.recall_and_wait(open.node().id(), &self.steps.stream, Cause::Write).await;
        open.may_touch(&self.by, offset, length, true).await?;
        if open.is_data() {
            self.by.volume().journalled(open.node()).await;
        }
        Ok(QuietChange(self))
    }

    /// Asks nobody: others lose what they have in caches once it is changed.
    pub(crate) fn quiet_afterwards(self) -> QuietChange<'a, OpenChange<'a>> {
        QuietChange(self)
    }

    /// Waits until others have given back what `recalls` collides with. `cuts`: their locked ranges and deny modes count, too.
    pub(crate) async fn quiet_size(
        mut self,
        size: u64,
        recalls: Cause,
        cuts: bool,
    ) -> Result<QuietChange<'a, OpenChange<'a>>> {
        let (open, by) = (self.steps.open, &self.by);
        let (file, stream) = (open.node().id(), &self.steps.stream);
        by.recall_and_wait(file, stream, recalls).await;
        if cuts {
            let smaller = size.min(open.size().await?);
            open.state().check_resize(file, stream, who(by), smaller)?;
        }
        if open.is_data() {
            self.steps.fork = by.volume().settled(|| by.may_cut_fork(open.node(), size)).await?;
            by.volume().journalled(open.node()).await;
        }
        Ok(QuietChange(self))
    }
}

impl<'a> Steps<'a> for OpenChange<'a> {
    type Made = ();

    fn echo(&mut self, by: &PermittedActor<'a>) -> Own {
        let (open, site) = (self.open, &by.volume().site);
        if !open.is_data() {
            return Own::default();
        }
        let before = site.subscriptions.deliveries();
        if open.published().is_current(before) && !site.state.tells() {
            self.notice = OpenNotice::Waiting;
            return Own::default();
        }
        let Some((folder, name)) = open.place() else { return Own::default() };
        let own = site.announce(&[(folder.id(), &name, EchoKind::Data)]);
        let before = own.is_silent().then_some(before);
        self.notice = OpenNotice::Written { folder, name, before };
        own
    }

    fn changed(&self) -> Option<(&Node, Stream, Cause)> {
        Some((self.open.node(), self.stream.clone(), self.cause))
    }

    fn tell(&self, by: &PermittedActor<'a>, _made: &()) {
        let (open, site) = (self.open, &by.volume().site);
        let told = |(folder, name): (&Node, Arc<[u8]>)| by.notices().written((folder, name), open.node());
        match &self.notice {
            OpenNotice::Nothing => {}
            OpenNotice::Waiting => {
                // A subscriber may have taken the earlier change, and looked at the file, before this one was made.
                if !open.published().is_current(site.subscriptions.deliveries())
                    && let Some((folder, name)) = open.place()
                {
                    told((&folder, name));
                }
            }
            OpenNotice::Written { folder, name, before } => {
                told((folder, name.clone()));
                if let Some(before) = before {
                    open.published().set(*before);
                }
            }
        }
    }
}

impl<'a> Operation<'a, OpenChange<'a>> {
    /// Ends the change, and commits it if it was made.
    pub(crate) fn end<T>(self, done: Result<T>) -> Result<T> {
        self.steps.open.note_changed();
        done.inspect(|_| self.commit(&()))
    }

    /// Ends a part of the change, which was made. Gives where the file is, if somebody listens: they are to be told.
    pub(crate) fn end_part(mut self) -> Option<(Node, Arc<[u8]>)> {
        self.steps.open.note_changed();
        self.commit_part();
        match std::mem::replace(&mut self.steps.notice, OpenNotice::Nothing) {
            OpenNotice::Nothing => None,
            OpenNotice::Waiting => self.steps.open.place(),
            OpenNotice::Written { folder, name, .. } => Some((folder, name)),
        }
    }
}
