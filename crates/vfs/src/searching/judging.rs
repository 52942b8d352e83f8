//! Whether a proposed entry is a result for the caller.

use std::collections::HashMap;
use std::sync::Arc;

use query::{Facts, Query};

use super::facts::FactParts;
use super::{Candidate, Finder, FoundEntry, Search};
use crate::backend::{Found, Node};
use crate::caller::server;
use crate::names::own::is_own_name;
use crate::{Access, Beside, Caller, Error, Kind, LastingKey, MAX_PATH_DEPTH, Result, Volume};

/// Folders whose judgement is remembered during one call.
const MOST_REMEMBERED: usize = 16_384;

/// The names from the share's folder to a folder.
type Path = Vec<Vec<u8>>;

/// Judges proposed entries for one caller.
pub(super) struct Judge<'a> {
    volume: &'a Volume,
    caller: &'a Caller,
    query: &'a Query,
    finder: &'a dyn Finder,
    parts: FactParts,
    /// The path of the folder to search in.
    within: Option<Path>,
    /// What was judged of folders: `None` if the caller may not list the way to it, or if it is outside of the search.
    folders: HashMap<LastingKey, Option<Arc<ListedFolder>>>,
    /// Folders on the way, by their paths; `None` if the caller may not get there.
    ways: HashMap<Path, Option<Found>>,
}

/// A folder whose entries the caller may list, and each folder on the way to it.
struct ListedFolder {
    path: Path,
    found: Found,
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        volume: &'a Volume,
        caller: &'a Caller,
        search: Search<'a>,
        finder: &'a dyn Finder,
    ) -> Result<Self> {
        let within = search.within.map(|folder| path_of(volume, folder)).transpose()?;
        Ok(Self {
            volume,
            caller,
            query: search.query,
            finder,
            parts: FactParts::of(search.query),
            within: within.filter(|path| !path.is_empty()),
            folders: HashMap::new(),
            ways: HashMap::new(),
        })
    }

    /// The result, if the entry is one. What cannot be looked at is none.
    pub(super) fn result(&mut self, candidate: &Candidate<'_>) -> Option<FoundEntry> {
        let folder = self.folder(&candidate.folder)?;
        let found = self.step(&folder.found, candidate.name)?;
        let facts = self.facts(&folder, candidate, &found)?;
        let mut path = folder.path.clone();
        path.push(candidate.name.to_vec());
        Some(FoundEntry { path, folder: folder.found.clone(), found, facts })
    }

    /// The facts of now, if they match.
    fn facts(&self, folder: &ListedFolder, candidate: &Candidate<'_>, found: &Found) -> Option<Facts> {
        let mut facts = self.facts_of_now(&folder.found, candidate.name, found)?;
        let contents_count = self.parts.contents && self.knows_contents(candidate, found);
        if contents_count {
            facts.extend(candidate.contents.all().iter().cloned());
        }
        let text = |test: &query::Test| contents_count && (candidate.text)(test);
        self.query.matches_with(&facts, &text).then_some(facts)
    }

    /// What is known of an entry beside its contents.
    fn facts_of_now(&self, folder: &Found, name: &[u8], found: &Found) -> Option<Facts> {
        let place = Beside { folder: &folder.object, name };
        let mut facts = self.volume.searches().facts(found, place, self.parts).ok()?;
        if self.parts.owner {
            facts.add_text(query::Attribute::Owner, self.owner_name(found.attributes.uid));
        }
        Some(facts)
    }

    /// Whether a path is in the folder to search in.
    pub(super) fn is_within(&self, path: &[Vec<u8>]) -> bool {
        self.within.as_ref().is_none_or(|within| path.starts_with(within))
    }

    /// The entry at a path, if the caller may list the way to it, and if it matches without its contents.
    pub(super) fn result_at(&mut self, path: &[Vec<u8>]) -> Option<(Found, Facts)> {
        if self.ways.len() >= MOST_REMEMBERED {
            self.ways.clear();
        }
        let (name, above) = path.split_last()?;
        let folder = self.way(above)?;
        let found = self.step(&folder, name)?;
        let facts = self.facts_of_now(&folder, name, &found)?;
        self.query.matches_with(&facts, &|_| false).then_some((found, facts))
    }

    fn owner_name(&self, uid: u32) -> String {
        self.finder.owner_name(uid).unwrap_or_else(|| uid.to_string())
    }

    /// Whether what is known of the contents is of this file as it is now, and the caller may read it.
    fn knows_contents(&self, candidate: &Candidate<'_>, found: &Found) -> bool {
        let now = (found.attributes.id.inode, found.attributes.changed);
        let may_read = || self.volume.access(self.caller, found, Access::READ);
        candidate.read == Some(now) && may_read().is_ok_and(|granted| granted == Access::READ)
    }

    /// The folder with this key, if the caller may list it and the way to it.
    fn folder(&mut self, key: &LastingKey) -> Option<Arc<ListedFolder>> {
        if let Some(known) = self.folders.get(key) {
            return known.clone();
        }
        if self.folders.len() >= MOST_REMEMBERED {
            self.folders.clear();
            self.ways.clear();
        }
        let judged = self.judge_folder(key).map(Arc::new);
        self.folders.insert(*key, judged.clone());
        judged
    }

    fn judge_folder(&mut self, key: &LastingKey) -> Option<ListedFolder> {
        let found = self.volume.searches().by_lasting_key(key).ok()?;
        let path = path_of(self.volume, &found).ok()?;
        if !self.is_within(&path) {
            return None;
        }
        let reached = self.way(&path)?;
        // The path is that of now, unless a folder on the way was moved meanwhile.
        (reached.object.key() == found.object.key()).then_some(ListedFolder { path, found: reached })
    }

    /// The folder at the end of a path, if the caller may list each folder before it.
    fn way(&mut self, path: &[Vec<u8>]) -> Option<Found> {
        let Some((last, above)) = path.split_last() else { return self.volume.root().ok() };
        if let Some(known) = self.ways.get(path) {
            return known.clone();
        }
        let above = self.way(above);
        let reached = above.and_then(|above| self.step(&above, last));
        let reached = reached.filter(|found| found.attributes.kind == Kind::Folder);
        self.ways.insert(path.to_vec(), reached.clone());
        reached
    }

    /// The entry of a folder, if a listing of the folder by the caller would have it.
    fn step(&self, folder: &Found, name: &[u8]) -> Option<Found> {
        self.listed_entry(folder, name).ok().flatten()
    }

    /// The entry of a folder with exactly this stored name, if a listing of the folder by the caller has it.
    fn listed_entry(&self, folder: &Found, name: &[u8]) -> Result<Option<Found>> {
        let (volume, caller) = (self.volume, self.caller);
        let wanted = Access::READ.union(Access::EXECUTE);
        if is_own_name(name) || volume.access(caller, folder, wanted)? != wanted {
            return Ok(None);
        }
        let permissions = volume.permissions();
        if permissions.lists_only_own(caller, folder)? && !permissions.sees(caller, folder, name)? {
            return Ok(None);
        }
        let is_left_out = volume.hidden(&folder.object).is_some_and(|hidden| hidden.hiding.hides(name));
        if is_left_out || is_hidden_sidecar(volume, &folder.object, name) {
            return Ok(None);
        }
        let passing = permissions.passing_through(caller, &folder.object)?;
        match folder.object.lookup(passing, name) {
            // A share inside this one may have rules of its own.
            Ok(found) => Ok(found.object.admits(caller).is_some().then_some(found)),
            Err(Error::NotFound) => Ok(None),
            Err(other) => Err(other),
        }
    }
}

/// Whether listings leave an entry out because it belongs to another one.
pub(super) fn is_hidden_sidecar(volume: &Volume, folder: &Node, name: &[u8]) -> bool {
    let Some(streams) = &volume.streams else { return false };
    crate::mac::layout::is_sidecar_name(name)
        && streams.sidecar_files().hidden(folder.as_ref(), name).unwrap_or(false)
}

/// The stored names from the share's folder to a folder.
pub(super) fn path_of(volume: &Volume, folder: &Found) -> Result<Path> {
    let root = volume.root()?.object;
    if folder.object.key() == root.key() {
        return Ok(Vec::new());
    }
    if let Some(path) = volume.backend.path_hint(&*folder.object) {
        let names: Vec<&[u8]> = path.iter().map(Vec::as_slice).collect();
        let there = root.lookup_path(server(), &names);
        if there.is_ok_and(|there| there.object.key() == folder.object.key()) {
            return Ok(path);
        }
    }
    let (mut path, mut here) = (Vec::new(), folder.clone());
    while here.object.key() != root.key() {
        if path.len() >= MAX_PATH_DEPTH {
            return Err(Error::NameTooLong);
        }
        let (above, name) = volume.place_of(&here)?;
        path.push(name);
        here = above;
    }
    path.reverse();
    Ok(path)
}
