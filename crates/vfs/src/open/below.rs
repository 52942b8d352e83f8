//! What is open inside a folder, for protocols whose clients expect that such a folder stays where it is.
//!
//! Each server of several knows where the opens of its own clients are, so the one that moves a folder asks the others. From the
//! look on, nothing is opened inside the folder until it is moved: new opens wait, at all servers.
//!
//! ```text
//! recall_below ─► hold ─► is anything open? ─► Coordinator::hold_below ─► (move) ─► Hold dropped, here and there
//!                                                        ⋮
//! at each other server:         files_open_below, recall_opens ─► Site::hold_below
//! ```

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use crate::backend::Backend;
use crate::backend::Node;
use crate::faces::CachingTree;
use crate::state::{Cause, MOST_TRIES, Party, RECALL_DEADLINE, Stream};
use crate::{Actor, Beside, Error, FileId, Result, Site};

use super::places::Place;

/// The folders in which nothing is opened now.
#[derive(Clone, Default)]
pub(crate) struct Holds(Arc<Folders>);

#[derive(Default)]
struct Folders {
    /// How many there are. If it is zero, opens do not look at them.
    count: AtomicUsize,
    /// Each with the number of its holds.
    held: watch::Sender<HashMap<FileId, usize>>,
}

/// Nothing is opened inside a folder by clients of this server until this is dropped.
pub struct Hold {
    holds: Holds,
    folder: FileId,
}

/// Nothing is opened inside a folder by clients of any server until this is dropped.
#[derive(Debug)]
pub struct Still {
    _here: Hold,
    _elsewhere: Option<Box<dyn Any + Send>>,
}

impl Holds {
    /// Opens that note their place after this wait. So a look at the places that comes after it misses none.
    fn add(&self, folder: FileId) -> Hold {
        self.change(|held| *held.entry(folder).or_default() += 1);
        Hold { holds: self.clone(), folder }
    }

    fn change(&self, change: impl FnOnce(&mut HashMap<FileId, usize>)) {
        self.0.held.send_modify(|held| {
            change(held);
            self.0.count.store(held.len(), Ordering::SeqCst);
        });
    }

    /// Whether anything may be opened in this folder now.
    fn lets(&self, at: &Node) -> bool {
        if self.0.count.load(Ordering::SeqCst) == 0 {
            return true;
        }
        let mut known: HashMap<FileId, bool> =
            self.0.held.borrow().keys().map(|folder| (*folder, true)).collect();
        known.is_empty() || !is_at_or_below(at, &mut known)
    }

    /// Waits until something may be opened in this folder. False if that takes too long.
    async fn ended(&self, at: &Node) -> bool {
        if self.lets(at) {
            return true;
        }
        let mut held = self.0.held.subscribe();
        let ended = async {
            while !self.lets(at) {
                let _ = held.changed().await; // it fails only if the sender is gone, and this has it
            }
        };
        timeout(RECALL_DEADLINE, ended).await.is_ok()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let folder = self.folder;
        self.holds.change(|held| match held.get_mut(&folder) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(held.remove(&folder)),
        });
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nothing is opened in {:?}", self.folder)
    }
}

impl CachingTree<'_> {
    /// Has all clients close what they have open only in their caches inside a folder, at any depth. `None` if anything is open
    /// there after that, by a client of any server; else nothing is opened there until the answer is dropped. `LeaseRecall`:
    /// another server has not answered in time.
    pub async fn hold_below(&self, actor: &Actor, folder: &Node) -> Result<Option<Still>> {
        self.recall_below(actor, folder).await;
        let Some(here) = self.volume.site.hold_below(folder.id()) else { return Ok(None) };
        let Some(asked) = self.volume.site.state.hold_elsewhere(folder.id(), actor.party) else {
            return Ok(Some(Still { _here: here, _elsewhere: None }));
        };
        let limit = self.volume.site.state.longest_recall() + Duration::from_secs(2);
        match timeout(limit, asked).await {
            // An open of a lost server may have been inherited meanwhile.
            Ok(Ok(Some(_))) if self.open_below(folder) => Ok(None),
            Ok(Ok(elsewhere)) => {
                Ok(elsewhere.map(|elsewhere| Still { _here: here, _elsewhere: Some(elsewhere) }))
            }
            _ => Err(Error::LeaseRecall(folder.id())),
        }
    }

    /// Whether anything inside a folder, at any depth, is open by a client of this server, as far as opens have said where
    /// their files are. First call [`CachingTree::recall_below`], because some files may be open only in a cache.
    pub fn open_below(&self, folder: &Node) -> bool {
        !self.volume.site.files_open_below(folder.id(), 1).is_empty()
    }

    /// Asks the clients of this server that keep files inside a folder open only in their caches to close them, and waits until
    /// they have. A client that is not connected closes them as well.
    pub async fn recall_below(&self, actor: &Actor, folder: &Node) {
        let files = self.volume.site.files_open_below(folder.id(), usize::MAX);
        self.volume.site.recall_opens(actor.party, &files).await;
    }
}

impl Site {
    /// Up to `most` files inside a folder, at any depth, that clients of this server have open. Waits for the disk.
    pub fn files_open_below(&self, folder: FileId, most: usize) -> Vec<FileId> {
        let mut known = HashMap::from([(folder, true)]);
        let open = self.places.all().into_iter();
        open.filter(|(_, at)| is_at_or_below(at, &mut known)).map(|(file, _)| file).take(most).collect()
    }

    /// Asks the clients that keep these files open only in their caches to close them, and waits until they have, or have lost
    /// those caches. A client that is not connected closes them as well. Not those of `by`.
    pub async fn recall_opens(&self, by: Party, files: &[FileId]) {
        for file in files {
            self.state.make_way(*file, by.client);
            self.recall_and_wait(by, *file, &Stream::Data, Cause::ShareConflict).await;
        }
    }

    /// Nothing is opened inside a folder by clients of this server until the answer is dropped. `None` if something is open there.
    /// Waits for the disk.
    pub fn hold_below(&self, folder: FileId) -> Option<Hold> {
        let hold = self.holds.add(folder);
        self.files_open_below(folder, 1).is_empty().then_some(hold)
    }

    /// Notes the place of an open. Waits while nothing may be opened there, as for a lease; `LeaseRecall` if that takes too long.
    pub(super) async fn place(
        &self,
        file: FileId,
        beside: Beside<'_>,
        backend: &Arc<dyn Backend>,
    ) -> Result<Arc<Place>> {
        for _ in 0..MOST_TRIES {
            if !self.holds.ended(beside.folder).await {
                break;
            }
            let place = self.places.add(file, beside, backend);
            if self.holds.lets(beside.folder) {
                return Ok(place);
            }
        }
        Err(Error::LeaseRecall(file))
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
