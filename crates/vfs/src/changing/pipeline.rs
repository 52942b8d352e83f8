//! One change of the tree, from the permission to the last notice. All changes that clients make begin here, in one order.
//! Each step takes the one before, so that another order does not compile:
//!
//! ```text
//! names, read-only, locked bits ─► Plan ─► permit ─► PermittedChange    fails without any effect on others
//!                                                          │ quiet      deny modes, ranges and leases of others, forks behind ._name
//!                                                          ▼
//!                                                     QuietChange       else ShareConflict, RangeLocked, LeaseRecall
//!                                                          │ pinned     in a cluster: the states stay here until it is over
//!                                                          ▼
//!                                                     PinnedChange      else LeaseRecall
//!                                                          │ announce   what others got before the pins; the echo of the host
//!                                                          ▼
//!                                                      Operation
//!                                                          │ apply      the change itself
//!                                                          ▼
//!                                    commit: the echo is known, late leases are recalled, others are told
//!                                    drop:   the echo is forgotten, late leases are recalled
//! ```
//!
//! A kind of change is a type that implements [`Steps`]. It has what a failure must undo (guards, pins) as fields, so that
//! dropping it undoes it. Because a failed change may have been made in part, late leases are recalled in either case.

pub(crate) mod attributes;
pub(crate) mod data;
pub(crate) mod describing;
pub(crate) mod entries;
pub(crate) mod moving;
pub(crate) mod opened;

use super::notices::Notices;
use super::permitted::PermittedActor;
use crate::backend::Node;
use crate::local::Own;
use crate::state::{Cause, Stream};
use crate::{Caller, Result};

/// What the steps do for one kind of change. Each is called once, in this order.
pub(crate) trait Steps<'a> {
    /// What the change makes.
    type Made;

    /// Keeps the states of what is changed at this server.
    fn pin(&mut self, _by: &PermittedActor<'a>) -> Result<()> {
        Ok(())
    }

    /// Recalls what others have got before the states were here to stay, or what is known only now to be changed.
    fn recall_pinned(&self, _by: &PermittedActor<'a>) -> Result<()> {
        Ok(())
    }

    /// Announces the echo of the change. It is called only if somebody listens.
    fn echo(&mut self, _by: &PermittedActor<'a>) -> Own {
        Own::default()
    }

    /// The stream of a file that is changed. Leases on it that are granted meanwhile are recalled after the change.
    fn changed(&self) -> Option<(&Node, Stream, Cause)> {
        None
    }

    /// Tells others of what was made.
    fn tell(&self, _by: &PermittedActor<'a>, _made: &Self::Made) {}
}

/// What asks others at once. The changes that wait for others have a function of their own for this step.
pub(crate) trait Asks<'a>: Steps<'a> {
    /// Whether nothing that others hold stands against the change. Recalls their leases.
    fn quiet(&mut self, by: &PermittedActor<'a>) -> Result<()>;
}

/// A change that its actor may make. Nobody else was asked.
#[must_use = "nothing is changed yet"]
pub(crate) struct PermittedChange<'a, S> {
    by: PermittedActor<'a>,
    steps: S,
}

/// A change that nothing stands against that others hold.
#[must_use = "nothing is changed yet"]
pub(crate) struct QuietChange<'a, S>(PermittedChange<'a, S>);

/// A change whose states stay at this server until it is over.
#[must_use = "nothing is changed yet"]
pub(crate) struct PinnedChange<'a, S>(PermittedChange<'a, S>);

/// A change that is being made.
#[must_use = "it is committed when the change was made"]
pub(crate) struct Operation<'a, S: Steps<'a>> {
    by: PermittedActor<'a>,
    steps: S,
    own: Own,
    /// Whether late leases are still to be recalled.
    is_open: bool,
}

impl<'a, S: Steps<'a>> PermittedChange<'a, S> {
    pub(crate) fn new(by: PermittedActor<'a>, steps: S) -> Self {
        Self { by, steps }
    }
}

impl<'a, S: Asks<'a>> PermittedChange<'a, S> {
    /// Asks others. `LeaseRecall`: they have to give something back first.
    pub(crate) fn quiet(mut self) -> Result<QuietChange<'a, S>> {
        self.steps.quiet(&self.by)?;
        Ok(QuietChange(self))
    }
}

impl<'a, S: Steps<'a>> QuietChange<'a, S> {
    /// Keeps the states here. `LeaseRecall`: one is at another server.
    #[inline]
    pub(crate) fn pinned(mut self) -> Result<PinnedChange<'a, S>> {
        self.0.steps.pin(&self.0.by)?;
        Ok(PinnedChange(self.0))
    }
}

impl<'a, S: Steps<'a>> PinnedChange<'a, S> {
    /// What the steps have learned while the states are here.
    pub(crate) fn steps(&self) -> &S {
        &self.0.steps
    }

    /// The same, to say what is known only now.
    pub(crate) fn steps_mut(&mut self) -> &mut S {
        &mut self.0.steps
    }

    /// Announces the change, which is made next.
    #[inline]
    pub(crate) fn announce(self) -> Result<Operation<'a, S>> {
        let PermittedChange { by, mut steps } = self.0;
        steps.recall_pinned(&by)?;
        let volume = by.volume();
        if let Some((node, stream, cause)) = steps.changed() {
            volume.notes().change(cause, node);
            if stream == Stream::Data {
                volume.site.journals.before_change(node);
            }
        }
        let own = if volume.site.listens() { steps.echo(&by) } else { Own::default() };
        Ok(Operation { by, steps, own, is_open: true })
    }
}

impl<'a, S: Steps<'a>> Operation<'a, S> {
    /// Makes the change, as the identity that may make it. If it was made, commits it.
    pub(crate) fn apply(
        mut self,
        change: impl FnOnce(&mut S, &Caller) -> Result<S::Made>,
    ) -> Result<S::Made> {
        let made = change(&mut self.steps, self.by.identity())?;
        self.commit(&made);
        Ok(made)
    }

    /// The change was made.
    #[inline]
    pub(crate) fn commit(mut self, made: &S::Made) {
        std::mem::take(&mut self.own).made();
        self.recall_late();
        self.steps.tell(&self.by, made);
    }

    /// A part of the change was made. Others are told when all of it is made, by another operation.
    pub(crate) fn commit_part(&mut self) {
        std::mem::take(&mut self.own).made();
        self.recall_late();
    }

    pub(crate) fn by(&self) -> &PermittedActor<'a> {
        &self.by
    }

    pub(crate) fn steps_mut(&mut self) -> &mut S {
        &mut self.steps
    }

    /// Recalls leases that were granted while the change was made.
    #[inline]
    fn recall_late(&mut self) {
        if std::mem::take(&mut self.is_open)
            && let Some((node, stream, cause)) = self.steps.changed()
        {
            let (volume, file) = (self.by.volume(), node.id());
            volume.unheard(node);
            if let Some(recall) = volume.site.state.break_for(file, &stream, cause, self.by.party) {
                volume.site.recalls.settle(file, recall);
            }
        }
    }
}

impl<'a, S: Steps<'a>> Drop for Operation<'a, S> {
    fn drop(&mut self) {
        self.recall_late();
    }
}

impl<'a> PermittedActor<'a> {
    /// Tells others of a change that this actor has made.
    pub(crate) fn notices(&self) -> Notices<'a> {
        Notices::of(self.volume(), self.actor())
    }
}
