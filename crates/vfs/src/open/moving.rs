//! Moving an open file, and giving it further names, by where it is now.

use super::Open;
use crate::backend::{Found, RenameMode};
use crate::changing::permitted::Plan;
use crate::state::{Cause, Stream};
use crate::{Caller, Error, Kind, Result};

/// How often a move begins again because another client moved the file meanwhile.
const MOST_TRIES: usize = 8;

impl Open {
    /// Moves the file to another name, in the same folder or another one. Other opens of the file
    /// stay open, unless one of them denies removal (`ShareConflict`). Files that are open inside a
    /// folder move along. Waits for leases of other clients.
    pub async fn rename_to(&self, folder: &Found, name: &[u8], mode: RenameMode) -> Result<()> {
        self.may_leave()?;
        let doer = self.doer();
        let (from, was) = self.place().ok_or(Error::Invalid)?;
        let from = Found { attributes: from.attributes()?, object: from };
        self.volume.permit(&doer, Plan::Move((&from, &was), (folder, name), mode))?;
        self.recall(Cause::Rename).await;
        if let Ok(target) = self.volume.lookup(&doer.caller, &folder.object, name) {
            self.recall_of(&target.object, &Stream::Data, Cause::Remove).await;
        }
        let mut tried = 0;
        let rename = || loop {
            tried += 1;
            match self.move_now(folder, name, mode) {
                Err(Error::Stale) if tried < MOST_TRIES => {}
                other => return other,
            }
        };
        self.volume.settled(rename).await
    }

    fn move_now(&self, folder: &Found, name: &[u8], mode: RenameMode) -> Result<()> {
        let (from, was) = self.place().ok_or(Error::Invalid)?;
        let found = Found { attributes: from.attributes()?, object: from.clone() };
        let caller = Caller::root();
        let is_this =
            |name: &[u8]| from.lookup(&caller, name).is_ok_and(|there| there.object.key() == self.node.key());
        self.volume.rename_if(&self.doer(), (&found, &was), (folder, name), mode, is_this).map(drop)
    }

    /// Gives the file another name, besides those it has. Waits for leases of other clients.
    pub async fn link_to(&self, folder: &Found, name: &[u8]) -> Result<()> {
        if self.node.kind() == Kind::Folder {
            return Err(Error::IsFolder);
        }
        let doer = self.doer();
        let link = || {
            let target = Found { attributes: self.node.attributes()?, object: self.node.clone() };
            self.volume.link(&doer, &target, folder, name).map(drop)
        };
        self.volume.settled(link).await
    }
}
