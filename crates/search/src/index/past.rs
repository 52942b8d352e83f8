//! What snapshots have: one part of the index for all of them. Each entry is in it once for each path that it had, with the times of
//! the first and of the last snapshot that has it.
//!
//! ```text
//! a new snapshot ─► its folders that changed since the snapshot before ─► entries that came: first; that went: last ─► Store
//! Searches::find_past ─► paths that may match, and when ─► each is looked for in these snapshots
//! ```
//!
//! Keys of folders are numbers in the order in which their paths were seen. The number of a folder is the size of its entry, and its path
//! is in it as the name of an entry that begins with a slash, which no other name has.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use query::{Facts, FileKind, Query};
use serde::{Deserialize, Serialize};
use vfs::backend::Snapshot;
use vfs::{Caller, PastCandidate, SearchPlace, Surveyed, Volume};

use super::asking;
use super::listing::{NEVER, is_opaque};
use super::pace::Pace;
use super::shared::FULL_TABLE;
use super::store::Store;
use crate::entry::{Entry, FolderKey, nanoseconds, time_of};
use crate::error::{At, IndexFailure};
use crate::segment::{GONE, UNLISTED};

/// The folder of this part, in that of the index.
const FOLDER: &str = "past";
/// Which snapshots were read.
const READ: &str = "snapshots.json";
/// The root of a tree in the manifest: paths are the same for all.
const ROOT: &[u8] = b"snapshots";
/// The number of the share's folder.
const TOP: u64 = 0;
/// An entry of the newest snapshot that was read.
const STILL: i64 = i64::MAX;

/// The snapshots of a volume, as they are read for an index.
pub(super) struct Past {
    folder: PathBuf,
    pub(super) store: Arc<Store>,
    read: ReadSnapshots,
    walk: Option<Walk>,
    /// The number of the next folder.
    next: u64,
}

/// Which snapshots were read, on the disk.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ReadSnapshots {
    /// Their names and when they were taken, in nanoseconds.
    snapshots: BTreeMap<String, i64>,
    /// When the newest was taken that ever was read.
    newest: Option<i64>,
    /// Entries that went before this time were taken out.
    pruned: Option<i64>,
}

/// A snapshot that is being read.
struct Walk {
    snapshot: Snapshot,
    taken: i64,
    /// It is newer than all that were read.
    is_newest: bool,
    tasks: Vec<Task>,
}

/// What is to be done in a folder.
enum Task {
    /// It is read.
    Visit { number: u64, path: Vec<Vec<u8>> },
    /// It is not in the snapshot: its entries went.
    Close { number: u64 },
}

/// The stored names from the share's folder to a folder.
type FolderPath = Vec<Vec<u8>>;

fn key(number: u64) -> FolderKey {
    FolderKey::from(&number.to_be_bytes()[..])
}

fn name_of(snapshot: &Snapshot) -> String {
    snapshot.path[1].escape_ascii().to_string()
}

impl Past {
    /// Opens this part of an index, or begins it.
    pub(super) fn open(index: &Path) -> Result<Self, IndexFailure> {
        let folder = index.join(FOLDER);
        let (store, _) = Store::open(&folder, ROOT, false)?;
        let path = folder.join(READ);
        let read = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => ReadSnapshots::default(),
            Err(error) => return Err(error).at(&path),
        };
        let last = store.last_folder()?.and_then(|key| Some(u64::from_be_bytes((&key[..]).try_into().ok()?)));
        let next = last.unwrap_or(TOP) + 1;
        Ok(Self { folder, store: Arc::new(store), read, walk: None, next })
    }

    /// Removes this part: the snapshots are read anew.
    pub(super) fn discard(index: &Path) -> Result<(), IndexFailure> {
        Store::discard(&index.join(FOLDER))
    }

    /// Whether a snapshot is being read.
    pub(super) fn is_reading(&self) -> bool {
        self.walk.is_some()
    }

    /// How many of these snapshots were not read.
    pub(super) fn unread(&self, snapshots: &[Snapshot]) -> usize {
        snapshots.iter().filter(|snapshot| !self.has_read(snapshot)).count()
    }

    fn has_read(&self, snapshot: &Snapshot) -> bool {
        self.read.snapshots.get(&name_of(snapshot)) == Some(&nanoseconds(snapshot.taken))
    }

    /// Reads one folder of a snapshot. `false`: nothing is left to be read.
    pub(super) fn step(
        &mut self,
        volume: &Volume,
        snapshots: &[Snapshot],
        pace: &mut Pace,
    ) -> Result<bool, IndexFailure> {
        let is_there = |walk: &Walk| snapshots.contains(&walk.snapshot);
        let mut walk = match self.walk.take().filter(is_there) {
            Some(walk) => walk,
            None => match self.begin(snapshots) {
                Some(walk) => walk,
                None => return Ok(false),
            },
        };
        match walk.tasks.pop() {
            Some(Task::Visit { number, path }) => self.visit(volume, &mut walk, (number, path), pace)?,
            Some(Task::Close { number }) => self.close(&mut walk, number)?,
            None => {
                self.end(&walk, snapshots)?;
                return Ok(true);
            }
        }
        pace.rest();
        self.walk = Some(walk);
        Ok(true)
    }

    /// Writes what is in no segment.
    pub(super) fn write(&self) -> Result<(), IndexFailure> {
        self.store.flush(false, &|| true)
    }

    fn make_room(&self) -> Result<(), IndexFailure> {
        if self.store.table_bytes() > FULL_TABLE { self.write() } else { Ok(()) }
    }

    /// The oldest snapshot that was not read.
    fn begin(&self, snapshots: &[Snapshot]) -> Option<Walk> {
        let snapshot = snapshots.iter().filter(|one| !self.has_read(one)).min_by_key(|one| one.taken)?;
        let taken = nanoseconds(snapshot.taken);
        Some(Walk {
            snapshot: snapshot.clone(),
            taken,
            is_newest: self.read.newest.is_none_or(|newest| newest < taken),
            tasks: vec![Task::Visit { number: TOP, path: Vec::new() }],
        })
    }

    fn end(&mut self, walk: &Walk, snapshots: &[Snapshot]) -> Result<(), IndexFailure> {
        let names: BTreeMap<String, i64> =
            snapshots.iter().map(|one| (name_of(one), nanoseconds(one.taken))).collect();
        self.read.snapshots.retain(|name, taken| names.get(name) == Some(&*taken));
        self.read.snapshots.insert(name_of(&walk.snapshot), walk.taken);
        self.read.newest = self.read.newest.max(Some(walk.taken));
        self.prune(names.values().min().copied())?;
        self.store.flush(true, &|| true)?;
        self.write_read()
    }

    fn write_read(&self) -> Result<(), IndexFailure> {
        let (path, new) = (self.folder.join(READ), self.folder.join(format!("{READ}.new")));
        let bytes = serde_json::to_vec(&self.read).map_err(std::io::Error::other).at(&path)?;
        fs::write(&new, bytes).and_then(|()| fs::rename(&new, &path)).at(&path)
    }

    /// Takes out what only snapshots had that are gone, when a tenth of the time that is remembered has passed.
    fn prune(&mut self, oldest: Option<i64>) -> Result<(), IndexFailure> {
        let (Some(oldest), Some(newest)) = (oldest, self.read.newest) else { return Ok(()) };
        let pruned = *self.read.pruned.get_or_insert(oldest);
        if oldest <= pruned || oldest - pruned < (newest - oldest) / 10 {
            return Ok(());
        }
        let mut folders = Vec::new();
        self.store.each_folder(&mut |folder, _| {
            folders.push(folder.clone());
            true
        })?;
        for folder in folders {
            let entries = self.store.entries(&folder)?;
            let is_kept = |entry: &Entry| entry.changed >= oldest;
            let left = entries.iter().any(|(name, entry)| !is_path(name) && is_kept(entry));
            // Folders that are there have the change time at which they were read.
            let is_over = !left && folder != key(TOP) && self.store.listed(&folder)? == Some(UNLISTED);
            for (name, entry) in entries {
                if if is_path(&name) { is_over } else { !is_kept(&entry) } {
                    self.store.put(&folder, name, None);
                }
            }
            if is_over {
                self.store.set_listed(&folder, GONE);
            }
        }
        self.read.pruned = Some(oldest);
        Ok(())
    }

    /// Compares a folder of the snapshot with what is known of its path.
    fn visit(
        &mut self,
        volume: &Volume,
        walk: &mut Walk,
        (number, path): (u64, Vec<Vec<u8>>),
        pace: &mut Pace,
    ) -> Result<(), IndexFailure> {
        let key = key(number);
        let names: Vec<&[u8]> = path.iter().map(Vec::as_slice).collect();
        let folder =
            volume.searches().snapshot_root(&walk.snapshot).and_then(|root| match names.is_empty() {
                true => Ok(root),
                false => root.object.lookup_path(&Caller::root(), &names),
            });
        let Ok(folder) = folder.inspect_err(|error| tracing::debug!(%error, "a snapshot is not read")) else {
            return Ok(()); // it may have been removed meanwhile
        };
        let changed = nanoseconds(folder.attributes.changed);
        let listed = self.store.listed(&key)?;
        if number != TOP && listed.is_none_or(|listed| listed == GONE) {
            self.name_folder(number, &path);
        }
        let mut known = self.store.entries(&key)?;
        if walk.is_newest && listed == Some(changed) {
            let still =
                known.iter().filter(|(name, entry)| entry.changed == STILL && holds_more(name, entry));
            let below =
                still.map(|(name, entry)| Task::Visit { number: entry.size, path: below(&path, name) });
            walk.tasks.extend(below);
            return Ok(());
        }
        if folder.object.lookup(&Caller::root(), NEVER).is_err() {
            let mut written = Ok(());
            let read = volume.searches().survey(&folder, &mut |surveyed| {
                let before = known.remove(&surveyed.name);
                self.meet(walk, (&key, &path), surveyed, before);
                written = self.make_room();
                pace.rest();
                written.is_ok()
            });
            written?;
            if let Err(error) = read {
                tracing::debug!(%error, "a folder of a snapshot is not indexed");
                return Ok(());
            }
        }
        self.went(walk, &key, known);
        if walk.is_newest {
            self.store.set_listed(&key, changed);
        }
        Ok(())
    }

    /// An entry is in the snapshot.
    fn meet(
        &mut self,
        walk: &mut Walk,
        (folder, path): (&FolderKey, &[Vec<u8>]),
        surveyed: Surveyed,
        before: Option<Entry>,
    ) {
        let is_open = surveyed.folder.is_some() && !is_opaque(&surveyed.name);
        let mut entry = Entry::of(&surveyed, None);
        let (first, last) = before.as_ref().map_or((walk.taken, walk.taken), |before| {
            ((before.inode as i64).min(walk.taken), before.changed.max(walk.taken))
        });
        entry.inode = first as u64;
        entry.changed = if walk.is_newest { STILL } else { last };
        if surveyed.folder.is_some() {
            let number = before.as_ref().filter(|before| before.is_folder()).map(|before| before.size);
            entry.size = number.unwrap_or_else(|| self.begin_folder(path, &surveyed.name));
            if is_open {
                walk.tasks.push(Task::Visit { number: entry.size, path: below(path, &surveyed.name) });
            }
        } else if let Some(before) = before.as_ref().filter(|before| before.is_folder() && walk.is_newest) {
            walk.tasks.push(Task::Close { number: before.size });
        }
        if before.as_ref() != Some(&entry) {
            self.store.put(folder, surveyed.name, Some(Arc::new(entry)));
        }
    }

    /// A number for a folder that was not seen before.
    fn begin_folder(&mut self, above: &[Vec<u8>], name: &[u8]) -> u64 {
        let number = self.next;
        self.next += 1;
        self.name_folder(number, &below(above, name));
        number
    }

    /// Says the path of a folder in it.
    fn name_folder(&self, number: u64, path: &[Vec<u8>]) {
        let mut name = vec![b'/'];
        name.extend(path.join(&b'/'));
        let entry = Entry {
            kind: FileKind::Other,
            is_file: false,
            uid: 0,
            size: 0,
            modified: 0,
            created: 0,
            inode: 0,
            changed: STILL,
            extra: Facts::default(),
            words: None,
        };
        self.store.put(&key(number), name, Some(Arc::new(entry)));
        self.store.set_listed(&key(number), UNLISTED);
    }

    /// Entries that were in the snapshot before are not in this one.
    fn went(&self, walk: &mut Walk, folder: &FolderKey, entries: BTreeMap<Vec<u8>, Entry>) {
        let Some(before) = self.read.newest.filter(|_| walk.is_newest) else { return };
        for (name, entry) in entries {
            if is_path(&name) || entry.changed != STILL {
                continue;
            }
            if holds_more(&name, &entry) {
                walk.tasks.push(Task::Close { number: entry.size });
            }
            self.store.put(folder, name, Some(Arc::new(Entry { changed: before, ..entry })));
        }
    }

    fn close(&self, walk: &mut Walk, number: u64) -> Result<(), IndexFailure> {
        let folder = key(number);
        let entries = self.store.entries(&folder)?;
        self.went(walk, &folder, entries);
        self.store.set_listed(&folder, UNLISTED);
        Ok(())
    }
}

/// Whether an entry says the path of its folder.
fn is_path(name: &[u8]) -> bool {
    name.starts_with(b"/")
}

fn holds_more(name: &[u8], entry: &Entry) -> bool {
    entry.is_folder() && !is_opaque(name)
}

fn below(path: &[Vec<u8>], name: &[u8]) -> Vec<Vec<u8>> {
    path.iter().cloned().chain([name.to_vec()]).collect()
}

/// Looks for entries of snapshots that may match.
pub(super) fn propose(
    store: &Store,
    query: &Query,
    after: Option<&SearchPlace>,
    owner_of: &dyn Fn(u32) -> Option<String>,
    each: &mut dyn FnMut(&PastCandidate<'_>) -> bool,
) -> Result<(), IndexFailure> {
    let mut folder: Option<(Vec<u8>, Option<FolderPath>)> = None;
    let mut failed = None;
    asking::propose(store, query, after, owner_of, &mut |found| {
        let place = found.place;
        if is_path(&place.name) {
            return true;
        }
        if folder.as_ref().is_none_or(|(key, _)| *key != place.folder) {
            match path_of(store, &place.folder) {
                Ok(path) => folder = Some((place.folder.clone(), path)),
                Err(error) => {
                    failed = Some(error);
                    return false;
                }
            }
        }
        let Some((_, Some(path))) = &folder else { return true };
        each(&PastCandidate {
            place,
            path: &below(path, &place.name),
            first: time_of(found.inode as i64),
            last: (found.changed != STILL).then(|| time_of(found.changed)),
        })
    })?;
    failed.map_or(Ok(()), Err)
}

/// The path of a folder; `None` if it is not known any more.
fn path_of(store: &Store, folder: &[u8]) -> Result<Option<FolderPath>, IndexFailure> {
    if folder == &key(TOP)[..] {
        return Ok(Some(Vec::new()));
    }
    let path = store.name_from(folder, b"/")?.filter(|name| is_path(name));
    Ok(path.map(|path| path[1..].split(|byte| *byte == b'/').map(<[u8]>::to_vec).collect()))
}
