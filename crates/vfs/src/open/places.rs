//! The places of open files.
//!
//! A move by a client of this server changes the place while the old and the new name are claimed. A move by a client of
//! another server is told ([`Places::moved_elsewhere`]) before the state of the file comes from there. It is noted then,
//! and the folder is looked up when the place is asked for, because the thread that is told must not wait for a disk.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lock::Mutex;

use super::Beside;
use crate::backend::Backend;
use crate::backend::Node;
use crate::changing::busy::{Busy, Changing};
use crate::ranks;
use crate::state::Link;
use crate::{Caller, Error, FileId, HostKey, IdMap};

/// The folder and name of an open file, as of now.
struct OpenPlace {
    place: Mutex<PlaceRecord, ranks::OpenPlace>,
    backend: Arc<dyn Backend>,
}

/// What is known of a place.
struct PlaceRecord {
    folder: Node,
    name: Arc<[u8]>,
    /// Where a client of another server has moved the file to since.
    told: Option<ReportedMove>,
}

#[derive(Clone, PartialEq, Eq)]
struct ReportedMove {
    folder: FileId,
    key: HostKey,
    name: Arc<[u8]>,
}

impl PlaceRecord {
    fn new(folder: Node, name: &[u8]) -> Self {
        Self { folder, name: name.into(), told: None }
    }

    fn is(&self, folder: FileId, name: &[u8]) -> bool {
        match &self.told {
            Some(told) => (told.folder, &*told.name) == (folder, name),
            None => (self.folder.id(), &*self.name) == (folder, name),
        }
    }
}

impl OpenPlace {
    fn now(&self) -> (Node, Arc<[u8]>) {
        loop {
            let told = {
                let known = self.place.lock();
                match &known.told {
                    None => return (known.folder.clone(), known.name.clone()),
                    Some(told) => told.clone(),
                }
            };
            let folder = self.backend.by_key(&told.key);
            let mut known = self.place.lock();
            if known.told.as_ref() == Some(&told) {
                known.told = None;
                // A folder that is gone has taken nothing along: the file has been moved on, and that is told, too.
                if let Ok(folder) = folder {
                    (known.folder, known.name) = (folder.object, told.name);
                }
            }
        }
    }
}

/// Where an open file is. The volume knows it until this is dropped.
pub(super) struct Place {
    at: Arc<OpenPlace>,
    file: FileId,
    link: Link,
    places: Places,
}

impl Place {
    /// The name of the file by which it is open. The same for all opens by this name, also after a
    /// move.
    pub(super) fn link(&self) -> Link {
        self.link
    }

    pub(super) fn now(&self) -> (Node, Arc<[u8]>) {
        self.at.now()
    }

    /// A local process has moved the file here.
    pub(super) fn moved_to(&self, folder: Node, name: &[u8]) {
        *self.at.place.lock() = PlaceRecord::new(folder, name);
    }

    /// The place, and the file itself, which may have other names: no other thread changes the streams of the file, or what
    /// is at the place, until the guard is dropped.
    pub(super) fn claim<'a>(&self, busy: &'a Busy) -> (Changing<'a>, Node, Arc<[u8]>) {
        claim(&self.at, self.file, busy)
    }
}

fn claim<'a>(at: &OpenPlace, file: FileId, busy: &'a Busy) -> (Changing<'a>, Node, Arc<[u8]>) {
    loop {
        let (folder, name) = at.now();
        let changing = busy.change(&[(folder.id(), &name), (file, b"")]);
        if at.place.lock().is(folder.id(), &name) {
            return (changing, folder, name);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.remove(self.file, self.link);
    }
}

/// The places of a volume that opens depend on.
#[derive(Default, Clone)]
pub(crate) struct Places(Arc<PlaceTable>);

#[derive(Default)]
struct PlaceTable {
    /// How many files. If it is zero, other threads do not take the lock.
    count: AtomicUsize,
    files: Mutex<FilePlaces, ranks::OpenPlaces>,
}

#[derive(Default)]
struct FilePlaces {
    /// By file, and for one file in the order in which its names were opened.
    places: IdMap<FileId, BTreeMap<Link, Name>>,
    next: u64,
}

/// One name of a file, which opens share.
struct Name {
    at: Arc<OpenPlace>,
    opens: usize,
}

impl Name {
    fn is(&self, folder: FileId, name: &[u8]) -> bool {
        self.at.place.lock().is(folder, name)
    }
}

impl Places {
    /// An open of a file of this backend, by this name.
    pub(super) fn add(&self, file: FileId, beside: Beside<'_>, backend: &Arc<dyn Backend>) -> Arc<Place> {
        let folder = beside.folder.id();
        let mut files = self.0.files.lock();
        let FilePlaces { places, next } = &mut *files;
        let names = places.entry(file).or_default();
        let (link, at) = match names.iter_mut().find(|(_, name)| name.is(folder, beside.name)) {
            Some((link, name)) => {
                name.opens += 1;
                (*link, name.at.clone())
            }
            None => {
                let place = Mutex::new(PlaceRecord::new(beside.folder.clone(), beside.name));
                let (link, at) = (Link(*next), Arc::new(OpenPlace { place, backend: backend.clone() }));
                *next += 1;
                names.insert(link, Name { at: at.clone(), opens: 1 });
                (link, at)
            }
        };
        self.0.count.store(files.places.len(), Ordering::Release);
        Arc::new(Place { at, file, link, places: self.clone() })
    }

    fn remove(&self, file: FileId, link: Link) {
        let mut files = self.0.files.lock();
        if let Entry::Occupied(mut names) = files.places.entry(file)
            && let Some(name) = names.get_mut().get_mut(&link)
        {
            name.opens -= 1;
            if name.opens == 0 {
                names.get_mut().remove(&link);
            }
            if names.get().is_empty() {
                names.remove();
            }
        }
        self.0.count.store(files.places.len(), Ordering::Release);
    }

    /// Whether a file that is open is not at one of the places any more by which it was opened. Waits until this server
    /// has finished what it is doing to them.
    pub(crate) fn has_lost_a_name(&self, file: FileId, busy: &Busy) -> bool {
        let ats: Vec<Arc<OpenPlace>> = {
            let files = self.0.files.lock();
            let names = files.places.get(&file).into_iter().flat_map(BTreeMap::values);
            names.map(|name| name.at.clone()).collect()
        };
        ats.iter().any(|at| {
            let (_changing, folder, name) = claim(at, file, busy);
            match folder.entry_attributes(&Caller::root(), &name) {
                Ok(found) => found.id != file,
                Err(error) => error == Error::NotFound,
            }
        })
    }

    /// The name of a file that is open, as one of its opens knows it.
    pub(crate) fn name_of(&self, file: FileId) -> Option<Arc<[u8]>> {
        self.first(file).map(|(_, name)| name)
    }

    /// Where a file is that is open, as one of its opens knows it.
    pub(crate) fn place_of(&self, file: FileId) -> Option<(Node, Arc<[u8]>)> {
        if self.0.count.load(Ordering::Acquire) == 0 { None } else { self.first(file) }
    }

    fn first(&self, file: FileId) -> Option<(Node, Arc<[u8]>)> {
        let at = self.0.files.lock().places.get(&file)?.values().next()?.at.clone();
        Some(at.now())
    }

    /// A file was moved. Called while its old and its new place are still claimed. An open by another of the file's
    /// names keeps that name.
    pub(crate) fn moved(&self, file: FileId, from: (FileId, &[u8]), folder: &Node, name: &[u8]) {
        self.each_at(file, from, |known| *known = PlaceRecord::new(folder.clone(), name));
    }

    /// A client of another server has moved a file. Only notes it.
    pub(crate) fn moved_elsewhere(
        &self,
        file: FileId,
        from: (FileId, &[u8]),
        (folder, key, name): (FileId, HostKey, &Arc<[u8]>),
    ) {
        self.each_at(file, from, |known| {
            known.told = Some(ReportedMove { folder, key, name: name.clone() });
        });
    }

    /// The opens of a file by this name.
    fn each_at(&self, file: FileId, (folder, name): (FileId, &[u8]), change: impl Fn(&mut PlaceRecord)) {
        if self.0.count.load(Ordering::Acquire) == 0 {
            return;
        }
        let files = self.0.files.lock();
        for of in files.places.get(&file).into_iter().flat_map(BTreeMap::values) {
            let mut known = of.at.place.lock();
            if known.is(folder, name) {
                change(&mut known);
            }
        }
    }

    /// The open files, and the folders that they are in.
    pub(super) fn all(&self) -> Vec<(FileId, Node)> {
        let all: Vec<(FileId, Arc<OpenPlace>)> = {
            let files = self.0.files.lock();
            let places =
                files.places.iter().flat_map(|(file, names)| names.values().map(|name| (*file, name)));
            places.map(|(file, name)| (file, name.at.clone())).collect()
        };
        all.into_iter().map(|(file, at)| (file, at.now().0)).collect()
    }
}
