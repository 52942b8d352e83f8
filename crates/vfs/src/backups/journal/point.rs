//! The points of a bundle on the disk: folders in the server's own folder, one for each journal.
//!
//! ```text
//! .fourfold-journal/Ada's Mac.sparsebundle/journal-20261129T201105Z/
//!     manifest     the bands of the point: number, size, time of change. Written last: without it the folder is no point
//!     Info.plist … the lists of the bundle
//!     bands/       what clients have changed or removed since then, as it was
//!     broken       a band could not be copied: this point and those before are gone
//! ```

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::sync::Arc;

use super::{BROKEN, BackupJournals, OpenJournal, UNFINISHED, copy_into};
use crate::backend::{Found, NewKind, Node, RenameMode, Stability, Wait};
use crate::backups::image::BackupImage;
use crate::backups::replacing::each_entry;
use crate::backups::sums;
use crate::caller::server;
use crate::mac::sparse_bundle::{BANDS, band_number};
use crate::streams::{find_or_make, store};
use crate::{Access, Error, FileId, Kind, OwnFolder, Result, Time, Volume};

pub(super) const MANIFEST: &[u8] = b"manifest";
/// What a journal has besides the files of its bundle.
pub(super) const JOURNAL_FILES: [&[u8]; 3] = [MANIFEST, b"manifest.new", BROKEN];
/// The first line of a manifest.
const HEADING: &str = "fourfold point 1";
/// The longest manifest that is read, in bytes: a million bands.
const LONGEST_MANIFEST: u64 = 64 << 20;
/// The most bands of a point.
const MOST_BANDS: usize = 1_000_000;
/// The most lists of a bundle that are copied, and the longest.
const MOST_LISTS: usize = 100;
const LONGEST_LIST: u64 = 4 << 20;
/// What has changed within this time may change again with the same time of change.
const SETTLED_AFTER_SECS: i64 = 2;
/// Levels of folders in a journal.
const LEVELS: usize = 4;

/// A point to which a bundle can go back by its journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalPoint {
    /// Its name, which sorts by time.
    pub name: String,
    /// As of when it is.
    pub taken: Time,
}

/// The bands of a bundle at a point.
#[derive(Clone)]
pub(crate) struct PointBands {
    /// Length and time of change of each band.
    pub(in crate::backups) bands: Arc<BTreeMap<u64, (u64, Time)>>,
    /// Where they are, the first one that has a band counts: the journals since the point, then the bundle.
    pub(in crate::backups) folders: Vec<Node>,
}

impl PointBands {
    /// A band by its name, and whether it is a file of the bundle. `NotFound` if it is nowhere.
    pub(crate) fn find(&self, name: &[u8]) -> Result<(Found, bool)> {
        for (at, folder) in self.folders.iter().enumerate() {
            match folder.lookup(server(), name) {
                Err(Error::NotFound) => {}
                found => return Ok((found?, at + 1 == self.folders.len())),
            }
        }
        Err(Error::NotFound)
    }

    /// Whether the band is not the one of the point: something else than a client has changed it.
    pub(crate) fn is_other(&self, number: u64, now: (u64, Time)) -> bool {
        self.bands.get(&number) != Some(&now)
    }

    /// Whether the point has this band.
    pub(crate) fn has(&self, number: u64) -> bool {
        self.bands.contains_key(&number)
    }

    /// The names of its bands.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> + '_ {
        self.bands.keys().map(|number| format!("{number:x}"))
    }
}

impl BackupJournals<'_> {
    /// The points of a bundle in its journal, the newest first.
    pub fn points(self, bundle: &[u8]) -> Vec<JournalPoint> {
        let journals = self.journals_of(bundle).unwrap_or_default();
        let mut points = Vec::new();
        for (name, folder) in journals.iter().rev() {
            if folder.lookup(server(), BROKEN).is_ok() {
                break;
            }
            if let Ok(found) = folder.lookup(server(), MANIFEST) {
                points.push(JournalPoint { name: name.clone(), taken: found.attributes.modified });
            }
        }
        points
    }

    /// Begins a journal with a point of this name, and forgets points but for the newest `keep`, this one included. False: a
    /// client writes, or has written just now, and it is to be tried later. The bundle has no journal if this fails.
    ///
    /// # Errors
    /// There is no such bundle, it has more than a million bands, or the disk fails.
    pub fn begin_point(self, bundle: &[u8], name: &str, now: Time, keep: usize) -> Result<bool> {
        let image = BackupImage::open(self.volume, bundle)?;
        let bands = image.bands.clone().ok_or(Error::NotFound)?;
        if image.is_written()? {
            return Ok(false);
        }
        let journals = &self.volume.site.journals;
        let changes = journals.changes();
        let there = listed(self.volume, &bands)?;
        let is_settled =
            |(_, modified): (u64, Time)| modified.secs.saturating_add(SETTLED_AFTER_SECS) <= now.secs;
        if !there.iter().all(|band| is_settled(band.state)) {
            return Ok(false);
        }
        let folder = self.new_journal(bundle, name)?;
        copy_lists(self.volume, &image.folder, &folder)?;
        let kept = find_or_make(&*folder, BANDS, NewKind::Folder, 0o700)?.object;
        let journal = OpenJournal::new(bundle, folder.clone(), kept);
        journals.open(&journal, bands.object.id(), there.iter().map(|band| (band.file, band.number)));
        let is_still =
            !image.is_written()? && (journals.changes() == changes || listed(self.volume, &bands)? == there);
        if !is_still {
            return Ok(false);
        }
        write_manifest(&folder, &there)?;
        self.forget_points(bundle, keep)?;
        Ok(true)
    }

    /// Goes on with the journals of all bundles after a start of the server.
    pub fn resume(self) {
        for bundle in self.bundles() {
            if let Err(error) = self.resume_one(&bundle) {
                tracing::debug!(%error, bundle = %bundle.escape_ascii(), "the journal of a backup does not go on");
            }
        }
    }

    /// The same of one bundle.
    pub(super) fn resume_one(self, bundle: &[u8]) -> Result<()> {
        let image = BackupImage::open(self.volume, bundle)?;
        let bands = image.bands.clone().ok_or(Error::NotFound)?;
        self.volume.site.journals.forget(bands.object.id());
        let Some((_, folder)) = self.journals_of(bundle)?.pop() else { return Ok(()) };
        if folder.lookup(server(), BROKEN).is_ok() {
            return Ok(());
        }
        let kept = find_or_make(&*folder, BANDS, NewKind::Folder, 0o700)?.object;
        let manifest = manifest(&folder).ok();
        let is_of_point =
            |band: &&ListedBand| manifest.as_ref().is_none_or(|bands| bands.contains_key(&band.number));
        let there_already: HashSet<u64> = names(&kept)?.iter().filter_map(|name| band_number(name)).collect();
        let is_kept = |band: &ListedBand| there_already.contains(&band.number);
        let there = listed(self.volume, &bands)?;
        let waiting: Vec<(FileId, u64)> = there
            .iter()
            .filter(is_of_point)
            .filter(|band| !is_kept(band))
            .map(|band| (band.file, band.number))
            .collect();
        let journal = OpenJournal::new(bundle, folder.clone(), kept);
        self.volume.site.journals.open(&journal, bands.object.id(), waiting.into_iter());
        Ok(())
    }

    /// Removes all that is kept of a bundle.
    ///
    /// # Errors
    /// The disk fails: the rest stays.
    pub fn end(self, bundle: &[u8]) -> Result<()> {
        if let Ok(BackupImage { bands: Some(bands), .. }) = BackupImage::open(self.volume, bundle) {
            self.volume.site.journals.forget(bands.object.id());
        }
        match self.volume.own_folders().find(OwnFolder::JOURNAL) {
            Ok(top) => remove_tree(&top, bundle, LEVELS),
            Err(Error::NotFound) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The bundles that have a journal.
    pub fn bundles(self) -> Vec<Vec<u8>> {
        let Ok(top) = self.volume.own_folders().find(OwnFolder::JOURNAL) else { return Vec::new() };
        names(&top).unwrap_or_default()
    }

    /// Removes the points from this one on: the bundle is what it was then.
    pub(super) fn drop_points(self, bundle: &[u8], from: &str) -> Result<()> {
        let top = self.volume.own_folders().find(OwnFolder::JOURNAL)?.lookup(server(), bundle)?.object;
        for (name, _) in self.journals_of(bundle)?.iter().rev().filter(|(name, _)| &**name >= from) {
            remove_journal(&top, name)?;
        }
        Ok(())
    }

    /// The folders of the journals of a bundle, by their names, the oldest first.
    pub(in crate::backups) fn journals_of(self, bundle: &[u8]) -> Result<Vec<(String, Node)>> {
        let top = self.volume.own_folders().find(OwnFolder::JOURNAL)?.lookup(server(), bundle)?.object;
        let mut found = Vec::new();
        for name in names(&top)? {
            let (Ok(text), Ok(folder)) = (std::str::from_utf8(&name), top.lookup(server(), &name)) else {
                continue;
            };
            if folder.attributes.kind == Kind::Folder {
                found.push((text.to_owned(), folder.object));
            }
        }
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(found)
    }

    fn new_journal(self, bundle: &[u8], name: &str) -> Result<Node> {
        let top = self.volume.own_folders().make(OwnFolder::JOURNAL)?;
        let of_bundle = find_or_make(&*top, bundle, NewKind::Folder, 0o700)?.object;
        Ok(of_bundle.create(server(), name.as_bytes(), NewKind::Folder, 0o700)?.object)
    }

    /// Removes the oldest journals, until so many points are left. Journals between points stay: they have bands of the points.
    fn forget_points(self, bundle: &[u8], keep: usize) -> Result<()> {
        let top = self.volume.own_folders().find(OwnFolder::JOURNAL)?.lookup(server(), bundle)?.object;
        let journals = self.journals_of(bundle)?;
        let is_broken = |folder: &Node| folder.lookup(server(), BROKEN).is_ok();
        let mut points = 0;
        let mut first = journals.len();
        for (at, (_, folder)) in journals.iter().enumerate().rev() {
            if points == keep || is_broken(folder) {
                break;
            }
            if folder.lookup(server(), MANIFEST).is_ok() {
                (points, first) = (points + 1, at);
            }
        }
        journals[..first].iter().try_for_each(|(name, _)| remove_journal(&top, name))
    }
}

impl<'a> BackupImage<'a> {
    /// A bundle as it was at a point of its journal.
    ///
    /// # Errors
    /// `NotFound`: there is no such point. `Io`: what is kept of it cannot be read.
    pub fn at_point(volume: &'a Volume, bundle: &[u8], point: &str) -> Result<Self> {
        let live = Self::open(volume, bundle)?;
        let live_bands = live.bands.as_ref().ok_or(Error::NotFound)?;
        let is_there = volume.backup_journals().points(bundle).iter().any(|one| one.name == point);
        let journals = volume.backup_journals().journals_of(bundle)?;
        let from = journals
            .iter()
            .position(|(name, _)| name == point)
            .filter(|_| is_there)
            .ok_or(Error::NotFound)?;
        let bands = manifest(&journals[from].1)?;
        let mut folders = Vec::new();
        for (_, journal) in &journals[from..] {
            folders.push(journal.lookup(server(), BANDS)?.object);
        }
        folders.push(live_bands.object.clone());
        let folder = journals[from].1.clone();
        let found = Found { attributes: folder.attributes()?, object: folder };
        Ok(Self::of_point(volume, found, live.bands.clone(), PointBands { bands: Arc::new(bands), folders }))
    }
}

/// A band as it is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ListedBand {
    file: FileId,
    number: u64,
    /// Its length, and when it was changed.
    state: (u64, Time),
}

/// The bands in a folder, by their numbers.
fn listed(volume: &Volume, bands: &Found) -> Result<Vec<ListedBand>> {
    let mut entries = Vec::new();
    each_entry(volume, bands, &mut |name, file| {
        entries.extend(band_number(name).map(|number| (number, file, name.to_vec())));
    })?;
    if entries.len() > MOST_BANDS {
        return Err(Error::TooMany);
    }
    let mut found = Vec::with_capacity(entries.len());
    for (number, file, name) in entries {
        let now = bands.object.entry_attributes(server(), &name)?;
        found.push(ListedBand { file, number, state: (now.size, now.modified) });
    }
    found.sort_by_key(|band| band.number);
    Ok(found)
}

/// Whether a file beside the bands is one of the bundle.
pub(super) fn is_list(name: &[u8]) -> bool {
    name != BANDS && !JOURNAL_FILES.contains(&name)
}

/// Copies the lists of a bundle into a journal.
fn copy_lists(volume: &Volume, bundle: &Found, journal: &Node) -> Result<()> {
    let mut lists = Vec::new();
    each_entry(volume, bundle, &mut |name, _| lists.push(name.to_vec()))?;
    for name in lists.iter().filter(|name| is_list(name)).take(MOST_LISTS) {
        let found = bundle.object.lookup(server(), name)?;
        if found.attributes.kind == Kind::File && found.attributes.size <= LONGEST_LIST {
            copy_into(journal, name, &found, &mut |_| {})?;
        }
    }
    Ok(())
}

fn write_manifest(folder: &Node, bands: &[ListedBand]) -> Result<()> {
    let mut text = format!("{HEADING}\n");
    for ListedBand { number, state: (size, modified), .. } in bands {
        _ = writeln!(text, "{number:x} {size} {}.{:09}", modified.secs, modified.nanos); // a String takes it
    }
    let unfinished = [MANIFEST, UNFINISHED.as_bytes()].concat();
    let file = find_or_make(&**folder, &unfinished, NewKind::File, 0o600)?;
    file.object.prepare(server(), &file.attributes, Access::WRITE, true)?;
    file.object.write_at(server(), 0, text.as_bytes(), Stability::File)?;
    folder.rename(server(), &unfinished, &**folder, MANIFEST, RenameMode::Replace)?;
    folder.sync(Stability::File)
}

/// The bands of a point.
fn manifest(folder: &Node) -> Result<BTreeMap<u64, (u64, Time)>> {
    let file = folder.lookup(server(), MANIFEST)?;
    let size = file.attributes.size;
    if size > LONGEST_MANIFEST {
        return Err(Error::TooMany);
    }
    file.object.prepare(server(), &file.attributes, Access::READ, true)?;
    let mut text = Vec::new();
    file.object.read_at(0, size as usize, &mut text, Wait::Allowed)?;
    parse(&text).ok_or(Error::Io)
}

/// The text of a manifest; `None`: it is none, or damaged.
pub(super) fn parse(text: &[u8]) -> Option<BTreeMap<u64, (u64, Time)>> {
    let mut lines = std::str::from_utf8(text).ok()?.lines();
    if lines.next() != Some(HEADING) {
        return None;
    }
    let line = |line: &str| {
        let mut words = line.split(' ');
        let number = u64::from_str_radix(words.next()?, 16).ok()?;
        let state = (words.next()?.parse().ok()?, sums::time(words.next()?)?);
        words.next().is_none().then_some((number, state))
    };
    lines.map(line).collect()
}

/// The names of what is in a folder.
pub(super) fn names(folder: &Node) -> Result<Vec<Vec<u8>>> {
    store::names(&**folder)
}

/// Removes a journal. It is no point from the first step on.
fn remove_journal(top: &Node, name: &str) -> Result<()> {
    let folder = top.lookup(server(), name.as_bytes())?.object;
    match folder.remove(server(), MANIFEST) {
        Ok(()) | Err(Error::NotFound) => remove_tree(top, name.as_bytes(), LEVELS),
        Err(error) => Err(error),
    }
}

/// Removes an entry with all that is in it.
fn remove_tree(folder: &Node, name: &[u8], levels: usize) -> Result<()> {
    let found = match folder.lookup(server(), name) {
        Err(Error::NotFound) => return Ok(()),
        other => other?,
    };
    if found.attributes.kind != Kind::Folder {
        return folder.remove(server(), name);
    }
    let below = levels.checked_sub(1).ok_or(Error::TooMany)?;
    for inner in names(&found.object)? {
        remove_tree(&found.object, &inner, below)?;
    }
    folder.remove_folder(server(), name)
}
