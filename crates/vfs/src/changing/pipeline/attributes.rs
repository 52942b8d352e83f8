//! Changes of a file's attributes and of its ACL.

use super::{Asks, PermittedChange, Steps};
use crate::acl::AclChange;
use crate::backend::{Found, Node};
use crate::changing::forks::ForkChange;
use crate::changing::permitted::{PermittedActor, Plan};
use crate::state::{Cause, Stream};
use crate::{Actor, Result, SetAttributes, Volume};

/// A change of attributes, the size among them, or of the ACL.
pub(crate) struct AttributeChange<'a> {
    of: &'a Found,
    size: Option<u64>,
    /// The actor has just made the file: nothing of it needs to be recalled first.
    is_new: bool,
    /// The change of the fork behind `._name`.
    fork: Option<ForkChange<'a>>,
}

impl<'a> AttributeChange<'a> {
    pub(crate) fn permitted(
        volume: &'a Volume,
        actor: &'a Actor,
        of: &'a Found,
        changes: &SetAttributes,
    ) -> Result<PermittedChange<'a, Self>> {
        volume.may_change(of)?;
        if changes.size.is_some() {
            volume.inhibitions().may_write_despite(actor, &of.object)?;
        }
        let by = volume.permit(actor, Plan::Attributes(of, changes))?;
        Ok(PermittedChange::new(by, Self { of, size: changes.size, is_new: false, fork: None }))
    }

    /// The same of a file that this actor has just made.
    pub(crate) fn permitted_of_new(
        volume: &'a Volume,
        actor: &'a Actor,
        of: &'a Found,
        changes: &SetAttributes,
    ) -> Result<PermittedChange<'a, Self>> {
        let by = volume.permit(actor, Plan::Make)?;
        Ok(PermittedChange::new(by, Self { of, size: changes.size, is_new: true, fork: None }))
    }

    pub(crate) fn permitted_of_acl(
        volume: &'a Volume,
        actor: &'a Actor,
        of: &'a Found,
        change: &AclChange,
    ) -> Result<PermittedChange<'a, Self>> {
        volume.may_change(of)?;
        let by = volume.permit(actor, Plan::Acl(of, change))?;
        Ok(PermittedChange::new(by, Self { of, size: None, is_new: false, fork: None }))
    }

    fn cause(&self) -> Cause {
        if self.size.is_some() { Cause::Truncate } else { Cause::Attributes }
    }
}

impl<'a> Asks<'a> for AttributeChange<'a> {
    fn quiet(&mut self, by: &PermittedActor<'a>) -> Result<()> {
        if self.is_new {
            return Ok(());
        }
        let id = self.of.object.id();
        if let Some(size) = self.size {
            by.may_resize(id, size.min(self.of.attributes.size))?;
            self.fork = by.may_cut_fork(&self.of.object, size)?;
        }
        by.recall(id, self.cause())
    }
}

impl<'a> Steps<'a> for AttributeChange<'a> {
    type Made = ();

    fn changed(&self) -> Option<(&Node, Stream, Cause)> {
        Some((&self.of.object, Stream::Data, self.cause()))
    }
}
