//! Scrubbing: the tree, and what the server keeps beside and inside it, compared with each other and put right.
//!
//! ```text
//! each entry of the tree ─┬─► its attributes: metadata, mark of its sidecar, ACL, locks        attributes.rs
//!                         └─► `._name`: whose it is, and whether it can be read                 sidecars.rs
//! each root of a share or mount ─► the store of streams: whose they are, interrupted steps      store.rs
//! ```
//!
//! Every step goes through the backend, so nothing leads out of the share, and clients may change everything meanwhile. What
//! is to be mended is looked at again while no other thread changes the same pair of files. Each repair is one step of the
//! host, or steps whose interruption the next scrub finds. What may be the only copy of something is never removed: it goes
//! to the server's own folder [`OwnFolder::LOST`](crate::OwnFolder::LOST).
//!
//! All of this blocks.

mod attributes;
mod finding;
mod living;
mod lost;
mod sidecars;
mod store;
#[cfg(test)]
mod tests;
pub(crate) mod walk;

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Instant;

use crate::backend::Node;
use crate::backend::Object;
use crate::caller::server;
use crate::changing::busy::Changing;
use crate::mac::layout::{NETATALK2_FOLDER, SYNOLOGY_FOLDER};
use crate::names::own::{UNFINISHED, is_own_name};
use crate::streams::stores::Stores;
use crate::streams::{STORE, Streams};
use crate::{Attributes, Error, HostKey, Kind, Result, Time, Volume};

pub use self::finding::{Finding, Flaw, Outcome, Why};
use self::living::{Census, Living};
use self::walk::Visitor;

/// What has changed within this many seconds may be work that goes on.
const SETTLED_AFTER_SECS: i64 = 3600;

/// What a look at an entry costs the disk, as a number of bytes: reserved streams go before it.
const LOOK_BYTES: usize = 64 * 1024;

/// What a scrub does.
#[derive(Debug, Clone, Copy)]
pub struct ScrubOptions {
    /// Mends what can be mended without losing data. Else nothing is changed.
    pub repair: bool,
    /// The time.
    pub now: Time,
}

/// A caller that is told what a scrub finds.
pub trait ScrubObserver {
    /// Something is wrong.
    fn found(&mut self, finding: Finding);
    /// So many entries were looked at since the last call. The scrub ends if the answer is false.
    fn looked(&mut self, count: u64) -> bool;
}

/// A folder, a name in it, and the path of the entry.
type Entry = (Node, Vec<u8>, Vec<u8>);

/// A scrub of a volume.
pub struct Scrub<'a> {
    volume: &'a Volume,
    streams: Arc<Streams>,
    /// `._name` is the sidecar of `name` in this volume.
    sidecars: bool,
    options: ScrubOptions,
    observer: RefCell<&'a mut dyn ScrubObserver>,
    census: Census,
    goes_on: Cell<bool>,
    /// Whether there is a note that there are locked files, if that was looked for.
    locks_noted: Cell<bool>,
    /// Files to look at once more, with their paths.
    again: RefCell<Vec<Entry>>,
}

impl<'a> Scrub<'a> {
    /// Prepares a scrub. Where the host does not find files by their keys, this walks the share twice.
    ///
    /// # Errors
    /// The share's folder cannot be read. `ReadOnly`: a repair of a volume that cannot be changed.
    pub fn new(
        volume: &'a Volume,
        options: ScrubOptions,
        observer: &'a mut dyn ScrubObserver,
    ) -> Result<Self> {
        if options.repair && volume.is_read_only() {
            return Err(Error::ReadOnly);
        }
        let root = volume.root()?.object;
        volume.homes.learn(&root.key())?;
        let mut goes_on = true;
        let census = Census::new(volume.backend.as_ref(), &mut || {
            goes_on = goes_on && observer.looked(0);
            goes_on
        })?;
        let sidecars = volume.streams.is_some();
        let streams = volume
            .streams
            .clone()
            .unwrap_or_else(|| Arc::new(Streams::at(volume.backend.clone(), volume.homes.clone())));
        Ok(Self {
            volume,
            streams,
            sidecars,
            options,
            observer: RefCell::new(observer),
            census,
            goes_on: Cell::new(goes_on),
            locks_noted: Cell::new(false),
            again: RefCell::default(),
        })
    }

    /// Looks at the file or folder at this path of stored names, with all below it. The store of streams is looked at with
    /// the share's folder, for which the path is empty. Returns whether all was looked at: the observer may end it early.
    ///
    /// # Errors
    /// There is no such file, or the share's folder cannot be read.
    pub fn run(self, path: &[&[u8]]) -> Result<bool> {
        let root = self.volume.root()?.object;
        let owned: Vec<Vec<u8>> = path.iter().map(|name| name.to_vec()).collect();
        let Some((last, above)) = owned.split_last() else {
            walk::tree(root.clone(), Vec::new(), &mut &self);
            self.look_again();
            self.home(&root, &[]);
            return Ok(self.goes_on.get());
        };
        let folder = match above {
            [] => root,
            _ => root.lookup_path(server(), &path[..above.len()])?.object,
        };
        let kind = folder.entry_attributes(server(), last)?.kind;
        if (&mut &self).look(&folder, last, above) && kind == Kind::Folder {
            walk::tree(folder.lookup(server(), last)?.object, owned, &mut &self);
        }
        self.look_again();
        Ok(self.goes_on.get())
    }

    /// What may be at the root of a share, or of a mount inside it.
    fn home(&self, home: &Node, path: &[Vec<u8>]) {
        if self.goes_on.get() {
            self.checked(&place(path, STORE), self.store(home, path));
        }
    }

    fn report(&self, path: Vec<u8>, flaw: Flaw, outcome: Outcome) {
        self.observer.borrow_mut().found(Finding { path, flaw, outcome });
    }

    /// Reports something, and mends it if that is wanted.
    fn settle(&self, path: &[u8], flaw: Flaw, mend: impl FnOnce() -> Result<Outcome>) {
        let outcome = match self.options.repair {
            false => Outcome::Mendable,
            true => mend().unwrap_or_else(|error| Outcome::Left(Why::Failed(error))),
        };
        self.report(path.to_vec(), flaw, outcome);
    }

    /// Reports something that the scrub does not mend.
    fn leave(&self, path: &[u8], flaw: Flaw, why: Why) {
        self.report(path.to_vec(), flaw, Outcome::Left(why));
    }

    /// Reports that something could not be looked at. What is gone meanwhile needs no look.
    fn checked(&self, path: &[u8], looked: Result<()>) {
        match looked {
            Ok(()) | Err(Error::NotFound | Error::Stale) => {}
            Err(error) => self.leave(path, Flaw::Unreadable(error), Why::Failed(error)),
        }
    }

    fn find(&self, key: &HostKey) -> Result<Living> {
        self.census.find(self.volume.backend.as_ref(), key)
    }

    /// Whether nobody works on it now, as its last change was long ago.
    fn is_settled(&self, attributes: &Attributes) -> bool {
        attributes.changed.secs.saturating_add(SETTLED_AFTER_SECS) <= self.options.now.secs
    }

    /// No other thread, and no other server, changes this file and its sidecar while the result is there.
    fn claim(&self, folder: &Node, name: &[u8]) -> Result<Changing<'_>> {
        let pins = self.volume.name_pins().pin_and_wait(folder, name)?;
        Ok(self.volume.site.busy.change_pinned(&[(folder.id(), name)], pins))
    }

    /// Moves an entry to the folder for what is lost.
    fn keep(&self, folder: &dyn Object, name: &[u8], path: &[u8]) -> Result<Outcome> {
        lost::keep(self.volume.backend.as_ref(), folder, name, path)
    }

    /// A new file that has not got its long name.
    fn unfinished(&self, folder: &Node, name: &[u8], path: &[u8]) -> Result<()> {
        let found = folder.lookup(server(), name)?;
        if !self.is_settled(&found.attributes) {
            self.leave(path, Flaw::NewUnfinished, Why::Recent);
            return Ok(());
        }
        self.settle(path, Flaw::NewUnfinished, || {
            let is_empty = match found.attributes.kind {
                Kind::Folder => walk::page(&*found.object, 0)?.0.is_empty(),
                Kind::File => found.attributes.size == 0,
                _ => false,
            };
            match (is_empty, found.attributes.kind) {
                (true, Kind::Folder) => folder.remove_folder(server(), name).map(|()| Outcome::Mended),
                (true, _) => folder.remove(server(), name).map(|()| Outcome::Mended),
                (false, _) => self.keep(&**folder, name, path),
            }
        });
        Ok(())
    }

    /// A folder that has the name of a store: one that no share uses?
    fn own_name(&self, folder: &Node, name: &[u8], path: &[Vec<u8>]) -> Result<()> {
        if name.starts_with(UNFINISHED) {
            return self.unfinished(folder, name, &place(path, name));
        }
        if name != STORE || folder.entry_attributes(server(), name)?.kind != Kind::Folder {
            return Ok(());
        }
        if self.volume.homes.of(&folder.key())?.iter().all(|home| home.id() != folder.id()) {
            self.leave(&place(path, name), Flaw::FolderAstray, Why::Undecided);
        }
        Ok(())
    }
}

impl Visitor for &Scrub<'_> {
    fn enter(&mut self, folder: &Node, parent: &Node, path: &[Vec<u8>]) {
        if folder.id().device != parent.id().device {
            self.home(folder, path);
        }
    }

    fn look(&mut self, folder: &Node, name: &[u8], path: &[Vec<u8>]) -> bool {
        if !self.goes_on.get() {
            return false;
        }
        let goes_on = self.observer.borrow_mut().looked(1);
        self.goes_on.set(goes_on);
        std::thread::sleep(self.volume.site.reserved.rest(LOOK_BYTES, Instant::now()));
        if is_own_name(name) {
            self.checked(&place(path, name), self.own_name(folder, name, path));
            return false;
        }
        let glance = match folder.glance(server(), name) {
            Ok(glance) => glance,
            Err(error) => {
                self.checked(&place(path, name), Err(error));
                return false;
            }
        };
        let at = place(path, name);
        match glance.attributes.kind {
            Kind::File => {
                self.checked(&at, self.attributes(folder, name, &at, &glance));
                self.checked(&at, self.sidecar(folder, name, &at));
                false
            }
            Kind::Folder if [NETATALK2_FOLDER, SYNOLOGY_FOLDER].contains(&name) => false,
            Kind::Folder => {
                self.checked(&at, self.attributes(folder, name, &at, &glance));
                true
            }
            _ => false,
        }
    }

    fn unreadable(&mut self, path: &[Vec<u8>], error: Error) {
        self.checked(&path.join(&b'/'), Err(error));
    }

    fn goes_on(&mut self) -> bool {
        self.goes_on.get()
    }
}

/// The path of an entry.
fn place(path: &[Vec<u8>], name: &[u8]) -> Vec<u8> {
    let mut place = path.join(&b'/');
    if !place.is_empty() {
        place.push(b'/');
    }
    place.extend_from_slice(name);
    place
}
