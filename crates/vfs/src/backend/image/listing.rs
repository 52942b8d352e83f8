//! The entries of a folder. Entry `n` has the cookie `2n + 3`, its sidecar the next one: nothing comes or goes.

use images::tree::{Entry, NodeId, Page};

use super::names::{self, PAGE};
use super::{ImageState, Place, fact};
use crate::backend::ListEntry;
use crate::mac::layout::sidecar_name;
use crate::{Error, Kind, Result};

/// What takes the entries of a listing.
type Sink<'a> = &'a mut dyn FnMut(ListEntry<'_>) -> bool;

impl ImageState {
    /// Lists a folder after a cookie. Returns whether the end was reached.
    pub(super) fn list(&self, folder: Place, cookie: u64, sink: Sink<'_>) -> Result<bool> {
        let above = self.above(folder).unwrap_or(folder);
        for (at, name, place) in [(1, &b"."[..], folder), (2, b"..", above)] {
            let (id, kind) = (self.id(place.number(false)), Some(Kind::Folder));
            if cookie < at && !sink(ListEntry { name, id, kind, cookie: at }) {
                return Ok(false);
            }
        }
        let (mut number, mut after) = (0, None);
        if let Some(last) = cookie.checked_sub(3) {
            number = last / 2;
            let entry = match self.entry_numbered(folder, number)? {
                Some(entry) => entry,
                None => return Ok(true),
            };
            if last % 2 == 0 && !self.list_sidecar(folder, &entry, number, sink)? {
                return Ok(false);
            }
            (number, after) = (number + 1, Some(entry.name));
        }
        loop {
            let page = self.page(folder.node, after.as_deref())?;
            for entry in page.entries {
                let goes_on = self.list_entry(folder, &entry, number, sink)?
                    && self.list_sidecar(folder, &entry, number, sink)?;
                if !goes_on {
                    let mut places = self.places.lock();
                    if let (Some(before), Some(last)) = (&after, number.checked_sub(1)) {
                        places.stopped(folder, last, before);
                    }
                    places.stopped(folder, number, &entry.name);
                    return Ok(false);
                }
                (number, after) = (number + 1, Some(entry.name));
            }
            match page.next {
                Some(next) if after.is_some() => after = Some(next),
                _ => return Ok(true),
            }
        }
    }

    fn page(&self, folder: NodeId, after: Option<&str>) -> Result<Page> {
        let page = self.files.entries(folder, after, PAGE).map_err(|error| fact(&error))?;
        // A page that leads nowhere would have no end.
        let is_stuck = page.next.is_some() && page.next.as_deref() == after;
        if is_stuck { Err(Error::Io) } else { Ok(page) }
    }

    fn list_entry(&self, folder: Place, entry: &Entry, number: u64, sink: Sink<'_>) -> Result<bool> {
        let Some((name, _)) = names::stored(&entry.name) else { return Ok(true) };
        let place = self.place_of(folder, entry)?;
        let (id, kind) = (self.id(place.number(false)), Some(entry.kind));
        Ok(sink(ListEntry { name: &name, id, kind, cookie: 2 * number + 3 }))
    }

    /// Lists the sidecar of an entry that has a resource fork, unless the folder has a file of that name.
    fn list_sidecar(&self, folder: Place, entry: &Entry, number: u64, sink: Sink<'_>) -> Result<bool> {
        let Some((name, _)) = names::stored(&entry.name).filter(|_| entry.kind == Kind::File) else {
            return Ok(true);
        };
        let node = self.files.node(entry.node).map_err(|error| fact(&error))?;
        let name = sidecar_name(&name);
        if node.resource_size == 0 || names::find(&*self.files, folder.node, &name).is_ok() {
            return Ok(true);
        }
        let id = self.id(Place::plain(entry.node).number(true));
        Ok(sink(ListEntry { name: &name, id, kind: Some(Kind::File), cookie: 2 * number + 4 }))
    }

    /// Where an entry of a folder leads. A folder is remembered there.
    pub(super) fn place_of(&self, folder: Place, entry: &Entry) -> Result<Place> {
        if entry.kind != Kind::Folder {
            return Ok(Place::plain(entry.node));
        }
        let node = self.files.node(entry.node).map_err(|error| fact(&error))?;
        let place = match node.links > 1 {
            true => Place::of_linked(entry.node, folder, &entry.name),
            false => Place { node: entry.node, appearance: folder.appearance },
        };
        self.places.lock().saw(place, folder);
        Ok(place)
    }

    /// The entry of a folder with this number.
    fn entry_numbered(&self, folder: Place, number: u64) -> Result<Option<Entry>> {
        let known = self.places.lock().position(folder, number);
        if let Some(name) = known {
            return self.files.lookup(folder.node, &name).map(Some).map_err(|error| fact(&error));
        }
        let (mut passed, mut after) = (0, None);
        loop {
            let page = self.page(folder.node, after.as_deref())?;
            let count = page.entries.len() as u64;
            if let Some(entry) = page.entries.into_iter().nth((number - passed) as usize) {
                return Ok(Some(entry));
            }
            passed += count;
            match page.next {
                Some(next) if count > 0 => after = Some(next),
                _ => return Ok(None),
            }
        }
    }
}
