//! Further names of files.

use super::{Actor, Change, Volume};
use crate::Result;
use crate::backend::Found;
use crate::changing::pipeline::entries::LinkCreation;

impl Volume {
    /// Another name for a file.
    pub fn link(&self, actor: &Actor, target: &Found, folder: &Found, name: &[u8]) -> Result<Change> {
        self.notes().link(&target.object, &folder.object, name);
        let link =
            LinkCreation::permitted(self, actor, target, (folder, name))?.quiet()?.pinned()?.announce()?;
        link.apply(|link, by| {
            self.pairs().link(by, target, folder, &link.name)?;
            self.listings.forget_details(); // of its other names, of which no watch tells
            Ok(())
        })?;
        Ok(Change { before: folder.attributes, after: folder.object.attributes()? })
    }
}
