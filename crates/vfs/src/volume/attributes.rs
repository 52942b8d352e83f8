//! Changing attributes.

use super::{Actor, Change, Volume};
use crate::backend::Found;
use crate::changing::pipeline::attributes::AttributeChange;
use crate::state::Cause;
use crate::{Result, SetAttributes};

impl Volume {
    /// Changes attributes.
    pub fn set_attributes(&self, actor: &Actor, of: &Found, changes: &SetAttributes) -> Result<Change> {
        let changes = &self.as_of_new(of, changes);
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
}
