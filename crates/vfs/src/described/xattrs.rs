//! Extended attributes by name, which protocols keep with a file besides its streams. Names are compared byte by byte, and
//! values have no meaning here. (What Macs call extended attributes are named streams.)

use crate::acl::Rights;
use crate::backend::{Found, XattrMode};
use crate::changing::pipeline::describing::DescriptionChange;
use crate::events::Aspects;
use crate::streams::xattrs::{PREFIX, Xattr, read};
use crate::{Actor, Beside, Caller, Result, Volume};

/// The new value of the attribute with this name; `None` removes it.
pub type XattrChange = (Vec<u8>, Option<Vec<u8>>);

impl Volume {
    /// A file's extended attributes, in no particular order.
    pub fn xattrs(&self, of: &Found) -> Result<Vec<Xattr>> {
        read(&*of.object)
    }

    /// Makes the changes that `plan` derives from the present attributes, in their order. No other client changes the file's
    /// attributes in between.
    pub fn change_xattrs(
        &self,
        actor: &Actor,
        of: &Found,
        place: Option<Beside<'_>>,
        plan: impl FnOnce(Vec<Xattr>) -> Result<Vec<XattrChange>>,
    ) -> Result<()> {
        let permitted = DescriptionChange::permitted(self, actor, (of, place), Rights::WRITE_NAMED)?;
        let pinned = permitted.quiet()?.pinned()?;
        let changes = plan(read(&*of.object)?)?;
        changes.iter().try_for_each(|(name, _)| Xattr::check_name(name))?;
        if changes.is_empty() {
            return Ok(());
        }
        pinned.of(Aspects::XATTR, Vec::new()).announce()?.apply(|_, _| {
            changes.iter().try_for_each(|(name, value)| {
                let stored = [PREFIX, name].concat();
                match value {
                    Some(value) => of.object.set_xattr(&Caller::root(), &stored, value, XattrMode::Set),
                    None => of.object.remove_xattr(&Caller::root(), &stored),
                }
            })
        })
    }
}
