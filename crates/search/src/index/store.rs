//! The segments of an index, and the table of what is in none yet.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lock::RwLock;

use super::manifest::Manifest;
use super::table::Table;
use crate::entry::{Entry, FolderKey};
use crate::error::{At, IndexFailure};
use crate::ranks;
use crate::segment::merge::MergeOptions;
use crate::segment::{GONE, Segment, UNCHANGED, UNLISTED};

/// Segments are merged until each has at least so many times the entries of all newer ones.
const GROWTH: u64 = 2;
/// The most bytes of a merged segment: places in it have 32 bits.
const LARGEST: u64 = 3 << 30;
/// Free bytes of the state folder's disk that an index leaves to others.
const SPARE: u64 = 128 << 20;

/// An open index.
pub(crate) struct Store {
    folder: PathBuf,
    state: RwLock<StoreState, ranks::IndexedEntries>,
}

struct StoreState {
    table: Table,
    /// The newest first.
    segments: Vec<Arc<Segment>>,
    manifest: Manifest,
}

/// What a search reads: the segments of one moment.
pub(crate) type Segments = Vec<Arc<Segment>>;

/// What is known of an entry: its inode number and change time.
pub(crate) type KnownEntries = BTreeMap<Vec<u8>, (u64, i64)>;

/// How an index was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    /// There was none, or one of other settings.
    New,
    /// As its server has left it.
    Clean,
    /// Its server did not end as it should.
    Unclean,
}

impl Store {
    /// Opens the index of a tree, or begins one.
    pub(crate) fn open(
        folder: &Path,
        root: &[u8],
        contents: bool,
    ) -> Result<(Self, Condition), IndexFailure> {
        vfs::index::durable::create_folder(folder).at(folder)?;
        let found = match Manifest::read(folder) {
            Ok(found) => found.filter(|manifest| manifest.is_for(root, contents)),
            Err(IndexFailure::OtherVersion { .. }) => None,
            Err(other) => return Err(other),
        };
        let Some(mut manifest) = found else {
            let manifest = Manifest::new(root, contents);
            manifest.write(folder)?;
            return Ok((Self::of(folder, manifest, Vec::new())?, Condition::New));
        };
        let segments = manifest.segments.iter().map(|number| Segment::open(folder, *number).map(Arc::new));
        let segments = segments.collect::<Result<Vec<_>, _>>()?;
        let condition = if manifest.is_clean { Condition::Clean } else { Condition::Unclean };
        manifest.is_clean = false;
        manifest.write(folder)?;
        Ok((Self::of(folder, manifest, segments)?, condition))
    }

    /// Removes files that belong to no segment.
    fn of(folder: &Path, manifest: Manifest, segments: Segments) -> Result<Self, IndexFailure> {
        for entry in fs::read_dir(folder).at(folder)?.flatten() {
            let name = entry.file_name();
            let number = Path::new(&name).file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok());
            if number.is_some_and(|number| !manifest.segments.contains(&number)) {
                fs::remove_file(entry.path()).at(&entry.path())?;
            }
        }
        let state = RwLock::new(StoreState { table: Table::default(), segments, manifest });
        Ok(Self { folder: folder.to_owned(), state })
    }

    /// Removes the index of a folder: it is built anew.
    pub(crate) fn discard(folder: &Path) -> Result<(), IndexFailure> {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).at(folder),
            _ => Ok(()),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn segments(&self) -> Segments {
        self.state.read().segments.clone()
    }

    /// Looks at what is in no segment, and at the segments of the same moment.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Table) -> T) -> (T, Segments) {
        let state = self.state.read();
        (look(&state.table), state.segments.clone())
    }

    /// How many entries there are, those counted twice that changed since they were written; and bytes on the disk.
    pub(crate) fn size(&self) -> (u64, u64) {
        let state = self.state.read();
        let entries: u64 = state.segments.iter().map(|segment| u64::from(segment.entries())).sum();
        let bytes = state.segments.iter().map(|segment| segment.bytes()).sum();
        (entries + state.table.len() as u64, bytes)
    }

    /// Memory that is not on the disk yet.
    pub(crate) fn table_bytes(&self) -> usize {
        self.state.read().table.bytes()
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.state.read().manifest.is_complete
    }

    pub(crate) fn put(&self, folder: &FolderKey, name: Vec<u8>, entry: Option<Arc<Entry>>) {
        self.state.write().table.put(folder, name, entry);
    }

    pub(crate) fn set_listed(&self, folder: &FolderKey, listed: i64) {
        self.state.write().table.set_listed(folder, listed);
    }

    /// When a folder was listed: its change time then. `None`: it is not known.
    pub(crate) fn listed(&self, folder: &[u8]) -> Result<Option<i64>, IndexFailure> {
        let (listed, segments) = self.look(|table| table.folder(folder).and_then(|part| part.listed));
        if listed.is_some() {
            return Ok(listed);
        }
        for segment in segments {
            if let Some((record, _)) = segment.find_folder(folder)?
                && record.listed != UNCHANGED
            {
                return Ok(Some(record.listed));
            }
        }
        Ok(None)
    }

    /// Calls `each` with all folders that are indexed and the change times at which they were listed, until it answers false.
    pub(crate) fn each_folder(
        &self,
        each: &mut dyn FnMut(&FolderKey, i64) -> bool,
    ) -> Result<(), IndexFailure> {
        let (mut known, segments) = self.look(|table| {
            let listed = table.folders().map(|(key, part)| (key.clone(), part.listed.unwrap_or(UNCHANGED)));
            listed.collect::<BTreeMap<_, _>>()
        });
        let recent: BTreeSet<FolderKey> = known.keys().cloned().collect();
        for (age, segment) in segments.iter().enumerate() {
            for place in 0..segment.folders() {
                let record = segment.folder(place)?;
                if recent.contains(&record.key) {
                    let listed = known.entry(record.key).or_insert(UNCHANGED);
                    *listed = if *listed == UNCHANGED { record.listed } else { *listed };
                    continue;
                }
                if is_in_any(&segments[..age], &record.key)? {
                    continue;
                }
                let listed = first_listed(&segments[age..], &record.key)?;
                if listed != GONE && !each(&record.key, listed) {
                    return Ok(());
                }
            }
        }
        let _ = known.iter().filter(|(_, listed)| **listed != GONE).all(|(key, listed)| each(key, *listed));
        Ok(())
    }

    /// The entries of a folder.
    pub(crate) fn known(&self, folder: &[u8]) -> Result<KnownEntries, IndexFailure> {
        let (recent, segments) = self.look(|table| {
            let entries = table.folder(folder).into_iter().flat_map(|part| &part.entries);
            let known = |entry: &Option<Arc<Entry>>| entry.as_ref().map(|entry| (entry.inode, entry.changed));
            entries.map(|(name, entry)| (name.clone(), known(entry))).collect::<Vec<_>>()
        });
        let mut all: BTreeMap<Vec<u8>, Option<(u64, i64)>> = BTreeMap::new();
        for segment in segments.iter().rev() {
            let Some((record, end)) = segment.find_folder(folder)? else { continue };
            let refs = segment.refs(record.first, (end - record.first) as usize)?;
            for (at, pair) in refs.windows(2).enumerate() {
                let [here, next] = [pair[0], pair[1]];
                let is_removed = segment.row(record.first + at as u32)?.is_removed();
                let known = (!is_removed).then_some((here.inode, here.changed));
                all.insert(segment.name(&[here, next])?, known);
            }
        }
        all.extend(recent);
        Ok(all.into_iter().filter_map(|(name, known)| Some((name, known?))).collect())
    }

    /// The entries of a folder, without the words of their contents.
    pub(crate) fn entries(&self, folder: &[u8]) -> Result<BTreeMap<Vec<u8>, Entry>, IndexFailure> {
        let (recent, segments) = self.look(|table| {
            let entries = table.folder(folder).into_iter().flat_map(|part| &part.entries);
            entries.map(|(name, entry)| (name.clone(), entry.as_deref().cloned())).collect::<Vec<_>>()
        });
        let mut all = BTreeMap::new();
        for segment in segments.iter().rev() {
            let Some((record, end)) = segment.find_folder(folder)? else { continue };
            let refs = segment.refs(record.first, (end - record.first) as usize)?;
            for (at, pair) in refs.windows(2).enumerate() {
                let refs = [pair[0], pair[1]];
                let entry = segment.entry(segment.row(record.first + at as u32)?, &refs)?;
                all.insert(segment.name(&refs)?, entry);
            }
        }
        all.extend(recent);
        Ok(all.into_iter().filter_map(|(name, entry)| Some((name, entry?))).collect())
    }

    /// The first entry of a folder whose name is not less than this one.
    pub(crate) fn name_from(&self, folder: &[u8], from: &[u8]) -> Result<Option<Vec<u8>>, IndexFailure> {
        let (mut first, segments) = self.look(|table| {
            let part = table.folder(folder)?;
            let mut names = part.entries.range::<[u8], _>((Bound::Included(from), Bound::Unbounded));
            names.find(|(_, entry)| entry.is_some()).map(|(name, _)| name.clone())
        });
        for segment in segments {
            let Some((record, end)) = segment.find_folder(folder)? else { continue };
            let entry = segment.entry_from(record.first..end, from)?;
            if entry < end {
                let name = segment.name(&segment.refs_of(entry)?)?;
                first = Some(first.map_or(name.clone(), |first| first.min(name)));
            }
        }
        Ok(first)
    }

    /// The last folder in the order of their keys.
    pub(crate) fn last_folder(&self) -> Result<Option<FolderKey>, IndexFailure> {
        let (mut last, segments) = self.look(|table| table.folders().last().map(|(key, _)| key.clone()));
        for segment in segments {
            if let Some(place) = segment.folders().checked_sub(1) {
                last = last.max(Some(segment.folder(place)?.key));
            }
        }
        Ok(last)
    }

    /// Writes what is in no segment, and merges segments. `complete`: all of the tree was seen.
    pub(crate) fn flush(&self, complete: bool, goes_on: &dyn Fn() -> bool) -> Result<(), IndexFailure> {
        self.leave_space()?;
        let number = self.next_number();
        let is_empty = self.state.read().table.is_empty();
        if !is_empty {
            // Searches go on while it is written; only this thread changes the table.
            let segment = Segment::write(&self.folder, number, &self.state.read().table)?;
            let mut state = self.state.write();
            let mut manifest = state.manifest.clone();
            manifest.segments.insert(0, number);
            manifest.is_complete |= complete;
            manifest.write(&self.folder)?;
            state.segments.insert(0, Arc::new(segment));
            (state.manifest, state.table) = (manifest, Table::default());
        } else if complete && !self.is_complete() {
            let mut state = self.state.write();
            state.manifest.is_complete = true;
            state.manifest.write(&self.folder)?;
        }
        self.merge(goes_on)
    }

    fn next_number(&self) -> u64 {
        self.state.read().manifest.segments.iter().max().map_or(1, |number| number + 1)
    }

    /// The disk has something else to keep, too.
    fn leave_space(&self) -> Result<(), IndexFailure> {
        let space = rustix::fs::statvfs(&self.folder).map_err(std::io::Error::from).at(&self.folder)?;
        match space.f_bavail.saturating_mul(space.f_frsize) < SPARE {
            true => Err(std::io::Error::from(std::io::ErrorKind::StorageFull)).at(&self.folder),
            false => Ok(()),
        }
    }

    fn merge(&self, goes_on: &dyn Fn() -> bool) -> Result<(), IndexFailure> {
        let segments = self.segments();
        let Some(count) = to_merge(&segments) else { return Ok(()) };
        let number = self.next_number();
        let options = MergeOptions { with_oldest: count == segments.len() };
        let merged = Segment::merge(&self.folder, number, &segments[..count], options, goes_on)?;
        let Some(merged) = merged else { return Ok(()) };
        let mut state = self.state.write();
        let mut manifest = state.manifest.clone();
        manifest.segments.splice(..count, [number]);
        manifest.write(&self.folder)?;
        state.manifest = manifest;
        let old: Vec<_> = state.segments.splice(..count, [Arc::new(merged)]).collect();
        drop(state);
        old.iter().for_each(|segment| segment.replace());
        Ok(())
    }

    /// Everything is on the disk, and the tree is as the index says.
    pub(crate) fn set_clean(&self) -> Result<(), IndexFailure> {
        let mut state = self.state.write();
        state.manifest.is_clean = state.table.is_empty();
        state.manifest.write(&self.folder)
    }

    /// Forgets what could not be written.
    pub(crate) fn forget_table(&self) {
        self.state.write().table = Table::default();
    }
}

fn is_in_any(segments: &[Arc<Segment>], folder: &[u8]) -> Result<bool, IndexFailure> {
    for segment in segments {
        if segment.find_folder(folder)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn first_listed(segments: &[Arc<Segment>], folder: &[u8]) -> Result<i64, IndexFailure> {
    for segment in segments {
        if let Some((record, _)) = segment.find_folder(folder)?
            && record.listed != UNCHANGED
        {
            return Ok(record.listed);
        }
    }
    Ok(UNLISTED)
}

/// How many of the newest segments are to become one.
fn to_merge(segments: &[Arc<Segment>]) -> Option<usize> {
    let (mut newer, mut bytes, mut count) = (0, 0, 0);
    for (at, segment) in segments.iter().enumerate() {
        bytes += segment.bytes();
        if bytes > LARGEST {
            break;
        }
        let weight = u64::from(segment.entries()) + u64::from(segment.folders());
        if at > 0 && weight < GROWTH * newer {
            count = at + 1;
        }
        newer += weight;
    }
    (count > 1).then_some(count)
}
