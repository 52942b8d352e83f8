//! Changing attributes.

use super::{Actor, Change, Volume};
use crate::backend::Found;
use crate::changing::pipeline::attributes::AttributeChange;
use crate::state::Cause;
use crate::{Result, SetAttributes};

impl Volume {
    /// Changes attributes.
    pub fn set_attributes(&self, actor: &Actor, of: &Found, changes: &SetAttributes) -> Result<Change> {
        let cause = if changes.size.is_some() { Cause::Truncate } else { Cause::Attributes };
        self.notes().change(cause, &of.object);
        let change = AttributeChange::permitted(self, actor, of, changes)?;
        change
            .quiet()?
            .pinned()?
            .announce()?
            .apply(|_, _| self.acl_storage().change_attributes(actor, of, changes))?;
        Ok(Change { before: of.attributes, after: of.object.attributes()? })
    }

    /// As [`Volume::set_attributes`], of an object that this actor has just made. If its state is not here yet, nothing
    /// of it needs to be recalled first; what other clients have got of it meanwhile is recalled afterwards.
    pub fn set_attributes_of_new(
        &self,
        actor: &Actor,
        of: &Found,
        changes: &SetAttributes,
    ) -> Result<Change> {
        if !self.site.state.is_elsewhere(of.object.id()) {
            return self.set_attributes(actor, of, changes);
        }
        let change = AttributeChange::permitted_of_new(self, actor, of, changes)?;
        change
            .quiet()?
            .pinned()?
            .announce()?
            .apply(|_, _| self.acl_storage().change_attributes(actor, of, changes))?;
        Ok(Change { before: of.attributes, after: of.object.attributes()? })
    }
}
