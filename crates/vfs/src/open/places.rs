//! Where the files are that are open.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::Beside;
use crate::FileId;
use crate::busy::{Busy, Changing};
use crate::volume::Node;

/// So few files are not worth clearing away.
const CLEAR_AT: usize = 64;

/// The folder and name of an open file, as of now.
pub(super) struct Place {
    at: Mutex<(Node, Arc<[u8]>)>,
}

impl Place {
    pub(super) fn now(&self) -> (Node, Arc<[u8]>) {
        self.at.lock().clone()
    }

    /// The place, where nobody else changes anything until the guard is dropped.
    pub(super) fn claim<'a>(&self, busy: &'a Busy) -> (Changing<'a>, Node, Arc<[u8]>) {
        loop {
            let (folder, name) = self.at.lock().clone();
            let changing = busy.change(&[(folder.id(), &name)]);
            let now = self.at.lock();
            if now.0.id() == folder.id() && now.1 == name {
                return (changing, folder, name);
            }
        }
    }
}

/// The places of a volume that opens depend on.
#[derive(Default)]
pub(crate) struct Places {
    /// How many files, or more: what lets others pass.
    count: AtomicUsize,
    files: Mutex<Files>,
}

#[derive(Default)]
struct Files {
    places: HashMap<FileId, Vec<Weak<Place>>>,
    /// Those closed are cleared away when there are so many files.
    clear_at: usize,
}

impl Places {
    pub(super) fn add(&self, file: FileId, beside: Beside<'_>) -> Arc<Place> {
        let place = Arc::new(Place { at: Mutex::new((beside.folder.clone(), beside.name.into())) });
        let mut files = self.files.lock();
        if files.places.len() >= files.clear_at {
            files.places.retain(|_, places| places.iter().any(|place| place.strong_count() > 0));
            files.clear_at = CLEAR_AT.max(files.places.len() * 2);
        }
        let same = files.places.entry(file).or_default();
        same.retain(|place| place.strong_count() > 0);
        same.push(Arc::downgrade(&place));
        self.count.store(files.places.len(), Ordering::Release);
        place
    }

    /// The name of a file that is open, as one of its opens knows it.
    pub(crate) fn name_of(&self, file: FileId) -> Option<Arc<[u8]>> {
        let files = self.files.lock();
        let place = files.places.get(&file)?.iter().find_map(Weak::upgrade)?;
        Some(place.now().1)
    }

    /// Where a file is that is open, as one of its opens knows it.
    pub(crate) fn place_of(&self, file: FileId) -> Option<(Node, Arc<[u8]>)> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        let files = self.files.lock();
        let place = files.places.get(&file)?.iter().find_map(Weak::upgrade)?;
        Some(place.now())
    }

    /// A file was moved. Called while its old and its new place are still claimed. Who opened it by another of its
    /// names still has that.
    pub(crate) fn moved(&self, file: FileId, from: (FileId, &[u8]), folder: &Node, name: &[u8]) {
        if self.count.load(Ordering::Acquire) == 0 {
            return;
        }
        for place in self.files.lock().places.get(&file).into_iter().flatten().filter_map(Weak::upgrade) {
            let mut at = place.at.lock();
            if (at.0.id(), &*at.1) == from {
                *at = (folder.clone(), name.into());
            }
        }
    }

    /// The open files, and the folders that they are in.
    pub(super) fn all(&self) -> Vec<(FileId, Node)> {
        let files = self.files.lock();
        let places = files.places.iter().flat_map(|(file, places)| places.iter().map(|place| (*file, place)));
        places.filter_map(|(file, place)| Some((file, place.upgrade()?.now().0))).collect()
    }
}
