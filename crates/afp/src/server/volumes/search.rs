//! Searches, Apple Filing Protocol Reference, FPCatSearch, FPCatSearchExt. Those by name ask the index of the volume,
//! if it has one ([`indexed`]). The others walk the tree folder by folder, from kept listings. A reply has the results of a bounded time, and a position
//! for the next request.
//!
//! ```text
//! zeros ──► Search { root } ──► look ──► found enough, or long enough ──► position ──► (the client asks again) ──► look …
//!                                └─► nothing left ──► EOF_ERROR
//! ```
//!
//! A search walks only folders that the caller may list and traverse.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use lock::Mutex;
use vfs::{Entry, HostKey, Page};
use wire::Writer;

use self::criteria::Criteria;
use self::indexed::IndexedRest;
use super::open_volume::OpenVolume;
use super::spotlight;
use crate::ranks;
use crate::server::files::entries::EnumeratedFolder;
use crate::server::files::params::RequestedParameters;
use crate::server::limits::{MAX_FOLDERS_TO_SEARCH, MAX_SEARCHES};
use crate::server::reply::{Outcome, Reply};
use crate::server::request::Request;
use crate::wire::bitmap::{DirBitmap, FileBitmap};
use crate::wire::search::{self, SearchForm};
use crate::wire::{ResultCode, command};

mod criteria;
mod indexed;
#[cfg(test)]
mod tests;

/// The longest time of one request: old Macs do not wait for longer than a few seconds.
const LONGEST: Duration = Duration::from_millis(500);
/// How many entries are examined between two checks of the time.
const BETWEEN_LOOKS: u32 = 64;
/// A reply ends when its results have this many bytes: clients cannot state how many they have room
/// for, and other servers do not exceed this by more than one entry.
const ENOUGH_BYTES: usize = 448;
/// The parameters that FPCatSearch may return.
const PLAIN: FileBitmap = FileBitmap(FileBitmap::PARENT_ID.0 | FileBitmap::LONG_NAME.0);

/// The searches that a session may continue.
#[derive(Default)]
pub(in crate::server) struct Searches {
    table: Mutex<SearchTable, ranks::AfpSearches>,
}

#[derive(Default)]
struct SearchTable {
    next: u32,
    waiting: VecDeque<(SearchPosition, SearchRest)>,
}

/// The position of a search: its number and its volume. A client begins with zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SearchPosition {
    serial: u32,
    volume: u16,
}

impl SearchPosition {
    fn decode(bytes: &[u8; 16]) -> Self {
        let [a, b, c, d, e, f, ..] = *bytes;
        Self { serial: u32::from_be_bytes([a, b, c, d]), volume: u16::from_be_bytes([e, f]) }
    }

    fn encode(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&self.serial.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.volume.to_be_bytes());
        bytes
    }
}

impl Searches {
    /// Takes the walk that continues here; it can be taken only once.
    fn take(&self, position: SearchPosition) -> Option<SearchRest> {
        let mut table = self.table.lock();
        let at = table.waiting.iter().position(|(known, _)| *known == position)?;
        table.waiting.remove(at).map(|(_, walk)| walk)
    }

    /// Keeps a walk; the one that has waited longest is dropped if there are too many.
    fn keep(&self, volume: u16, walk: SearchRest) -> SearchPosition {
        let mut table = self.table.lock();
        table.next = table.next.wrapping_add(1).max(1);
        let position = SearchPosition { serial: table.next, volume };
        if table.waiting.len() >= MAX_SEARCHES {
            table.waiting.pop_front();
        }
        table.waiting.push_back((position, walk));
        position
    }

    /// Forgets all walks.
    pub(in crate::server) fn end(&self) {
        self.table.lock().waiting.clear();
    }
}

/// The rest of a search.
enum SearchRest {
    Walked(SearchWalk),
    Indexed(IndexedRest),
}

impl SearchRest {
    fn begin(volume: &OpenVolume, criteria: &Criteria<'_>) -> Result<Self, ResultCode> {
        if let Some(rest) = IndexedRest::of(volume, criteria) {
            return Ok(Self::Indexed(rest));
        }
        Ok(Self::Walked(SearchWalk::of(volume.tree().root()?.object.key())))
    }
}

/// The rest of a search that walks.
struct SearchWalk {
    /// The next folder is the last one.
    folders: Vec<PendingFolder>,
    /// At this number, a folder is walked to its end before its next sibling, which needs two rows
    /// for each folder above.
    most: usize,
}

/// A folder, from after a cookie on.
#[derive(Clone, Copy)]
struct PendingFolder {
    key: HostKey,
    cookie: u64,
    /// Its entries are still to be examined.
    entries: bool,
    /// Its subfolders are still to be walked.
    folders: bool,
}

impl PendingFolder {
    fn new(key: HostKey) -> Self {
        Self { key, cookie: 0, entries: true, folders: true }
    }
}

impl SearchWalk {
    fn of(root: HostKey) -> Self {
        Self { folders: vec![PendingFolder::new(root)], most: MAX_FOLDERS_TO_SEARCH }
    }

    /// Queues a folder as the next one to walk. False: there is no room for more, and its siblings
    /// are walked after it.
    fn descend(
        &mut self,
        folder: &EnumeratedFolder<'_>,
        page: &Page,
        entry: &Entry,
        above: PendingFolder,
    ) -> bool {
        let Ok(details) = page.details(folder.caller, entry) else { return true };
        let has_room = self.folders.len() < self.most;
        if !has_room {
            self.folders.push(PendingFolder { cookie: entry.cookie, entries: false, ..above });
        }
        self.folders.push(PendingFolder::new(details.key));
        has_room
    }
}

/// Runs a command of this family.
pub(in crate::server) async fn run(request: &Request) -> Outcome {
    match request.command {
        command::CAT_SEARCH => search(request, SearchForm::Plain),
        command::CAT_SEARCH_EXT => search(request, SearchForm::Ext),
        command::SPOTLIGHT_RPC => spotlight::run(request),
        _ => Err(ResultCode::CALL_NOT_SUPPORTED),
    }
}

fn search(request: &Request, form: SearchForm) -> Outcome {
    let asked = search::SearchRequest::decode(&mut request.reader(), form)?;
    let volume = request.volume(asked.volume)?;
    let (mut files, mut folders) = (asked.files, asked.folders);
    if form == SearchForm::Plain {
        (files, folders) = (files & PLAIN, folders & DirBitmap(PLAIN.0));
    }
    let is_known = asked.bitmap.is_known(asked.files, asked.folders) && asked.bitmap.is_of(request.version());
    if files.is_empty() && folders.is_empty() || !is_known {
        return Err(ResultCode::BITMAP_ERROR);
    }
    let wanted = RequestedParameters { file: files, dir: folders }.check(request.version())?;
    let criteria = Criteria::new(&asked)?;
    if asked.matches == 0 {
        return Err(ResultCode::PARAM_ERROR);
    }
    let searches = &request.session.searches;
    let position = SearchPosition::decode(&asked.position);
    let walk = match position.serial {
        0 => Some(SearchRest::begin(&volume, &criteria)?),
        _ => searches.take(position).filter(|_| position.volume == volume.id),
    };
    let mut look = SearchPass::new(request, &volume, form, wanted, asked.matches);
    let mut walk = walk.ok_or(ResultCode::CATALOG_CHANGED)?;
    let is_over = match &mut walk {
        SearchRest::Walked(walk) => look.walk(walk, &criteria)?,
        SearchRest::Indexed(rest) => look.ask(rest, &criteria)?,
    };
    let position = if is_over { asked.position } else { searches.keep(volume.id, walk).encode() };
    let reply = look.into_reply(position, wanted);
    if is_over { Ok(reply.with(ResultCode::EOF_ERROR)) } else { Ok(reply) }
}

/// One request's part of a search.
struct SearchPass<'a> {
    request: &'a Request,
    volume: &'a OpenVolume,
    form: SearchForm,
    wanted: RequestedParameters,
    most: u32,
    until: Instant,
    looked: u32,
    count: u32,
    w: Writer,
}

impl<'a> SearchPass<'a> {
    fn new(
        request: &'a Request,
        volume: &'a OpenVolume,
        form: SearchForm,
        wanted: RequestedParameters,
        most: u32,
    ) -> Self {
        let w = Writer::onto(vec![0; search::Reply::HEAD]);
        let until = Instant::now() + LONGEST;
        Self { request, volume, form, wanted, most, until, looked: 0, count: 0, w }
    }

    /// Walks until nothing is left (true), or until enough is found or the time is over (false).
    fn walk(&mut self, walk: &mut SearchWalk, criteria: &Criteria<'_>) -> Result<bool, ResultCode> {
        while let Some(pending) = walk.folders.pop() {
            if self.is_enough() {
                walk.folders.push(pending);
                return Ok(false);
            }
            let Ok(found) = self.volume.tree().node(&pending.key) else { continue }; // gone meanwhile
            let folder = EnumeratedFolder {
                volume: self.volume,
                caller: self.request.caller(),
                version: self.request.version(),
                wanted: self.wanted,
                found: &found,
                id: self.volume.id_of(&pending.key)?,
            };
            if !self.folder(&folder, pending, walk, criteria)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Examines a folder's entries, to its end (true), or to the end of this request (false).
    fn folder(
        &mut self,
        folder: &EnumeratedFolder<'_>,
        mut pending: PendingFolder,
        walk: &mut SearchWalk,
        criteria: &Criteria<'_>,
    ) -> Result<bool, ResultCode> {
        loop {
            let list = self.volume.tree().list(folder.caller, folder.found, pending.cookie);
            let Ok(page) = list else { return Ok(true) };
            for entry in page.named() {
                if self.is_enough() {
                    walk.folders.push(pending);
                    return Ok(false);
                }
                let is_shown = folder.shows(entry);
                if is_shown && pending.folders && folder.is_folder(&page, entry) == Some(true) {
                    pending.folders = walk.descend(folder, &page, entry, pending);
                }
                if is_shown && pending.entries {
                    self.entry(folder, &page, entry, criteria)?;
                }
                if !pending.entries && !pending.folders {
                    return Ok(true);
                }
                pending.cookie = entry.cookie;
            }
            match page.entries().last() {
                Some(last) if !page.complete => pending.cookie = last.cookie,
                _ => return Ok(true),
            }
        }
    }

    fn is_enough(&mut self) -> bool {
        self.looked += 1;
        self.count >= self.most
            || self.w.len() >= search::Reply::HEAD + ENOUGH_BYTES
            || (self.looked.is_multiple_of(BETWEEN_LOOKS) && Instant::now() >= self.until)
    }

    fn entry(
        &mut self,
        folder: &EnumeratedFolder<'_>,
        page: &Page,
        entry: &Entry,
        criteria: &Criteria<'_>,
    ) -> Result<(), ResultCode> {
        let Some(is_folder) = folder.is_folder(page, entry) else { return Ok(()) };
        let is_wanted = if is_folder { !self.wanted.dir.is_empty() } else { !self.wanted.file.is_empty() };
        if !is_wanted || !criteria.may_be_named(entry.name()) {
            return Ok(());
        }
        // A caller that may list a folder but not traverse it gets none of its entries.
        let facts = match folder.facts(page, entry, criteria.needs()) {
            Err(ResultCode::ACCESS_DENIED) => None,
            other => other?,
        };
        let Some(mut facts) = facts else { return Ok(()) };
        if criteria.matches(self.volume, &facts)? {
            folder.add_number(&mut facts)?;
            self.count += u32::from(folder.put(self.form.framing(), &facts, &mut self.w));
        }
        Ok(())
    }

    fn into_reply(self, position: [u8; 16], wanted: RequestedParameters) -> Reply {
        let mut w = Writer::new();
        let (files, folders) = (wanted.file, wanted.dir);
        let entries = &self.w.as_bytes()[search::Reply::HEAD..];
        search::Reply { position, files, folders, count: self.count, entries }.encode(&mut w);
        Reply { head: w.into_bytes(), ..Reply::default() }
    }
}
