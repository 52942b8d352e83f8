//! Moving an open file, and giving it further names, by where it is now.

use std::collections::HashMap;

use super::Open;
use crate::backend::{Found, RenameMode};
use crate::state::{Cause, Stream};
use crate::volume::Node;
use crate::{Actor, Caller, Error, FileId, Kind, Result, Volume};

/// How often a move begins again because another client moved the file meanwhile.
const MOST_TRIES: usize = 8;

impl Open {
    /// Moves the file to another name, in the same folder or another one. Other opens of the file
    /// stay open, unless one of them denies removal (`ShareConflict`). Files that are open inside a
    /// folder move along. Waits for leases of other clients.
    pub async fn rename_to(&self, folder: &Found, name: &[u8], mode: RenameMode) -> Result<()> {
        self.may_leave()?;
        self.recall(Cause::Rename).await;
        if let Ok(target) = self.volume.lookup(&self.doer().caller, &folder.object, name) {
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

impl Volume {
    /// Whether anything inside a folder, at any depth, is open, as far as opens have said where
    /// their files are. For protocols whose clients expect that such a folder stays where it is.
    /// First call [`Volume::recall_below`], because some files may be open only in a cache.
    pub fn open_below(&self, folder: &Node) -> bool {
        !self.files_below(folder, 1).is_empty()
    }

    /// Asks the clients that keep files inside a folder open only in their caches to close them,
    /// and waits until they have. A client that is not connected closes them as well.
    pub async fn recall_below(&self, actor: &Actor, folder: &Node) {
        for file in self.files_below(folder, usize::MAX) {
            self.site.state.make_way(file, actor.party.client);
            self.recall_and_wait(actor, file, &Stream::Data, Cause::ShareConflict).await;
        }
    }

    /// Up to `most` open files inside a folder, at any depth.
    fn files_below(&self, folder: &Node, most: usize) -> Vec<FileId> {
        let mut known = HashMap::from([(folder.id(), true)]);
        let open = self.site.places.all().into_iter();
        open.filter(|(_, at)| is_at_or_below(at, &mut known)).map(|(file, _)| file).take(most).collect()
    }
}

/// `known` tells of folders whether they are, and learns it of the folders on the way up.
fn is_at_or_below(at: &Node, known: &mut HashMap<FileId, bool>) -> bool {
    let (mut way, mut at) = (Vec::new(), at.clone());
    let is_below = loop {
        if let Some(known) = known.get(&at.id()) {
            break *known;
        }
        way.push(at.id());
        match at.parent() {
            Ok(above) if above.object.id() != at.id() => at = above.object,
            _ => break false, // the share's own folder, or one that has left it
        }
    };
    known.extend(way.into_iter().map(|folder| (folder, is_below)));
    is_below
}
