//! A write of data without an open.

use super::{PermittedChange, QuietChange, Steps};
use crate::backend::{Found, Node};
use crate::changing::forks::ForkChange;
use crate::changing::permitted::{PermittedActor, Plan};
use crate::changing::stateless_writes::tell_stateless;
use crate::state::{Cause, Stream};
use crate::streams::PartWrite;
use crate::{Actor, Error, Result, Volume};

/// A write of a part of a file's data.
pub(crate) struct DataWrite<'a> {
    to: &'a Found,
    /// The change of the fork behind `._name`.
    fork: Option<ForkChange<'a>>,
}

impl<'a> DataWrite<'a> {
    pub(crate) fn permitted(
        volume: &'a Volume,
        actor: &'a Actor,
        to: &'a Found,
    ) -> Result<PermittedChange<'a, Self>> {
        volume.may_change(to)?;
        volume.inhibitions().may_write_despite(actor, &to.object)?;
        let by = volume.permit(actor, Plan::Write(to))?;
        Ok(PermittedChange::new(by, Self { to, fork: None }))
    }
}

impl<'a> PermittedChange<'a, DataWrite<'a>> {
    /// Asks others about this part of the file.
    pub(crate) async fn quiet_part(
        mut self,
        written: PartWrite<'_>,
    ) -> Result<QuietChange<'a, DataWrite<'a>>> {
        let node = &self.steps.to.object;
        self.by.quiet_data(node.id(), (written.offset, written.length as usize), true)?;
        self.steps.fork = self.by.may_write_fork(node, written).await?;
        self.by.volume().journalled(node).await;
        Ok(QuietChange(self))
    }
}

impl<'a> PermittedChange<'a, DataWrite<'a>> {
    /// The same at once. `WouldBlock`: the file is a sidecar with a fork that clients have open, or goes into a journal first.
    pub(crate) fn quiet_now(self, (offset, length): (u64, u64)) -> Result<QuietChange<'a, DataWrite<'a>>> {
        let node = &self.steps.to.object;
        self.by.quiet_data(node.id(), (offset, length as usize), true)?;
        match self.by.has_fork_in_use(node)? || self.by.volume().site.journals.has(node.id()) {
            true => Err(Error::WouldBlock),
            false => Ok(QuietChange(self)),
        }
    }
}

impl<'a> Steps<'a> for DataWrite<'a> {
    type Made = ();

    fn changed(&self) -> Option<(&Node, Stream, Cause)> {
        Some((&self.to.object, Stream::Data, Cause::Write))
    }

    fn tell(&self, by: &PermittedActor<'a>, _made: &()) {
        tell_stateless(by.volume(), by.actor(), &self.to.object);
    }
}
